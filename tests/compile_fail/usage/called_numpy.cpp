// `x.numpy()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): io_save_npy_path_x_writes_them_for_NumPy
// expect-error(nvcc): io_save_npy_path_x_writes_them_for_NumPy
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
