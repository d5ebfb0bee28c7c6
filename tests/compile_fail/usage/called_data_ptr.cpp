// `x.data_ptr<float>()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): say_x_data
// expect-error(nvcc): say_x_data
// expect-error(clang): say x\.data\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.data_ptr<float>();
#else
  return x.data();
#endif
}
