// A tensor over memory that must not be written.
// because: a tensor writes to its elements, and const does not reach them
// expect-error: the_elements_are_const_and_a_tensor_can_write_to_its_own|the elements are const
// expect-error: copy_them_by_from_values_shape|from\(values, shape\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake([[maybe_unused]] const float* constant, [[maybe_unused]] float* values) {
#ifdef LOCUS_MUST_FAIL
  return from_blob(constant, {2, 3});
#else
  return from_blob(values, {2, 3});
#endif
}
