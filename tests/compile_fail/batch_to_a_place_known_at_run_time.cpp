// A batch moved to a device that is a value of the program.
// expect-error: the_place_is_part_of_the_type_not_chosen_at_run_time|the place is part of the type, not chosen at run time
#include <locus/locus.hpp>

using namespace locus;

void mistake(const data::Batch<float, Cpu>& batch, AnyDevice device) {
#ifdef LOCUS_MUST_FAIL
  (void)data::to(batch, device);
#else
  with_device(device, [&]<Device D>(D place) { (void)data::to(batch, place); });
#endif
}
