// Tables of rotary positions that would collect a gradient.
// because: rotary positions have no gradient for their angles
// expect-error(gcc): source_records_gradients.*take_its_value
// expect-error(clang): rotary\(x, cosines, sines\).*records gradients.*take its value, x.value\(\)
// expect-error(nvcc): source_records_gradients
#include <locus/autograd/traced.hpp>
#include <locus/ops/rotary.hpp>

using namespace locus;

auto turned(const Traced<float>& x, const Traced<float>& cosines, const Tensor<float>& sines) {
#ifdef LOCUS_MUST_FAIL
  return rotary(x, cosines, sines);
#else
  return rotary(x, cosines.value(), sines);
#endif
}
