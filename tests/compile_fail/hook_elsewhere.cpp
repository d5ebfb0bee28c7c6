// A hook for gradients on another device.
// because: a gradient is on the device of its parameter, and a hook gets it without a copy
// expect-error: gradient_is_on<locus::Cuda>|the gradient is on Cuda
// expect-error: hook_takes_one_on<locus::Cpu>|the function takes one on Cpu
// expect-error: write_const_auto_gradient|write \[\]\(const auto& gradient\)
#include <locus/locus.hpp>

using namespace locus;

auto watch(const Parameter<float, Cuda>& w, double& total) {
#ifdef LOCUS_MUST_FAIL
  return w.on_gradient([&](const Tensor<float, Cpu>& gradient) { total += gradient.item(); });
#else
  return w.on_gradient([&](const auto& gradient) { total += gradient.item(); });
#endif
}
