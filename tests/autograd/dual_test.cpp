// Runs on: host, cuda (operations).
// Tensors of duals on each device: values and tangents of floats against duals of double on the host, and launches.
#include <locus/locus.hpp>
#include <locus/nn/forward_mode.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using locus_test::sample, locus_test::reference;

namespace {

/// Values and tangents of a function on D in float, beside those on the host in double.
template <class D, class F>
void check_on(const F& f, const Shape& shape) {
  const auto x = sample<double, Cpu>(shape, 1), v = sample<double, Cpu>(shape, 2);
  const auto expected = jvp([&](const auto& of) { return f(of); }, x, v);
  const auto found = jvp([&](const auto& of) { return f(of); }, x.template as<float>().template to<D>(),
                         v.template as<float>().template to<D>());
  CHECK_CLOSE(found.value, reference(expected.value), 1e-5);
  CHECK_CLOSE(found.tangent, reference(expected.tangent), 1e-4);
}

}  // namespace

LOCUS_DEVICE_TEST("duals of floats on a device are close to duals of double", D) {
  check_on<D>([](const auto& x) { return exp(x) * gelu(x) - x / 3; }, {5, 7});
  check_on<D>([](const auto& x) { return logsumexp(x, 1) + var(x, 1); }, {3, 600});
  check_on<D>([](const auto& x) { return softmax(x, 1); }, {3, 50});
  check_on<D>([](const auto& x) { return max(x.transpose().contiguous(), 0); }, {40, 30});
  // Products of matrices at any strides, of batches, and in a batch that repeats one factor.
  check_on<D>([](const auto& x) { return matmul(x, x.transpose()); }, {33, 70});
  check_on<D>([](const auto& x) { return matmul(x, x.transpose()); }, {2, 3, 4, 5});
  check_on<D>([](const auto& x) { return matmul(x.slice(1, 0, 20, 2), x.select(0, 1).transpose()); }, {3, 20, 6});
}

LOCUS_DEVICE_TEST("second derivatives on a device are close to those in double", D) {
  const auto f = [](const auto& x) { return sum(layer_norm(tanh(matmul(x, x)), {6}) * x); };
  const auto x = sample<double, Cpu>({6, 6}, 1), v = sample<double, Cpu>({6, 6}, 2);
  const auto expected = hvp(f, x, v);
  const auto found = hvp(f, x.as<float>().template to<D>(), v.as<float>().template to<D>());
  CHECK_CLOSE(found.value, reference(expected.value), 1e-5);
  CHECK_CLOSE(found.gradient, reference(expected.gradient), 1e-4);
  CHECK_CLOSE(found.product, reference(expected.product), 1e-4);
}

LOCUS_DEVICE_TEST("jvp of a formula takes one launch more than it on either side", D) {
  const auto x = sample<float, D>({4}, 1), v = sample<float, D>({4}, 2), shift = sample<float, D>({4}, 3);
  if constexpr (std::is_same_v<D, locus_test::Counting>) {
    const locus_test::RequestLog log;
    const auto y = jvp([&](const auto& of) { return tanh(of) * exp(of) + shift; }, x, v);
    CHECK(log.launches() == 3);
    CHECK(y.value.elements() == 4);
  }
}
