// PyTorch's `.cpu()`.
// because: the place is a template argument, as in the type of the result
// expect-error: place_is_part_of_the_type.*say_to_Cpu|the place is part of the type; say \.to<Cpu>\(\)
#include <locus/locus.hpp>

using namespace locus;

Tensor<float> mistake(const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return (x * 2.f).cpu();
#else
  return (x * 2.f).to<Cpu>();
#endif
}
