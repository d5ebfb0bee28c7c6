// Runs on: host, cuda (layers); counting.
#include <locus/nn/loss.hpp>

#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/tensor/factory.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {

/// A loss with every reduction, values and gradients, in double and float.
template <class T, class D, class Loss>
void check_loss(const std::string& name, const char* target, const Loss& loss) {
  CAPTURE(name);
  const auto y = golden::tensor<T, D>(target);
  for (const auto& [reduction, suffix] :
       {std::pair{Reduction::mean, "_mean"}, std::pair{Reduction::sum, "_sum"}, std::pair{Reduction::none, "_none"}}) {
    const auto x = variable(golden::tensor<T, D>("loss_x"));
    CHECK_GOLDEN(name + suffix, loss(x, y, reduction), ({"x"}), x);
    const auto plain = loss(x.value(), y, reduction);
    static_assert(std::remove_cvref_t<decltype(plain)>::role == Role::plain);
    CHECK_CLOSE(plain, golden::reference(name + suffix), std::is_same_v<T, double> ? 1e-10 : 1e-5);
  }
}

}  // namespace

LOCUS_DEVICE_TEST("losses are PyTorch's, with every reduction", D) {
  check_loss<double, D>("mse", "loss_y", [](auto... a) { return nn::mse_loss(a...); });
  check_loss<double, D>("l1", "loss_y", [](auto... a) { return nn::l1_loss(a...); });
  check_loss<double, D>("huber", "loss_y", [](auto x, auto y, Reduction r) { return nn::huber_loss(x, y, 0.7, r); });
  check_loss<double, D>("bce", "loss_targets", [](auto... a) { return nn::binary_cross_entropy_with_logits(a...); });
  check_loss<float, D>("mse", "loss_y", [](auto... a) { return nn::mse_loss(a...); });
}

namespace {
template <class T, class D>
void check_divergences() {
  using Divergence = nn::DivergenceReduction;
  const auto target = golden::tensor<T, D>("l_shares");
  for (const auto& [reduction, suffix] :
       {std::pair{Divergence::mean, "mean"}, std::pair{Divergence::batchmean, "batchmean"},
        std::pair{Divergence::sum, "sum"}, std::pair{Divergence::none, "none"}}) {
    const std::string of = suffix;
    CAPTURE(of);
    const auto x = variable(golden::tensor<T, D>("l_x")), y = variable(golden::tensor<T, D>("l_y"));
    CHECK_GOLDEN("kl_" + of, nn::kl_div(x, target, {.reduction = reduction}), ({"x"}), x);
    x.zero_grad();
    const auto logarithms = nn::kl_div(x, y, {.reduction = reduction, .log_target = true});
    CHECK_GOLDEN("kl_log_" + of, logarithms, ({"x", "y"}), x, y);
  }
}
}  // namespace

LOCUS_DEVICE_TEST("divergences and smooth L1 are PyTorch's, with every reduction", D) {
  check_divergences<double, D>();
  check_divergences<float, D>();
  for (const auto& [reduction, suffix] :
       {std::pair{Reduction::mean, "mean"}, std::pair{Reduction::sum, "sum"}, std::pair{Reduction::none, "none"}}) {
    const auto x = variable(golden::tensor<double, D>("l_x")), y = variable(golden::tensor<double, D>("l_y"));
    CHECK_GOLDEN(std::string("smooth_l1_") + suffix, nn::smooth_l1_loss(x, y, 0.7, reduction), ({"x", "y"}), x, y);
  }
  const auto x = variable(golden::tensor<double, D>("l_x")), y = variable(golden::tensor<double, D>("l_y"));
  CHECK_GOLDEN("smooth_l1_0", nn::smooth_l1_loss(x, y, 0), ({"x", "y"}), x, y);
  const auto logarithms = variable(golden::tensor<double, D>("l_x"));
  const auto positive = variable(golden::tensor<double, D>("l_positive"));
  const nn::KLDivLossOptions sum{.reduction = nn::DivergenceReduction::sum};
  CHECK_GOLDEN("kl_target", nn::kl_div(logarithms, positive, sum), ({"x", "y"}), logarithms, positive);
}

LOCUS_DEVICE_TEST("a target of 0 diverges from nothing, not even from an impossible prediction", D) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto x = tensor<float, D>({3}, {-infinity, -infinity, 0}), y = tensor<float, D>({3}, {0, 1, 0});
  const nn::KLDivLossOptions none{.reduction = nn::DivergenceReduction::none};
  CHECK_CLOSE(nn::kl_div(x, y, none), {0, infinity, 0});
  CHECK_CLOSE(nn::kl_div(x, log(y).eval(), {.reduction = nn::DivergenceReduction::none, .log_target = true}),
              {0, infinity, 0});
}

LOCUS_DEVICE_TEST("slopes at a target of 0 are the formula's, and those of Huber's loss at a NaN are 0", D) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto x = tensor<float, D>({2}, {-1, -infinity});
  const auto y = variable(tensor<float, D>({2}, {0, 0}));
  const auto logarithms = variable(tensor<float, D>({2}, {-infinity, -infinity}));
  nn::kl_div(x, y, {.reduction = nn::DivergenceReduction::sum}).backward();
  CHECK_CLOSE(y.grad(), {-infinity, nan});
  nn::kl_div(x, logarithms, {.reduction = nn::DivergenceReduction::sum, .log_target = true}).backward();
  CHECK_CLOSE(logarithms.grad(), {0, 0});
  const auto p = variable(tensor<float, D>({2}, {nan, 3}));
  const auto huber = nn::huber_loss(p, x.select(0, 0).reshape({1}).expand({2}), 1, Reduction::none);
  CHECK_CLOSE(huber, {nan, 3.5});
  sum(huber).backward();
  CHECK_CLOSE(p.grad(), {0, 1});
}

LOCUS_DEVICE_TEST("a mean over 16-bit distributions is divided before it is rounded", D) {
  const auto x = full<half, D>({4096, 64}, -9), y = full<half, D>({4096, 64}, 0.125);
  const nn::KLDivLossOptions options{.reduction = nn::DivergenceReduction::batchmean};
  CHECK_CLOSE(nn::kl_div(x, y, options), 8 * (9 - std::log(8.0)), 1e-3);
  const auto traced = variable(x);
  const auto loss = nn::kl_div(traced, y, options);
  CHECK_CLOSE(loss, 8 * (9 - std::log(8.0)), 1e-3);
  loss.backward(full<half, D>({}, 4096));
  CHECK_CLOSE(traced.grad(), reference(full<half, D>({4096, 64}, -0.125)));
}

TEST_CASE("gradients of divergences and smooth L1 agree with finite differences") {
  const auto x = sample<double, Cpu>({3, 4}, 1), y = sample<double, Cpu>({3, 4}, 2);
  CHECK(gradcheck([](auto a, auto b) { return nn::kl_div(a, b, {.log_target = true}); }, x, y));
  CHECK(gradcheck([](auto a, auto b) { return nn::kl_div(a, b); }, x, (square(y) + 0.5).eval()));
  CHECK(gradcheck([](auto a, auto b) { return nn::smooth_l1_loss(a, b, 0.5); }, x, y));
}

TEST_CASE("divergences and smooth L1 refuse shapes and options that make no sense") {
  const Tensor<float> x({4, 3}), row({3}), scalar(Shape{});
  CHECK_THROWS_AS((void)nn::smooth_l1_loss(x, row), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::smooth_l1_loss(x, x, -1), doctest::Contains("beta is -1"), ArgumentError);
  CHECK_THROWS_AS((void)nn::smooth_l1_loss(x, x, 1e39), ArgumentError);
  CHECK_THROWS_AS((void)nn::kl_div(x, row), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::kl_div(scalar, scalar, {.reduction = nn::DivergenceReduction::batchmean}),
                       doctest::Contains("batchmean of shape ()"), ShapeError);
}

LOCUS_DEVICE_TEST("a loss on plain tensors is one launch, its reduction fused with the formula", D) {
  const auto x = sample<float, D>({8, 3}, 1), y = sample<float, D>({8, 3}, 2);
  const LaunchLog log;
  (void)nn::mse_loss(x, y);
  CHECK(log.launches() == 1);
}

LOCUS_DEVICE_TEST("logits of any size give a finite loss", D) {
  const auto x = variable(tensor<float, D>({4}, {-1000, 1000, -1000, 1000}));
  const auto target = tensor<float, D>({4}, {0, 1, 1, 0});
  const auto loss = nn::binary_cross_entropy_with_logits(x, target, Reduction::none);
  CHECK_CLOSE(loss, {0, 0, 1000, 1000});
  loss.backward(tensor<float, D>({4}, {1, 1, 1, 1}));
  CHECK_CLOSE(x.grad(), {0, 0, -1, 1});
}

namespace {
template <class T, class D>
void check_positive_weights() {
  constexpr double allowed = std::is_same_v<T, double> ? 1e-10 : 1e-5;
  const nn::PosWeight weights{golden::tensor<T, D>("pos_weights")};
  for (const auto& [reduction, suffix] :
       {std::pair{Reduction::mean, "mean"}, std::pair{Reduction::sum, "sum"}, std::pair{Reduction::none, "none"}}) {
    const std::string name = std::string("pos_") + suffix;
    CAPTURE(name);
    const auto x = variable(golden::tensor<T, D>("pos_x")), y = variable(golden::tensor<T, D>("pos_y"));
    CHECK_GOLDEN(name, nn::binary_cross_entropy_with_logits(x, y, weights, reduction), ({"x", "y"}), x, y);
    CHECK_CLOSE(nn::binary_cross_entropy_with_logits(x.value(), y.value(), weights, reduction), golden::reference(name),
                allowed);
  }
  const auto x = variable(golden::tensor<T, D>("pos_x"));
  const auto y = golden::tensor<T, D>("pos_y");
  const nn::PosWeight each{golden::tensor<T, D>("pos_each")}, one{full<T, D>({}, T(5))};
  CHECK_GOLDEN("pos_each_mean", nn::binary_cross_entropy_with_logits(x, y, each), ({"x"}), x);
  x.zero_grad();
  CHECK_GOLDEN("pos_one_mean", nn::binary_cross_entropy_with_logits(x, y, one), ({"x"}), x);
}
}  // namespace

LOCUS_DEVICE_TEST("positive targets are weighted as PyTorch's pos_weight, in one launch", D) {
  check_positive_weights<double, D>();
  check_positive_weights<float, D>();
  const auto x = sample<float, D>({8, 3}, 1), y = full<float, D>({8, 3}, 0.5f);
  const nn::PosWeight weights{tensor<float, D>({3}, {1, 2, 3})};
  const LaunchLog log;
  (void)nn::binary_cross_entropy_with_logits(x, y, weights);
  CHECK(log.launches() == 1);
}

LOCUS_DEVICE_TEST("weighted losses of any logits are finite where they are right, and keep their digits", D) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const nn::PosWeight weights{tensor<float, D>({1}, {3})};
  const auto x = variable(tensor<float, D>({8}, {-infinity, infinity, -infinity, infinity, -1000, 1000, 20, 0}));
  const auto y = tensor<float, D>({8}, {0, 1, 1, 0, 1, 0, 1, 0.25});
  const auto loss = nn::binary_cross_entropy_with_logits(x, y, weights, Reduction::none);
  const double certain = 3 * std::log1p(std::exp(-20.));
  CHECK_CLOSE(loss, {0, 0, infinity, infinity, 3000, 1000, certain, 1.5 * std::log(2.)}, 1e-6);
  loss.backward(full<float, D>({8}, 1.f));
  CHECK_CLOSE(x.grad(), {0, 0, -3, 1, -3, 1, -3 * std::exp(-20.), 0}, 1e-6);
  CHECK(relative_difference(x.grad().slice(0, 6, 7), {-3 * std::exp(-20.) / (1 + std::exp(-20.))}) == "");
}

LOCUS_DEVICE_TEST("Huber's loss at its corner", D) {
  const auto x = variable(tensor<double, D>({3}, {-1, 1, 0})), y = variable(tensor<double, D>({3}, {0, 0, 0}));
  nn::huber_loss(x, y.value(), 1.0, Reduction::sum).backward();
  CHECK_CLOSE(x.grad(), {-1, 1, 0});
}

LOCUS_DEVICE_TEST("both sides of a loss may be traced", D) {
  const auto x = variable(tensor<float, D>({2}, {1, 2})), y = variable(tensor<float, D>({2}, {3, 5}));
  nn::mse_loss(x, y).backward();
  CHECK_CLOSE(x.grad(), {-2, -3});
  CHECK_CLOSE(y.grad(), {2, 3});
}

TEST_CASE("losses refuse shapes that would broadcast, and bounds that make no sense") {
  const Tensor<float> x({4, 3}), column({4, 1}), row({3});
  CHECK_THROWS_WITH_AS((void)nn::mse_loss(x, column), doctest::Contains("(4, 3)"), ShapeError);
  CHECK_THROWS_AS((void)nn::l1_loss(x, row), ShapeError);
  CHECK_THROWS_AS((void)nn::huber_loss(x, row), ShapeError);
  CHECK_THROWS_AS((void)nn::binary_cross_entropy_with_logits(x, row), ShapeError);
  CHECK_THROWS_AS((void)nn::binary_cross_entropy_with_logits(x, row, nn::PosWeight{row}), ShapeError);
  CHECK_NOTHROW((void)nn::binary_cross_entropy_with_logits(x, x, nn::PosWeight{column}));
  for (const auto& weights : {Tensor<float>({4}), Tensor<float>({3, 1}), Tensor<float>({1, 4, 3})})
    CHECK_THROWS_WITH_AS((void)nn::binary_cross_entropy_with_logits(x, x, nn::PosWeight{weights}),
                         doctest::Contains("for logits of shape (4, 3); expected"), ShapeError);
  CHECK_THROWS_AS((void)nn::huber_loss(x, x, 0), ArgumentError);
  CHECK_THROWS_AS((void)nn::huber_loss(x, x, -1), ArgumentError);
}

TEST_CASE("losses of no elements") {
  const Tensor<float> x({0, 3});
  CHECK(std::isnan(nn::mse_loss(x, x).item()));
  CHECK(nn::mse_loss(x, x, Reduction::sum).item() == 0);
  CHECK(nn::mse_loss(x, x, Reduction::none).shape() == Shape{0, 3});
}

LOCUS_DEVICE_TEST("cross-entropy is reached from nn as well", D) {
  const auto logits = tensor<float, D>({2, 2}, {0, 0, 0, 0});
  CHECK_CLOSE(nn::cross_entropy(logits, tensor<std::int64_t, D>({2}, {0, 1})), std::log(2.0));
}

LOCUS_DEVICE_TEST("the loss of a nearly certain logit keeps its digits", D) {
  const auto x = tensor<float, D>({4}, {5, 10, 15, 20}), target = tensor<float, D>({4}, {1, 1, 1, 1});
  const auto loss = nn::binary_cross_entropy_with_logits(x, target, Reduction::none);
  CHECK(relative_difference(loss, {std::log1p(std::exp(-5.0)), std::log1p(std::exp(-10.0)), std::log1p(std::exp(-15.0)),
                                   std::log1p(std::exp(-20.0))}) == "");
}

namespace {
template <class T, class D>
void check_infinite_logits() {
  CAPTURE(dtype_name<T>());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto x = variable(tensor<T, D>({6}, {-infinity, infinity, -infinity, infinity, 0, 2}));
  const auto y = tensor<T, D>({6}, {0, 1, 1, 0, 0.25, 0.5});
  const auto loss = nn::binary_cross_entropy_with_logits(x, y, Reduction::none);
  CHECK_CLOSE(loss, {0, 0, infinity, infinity, std::log(2.), 1.126928011042972});
  loss.backward(tensor<T, D>({6}, {1, 1, 1, 1, 1, 1}));
  CHECK_CLOSE(x.grad(), {0, 0, -1, 1, 0.25, 0.3807970779778824});
  CHECK_CLOSE(nn::binary_cross_entropy_with_logits(tensor<T, D>({2}, {infinity, std::nan("")}),
                                                   tensor<T, D>({2}, {0.5, 1}), Reduction::none),
              {infinity, std::nan("")});
}
}  // namespace

LOCUS_DEVICE_TEST("infinite logits cost nothing where they are right, and infinity elsewhere", D) {
  check_infinite_logits<double, D>();
  check_infinite_logits<float, D>();
  check_infinite_logits<half, D>();
  check_infinite_logits<bfloat16, D>();
}

TEST_CASE("huber_loss refuses a delta that is none in the type of the losses") {
  const auto x = Tensor<float>({2}).fill_(1);
  CHECK_THROWS_WITH_AS((void)nn::huber_loss(x, x, 1e39), doctest::Contains("delta is 1e+39"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::huber_loss(x, x, 1e-60), doctest::Contains("delta is 1e-60"), ArgumentError);
}
