// Ordering a copy back to the host instead of waiting for it.
// because: the host reads page-locked memory, so it is the host that has to wait
// expect-error: the_host_reads_this_memory_and_has_to_wait|the host reads this memory
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
