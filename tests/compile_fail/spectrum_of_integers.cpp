// The Fourier transform of integers.
// because: a spectrum is made of fractions, whose type the program chooses
// expect-error: tensor_holds<(long int|int64_t)>|holds integers
// expect-error: convert_with_as_float|\.as<float>
#include <locus/fft/fft.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<std::int64_t, Cpu>& n) {
#ifdef LOCUS_MUST_FAIL
  return fft::rfft(n);
#else
  return fft::rfft(n.as<float>());
#endif
}
