// `x.numpy()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): say_x_data_or_io_save_npy
// expect-error(nvcc): say_x_data_or_io_save_npy
// expect-error(clang): the elements are at x\.data\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.numpy();
#else
  return x.data();
#endif
}
