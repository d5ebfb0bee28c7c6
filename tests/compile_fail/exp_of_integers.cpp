// exp of integers.
// because: functions of real numbers take floating-point tensors; PyTorch would convert silently
// expect-error: tensor_holds<(long int|int64_t)>|holds integers
// expect-error: convert_with_as_float|\.as<float>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Tensor<std::int64_t, Cpu> n) {
#ifdef LOCUS_MUST_FAIL
  return exp(n);
#else
  return exp(n.as<float>());
#endif
}
