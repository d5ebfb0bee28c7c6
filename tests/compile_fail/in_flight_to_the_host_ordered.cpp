// Ordering a copy back to the host instead of waiting for it.
// because: the host reads page-locked memory, so it is the host that has to wait
// expect-error: page_locked_memory_is_read_by_the_host|the host reads this memory
// expect-error: say_std_move_x_wait|say std::move\(x\)\.wait\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Pending<Tensor<float, Pinned>> x) {
#ifdef LOCUS_MUST_FAIL
  return std::move(x).ordered();
#else
  return std::move(x).wait();
#endif
}
