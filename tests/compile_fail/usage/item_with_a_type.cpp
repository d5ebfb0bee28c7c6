// `x.item<float>()`
// group: Names of tensors elsewhere
// because: its type is the element type of the tensor
// expect-error(gcc): say_x_item
// expect-error(nvcc): say_x_item
// expect-error(clang): say x\.item\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.item<float>();
#else
  return x.item();
#endif
}
