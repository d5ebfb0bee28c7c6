// A layer on Cpu gives the weights of attention over a tensor on Cuda.
// because: the parameters meet the input in a product, where both lie
// expect-error: model.*Cpu.*input.*Cuda
// expect-error: move_the_input_with_to_D|move the input with \.to<Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/nn/attention.hpp>

using namespace locus;

auto with_weights(const nn::MultiheadAttention<float, Cpu>& attention, const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return attention.with_weights(x, {.is_causal = true});
#else
  return attention.with_weights(x.to<Cpu>(), {.is_causal = true});
#endif
}
