// A standard deviation whose options have no names.
// because: true is `unbiased` in PyTorch's older signature, and `keepdim` at its end
// expect-error: options_are_named|options are named
// expect-error: options_are_named_as_in_stddev_x_0|as in stddev\(x, 0, {\.correction = 1, \.keepdim = true}\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return stddev(x, 0, true);
#else
  return stddev(x, 0, {.correction = 1, .keepdim = true});
#endif
}
