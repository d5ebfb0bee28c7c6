// Assigning to a temporary view.
// expect-error(gcc): assignment_to_a_temporary_view.*copy_
// expect-error(clang): deleted operator '='|copy_
// compilers: gcc clang
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cpu> x, Tensor<float, Cpu> row) {
#ifdef LOCUS_MUST_FAIL
  x.select(0, 1) = row;
#else
  x.select(0, 1).copy_(row);
#endif
}
