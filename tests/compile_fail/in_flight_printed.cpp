// Printing what is still being copied back.
// because: the host would read what was there before
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
