// A loader of a tensor, whose labels are elsewhere.
// because: a batch is images and their labels
// expect-error: loader_of_something_else_than_labelled_images|of something else than labelled images
// expect-error: make_LabelledImages_of|make data::LabelledImages
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<std::uint8_t>& images, const Tensor<std::int64_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  auto batches = data::loader<Cpu>(images, {.batch_size = 10});
#else
  auto batches = data::loader<Cpu>(data::LabelledImages{images, labels, 10}, {.batch_size = 10});
#endif
}
