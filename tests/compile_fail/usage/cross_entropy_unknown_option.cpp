// An option that cross_entropy lacks.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): options_are_reduction_ignore_index_label_smoothing
// expect-error(nvcc): options_are_reduction_ignore_index_label_smoothing
// expect-error(clang): are \.reduction, \.ignore_index, \.label_smoothing
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x, const Tensor<std::int64_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  return nn::cross_entropy(x, labels, {.smoothing = 0.1});
#else
  return nn::cross_entropy(x, labels, {.label_smoothing = 0.1});
#endif
}
