// Tracing a copy in flight.
// because: its elements may not have arrived yet
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: order_it_first_std_move_x_ordered|std::move\(x\)\.ordered\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Pending<Tensor<float, Cuda>> x) {
#ifdef LOCUS_MUST_FAIL
  return trace(x);
#else
  return trace(std::move(x).ordered());
#endif
}
