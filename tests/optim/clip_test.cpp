#include <locus/optim/clip.hpp>

#include <optim/trajectory.hpp>

using namespace locus;
using namespace locus_test;

namespace {
/// A parameter whose gradient is what PyTorch clipped.
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
  check_empty(relative_difference(optim::clip_grad_norm_(parameters, limit), {norm}, allowed), __FILE__, __LINE__);
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
