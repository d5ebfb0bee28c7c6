// Computing with the result of a collective that is in flight.
// because: its elements may not have arrived
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: say_std_move_x_ordered_or_wait|say std::move\(x\)\.ordered\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const dist::Communicator<Cuda>& comm, const Tensor<float, Cuda>& x) {
  auto sum = comm.all_reduced_async(x);
#ifdef LOCUS_MUST_FAIL
  return sum * x;
#else
  return std::move(sum).ordered() * x;
#endif
}
