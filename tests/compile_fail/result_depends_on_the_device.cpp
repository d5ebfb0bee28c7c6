// A function for every device that returns another type on each.
// because: the caller would not know the type of what it gets
// expect-error: with_device
// expect-error: result_type_depends_on_the_device|the result has another type on Cpu than on Cuda
// expect-error: return_one_type_for_every_device|return one type, as after \.to<Cpu>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const AnyDevice& device) {
#ifdef LOCUS_MUST_FAIL
  auto y = with_device(device, []<Device D>(D) { return ones<float, D>({2}); });
#else
  auto y = with_device(device, []<Device D>(D) { return ones<float, D>({2}).template to<Cpu>(); });
#endif
}
