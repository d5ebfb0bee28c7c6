// A formula of fuse with another number of parameters than tensors.
// because: each parameter stands for one tensor
// expect-error: the_formula_does_not_take_one_argument_for|the formula does not take one argument for each tensor
// expect-error: give_it_as_many_parameters_as_tensors_auto_x_auto_y|give it as many parameters as tensors
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& a) {
#ifdef LOCUS_MUST_FAIL
  (void)fuse([](auto x, auto y) { return x * y; }, a);
#else
  (void)fuse([](auto x) { return x * x; }, a);
#endif
}
