// Evaluating a model on images without labels.
// because: accuracy and loss need the labels
// expect-error: evaluate_model_data_on_something_else_than_a_loader_or|on something else than a loader or a data set
// expect-error: make_data_TensorDataset_x_labels_or_data_LabelledImages_images_labels|make data::TensorDataset
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
