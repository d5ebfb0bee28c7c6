// An option that linear_cross_entropy lacks.
// group: Options
// because: class weights are an option of another name than in PyTorch, where `weight` stands beside `linear_weight`
// expect-error(gcc): options_are_reduction_ignore_index_label_smoothing_class_weights
// expect-error(nvcc): options_are_reduction_ignore_index_label_smoothing_class_weights
// expect-error(clang): are \.reduction, \.ignore_index, \.label_smoothing, \.class_weights
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& x, const Parameter<float>& w, const Tensor<std::int64_t>& targets,
             const Tensor<float>& rare) {
#ifdef LOCUS_MUST_FAIL
  return nn::linear_cross_entropy(x, w, targets, {.weight = rare});
#else
  return nn::linear_cross_entropy(x, w, targets, {.class_weights = rare});
#endif
}
