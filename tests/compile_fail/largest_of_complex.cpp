// The largest of complex numbers.
// because: complex numbers have no order; their magnitudes and parts have
// expect-error: tensor_holds<.*[Cc]omplex.*take_real_x_or_imag_x_or_abs_x|holds complex numbers, which have no such function
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<complex128, Cpu>& z) {
#ifdef LOCUS_MUST_FAIL
  return max(z);
#else
  return max(abs(z));
#endif
}
