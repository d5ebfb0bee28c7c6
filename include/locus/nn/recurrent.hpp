#pragma once
// Recurrent layers: RNN, LSTM and GRU. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/nn/layer.hpp>

#include <locus/nn/recurrent_layer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// PyTorch's, with its defaults.
struct RNNOptions {
  std::int64_t num_layers = 1;
  init::Nonlinearity nonlinearity = init::Nonlinearity::tanh;  ///< or relu
  bool bias = true;
  bool batch_first = false;    ///< (batch, steps, ...) rather than (steps, batch, ...); states are not affected
  double dropout = 0;          ///< between layers, in training
  bool bidirectional = false;  ///< a second direction, from the last step to the first
};
struct LSTMOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  std::int64_t proj_size = 0;  ///< width of the hidden state after a projection; 0: hidden_size, not projected
};
struct GRUOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
};

/// Elman's recurrent network: h' = tanh(w_ih x + b_ih + w_hh h + b_hh), or relu, as torch.nn.RNN.
/// shape: (steps, batch, input_size), with batch_first (batch, steps, input_size), or (steps, input_size) -> output
///        (..., directions * hidden_size) and state (num_layers * directions, batch, hidden_size), or without a batch.
///        A state in that shape may be given as the second argument; without, it is 0
/// Parameters: weights[layer * directions + direction], named as in PyTorch (weight_ih_l0, weight_hh_l0_reverse, ...),
/// uniform in +-1/sqrt(hidden_size).
/// cost:  for each layer and direction a product of the input, on a host in blocks of steps, and for each step a
/// product
///        and a launch; backward the same for each step, a product of all steps for the input and two for the weights
/// throws ShapeError for other shapes
///
///     nn::RNN<float, D> rnn{10, 20, {.num_layers = 2}};
///     auto [output, state] = rnn(trace(x));
///     auto [next, last] = rnn(trace(y), state);
template <class T, class D>
class RNN final : public detail::RecurrentLayer<RNN<T, D>, T, D> {
  using Base = detail::RecurrentLayer<RNN, T, D>;

 public:
  static constexpr const char* layer_name = "RNN";

  /// throws ArgumentError for sizes or num_layers below 1, a dropout outside [0, 1], or another nonlinearity
  RNN(std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& options = {}, D device = {})
      : Base({input_size, hidden_size, 1}, options, device), nonlinearity_(options.nonlinearity) {
    detail::require_nonlinearity(layer_name, nonlinearity_);
  }
#include <locus/refuse/nn/rnn_class.inc>

  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return this->text() + detail::nonlinearity_text(nonlinearity_); }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return RNN<U, E>(this->plan(), nonlinearity_); }

 private:
  template <class, class>
  friend class RNN;
  friend Base;
  RNN(const detail::RecurrentPlan& plan, init::Nonlinearity nonlinearity) : Base(plan), nonlinearity_(nonlinearity) {}

  template <class F> auto with_cell(const F& f) const { return detail::with_rnn_cell(nonlinearity_, f); }

  init::Nonlinearity nonlinearity_;
};

/// Long short-term memory, as torch.nn.LSTM. The gates i, f and o are sigmoids, and g is the tanh, of w_ih x + b_ih +
/// w_hh h + b_hh. The new cell is f c + i g, the new hidden state o tanh(of the new cell), with proj_size times w_hr.
/// shape: as nn::RNN; the output's width is directions * (proj_size or hidden_size). The state is an LSTMState of h
///        (num_layers * directions, batch, proj_size or hidden_size) and c (..., hidden_size)
/// Parameters: as nn::RNN, with 4 * hidden_size rows for the gates i, f, g, o, and weight_hr_l0, ...
/// cost:  as nn::RNN; with proj_size, a product more for each step
/// throws ShapeError for other shapes
///
///     nn::LSTM<float, D> lstm{64, 128, {.num_layers = 2, .batch_first = true, .dropout = 0.2}};
///     auto [output, state] = lstm(trace(x));
///     auto again = lstm(trace(y), state).state.c;
template <class T, class D>
class LSTM final : public detail::RecurrentLayer<LSTM<T, D>, T, D, true> {
  using Base = detail::RecurrentLayer<LSTM, T, D, true>;

 public:
  static constexpr const char* layer_name = "LSTM";

  /// throws ArgumentError for sizes or num_layers below 1, a dropout outside [0, 1], or a proj_size outside
  /// [0, hidden_size)
  LSTM(std::int64_t input_size, std::int64_t hidden_size, const LSTMOptions& options = {}, D device = {})
      : Base({input_size, hidden_size, 4, options.proj_size}, options, device) {}
#include <locus/refuse/nn/lstm_class.inc>

  using Base::operator();
  /// For a state in braces: lstm(x, {h, c}).
  template <TensorLike X>
  [[nodiscard]] auto operator()(const X& x, const LSTMState<Tensor<T, D>>& state) const {
    return Base::operator()(x, state);
  }

  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return this->text() + detail::option_text("proj_size", this->plan().projected, std::int64_t{0});
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return LSTM<U, E>(this->plan()); }

 private:
  template <class, class>
  friend class LSTM;
  friend Base;
  explicit LSTM(const detail::RecurrentPlan& plan) : Base(plan) {}
  template <class F> auto with_cell(const F& f) const { return f(locus::detail::LstmCell{}); }
};

/// Gated recurrent unit, as torch.nn.GRU. The gates r and z are sigmoids of w_ih x + b_ih + w_hh h + b_hh, n is
/// tanh(w_in x + b_in + r (w_hn h + b_hn)), and the new state is (1 - z) n + z h.
/// shape: as nn::RNN
/// Parameters: as nn::RNN, with 3 * hidden_size rows for r, z, n
/// cost:  as nn::RNN
/// throws ShapeError for other shapes
///
///     nn::GRU<float, D> gru{64, 128, {.bidirectional = true}};
///     auto [output, state] = gru(trace(x));
template <class T, class D>
class GRU final : public detail::RecurrentLayer<GRU<T, D>, T, D> {
  using Base = detail::RecurrentLayer<GRU, T, D>;

 public:
  static constexpr const char* layer_name = "GRU";

  /// throws ArgumentError for sizes or num_layers below 1, or a dropout outside [0, 1]
  GRU(std::int64_t input_size, std::int64_t hidden_size, const GRUOptions& options = {}, D device = {})
      : Base({input_size, hidden_size, 3}, options, device) {}
#include <locus/refuse/nn/gru_class.inc>

  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return this->text(); }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return GRU<U, E>(this->plan()); }

 private:
  template <class, class>
  friend class GRU;
  friend Base;
  explicit GRU(const detail::RecurrentPlan& plan) : Base(plan) {}
  template <class F> auto with_cell(const F& f) const { return f(locus::detail::GruCell{}); }
};

#define LOCUS_REFUSED_LAYER RNN
#include <locus/refuse/nn/no_types.inc>
#define LOCUS_REFUSED_LAYER LSTM
#include <locus/refuse/nn/no_types.inc>
#define LOCUS_REFUSED_LAYER GRU
#include <locus/refuse/nn/no_types.inc>

}}}  // namespace locus::LOCUS_ABI::nn
