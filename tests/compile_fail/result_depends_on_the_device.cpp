// A function for every device that returns another type on each.
// because: the caller would not know the type of the result
// expect-error: with_device
// expect-error: the_result_has_another_type_on_Cpu_than_on_Cuda|the result has another type on Cpu than on Cuda
// expect-error: return_one_type_as_after_to_Cpu|return one type, as after \.to<Cpu>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const AnyDevice& device) {
#ifdef LOCUS_MUST_FAIL
  auto y = with_device(device, []<Device D>(D) { return ones<float, D>({2}); });
#else
  auto y = with_device(device, []<Device D>(D) { return ones<float, D>({2}).template to<Cpu>(); });
#endif
}
