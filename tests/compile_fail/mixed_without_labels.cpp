// Mixing samples whose targets are no classes.
// expect-error: samples_are_no_labelled_images<|a sample is no image of floating-point numbers with one int64 label
// expect-error: make_data_LabelledImages_of_bytes|make data::LabelledImages of bytes
#include <locus/data/transforms/mixed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& images, const Tensor<std::int64_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  const auto mixed = data::mixed(data::TensorDataset{images, images});
#else
  const auto mixed = data::mixed(data::TensorDataset{images, labels});
#endif
}
