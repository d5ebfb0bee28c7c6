// An option that CrossEntropyLoss lacks.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): options_reduction_ignore_index_label_smoothing
// expect-error(nvcc): options_reduction_ignore_index_label_smoothing
// expect-error(clang): options_reduction_ignore_index_label_smoothing
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::CrossEntropyLoss{{.smoothing = 0.1}};
#else
  return nn::CrossEntropyLoss{{.label_smoothing = 0.1}};
#endif
}
