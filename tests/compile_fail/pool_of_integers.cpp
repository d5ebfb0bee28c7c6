// Pooling of integers.
// because: means and -infinity need floating-point numbers; PyTorch pools integers on some devices only
// expect-error: tensor_holds<(long int|int64_t)>|holds integers
// expect-error: convert_with_as_float|\.as<float>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<std::int64_t, Cpu>& n) {
#ifdef LOCUS_MUST_FAIL
  return max_pool2d(n, 2);
#else
  return max_pool2d(n.as<float>(), 2);
#endif
}
