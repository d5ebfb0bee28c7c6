// A system of equations whose right side is on another device.
// because: a factorization runs where both its operands are
// expect-error: [Cc]pu.*[Cc]uda
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>
#include <locus/linalg/solve.hpp>

using namespace locus;

auto solution(const Tensor<double, Cpu>& a, const Tensor<double, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  return linalg::solve(a, b);
#else
  return linalg::solve(a, b.to<Cpu>());
#endif
}
