// Moving a tensor to a device whose name was read at run time.
// because: the place is part of the type of the result, which the compiler has to know
// expect-error: the_place_is_part_of_the_type_not_chosen_at_run|the place is part of the type, not chosen at run time
// expect-error: say_to_Cpu_to_Cuda_or_to_Cuda_1_and_with_device_for_a|say \.to<Cpu>\(\), \.to<Cuda>\(\).*with_device
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x, std::string_view name) {
#ifdef LOCUS_MUST_FAIL
  (void)x.to(parse_device(name));
#else
  with_device(parse_device(name), [&](auto device) { (void)x.to(device); });
#endif
}
