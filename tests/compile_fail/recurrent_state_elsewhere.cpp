// A recurrent layer on Cpu goes on from a state on Cuda.
// because: the state meets the weights in a product, where both lie
// expect-error: model.*Cpu.*input.*Cuda
// expect-error: move_the_input_with_to_D|move the input with \.to<Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/nn/recurrent.hpp>

using namespace locus;

auto go_on(const nn::GRU<float, Cpu>& gru, const Tensor<float, Cpu>& x, const Tensor<float, Cuda>& state) {
#ifdef LOCUS_MUST_FAIL
  return gru(x, state);
#else
  return gru(x, state.to<Cpu>());
#endif
}
