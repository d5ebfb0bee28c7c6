// An LSTM goes on from its hidden state alone.
// group: Arguments
// because: the state of an LSTM is a hidden state and a cell
// expect-error: say_lstm_x_nn_LSTMState_h_c|say lstm\(x, nn::LSTMState\{h, c\}\)
#include <locus/locus.hpp>
#include <locus/nn/recurrent.hpp>

using namespace locus;

auto go_on(const nn::LSTM<float, Cpu>& lstm, const Tensor<float, Cpu>& x, const Tensor<float, Cpu>& y) {
  const auto [output, state] = lstm(x);
#ifdef LOCUS_MUST_FAIL
  return lstm(y, state.h);
#else
  return lstm(y, state);
#endif
}
