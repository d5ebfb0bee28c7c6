#pragma once
// Single steps of recurrent layers: RNNCell, LSTMCell and GRUCell. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/nn/layer.hpp>

#include <locus/nn/recurrent_layer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// PyTorch's, with its defaults.
struct RNNCellOptions {
  bool bias = true;
  init::Nonlinearity nonlinearity = init::Nonlinearity::tanh;  ///< or relu
};
struct LSTMCellOptions {
  bool bias = true;
};
struct GRUCellOptions {
  bool bias = true;
};

namespace detail {

/// Base of RNNCell, LSTMCell and GRUCell: parameters, and a step.
template <class Derived, class T, class D, bool has_cell = false>
class RecurrentCell : public Layer<Derived, T, D>, public RecurrentWeights<T, D> {
 public:
  using input_type = T;

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return step(x.eval(), NoState{}); }
  template <TensorLike X, RecurrentStateOf<has_cell> S>
  [[nodiscard]] auto forward(const X& x, const S& state) const {
    return step(x.eval(), state);
  }

  void members(const auto& visit) const {
    visit("weight_ih", this->weight_ih);
    visit("weight_hh", this->weight_hh);
    visit("bias_ih", this->bias_ih);
    visit("bias_hh", this->bias_hh);
  }
  /// Sizes and options, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(sizes_.input, ", ", sizes_.hidden, option_text("bias", has_bias_, true), derived().more_text());
  }

 protected:
  RecurrentCell(const RecurrentSizes& sizes, bool bias, D device) : RecurrentCell(sizes, bias) {
    require_sizes(Derived::layer_name, {sizes});
    static_cast<RecurrentWeights<T, D>&>(*this) = new_recurrent_weights<T>(sizes, bias, device);
  }
  /// Without memory.
  RecurrentCell(const RecurrentSizes& sizes, bool bias) : sizes_(sizes), has_bias_(bias) {}

  [[nodiscard]] const RecurrentSizes& sizes() const { return sizes_; }
  [[nodiscard]] bool has_bias() const { return has_bias_; }
  [[nodiscard]] std::string more_text() const { return {}; }

 private:
  [[nodiscard]] const Derived& derived() const { return static_cast<const Derived&>(*this); }

  template <class X, class S>
  [[nodiscard]] auto step(const X& given, const S& given_state) const {
    using H = JointHandle<X, S>;
    const Shape shape = given.shape();
    const bool is_batch = shape.rank() == 2;
    if ((!is_batch && shape.rank() != 1) || shape[-1] != sizes_.input)
      fail<ShapeError>({Derived::layer_name, ": input of shape ", shape, "; expected (batch, ", sizes_.input, ") or (",
                        sizes_.input, ",)"});
    const auto as_rows = [&](const H& x) { return is_batch ? x : H(x.unsqueeze(0)); };
    const auto as_given = [&](const H& x) { return is_batch ? x : H(x.squeeze(0)); };
    const H x = as_rows(as_handle<H>(given));
    auto state = state_handles<H>(given_state);
    const auto require = [&](const char* what, const H& one) {
      if (!one.value().buffer()) return;
      const Shape expected = is_batch ? Shape{shape[0], sizes_.hidden} : Shape{sizes_.hidden};
      if (one.shape() != expected)
        fail<ShapeError>({Derived::layer_name, ": ", what, " of shape ", one.shape(), "; expected ", expected});
    };
    require(has_cell ? "state h" : "state", state.hidden), require("state c", state.cell);
    state = state.each(as_rows);
    const locus::detail::RecurrentSteps steps({x.size(0)}, false);
    const auto parts =
        derived().with_cell([&](auto cell) { return recur(cell, x, *this, state.hidden, state.cell, steps); });
    if constexpr (has_cell) return LSTMState<H>{as_given(parts.output), as_given(parts.cell)};
    else return as_given(parts.output);
  }

  RecurrentSizes sizes_;
  bool has_bias_;
};

}  // namespace detail

/// A step of nn::RNN.
/// shape: x (batch, input_size) and state (batch, hidden_size), 0 if it is left out, or both without a batch -> the new
///        state
/// Parameters: weight_ih (hidden_size, input_size), weight_hh (hidden_size, hidden_size), bias_ih, bias_hh
/// cost:  two products, two launches, and copies of the state; backward as nn::RNN
/// throws ShapeError for other shapes
///
///     nn::RNNCell<float, D> cell{10, 20};
///     state = cell(x, state);
template <class T, class D>
class RNNCell final : public detail::RecurrentCell<RNNCell<T, D>, T, D> {
  using Base = detail::RecurrentCell<RNNCell, T, D>;

 public:
  static constexpr const char* layer_name = "RNNCell";

  /// throws ArgumentError for sizes below 1, or another nonlinearity than tanh and relu
  RNNCell(std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& options = {}, D device = {})
      : Base({input_size, hidden_size, 1}, options.bias, device), nonlinearity_(options.nonlinearity) {
    detail::require_nonlinearity(layer_name, nonlinearity_);
  }
#include <locus/refuse/nn/rnn_cell_class.inc>

  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return RNNCell<U, E>(this->sizes(), this->has_bias(), nonlinearity_);
  }

 private:
  template <class, class>
  friend class RNNCell;
  friend Base;
  RNNCell(const detail::RecurrentSizes& sizes, bool bias, init::Nonlinearity nonlinearity)
      : Base(sizes, bias), nonlinearity_(nonlinearity) {}
  template <class F> auto with_cell(const F& f) const { return detail::with_rnn_cell(nonlinearity_, f); }
  [[nodiscard]] std::string more_text() const { return detail::nonlinearity_text(nonlinearity_); }

  init::Nonlinearity nonlinearity_;
};

/// A step of nn::LSTM.
/// shape: x (batch, input_size) and an LSTMState of h and c (batch, hidden_size), 0 if it is left out, or all without a
///        batch -> the new LSTMState
/// Parameters: as nn::RNNCell, with 4 * hidden_size rows for the gates i, f, g, o
/// cost:  two products, two launches, and copies of the state; backward as nn::LSTM
/// throws ShapeError for other shapes
///
///     nn::LSTMCell<float, D> cell{10, 20};
///     auto state = cell(x);
///     state = cell(y, state);
template <class T, class D>
class LSTMCell final : public detail::RecurrentCell<LSTMCell<T, D>, T, D, true> {
  using Base = detail::RecurrentCell<LSTMCell, T, D, true>;

 public:
  static constexpr const char* layer_name = "LSTMCell";

  /// throws ArgumentError for sizes below 1
  LSTMCell(std::int64_t input_size, std::int64_t hidden_size, const LSTMCellOptions& options = {}, D device = {})
      : Base({input_size, hidden_size, 4}, options.bias, device) {}
#include <locus/refuse/nn/lstm_cell_class.inc>

  using Base::operator();
  /// For a state in braces: cell(x, {h, c}).
  template <TensorLike X>
  [[nodiscard]] auto operator()(const X& x, const LSTMState<Tensor<T, D>>& state) const {
    return Base::operator()(x, state);
  }

  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return LSTMCell<U, E>(this->sizes(), this->has_bias());
  }

 private:
  template <class, class>
  friend class LSTMCell;
  friend Base;
  LSTMCell(const detail::RecurrentSizes& sizes, bool bias) : Base(sizes, bias) {}
  template <class F> auto with_cell(const F& f) const { return f(locus::detail::LstmCell{}); }
};

/// A step of nn::GRU.
/// shape: as nn::RNNCell
/// Parameters: as nn::RNNCell, with 3 * hidden_size rows for the gates r, z, n
/// cost:  two products, four launches, and copies of the state; backward as nn::GRU
/// throws ShapeError for other shapes
///
///     nn::GRUCell<float, D> cell{10, 20};
///     state = cell(x, state);
template <class T, class D>
class GRUCell final : public detail::RecurrentCell<GRUCell<T, D>, T, D> {
  using Base = detail::RecurrentCell<GRUCell, T, D>;

 public:
  static constexpr const char* layer_name = "GRUCell";

  /// throws ArgumentError for sizes below 1
  GRUCell(std::int64_t input_size, std::int64_t hidden_size, const GRUCellOptions& options = {}, D device = {})
      : Base({input_size, hidden_size, 3}, options.bias, device) {}
#include <locus/refuse/nn/gru_cell_class.inc>

  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return GRUCell<U, E>(this->sizes(), this->has_bias()); }

 private:
  template <class, class>
  friend class GRUCell;
  friend Base;
  GRUCell(const detail::RecurrentSizes& sizes, bool bias) : Base(sizes, bias) {}
  template <class F> auto with_cell(const F& f) const { return f(locus::detail::GruCell{}); }
};

#define LOCUS_REFUSED_LAYER RNNCell
#include <locus/refuse/nn/no_types.inc>
#define LOCUS_REFUSED_LAYER LSTMCell
#include <locus/refuse/nn/no_types.inc>
#define LOCUS_REFUSED_LAYER GRUCell
#include <locus/refuse/nn/no_types.inc>

}}}  // namespace locus::LOCUS_ABI::nn
