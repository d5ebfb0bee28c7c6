// Frames of a signal on one device, a window on another.
// because: the window is multiplied into each frame, where the frame lies
// expect-error: left_is_on<(locus::)?Cuda>.*right_is_on<(locus::)?Cpu>|the signal is on Cuda, the window is on Cpu
#include <locus/fft/fft.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& signal, const Tensor<float, Cpu>& window) {
#ifdef LOCUS_MUST_FAIL
  return fft::stft(signal, window, {.n_fft = 512});
#else
  return fft::stft(signal, window.to<Cuda>(), {.n_fft = 512});
#endif
}
