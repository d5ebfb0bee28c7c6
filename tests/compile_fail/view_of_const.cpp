// A tensor over the elements of a constant vector.
// because: a tensor writes to its elements, and const does not reach them
// expect-error: the_elements_are_const_or_temporary|the elements are const or temporary
// expect-error: copy_them_by_from_values_shape|from\(values, shape\)
#include <locus/interop/view.hpp>
#include <locus/locus.hpp>

#include <vector>

using namespace locus;

auto mistake([[maybe_unused]] const std::vector<float>& constant, [[maybe_unused]] std::vector<float>& values) {
#ifdef LOCUS_MUST_FAIL
  return view(constant, {2, 3});
#else
  return view(values, {2, 3});
#endif
}
