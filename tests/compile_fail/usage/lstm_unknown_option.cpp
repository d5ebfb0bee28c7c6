// The name that an LSTM's options have in another library.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): options_are_num_layers_bias_batch_first_dropout_bidirectional_proj_size
// expect-error(nvcc): options_are_num_layers_bias_batch_first_dropout_bidirectional_proj_size
// expect-error(clang): its options, in this order, are \.num_layers, \.bias, \.batch_first, \.dropout
#include <locus/locus.hpp>
#include <locus/nn/recurrent.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::LSTM<float, Cpu>{3, 8, {.layers = 2}};
#else
  return nn::LSTM<float, Cpu>{3, 8, {.num_layers = 2}};
#endif
}
