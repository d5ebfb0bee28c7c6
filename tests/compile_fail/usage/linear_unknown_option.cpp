// Linear's bias as an option.
// group: Options
// because: it has one flag, and so no options
// expect-error(gcc): say_nn_Linear_T_D_in_out_with_bias
// expect-error(nvcc): say_nn_Linear_T_D_in_out_with_bias
// expect-error(clang): say nn::Linear<T, D>\{in, out, with_bias\}
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Linear<float, Cpu>{3, 8, {.bias = false}};
#else
  return nn::Linear<float, Cpu>{3, 8, false};
#endif
}
