// Printing a copy to the host that is in flight.
// because: the host would read the previous contents of the memory
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: wait_for_it_std_move_x_wait|std::move\(x\)\.wait\(\)
#include <locus/locus.hpp>

#include <ostream>

using namespace locus;

void mistake(std::ostream& out, Pending<Tensor<float, Pinned>> x) {
#ifdef LOCUS_MUST_FAIL
  out << x;
#else
  out << std::move(x).wait();
#endif
}
