// Reading an element that the host cannot reach.
// because: the host cannot dereference memory of a GPU; item() of one element is a copy that says so
// expect-error: Cuda
// expect-error: copy_to_host_first_with_to_Cpu|copy it first with \.to<Cpu>|copy it to the host first
#include <locus/locus.hpp>

using namespace locus;

float mistake(Tensor<float, Cuda> w) {
#ifdef LOCUS_MUST_FAIL
  return w(0, 1);
#else
  return w.to<Cpu>()(0, 1);
#endif
}
