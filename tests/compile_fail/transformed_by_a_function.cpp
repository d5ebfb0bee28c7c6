// Images transformed by a function of tensors.
// because: the random numbers of a sample must not depend on the device or on the worker
// expect-error: no_transform_of_images|this is no transform of images
// expect-error: give_functions_of_tensors_to_data_map_dataset_f|a function of tensors goes to data::map\(dataset, f\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const data::LabelledImages& digits) {
  const auto halve = [](const auto& image) { return image * 0.5f; };
#ifdef LOCUS_MUST_FAIL
  auto changed = data::transformed(digits, halve);
#else
  auto changed = data::map(digits, [=](const auto& image, const auto& label) { return Tuple(halve(image), label); });
#endif
}
