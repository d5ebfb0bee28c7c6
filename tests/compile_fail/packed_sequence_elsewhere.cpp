// A recurrent layer on Cuda takes packed sequences on Cpu.
// because: the weights of a layer lie on one device, and its input must lie there, too
// expect-error: model.*Cuda.*input.*Cpu
// expect-error: move_the_input_with_to_D|move the input with \.to<Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/nn/recurrent.hpp>

using namespace locus;

auto read(const nn::LSTM<float, Cuda>& lstm, const nn::PackedSequence<Tensor<float, Cpu>>& sentences) {
#ifdef LOCUS_MUST_FAIL
  return lstm(sentences);
#else
  return lstm(sentences.to<Cuda>());
#endif
}
