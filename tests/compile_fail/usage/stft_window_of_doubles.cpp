// A window of doubles on a signal of floats.
// group: Arguments
// because: there is no implicit promotion, and the spectrum has the type of the signal
// expect-error: left_holds<float>.*right_holds<double>|the operands hold different element types, float and double
#include <locus/fft/fft.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& signal, const Tensor<double>& window) {
#ifdef LOCUS_MUST_FAIL
  return fft::stft(signal, window, {.n_fft = 512});
#else
  return fft::stft(signal, window.as<float>(), {.n_fft = 512});
#endif
}
