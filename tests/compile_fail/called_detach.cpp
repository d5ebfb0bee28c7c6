// PyTorch's `.detach()`.
// because: recording is part of the type, so detaching copies nothing: it returns the tensor inside
// expect-error: the_tensor_alone_from_which_nothing_is_recorded_is_x_value|is x\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

Tensor<float> mistake(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.detach();
#else
  return x.value();
#endif
}
