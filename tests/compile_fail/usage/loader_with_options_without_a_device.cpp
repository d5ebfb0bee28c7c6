// A loader with options, without a device.
// group: Types that are not written
// because: a loader copies batches to the device that it is named
// expect-error(gcc): on_which_device, locus::error::name_it_as_in_data_loader_Cpu_dataset_batch_size_64
// expect-error(nvcc): on_which_device, locus::error::name_it_as_in_data_loader_Cpu_dataset_batch_size_64
// expect-error(clang): on which device\? Name it, as in data::loader<Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const data::LabelledImages& images) {
#ifdef LOCUS_MUST_FAIL
  return data::loader(images, {.batch_size = 2});
#else
  return data::loader<Cpu>(images, {.batch_size = 2});
#endif
}
