// Class weights that are to be learned.
// because: class weights collect no gradient, as in PyTorch, so that a parameter would never learn
// expect-error: class_weights_collect_no_gradient|class weights collect no gradient
// expect-error: take_their_value_weights_value|weights\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

auto loss(const Traced<float>& logits, const Tensor<std::int64_t>& labels, const Parameter<float>& weights) {
#ifdef LOCUS_MUST_FAIL
  return cross_entropy(logits, labels, weights);
#else
  return cross_entropy(logits, labels, weights.value());
#endif
}
