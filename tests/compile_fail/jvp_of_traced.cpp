// The derivative along a direction of a function at a traced tensor.
// because: what is recorded is the function, on duals; a traced input would need another recording
// expect-error: x_and_v_are_plain_tensors|x and v are plain tensors of one type
#include <locus/autograd/forward_mode.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto slope(const Traced<float>& x, const Tensor<float>& v) {
  const auto f = [](const auto& of) { return exp(of); };
#ifdef LOCUS_MUST_FAIL
  return jvp(f, x, v);
#else
  return jvp(f, x.value(), v);
#endif
}
