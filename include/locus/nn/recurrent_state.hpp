#pragma once
// States and results of recurrent layers.

#include <locus/autograd/traced.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// The hidden state and the cell of an LSTM. X is a Tensor or a Traced.
template <class X>
struct LSTMState {
  using value_type = value_of<X>;
  using device_type = device_of<X>;
  X h, c;

  /// The state of f(h) and f(c).
  template <class F>
  [[nodiscard]] auto transformed(const F& f) const {
    return LSTMState<std::remove_cvref_t<decltype(f(h))>>{f(h), f(c)};
  }
};
template <class X>
LSTMState(X, X) -> LSTMState<X>;

/// The result of a recurrent layer: the outputs of all steps, and the state after the last one. In an nn::Sequential
/// the output goes on.
///
///     auto [output, state] = lstm(x);
///     auto h = lstm(x).state.h;
template <class Y, class S>
struct RecurrentResult {
  Y output;
  S state;

  [[nodiscard]] const Y& eval() const { return output; }
  /// The result of f(output) and f(state).
  template <class F>
  [[nodiscard]] auto transformed(const F& f) const {
    return RecurrentResult<std::remove_cvref_t<decltype(f(output))>, std::remove_cvref_t<decltype(f(state))>>{f(output),
                                                                                                              f(state)};
  }
};

namespace detail {

/// In place of a state: zeros.
struct NoState {};

template <class S>
inline constexpr bool is_lstm_state = false;
template <class X>
inline constexpr bool is_lstm_state<LSTMState<X>> = true;
/// Whether S is a state of a layer with or without a cell.
template <class S, bool has_cell>
concept RecurrentStateOf = (has_cell && is_lstm_state<S>) || (!has_cell && TensorLike<S>);

template <class S>
inline constexpr Role state_role = Role::plain;
template <TensorLike S>
inline constexpr Role state_role<S> = S::role;
template <class X>
inline constexpr Role state_role<LSTMState<X>> = X::role;

/// Tensor, or Traced if the input or the state is traced; of duals if either is.
template <class X, class S, class T = typename locus::detail::CommonValue<X, S>::type>
using JointHandle = std::conditional_t<locus::detail::joint_role<X::role, state_role<S>> == Role::traced,
                                       Traced<T, device_of<X>>, Tensor<T, device_of<X>>>;
template <class H, class X>
[[nodiscard]] H as_handle(const X& x) {
  if constexpr (std::is_same_v<H, X>) return x;
  else if constexpr (locus::detail::lifts_to<value_of<X>, value_of<H>>)
    return as_handle<H>(locus::detail::lifted<value_of<H>, H::role>(x));
  else if constexpr (H::role == X::role) return x.eval();
  else if constexpr (H::role == Role::traced) return trace(x);
  else return x.value();
}

/// Hidden states and cells, (layers * directions, batch, width); empty ones are zeros.
template <class H>
struct StateHandles {
  H hidden, cell;
  template <class F>
  [[nodiscard]] StateHandles each(const F& f) const {
    const auto one = [&](const H& states) { return states.value().buffer() ? H(f(states)) : H(); };
    return {one(hidden), one(cell)};
  }
};
template <class H, class S>
[[nodiscard]] StateHandles<H> state_handles(const S& state) {
  if constexpr (std::is_same_v<S, NoState>) return {};
  else if constexpr (TensorLike<S>) return {as_handle<H>(state), {}};
  else return {as_handle<H>(state.h), as_handle<H>(state.c)};
}

/// throws ShapeError unless a state is empty or has this shape, without the batch if that is -1
LOCUS_OUT_OF_LINE inline void require_state_shape(const char* layer, const char* what, const Shape& shape,
                                                  std::int64_t count, std::int64_t batch, std::int64_t width) {
  Shape expected{count, width};
  if (batch >= 0) expected = {count, batch, width};
  if (shape != expected)
    fail<ShapeError>({layer, ": ", what, " of shape ", shape, "; expected ", expected,
                      batch >= 0 ? ", (num_layers * directions, batch, width)" : ", (num_layers * directions, width)"});
}

}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::nn
