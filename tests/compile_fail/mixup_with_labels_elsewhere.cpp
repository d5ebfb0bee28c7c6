// Mixing images on a GPU with labels on the host.
// expect-error: input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>|the images are on Cuda, the labels are on Cpu
// expect-error: mixup.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Cuda>& images, const Tensor<std::int64_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  const auto mixed = data::mixup(images, labels);
#else
  const auto mixed = data::mixup(images, labels.to<Cuda>());
#endif
}
