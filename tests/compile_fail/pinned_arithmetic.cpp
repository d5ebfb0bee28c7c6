// Arithmetic in memory that computes nothing.
// because: pinned memory is a stop on the way to a GPU; nothing computes there
// expect-error: [Pp]inned
// expect-error: move_with_to_Cpu_or_to_Cuda|move with \.to<Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Tensor<float, Pinned> p) {
#ifdef LOCUS_MUST_FAIL
  return p * 2;
#else
  return p.to<Cpu>() * 2;
#endif
}
