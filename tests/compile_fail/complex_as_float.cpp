// Converting complex numbers to real ones.
// because: which part is meant would be hidden, and the other one lost
// expect-error: complex_numbers_are_no_real_ones|complex numbers are no real ones; say real\(x\)
#include <locus/locus.hpp>
#include <locus/ops/complex.hpp>

using namespace locus;

auto mistake(const Tensor<complex64, Cpu>& z) {
#ifdef LOCUS_MUST_FAIL
  return z.as<float>();
#else
  return real(z);
#endif
}
