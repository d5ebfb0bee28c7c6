// A convolution of weights of another element type.
// because: there is no implicit promotion
// expect-error(gcc): holds<float>.*holds<double>
// expect-error(nvcc): holds<double>
// expect-error(clang): conv1d.*different element types, float and double
// expect-error: convert_one_with_as_T|convert one with \.as<T>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x, const Tensor<double>& w) {
#ifdef LOCUS_MUST_FAIL
  return conv1d(x, w);
#else
  return conv1d(x, w.as<float>());
#endif
}
