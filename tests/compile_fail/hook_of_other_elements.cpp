// A hook for gradients of another element type.
// because: a gradient has the element type of its parameter
// expect-error: hook_does_not_take_this<.*Tensor<float.*|does not take a tensor like this gradient
// expect-error: write_const_auto_gradient|write \[\]\(const auto& gradient\)
#include <locus/locus.hpp>

using namespace locus;

auto watch(const Traced<float>& x, Tensor<double>& last) {
#ifdef LOCUS_MUST_FAIL
  return x.on_gradient([&](const Tensor<double>& gradient) { last = gradient; });
#else
  return x.on_gradient([&](const Tensor<float>& gradient) { last = gradient.as<double>(); });
#endif
}
