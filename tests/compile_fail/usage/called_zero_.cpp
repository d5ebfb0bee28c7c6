// `x.zero_()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): say_x_fill_0
// expect-error(nvcc): say_x_fill_0
// expect-error(clang): say x\.fill_\(0\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.zero_();
#else
  return x.fill_(0);
#endif
}
