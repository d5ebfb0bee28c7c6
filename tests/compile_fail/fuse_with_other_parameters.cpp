// A formula of fuse with another number of parameters than tensors.
// because: each parameter stands for one tensor
// expect-error: formula_of_fuse_takes_other_arguments|the formula does not take one argument for each tensor
// expect-error: give_it_one_auto_parameter_for_each_tensor|give it as many parameters as tensors
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& a) {
#ifdef LOCUS_MUST_FAIL
  (void)fuse([](auto x, auto y) { return x * y; }, a);
#else
  (void)fuse([](auto x) { return x * x; }, a);
#endif
}
