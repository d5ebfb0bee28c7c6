// Adding float to double.
// because: there is no silent promotion: mixing double into float work would halve its speed unseen
// expect-error(gcc): left_holds<float>.*right_holds<double>
// expect-error(nvcc): left_holds<float>.*right_holds<double>
// expect-error(clang): different element types, float and double
// expect-error: convert_one_with_as_T|convert one with \.as<T>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Tensor<float, Cpu> x, Tensor<double, Cpu> y) {
#ifdef LOCUS_MUST_FAIL
  return x + y;
#else
  return x.as<double>() + y;
#endif
}
