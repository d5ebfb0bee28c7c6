// Another library's view of a copy in flight.
// because: the other library would read the memory before the copy is done
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: order_it_first_std_move_x_ordered|std::move\(x\)\.ordered\(\)
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Pending<Tensor<float, Cuda>> x) {
#ifdef LOCUS_MUST_FAIL
  return to_dlpack(x);
#else
  return to_dlpack(std::move(x).ordered());
#endif
}
