// Tables of rotary positions that stayed on the host.
// because: the launch that turns a pair of elements reads its cosine and sine
// expect-error(gcc): input_is_on<locus::Cuda>.*tables_are_on<locus::Cpu>
// expect-error(clang): rotary\(x, cosines, sines\): the input is on Cuda, the tables are on Cpu
// expect-error(nvcc): tables_are_on<locus::Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/ops/rotary.hpp>

using namespace locus;

auto turned(const Tensor<float, Cuda>& x, const Tensor<float>& cosines, const Tensor<float>& sines) {
#ifdef LOCUS_MUST_FAIL
  return rotary(x, cosines, sines);
#else
  return rotary(x, cosines.to<Cuda>(), sines.to<Cuda>());
#endif
}
