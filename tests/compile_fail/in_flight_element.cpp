// Reading an element of a copy to the host that is in flight.
// because: the host would read the previous contents of the memory
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: wait_for_it_std_move_x_wait|std::move\(x\)\.wait\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Cuda>& loss) {
  auto arriving = copy_async(loss, Pinned{});
#ifdef LOCUS_MUST_FAIL
  (void)arriving(0);
#else
  (void)std::move(arriving).wait()(0);
#endif
}
