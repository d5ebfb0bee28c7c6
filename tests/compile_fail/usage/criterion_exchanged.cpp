// Labels before logits, of a criterion.
// group: Arguments
// because: as in PyTorch, predictions come first
// expect-error(gcc): arguments_are_exchanged, locus::error::write_the_logits_first_then_the_labels
// expect-error(nvcc): arguments_are_exchanged, locus::error::write_the_logits_first_then_the_labels
// expect-error(clang): exchanged; write the logits first, then the labels
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x, const Tensor<std::int64_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  return nn::CrossEntropyLoss{}(labels, x);
#else
  return nn::CrossEntropyLoss{}(x, labels);
#endif
}
