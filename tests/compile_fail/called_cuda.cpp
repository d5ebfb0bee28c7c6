// PyTorch's `.cuda()`.
// because: the place is a template argument, as in the type of the result
// expect-error: place_is_part_of_the_type.*say_to_Cuda|the place is part of the type; say \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.cuda();
#else
  return x.to<Cuda>();
#endif
}
