#pragma once
// The base of recurrent layers: their parameters, and the walk over layers and directions.

#include <locus/nn/dropout.hpp>
#include <locus/nn/init.hpp>
#include <locus/nn/module.hpp>
#include <locus/nn/packed_sequence.hpp>
#include <locus/nn/recurrent_state.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/recurrent/recurrence.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// The parameters of a layer in one direction.
template <class T, class D>
struct RecurrentWeights {
  Parameter<T, D> weight_ih;  ///< (gates * hidden_size, width of the input)
  Parameter<T, D> weight_hh;  ///< (gates * hidden_size, width of the hidden state)
  Parameter<T, D> bias_ih;    ///< (gates * hidden_size,); empty if the layer has none
  Parameter<T, D> bias_hh;    ///< likewise
  Parameter<T, D> weight_hr;  ///< (proj_size, hidden_size); empty without a projection
};

namespace detail {

/// Sizes and options that recurrent layers share.
struct RecurrentSizes {
  std::int64_t input, hidden, gates, projected = 0;
};
struct RecurrentPlan : RecurrentSizes {
  std::int64_t layers = 1, directions = 1;
  bool bias = true, batch_first = false;
  double dropout = 0;

  [[nodiscard]] std::int64_t state_width() const { return projected > 0 ? projected : hidden; }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(layers * directions); }
};
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline void require_sizes(const char* name, const RecurrentPlan& plan) {
  if (plan.input < 1 || plan.hidden < 1)
    fail<ArgumentError>(
        {name, ": input_size ", plan.input, " and hidden_size ", plan.hidden, "; expected at least 1 of each"});
  if (plan.layers < 1) fail<ArgumentError>({name, ": num_layers is ", plan.layers, "; expected at least 1"});
  if (plan.projected < 0 || plan.projected >= plan.hidden)
    fail<ArgumentError>({name, ": proj_size is ", plan.projected, "; expected less than hidden_size, ", plan.hidden,
                         ", or 0 for no projection"});
  (void)functor::Dropout(plan.dropout);
}

/// The nonlinearity of an RNN. throws ArgumentError unless it is tanh or relu
inline void require_nonlinearity(const char* name, init::Nonlinearity given) {
  if (given != init::Nonlinearity::tanh && given != init::Nonlinearity::relu)
    fail<ArgumentError>({name, ": nonlinearity is neither init::Nonlinearity::tanh nor relu; expected one of them"});
}
[[nodiscard]] inline std::string nonlinearity_text(init::Nonlinearity given) {
  return given == init::Nonlinearity::relu ? ", nonlinearity=relu" : "";
}
template <class F>
auto with_rnn_cell(init::Nonlinearity nonlinearity, const F& f) {
  if (nonlinearity == init::Nonlinearity::relu) return f(locus::detail::RnnCell<functor::Relu>{});
  return f(locus::detail::RnnCell<functor::Tanh>{});
}

/// A new parameter, uniform in +-bound.
template <class T, class D>
[[nodiscard]] Parameter<T, D> uniform_parameter(const Shape& shape, double bound, D device) {
  return Parameter<T, D>(init::uniform_(Tensor<T, D>(shape, device), -bound, bound));
}
template <class T, class D>
[[nodiscard]] RecurrentWeights<T, D> new_recurrent_weights(const RecurrentSizes& sizes, bool bias, D device) {
  const double bound = 1.0 / math::sqrt(static_cast<double>(sizes.hidden));
  const std::int64_t rows = sizes.gates * sizes.hidden, state = sizes.projected > 0 ? sizes.projected : sizes.hidden;
  RecurrentWeights<T, D> w;
  w.weight_ih = uniform_parameter<T>({rows, sizes.input}, bound, device);
  w.weight_hh = uniform_parameter<T>({rows, state}, bound, device);
  if (bias) w.bias_ih = uniform_parameter<T>({rows}, bound, device);
  if (bias) w.bias_hh = uniform_parameter<T>({rows}, bound, device);
  if (sizes.projected > 0) w.weight_hr = uniform_parameter<T>({sizes.projected, sizes.hidden}, bound, device);
  return w;
}

/// One direction of one layer, over the rows of all steps. `hidden` and `cell`, (batch, width), are empty for zeros.
template <class Cell, class X, class T, class D>
[[nodiscard]] locus::detail::RecurrentParts<X> recur(Cell, const X& rows, const RecurrentWeights<T, D>& w,
                                                     const X& hidden, const X& cell,
                                                     const locus::detail::RecurrentSteps& steps) {
  locus::detail::require_same_ordinal(Cell::name, rows.value(), w.weight_ih.value(), hidden.value(), cell.value());
  const operation::Recurrence<Cell> recurrence{steps, X::role == Role::traced};
  const X all = apply(recurrence, rows, w.weight_ih, w.weight_hh, w.bias_ih, w.bias_hh, w.weight_hr, hidden, cell);
  return locus::detail::recurrent_parts(
      all, {steps.rows(), steps.batch(), w.weight_hh.size(0) / Cell::gates, w.weight_hh.size(1)});
}

/// The mistake in calling a recurrent layer M on packed rows X and states S.
template <class M, class X, class... S>
struct PackedCallMistake
    : FirstMistake<InputMistake<M, X>, InputMistake<M, S>..., OperandMistake<X>, InputTypeMistake<M, X, X>,
                   InputTypeMistake<M, S, S>..., ArgumentMistake<M, PackedSequence<X>, S...>> {};

/// Base of RNN, LSTM and GRU. Derived::with_cell(f) calls f with the class of its cell.
template <class Derived, class T, class D, bool has_cell = false>
class RecurrentLayer : public Layer<Derived, T, D> {
 public:
  using input_type = T;

  /// Of layer l in direction d: weights[l * directions + d].
  std::vector<RecurrentWeights<T, D>> weights;

  using Layer<Derived, T, D>::operator();
  /// Packed sequences, and the state before them, if it is not 0. States are in the order that the sequences had before
  /// they were packed.
  template <class X, class... S, class Self = Derived>
    requires IsWrong<PackedCallMistake<Self, X, S...>, Wrong::nothing>
  [[nodiscard]] auto operator()(const PackedSequence<X>& x, const S&... state) const {
    require_present(derived());
    const ObservedCall call({&derived(), &typeid(Derived)}, x.data);
    auto y = forward(x, operand(state)...);
    call.end(y.output.data);
    return y;
  }
#include <locus/refuse/nn/recurrent_class.inc>

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return padded(x.eval(), NoState{}); }
  template <TensorLike X, RecurrentStateOf<has_cell> S>
  [[nodiscard]] auto forward(const X& x, const S& state) const {
    return padded(x.eval(), state);
  }
  template <class X> [[nodiscard]] auto forward(const PackedSequence<X>& x) const { return packed(x, NoState{}); }
  template <class X, RecurrentStateOf<has_cell> S>
  [[nodiscard]] auto forward(const PackedSequence<X>& x, const S& state) const {
    return packed(x, state);
  }

  void members(const auto& visit) const {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::string end = join("_l", layer_of(i), is_reverse(i) ? "_reverse" : "");
      visit("weight_ih" + end, weights[i].weight_ih);
      visit("weight_hh" + end, weights[i].weight_hh);
      visit("bias_ih" + end, weights[i].bias_ih);
      visit("bias_hh" + end, weights[i].bias_hh);
      visit("weight_hr" + end, weights[i].weight_hr);
    }
  }

 protected:
  template <class Options>
  RecurrentLayer(const RecurrentSizes& sizes, const Options& options, D device)
      : plan_{sizes,        options.num_layers,  options.bidirectional ? 2 : 1,
              options.bias, options.batch_first, options.dropout} {
    require_sizes(Derived::layer_name, plan_);
    for (std::size_t i = 0; i < plan_.count(); ++i) {
      RecurrentSizes own = sizes;
      if (layer_of(i) > 0) own.input = plan_.directions * plan_.state_width();
      weights.push_back(new_recurrent_weights<T>(own, plan_.bias, device));
    }
  }
  /// Without memory.
  explicit RecurrentLayer(const RecurrentPlan& plan) : weights(plan.count()), plan_(plan) {}

  [[nodiscard]] const RecurrentPlan& plan() const { return plan_; }
  /// Sizes and options, for to_string.
  [[nodiscard]] std::string text() const {
    return join(plan_.input, ", ", plan_.hidden, option_text("num_layers", plan_.layers, std::int64_t{1}),
                option_text("bias", plan_.bias, true), option_text("batch_first", plan_.batch_first, false),
                option_text("dropout", plan_.dropout, 0.0), option_text("bidirectional", plan_.directions == 2, false));
  }

 private:
  [[nodiscard]] const Derived& derived() const { return static_cast<const Derived&>(*this); }
  [[nodiscard]] std::int64_t layer_of(std::size_t i) const { return static_cast<std::int64_t>(i) / plan_.directions; }
  [[nodiscard]] bool is_reverse(std::size_t i) const { return static_cast<std::int64_t>(i) % plan_.directions == 1; }

  void require_input(const Shape& shape) const {
    const bool is_batch = shape.rank() == 3;
    const char* const expected = plan_.batch_first ? "(batch, steps, " : "(steps, batch, ";
    if ((!is_batch && shape.rank() != 2) || shape[-1] != plan_.input)
      fail<ShapeError>({Derived::layer_name, ": input of shape ", shape, "; expected ", expected, plan_.input,
                        ") or (steps, ", plan_.input, ")"});
    if (shape[is_batch && plan_.batch_first ? 1 : 0] == 0)
      fail<ShapeError>({Derived::layer_name, ": input of shape ", shape, " has no steps; expected at least one"});
  }
  /// `batch`: -1 without a batch
  template <class H>
  void require_state(const StateHandles<H>& state, std::int64_t batch) const {
    const auto require = [&](const char* what, const H& states, std::int64_t width) {
      if (states.value().buffer())
        require_state_shape(Derived::layer_name, what, states.shape(), plan_.layers * plan_.directions, batch, width);
    };
    require(has_cell ? "state h" : "state", state.hidden, plan_.state_width());
    require("state c", state.cell, plan_.hidden);
  }

  template <class X, class S>
  [[nodiscard]] auto padded(const X& given, const S& given_state) const {
    using H = JointHandle<X, S>;
    require_input(given.shape());
    const bool is_batch = given.shape().rank() == 3, swaps = is_batch && plan_.batch_first;
    H x = as_handle<H>(given);
    if (!is_batch) x = x.unsqueeze(1);
    else if (swaps) x = x.transpose(0, 1);
    const std::int64_t steps = x.size(0), batch = x.size(1);
    auto state = state_handles<H>(given_state);
    require_state(state, is_batch ? batch : -1);
    if (!is_batch) state = state.each([](const H& s) { return s.unsqueeze(1); });
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(steps), batch);
    const auto walked = walk(H(x.reshape({steps * batch, x.size(2)})), sizes, state);
    const H output = walked.rows.reshape({steps, batch, walked.rows.size(1)});
    if (!is_batch) return result_of(H(output.squeeze(1)), walked.state.each([](const H& s) { return s.squeeze(1); }));
    return result_of(swaps ? H(output.transpose(0, 1)) : output, walked.state);
  }
  template <class X, class S>
  [[nodiscard]] auto packed(const PackedSequence<X>& x, const S& given_state) const {
    using H = JointHandle<X, S>;
    if (x.data.rank() != 2 || x.data.size(1) != plan_.input)
      fail<ShapeError>(
          {Derived::layer_name, ": packed rows of shape ", x.data.shape(), "; expected (rows, ", plan_.input, ")"});
    require_packed(Derived::layer_name, x.data.size(0), x.batch_sizes, x.order);
    const auto state = state_handles<H>(given_state);
    require_state(state, x.batch_sizes.front());
    const bool is_sorted = x.order.empty();
    const auto indices = order_on_device(x);
    const auto ordered = [&](const StateHandles<H>& states, const auto& order) {
      return is_sorted ? states : states.each([&](const H& s) { return index_select(s, 1, order); });
    };
    const auto walked = walk(as_handle<H>(x.data), x.batch_sizes, ordered(state, indices.sorted));
    return result_of(PackedSequence<H>{walked.rows, x.batch_sizes, x.order, indices.sorted, indices.unsorted},
                     ordered(walked.state, indices.unsorted));
  }

  /// The rows of the last layer's outputs, and the last states.
  template <class H>
  struct Walked {
    H rows;
    StateHandles<H> state;
  };
  template <class H>
  [[nodiscard]] Walked<H> walk(H rows, const std::vector<std::int64_t>& batch_sizes,
                               const StateHandles<H>& initial) const {
    const locus::detail::RecurrentSteps forth(batch_sizes, false), back(batch_sizes, true);
    const auto part = [](const H& states, std::size_t i) {
      return states.value().buffer() ? H(states.select(0, static_cast<std::int64_t>(i))) : H();
    };
    std::vector<H> outputs, hidden, cells;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto parts = derived().with_cell([&](auto cell) {
        return recur(cell, rows, weights[i], part(initial.hidden, i), part(initial.cell, i),
                     is_reverse(i) ? back : forth);
      });
      outputs.push_back(parts.output), hidden.push_back(parts.hidden);
      if (has_cell) cells.push_back(parts.cell);
      if (static_cast<std::int64_t>(outputs.size()) < plan_.directions) continue;
      rows = outputs.size() == 1 ? outputs.front() : H(concat(outputs, 1));
      outputs.clear();
      if (plan_.dropout > 0 && i + 1 < weights.size()) rows = dropout(rows, plan_.dropout);
    }
    return {rows, {stacked(hidden), stacked(cells)}};
  }
  template <class H>
  [[nodiscard]] static H stacked(const std::vector<H>& states) {
    if (states.empty()) return H();
    return states.size() == 1 ? H(states.front().unsqueeze(0)) : H(stack(states, 0));
  }
  template <class Y, class H>
  [[nodiscard]] static auto result_of(const Y& output, const StateHandles<H>& state) {
    if constexpr (has_cell) return RecurrentResult<Y, LSTMState<H>>{output, {state.hidden, state.cell}};
    else return RecurrentResult<Y, H>{output, state.hidden};
  }

  RecurrentPlan plan_;
};

}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::nn
