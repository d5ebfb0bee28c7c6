// Waiting for a collective without saying that its handle is used up.
// because: a handle gives its tensor once
// expect-error: what_was_waited_for_is_used_up|what was waited for is used up
// expect-error: say_std_move_x_wait|say std::move\(x\)\.wait\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const dist::Communicator<Cpu>& comm, const Tensor<float>& x) {
  auto sum = comm.all_reduced_async(x);
#ifdef LOCUS_MUST_FAIL
  return sum.wait();
#else
  return std::move(sum).wait();
#endif
}
