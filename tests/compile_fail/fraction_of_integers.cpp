// Half of an integer tensor.
// because: half of an integer is not an integer; PyTorch would return floats here
// expect-error(gcc): left_holds<int>.*right_holds<double>
// expect-error(clang): different element types
// expect-error: convert_one_with_as_T|convert one with \.as<T>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Tensor<std::int32_t, Cpu> n) {
#ifdef LOCUS_MUST_FAIL
  return n * 0.5;
#else
  return n.as<float>() * 0.5;
#endif
}
