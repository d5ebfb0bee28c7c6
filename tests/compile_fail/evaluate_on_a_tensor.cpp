// Evaluating a model on images without labels.
// because: accuracy and loss need the labels
// expect-error: evaluate_on_something_else|on something else than a loader or labelled images
// expect-error: make_LabelledImages_of|make data::LabelledImages
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, const Tensor<std::uint8_t>& images,
             const Tensor<std::int64_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  (void)evaluate(model, images);
#else
  (void)evaluate(model, data::LabelledImages{images, labels, 10});
#endif
}
