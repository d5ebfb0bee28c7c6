// Reading an element that the host cannot reach.
// because: the host cannot dereference memory of a GPU; item() of one element is a copy that says so
// expect-error: tensor_is_on<locus::Cuda>|reading an element: the tensor is on a device whose memory
#include <locus/locus.hpp>

using namespace locus;

float mistake(Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  return w(0, 1);
#else
  return w.to<Cpu>()(0, 1);
#endif
}
