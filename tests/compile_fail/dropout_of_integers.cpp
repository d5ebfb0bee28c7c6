// Dropout of integers.
// because: kept elements are divided by 1 - p, so dropout takes floating-point tensors
// expect-error: tensor_holds<(long int|int64_t)>|holds integers
// expect-error: convert_with_as_float|\.as<float>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<std::int64_t, Cpu>& n) {
#ifdef LOCUS_MUST_FAIL
  return dropout(n, 0.1);
#else
  return dropout(n.as<float>(), 0.1);
#endif
}
