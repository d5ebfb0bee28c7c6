// Freezing a copy in flight.
// because: it is no tensor yet
// expect-error: tensor_is_still_being_copied|the tensor is still being copied
// expect-error: order_it_first_std_move_x_ordered|std::move\(x\)\.ordered\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Pending<Tensor<float, Cuda>> x) {
#ifdef LOCUS_MUST_FAIL
  return frozen(x);
#else
  return frozen(trace(std::move(x).ordered()));
#endif
}
