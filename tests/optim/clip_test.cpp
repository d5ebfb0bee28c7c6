// Runs on: host, cuda (optimizers); counting.
#include <locus/optim/clip.hpp>
#include <locus/tensor/factory.hpp>

#include <limits>

#include <optim/trajectory.hpp>

using namespace locus;
using namespace locus_test;

namespace {
/// A parameter with the gradient that PyTorch clipped.
template <class T, class D>
Parameter<T, D> with_gradient(const char* value, const char* gradient) {
  const Parameter parameter(golden::tensor<T, D>(value));
  sum(trace(parameter) * golden::tensor<T, D>(gradient).select(0, 0)).backward();
  return parameter;
}

template <class T, class D>
void check_norm(double limit, const std::string& suffix) {
  CAPTURE(suffix);
  constexpr double allowed = std::is_same_v<T, double> ? 1e-10 : 1e-5;
  const std::vector parameters{with_gradient<T, D>("optim_w", "optim_gw"), with_gradient<T, D>("optim_b", "optim_gb"),
                               Parameter(sample<T, D>({3}))};  // the last has no gradient
  const auto norm = optim::clip_grad_norm_(parameters, limit);
  CHECK_CLOSE(norm, golden::reference("clip_norm_" + suffix), allowed);
  CHECK_CLOSE(parameters[0].grad(), golden::reference("clip_w_" + suffix), allowed);
  CHECK_CLOSE(parameters[1].grad(), golden::reference("clip_b_" + suffix), allowed);
  CHECK_FALSE(parameters[2].has_grad());
}
}  // namespace

LOCUS_DEVICE_TEST("gradients are scaled to a joint norm as PyTorch does", D) {
  check_norm<double, D>(0.5, "0.5");
  check_norm<double, D>(100, "100");
  check_norm<float, D>(0.5, "0.5");
}

namespace {
template <class T, class D>
void check_order(double order, const std::string& suffix, bool flat) {
  CAPTURE(suffix);
  constexpr double allowed = std::is_same_v<T, double> ? 1e-10 : 1e-5;
  const std::vector parameters{with_gradient<T, D>("optim_w", "optim_gw"), with_gradient<T, D>("optim_b", "optim_gb"),
                               Parameter(sample<T, D>({3}))};
  if (flat) (void)flatten(parameters);
  const auto norm = optim::clip_grad_norm_(parameters, 0.5, {.norm_type = order});
  CHECK_CLOSE(norm, golden::reference("clip_norm_order_" + suffix), allowed);
  CHECK_CLOSE(parameters[0].grad(), golden::reference("clip_w_order_" + suffix), allowed);
  CHECK_CLOSE(parameters[1].grad(), golden::reference("clip_b_order_" + suffix), allowed);
}
}  // namespace

LOCUS_DEVICE_TEST("gradients are scaled to a joint norm of any order as PyTorch does", D) {
  for (const auto& [order, suffix] : {std::pair{0.5, "0.5"}, {1., "1"}, {3., "3"}, {double{INFINITY}, "inf"}})
    for (const bool flat : {false, true}) {
      check_order<double, D>(order, suffix, flat);
      check_order<float, D>(order, suffix, flat);
    }
  // Norms in float, without overflow of powers: cubes overflow half from 41 on, float from 7e12.
  const Parameter w(tensor<half, D>({4}, {0, 0, 0, 0}));
  for (const auto& [order, norm] : {std::pair{1., 8000.}, {3., 2000 * std::cbrt(4.)}, {double{INFINITY}, 2000.}}) {
    const double p = order;
    CAPTURE(p);
    w.zero_grad();
    Traced(trace(w) * half(1)).backward(tensor<half, D>({4}, {2000, -2000, 2000, 2000}));
    CHECK_CLOSE(optim::clip_grad_norm_(std::vector{w}, 500, {.norm_type = order}), norm, 8e-3);
    const double clipped = 2000 * 500 / norm;
    CHECK_CLOSE(w.grad(), {clipped, -clipped, clipped, clipped}, 1);
  }
  const Parameter large(tensor<float, D>({2}, {0, 0}));
  Traced(trace(large) * 1.f).backward(tensor<float, D>({2}, {1e30, 0}));
  CHECK(optim::clip_grad_norm_(std::vector{large}, 1, {.norm_type = 3}).item() == 1e30f);
}

LOCUS_DEVICE_TEST("clipping takes the promised launches for each order where gradients are one run", D) {
  const std::vector parameters{Parameter(full<float, D>({3, 5}, 1.f)), Parameter(full<float, D>({7}, 1.f))};
  (void)flatten(parameters);
  for (const auto& [order, launches] : {std::pair{1., 2}, {2., 2}, {double{INFINITY}, 2}, {3., 5}}) {
    const double p = order;
    CAPTURE(p);
    for (const auto& parameter : parameters) {
      parameter.zero_grad();
      sum(trace(parameter) * 3.f).backward();
    }
    const LaunchLog log;
    (void)optim::clip_grad_norm_(parameters, 0.5, {.norm_type = order});
    CHECK(log.launches() == launches);
  }
}

LOCUS_DEVICE_TEST("a norm that is no number scales gradients as PyTorch's, or is an error before it does", D) {
  for (const double bad : {double{INFINITY}, std::nan("")}) {
    CAPTURE(bad);
    const Parameter w(tensor<float, D>({2}, {0, 0}));
    Traced(trace(w) * 1.f).backward(tensor<float, D>({2}, {1, bad}));
    const optim::ClipNormOptions checked{.error_if_nonfinite = true},
        largest{.norm_type = INFINITY, .error_if_nonfinite = true};
    CHECK_THROWS_WITH_AS((void)optim::clip_grad_norm_(std::vector{w}, 1, checked),
                         doctest::Contains("clip_grad_norm_: the norm of order 2 of the gradients is"), NumericError);
    CHECK_THROWS_AS((void)optim::clip_grad_norm_(std::vector{w}, 1, largest), NumericError);
    CHECK_CLOSE(w.grad(), {1, bad});
    (void)optim::clip_grad_norm_(std::vector{w}, 1);
    CHECK_CLOSE(w.grad(), {std::isinf(bad) ? 0 : std::nan(""), std::nan("")});
    CHECK(std::isnan(optim::clip_grad_norm_(std::vector{w}, 1, {.norm_type = INFINITY}).item()));
  }
}

LOCUS_DEVICE_TEST("gradients are limited elementwise", D) {
  const Parameter w(tensor<float, D>({4}, {0, 0, 0, 0}));
  sum(trace(w) * tensor<float, D>({4}, {-3, -0.5, 0.5, 3})).backward();
  optim::clip_grad_value_(std::vector{w}, 1);
  CHECK_CLOSE(w.grad(), {-1, -0.5, 0.5, 1});
}

LOCUS_DEVICE_TEST("clipping leaves the gradients of others alone", D) {
  const Parameter a(tensor<float, D>({2}, {1, 2})), b(tensor<float, D>({2}, {3, 4}));
  const auto cotangent = tensor<float, D>({2}, {30, 40});
  Traced(trace(a) + trace(b)).backward(cotangent);
  CHECK(optim::clip_grad_norm_(std::vector{a}, 5).item() == 50);
  CHECK_CLOSE(a.grad(), {3, 4}, 1e-5);
  CHECK_CLOSE(b.grad(), {30, 40});
}

TEST_CASE("clipping without gradients, and limits that make no sense") {
  const std::vector parameters{Parameter(Tensor<float>({2}).fill_(1))};
  CHECK(optim::clip_grad_norm_(parameters, 1).item() == 0);
  optim::clip_grad_value_(parameters, 1);
  CHECK_FALSE(parameters[0].has_grad());
  CHECK_THROWS_AS((void)optim::clip_grad_norm_(parameters, -1), ArgumentError);
  CHECK_THROWS_AS((void)optim::clip_grad_norm_(parameters, std::nan("")), ArgumentError);
  CHECK_THROWS_AS(optim::clip_grad_value_(parameters, -1), ArgumentError);
  for (const double order : {0., -1., -std::numeric_limits<double>::infinity(), std::nan("")}) {
    CAPTURE(order);
    CHECK_THROWS_WITH_AS((void)optim::clip_grad_norm_(parameters, 1, {.norm_type = order}),
                         doctest::Contains("expected a number above 0, or infinity"), ArgumentError);
  }
}

LOCUS_DEVICE_TEST("the joint norm of halves is summed in float", D) {
  const Parameter w(tensor<half, D>({4}, {0, 0, 0, 0}));
  Traced(trace(w) * half(1)).backward(tensor<half, D>({4}, {200, 200, 200, 200}));
  CHECK(static_cast<float>(optim::clip_grad_norm_(std::vector{w}, 1).item()) == 400);
  CHECK_CLOSE(w.grad(), {0.5, 0.5, 0.5, 0.5});
}

namespace {
/// Gradients of `size`, clipped to a norm of 1.
template <class T, class D>
void check_sizes(double size, double limit, double norm, double clipped, double allowed) {
  CAPTURE(dtype_name<T>());
  CAPTURE(size);
  std::vector<Parameter<T, D>> parameters;
  for (int i = 0; i < 4; ++i) {
    parameters.emplace_back(Tensor<T, D>({5, 5}).fill_(convert<T>(0)));
    Traced(trace(parameters.back()) * convert<T>(1)).backward(Tensor<T, D>({5, 5}).fill_(convert<T>(size)));
  }
  check_empty(relative_difference(optim::clip_grad_norm_(parameters, limit), norm, allowed), __FILE__, __LINE__);
  const std::vector<double> all(25, clipped);
  for (const auto& p : parameters) check_empty(relative_difference(p.grad(), all, allowed), __FILE__, __LINE__);
}
}  // namespace

LOCUS_DEVICE_TEST("gradients whose squares overflow or vanish are clipped, too", D) {
  check_sizes<float, D>(1e20, 1, 1e21, 0.1, 1e-6);
  check_sizes<float, D>(1e-25, 1, 1e-24, 1e-25, 1e-6);
  check_sizes<double, D>(1e200, 1, 1e201, 0.1, 1e-13);
  check_sizes<double, D>(1e-250, 1, 1e-249, 1e-250, 1e-13);
  check_sizes<bfloat16, D>(1e20, 1, 1e21, 0.1, 1e-2);
  check_sizes<half, D>(60000, 0.5, 600000, 0.05, 2e-3);  // half ends at 65504, the norm is float
}

TEST_CASE("clipping takes the promised launches outside flat memory, one more on Cpu for a gradient of zeros") {
  std::vector<Parameter<float>> parameters;
  const auto launches_with = [&](float last) {
    parameters.clear();
    for (const float size : {3.f, 4.f, last}) {
      parameters.emplace_back(Tensor<float>({5}).fill_(0));
      Traced(trace(parameters.back()) * 1.f).backward(Tensor<float>({5}).fill_(size));
    }
    const LaunchLog log;
    (void)optim::clip_grad_norm_(parameters, 1);
    return log.launches();
  };
  CHECK(launches_with(5) == 2 * 3 + 1);
  CHECK(launches_with(0) == 2 * 3 + 1 + 1);
  CHECK_CLOSE(parameters[2].grad(), {0, 0, 0, 0, 0});
}

TEST_CASE("without gradients the norm is 0, where the parameters are") {
  const std::vector parameters{Parameter(Tensor<float, Counting>({3}, Counting{1}).fill_(0))};
  const auto norm = optim::clip_grad_norm_(parameters, 1);
  CHECK(norm.device() == Counting{1});
  CHECK(norm.item() == 0);
}
