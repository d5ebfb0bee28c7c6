// Integers counted by floating-point numbers, as PyTorch's arange with a dtype allows.
// because: a step of 0.5 would count as 0, so that NumPy and PyTorch give 0 0 0 0 from 0 to 2
// expect-error: elements_are_integers_but_start_end_or_step_is_a_fraction|elements are integers
// expect-error: give_integers_as_in_arange_int_0_10_1_or_convert_with_as_int|arange<int>\(0, 10, 1\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return arange<int>(0., 10., 1.);
#else
  return arange<int>(0, 10, 1);
#endif
}
