// A loader without a device.
// group: Types that are not written
// because: a loader copies batches to the device that it is named
// expect-error(gcc): loader_without_a_device, locus::error::say_data_loader_Cpu_dataset
// expect-error(nvcc): loader_without_a_device, locus::error::say_data_loader_Cpu_dataset
// expect-error(clang): on which device\? Name it, as in data::loader<Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const data::LabelledImages& images) {
#ifdef LOCUS_MUST_FAIL
  return data::loader(images);
#else
  return data::loader<Cpu>(images);
#endif
}
