// An einsum of an operand on Cpu and one on Cuda.
// because: a product is computed where both its operands are
// expect-error: [Cc]pu.*[Cc]uda
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/ops/einsum.hpp>

using namespace locus;

auto scores(const Tensor<float, Cpu>& queries, const Tensor<float, Cuda>& keys) {
#ifdef LOCUS_MUST_FAIL
  return einsum("bld,bsd->bls", queries, keys);
#else
  return einsum("bld,bsd->bls", queries.to<Cuda>(), keys);
#endif
}
