// Assigning to a temporary view.
// because: the view is a temporary handle: to assign to it would change nothing; copy_ writes through it
// expect-error: assigning_to_a_temporary_view|assigning to a temporary view
// expect-error: copy_
#include <locus/locus.hpp>

using namespace locus;

void mistake(Tensor<float, Cpu> x, Tensor<float, Cpu> row) {
#ifdef LOCUS_MUST_FAIL
  x.select(0, 1) = row;
#else
  x.select(0, 1).copy_(row);
#endif
}
