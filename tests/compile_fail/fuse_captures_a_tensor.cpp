// A formula of fuse that names a tensor of its own.
// because: the formula becomes a kernel, which is given the tensors that fuse is given
// expect-error: the_formula_is_not_made_of_its_arguments_alone|the formula is not made of its arguments alone
// expect-error: pass_every_tensor_as_an_argument_of_fuse|pass every tensor as an argument of fuse
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x, const Tensor<float>& scale) {
#ifdef LOCUS_MUST_FAIL
  (void)fuse([scale](auto x) { return relu(x * scale); }, x);
#else
  (void)fuse([](auto x, auto scale) { return relu(x * scale); }, x, scale);
#endif
}
