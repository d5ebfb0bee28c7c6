// Runs on: host, cuda (layers).
#include <locus/autograd/gradcheck.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/margin_loss.hpp>
#include <locus/tensor/random.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {
constexpr std::pair<Reduction, const char*> reductions[] = {
    {Reduction::mean, "mean"}, {Reduction::sum, "sum"}, {Reduction::none, "none"}};

template <class T, class D>
void check_reductions() {
  const auto signs = golden::tensor<T, D>("l_signs"), target = golden::tensor<T, D>("v_target");
  for (const auto& [reduction, suffix] : reductions) {
    const std::string name = suffix;
    CAPTURE(name);
    const auto x = variable(golden::tensor<T, D>("l_x"));
    const auto hinge = nn::hinge_embedding_loss(x, signs, 0.4, reduction);
    CHECK_GOLDEN("hinge_" + name, hinge, ({"x"}), x);
    const auto a = variable(golden::tensor<T, D>("v_a")), b = variable(golden::tensor<T, D>("v_b")),
               c = variable(golden::tensor<T, D>("v_c"));
    const auto cosine = nn::CosineEmbeddingLoss{{.margin = 0.1, .reduction = reduction}}(a, b, target);
    CHECK_GOLDEN("cosine_" + name, cosine, ({"a", "b"}), a, b);
    a.zero_grad(), b.zero_grad();
    const auto triplet = nn::TripletMarginLoss{{.reduction = reduction}}(a, b, c);
    CHECK_GOLDEN("triplet_" + name, triplet, ({"a", "b", "c"}), a, b, c);
  }
}

template <class D>
void check_triplet(const char* name, const nn::TripletMarginLossOptions& options) {
  const auto a = variable(golden::tensor<double, D>("v_a")), b = variable(golden::tensor<double, D>("v_b")),
             c = variable(golden::tensor<double, D>("v_c"));
  CHECK_GOLDEN(name, nn::triplet_margin_loss(a, b, c, options), ({"a", "b", "c"}), a, b, c);
}
}  // namespace

LOCUS_DEVICE_TEST("losses with margins are PyTorch's, with every reduction", D) {
  check_reductions<double, D>();
  check_reductions<float, D>();
}

LOCUS_DEVICE_TEST("triplet margin loss has PyTorch's norms, and its swap", D) {
  check_triplet<D>("triplet_1", {.margin = 0.5, .p = 1});
  check_triplet<D>("triplet_3_swap", {.p = 3, .eps = 1e-2, .swap = true});
  check_triplet<D>("triplet_inf", {.p = std::numeric_limits<double>::infinity()});
  const auto a = variable(golden::tensor<double, D>("v_a")), b = variable(golden::tensor<double, D>("v_b")),
             c = variable(golden::tensor<double, D>("v_c"));
  const auto one = [](const auto& x) { return x.select(0, 0); };
  CHECK_GOLDEN("triplet_one", nn::triplet_margin_loss(one(a), one(b), one(c), {.swap = true}), ({"a", "b", "c"}), a, b,
               c);
  a.zero_grad(), b.zero_grad();
  const auto target = golden::tensor<double, D>("v_target");
  CHECK_GOLDEN("cosine_one", nn::cosine_embedding_loss(one(a), one(b), one(target)), ({"a", "b"}), a, b);
}

TEST_CASE("gradients of losses with margins agree with finite differences") {
  manual_seed(5);
  const auto a = randn<double>({4, 3}), b = randn<double>({4, 3}), c = randn<double>({4, 3});
  const auto y = tensor<double, Cpu>({4}, {1, -1, 1, -1});
  CHECK(gradcheck([&](auto p, auto q) { return nn::cosine_embedding_loss(p, q, y, -0.5); }, a, b));
  for (const double order : {2.0, 3.5})
    CHECK(gradcheck([&](auto p, auto q, auto r) { return nn::triplet_margin_loss(p, q, r, {.margin = 3, .p = order}); },
                    a, b, c));
}

LOCUS_DEVICE_TEST("a parameter in a loss of vectors keeps its gradient, and a plain loss records nothing", D) {
  const auto a = golden::tensor<float, D>("v_a"), b = golden::tensor<float, D>("v_b");
  const auto target = golden::tensor<float, D>("v_target");
  const Parameter weight(b.clone());
  const auto x = variable(a), y = variable(b);
  nn::cosine_embedding_loss(x, weight, target).backward();
  nn::cosine_embedding_loss(variable(a), y, target).backward();
  CHECK_CLOSE(weight.grad(), reference(y.grad()));
  static_assert(decltype(nn::cosine_embedding_loss(a, weight, target))::role == Role::plain);
  static_assert(decltype(nn::triplet_margin_loss(a, weight, b))::role == Role::plain);
}

LOCUS_DEVICE_TEST("losses of 16-bit vectors are computed in float", D) {
  if constexpr (all_dtypes<D>) {  // their squares overflow half
    const auto x = tensor<half, D>({1, 2}, {1000, 500}), y = tensor<half, D>({1, 2}, {1000, -500});
    const auto target = tensor<half, D>({1}, {1});
    const LaunchLog log;
    const auto loss = nn::cosine_embedding_loss(x, y, target);
    CHECK(log.launches() == 8);
    static_assert(std::is_same_v<value_of<decltype(loss)>, half>);
    CHECK_CLOSE(loss, 0.4, 1e-3);
    const auto traced = variable(x);
    nn::triplet_margin_loss(traced, y, x, {.margin = 1024}).backward();
    CHECK_CLOSE(traced.grad(), Reference({1, 2}, {-0.7071, 1 - 0.7071}), 2e-3);
  }
}

LOCUS_DEVICE_TEST("losses with margins of a NaN are NaN", D) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto x = variable(tensor<float, D>({2, 2}, {nan, 1, 1, 1})),
             y = variable(tensor<float, D>({2, 2}, {1, 1, 1, 1}));
  const auto signs = tensor<float, D>({2}, {-1, -1});
  CHECK_CLOSE(nn::hinge_embedding_loss(x.select(1, 0), signs, 3, Reduction::none), {nan, 2});
  CHECK_CLOSE(nn::cosine_embedding_loss(x, y, signs, 0, Reduction::none), {nan, 1});
  const auto triplet = nn::triplet_margin_loss(x, y, y, {.reduction = Reduction::none});
  CHECK_CLOSE(triplet, {nan, 1});
  sum(triplet).backward();
  CHECK_CLOSE(x.grad(), Reference({2, 2}, {nan, nan, 0, 0}));
}

LOCUS_DEVICE_TEST("a cosine loss of which the reduction alone is given has a margin of 0", D) {
  const auto x = tensor<float, D>({2, 2}, {1, 0, 1, 1}), y = tensor<float, D>({2, 2}, {1, 0, 1, 1});
  const auto apart = tensor<float, D>({2}, {-1, -1});
  CHECK_CLOSE(nn::CosineEmbeddingLoss{{.reduction = Reduction::sum}}(x, y, apart), 2, 1e-5);
  CHECK_CLOSE(nn::CosineEmbeddingLoss{}(x, y, apart), 1, 1e-5);
}

namespace {
/// Distances of (0.5, 2) to `near`, a positive, and to (2, 0), of order p: in float, against PyTorch's in float64.
template <class D>
void check_order(double p, double eps, std::vector<double> near, double loss, const Reference& to_anchor,
                 const Reference& to_positive) {
  CAPTURE(p);
  const auto a = variable(tensor<float, D>({1, 2}, {0.5, 2})), b = variable(tensor<float, D>({1, 2}, near));
  const auto triplet = nn::triplet_margin_loss(a, b, tensor<float, D>({1, 2}, {2, 0}), {20, p, eps});
  CHECK_CLOSE(triplet, loss, 1e-5);
  triplet.backward();
  CHECK_CLOSE(a.grad(), to_anchor, 1e-5);
  CHECK_CLOSE(b.grad(), to_positive, 1e-5);
}
}  // namespace

LOCUS_DEVICE_TEST("gradients of distances of any order are finite where differences or their powers vanish", D) {
  check_order<D>(10, 1e-6, {0.5, 2}, 17.989013116, Reference({1, 2}, {0.6073583306, -0.4160031066}),
                 Reference({1, 2}, {-0.5358867313, -0.5358867313}));
  check_order<D>(3, 0, {0.5, 2}, 17.751029277, Reference({1, 2}, {0.4448513517, -0.7908468475}),
                 Reference({1, 2}, {0, 0}));
  check_order<D>(0.5, 0, {0.5, 1}, 14.035898385, Reference({1, 2}, {2.1547005384, -0.8660254038}),
                 Reference({1, 2}, {0, -1}));
  const auto x = tensor<float, D>({2, 2}, {1e30, 1, 1e-30, 0}), zero = tensor<float, D>({2, 2}, {0, 0, 0, 0});
  const auto far = nn::triplet_margin_loss(x, zero, x, {.margin = 0, .p = 3, .eps = 0, .reduction = Reduction::none});
  CHECK(relative_difference(far, {1e30, 1e-30}) == "");
  const auto wrong = tensor<float, D>({2, 2}, {INFINITY, 1, NAN, 1});
  CHECK_CLOSE(nn::triplet_margin_loss(wrong, zero, zero + 1, {.p = 3, .swap = true, .reduction = Reduction::none}),
              {INFINITY, NAN});
}

LOCUS_DEVICE_TEST("losses with margins make the launches that their costs name", D) {
  const auto x = tensor<float, D>({2, 2}, {1, 2, 3, 5}), y = tensor<float, D>({2, 2}, {2, 1, 0, 1});
  const auto signs = tensor<float, D>({2}, {-1, 1});
  const auto a = variable(x), b = variable(y), c = variable(x);
  const auto launches = [](const auto& compute) {
    const LaunchLog log;
    (void)compute();
    return log.launches();
  };
  const auto cosine = [&](const auto& p, const auto& q, Reduction reduction) {
    return launches([&] { return nn::cosine_embedding_loss(p, q, signs, 0, reduction); });
  };
  CHECK(cosine(x, y, Reduction::mean) == 4);
  CHECK(cosine(a, b, Reduction::none) == 7);
  CHECK(cosine(a, b, Reduction::mean) == 8);
  const auto triplet = [&](const auto& p, const auto& q, const auto& r, const nn::TripletMarginLossOptions& options) {
    return launches([&] { return nn::triplet_margin_loss(p, q, r, options); });
  };
  CHECK(triplet(x, y, x, {}) == 3);
  CHECK(triplet(x, y, x, {.swap = true}) == 5);
  CHECK(triplet(x, y, x, {.p = 3}) == 9);
  CHECK(triplet(a, b, c, {.reduction = Reduction::none}) == 5);
  CHECK(triplet(a, b, c, {}) == 6);
  CHECK(triplet(a, b, c, {.swap = true}) == 9);
  CHECK(triplet(a, b, c, {.p = 3}) == 10);
}

TEST_CASE("losses with margins refuse shapes and options that make no sense") {
  const Tensor<float> x({4, 3}), y({4, 2}), t({4}), scalar(Shape{});
  CHECK_THROWS_WITH_AS((void)nn::cosine_embedding_loss(x, y, t), doctest::Contains("(4, 3) and (4, 2)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::cosine_embedding_loss(x, x, x), doctest::Contains("targets of shape (4,)"),
                       ShapeError);
  CHECK_THROWS_AS((void)nn::cosine_embedding_loss(scalar, scalar, scalar), ShapeError);
  CHECK_THROWS_AS((void)nn::cosine_embedding_loss(x, x, t, NAN), ArgumentError);
  CHECK_THROWS_AS((void)nn::triplet_margin_loss(x, x, y), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::triplet_margin_loss(x, x, x, {.p = 0}), doctest::Contains("p is 0"), ArgumentError);
  CHECK_THROWS_AS((void)nn::triplet_margin_loss(x, x, x, {.p = NAN}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::triplet_margin_loss(x, x, x, {.p = 1e39}), doctest::Contains("p is 1e+39"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::triplet_margin_loss(x, x, x, {.p = 1e-60}), doctest::Contains("p is 1e-60"),
                       ArgumentError);
  CHECK_THROWS_AS((void)nn::triplet_margin_loss(x, x, x, {.margin = INFINITY}), ArgumentError);
  CHECK_THROWS_AS((void)nn::triplet_margin_loss(x, x, x, {.eps = NAN}), ArgumentError);
  CHECK_THROWS_AS((void)nn::hinge_embedding_loss(x, t), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::hinge_embedding_loss(x, x, 1e39), doctest::Contains("margin is 1e+39"), ArgumentError);
}

template <class A, class B, class C>
concept Triples = requires(const A& a, const B& b, const C& c) { nn::triplet_margin_loss(a, b, c); };
using OnCpu = Tensor<float, Cpu>;
using OnCuda = Tensor<float, Cuda>;
static_assert(Triples<OnCuda, OnCuda, OnCuda> && !Triples<OnCuda, OnCpu, OnCuda> && !Triples<OnCpu, OnCpu, OnCuda>);
static_assert(!Triples<OnCpu, OnCpu, Tensor<double, Cpu>> &&
              !Triples<Parameter<float>, Parameter<float>, Parameter<float>>);
