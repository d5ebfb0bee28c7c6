#pragma once
// A linear layer and its activation as one matrix product.

#include <locus/expr/chosen_activation.hpp>
#include <locus/ops/matmul.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {

template <class F, class T>
concept DerivedByOutput = requires(const F& f, compute_t<T> y) { f.by_output(y); };
/// g times the activation's derivative, from its output or its input.
template <class F>
struct ActivationBackward {
  F f;
  template <class R>
  LOCUS_FN R operator()(R g, R value) const {
    if constexpr (requires { f.by_output(value); }) return g * f.by_output(value);
    else return g * f.by_input(value);
  }
};

/// out = f(inputs...). One launch.
template <class F, class T, class D, class... In>
[[nodiscard]] Tensor<T, D> mapped(const F& f, const Tensor<T, D>& first, const Tensor<In, D>&... inputs) {
  Tensor<T, D> out(first.shape(), first.device());
  compute(
      [&]<int... i>(std::integer_sequence<int, i...>) {
        return Apply<F, Symbol<i>...>{f, {Symbol<i>{}...}};
      }(std::make_integer_sequence<int, static_cast<int>(sizeof...(In)) + 1>{}),
      out, first, inputs...);
  return out;
}

}  // namespace detail

namespace operation {

/// y = activation(x w^T + b). With `keeps_input`, what the activation was applied to is kept for its derivative.
template <class F, bool keeps_input>
struct Linear {
  static constexpr const char* name = "linear";
  F activation;
  bool is_traced = false;

  /// For backward the rows of x, w, y or what the activation was applied to, and relu's mask where the device made one.
  template <class T, class D>
  using Saved = Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>;
  template <class T, class D>
  using Result = Forwarded<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>;
  template <class T, class D, class... B>
  Result<T, D> forward(const Tensor<T, D>& x, const Tensor<T, D>& w, const B&... b) const;

  template <class T, class D, class... B>
  void backward(const Saved<T, D>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dw,
                B&... db) const;
  template <class T, class D, class... B>
  void backward_of_z(const Saved<T, D>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dw,
                     B&... db) const;
  template <class T, class D>
  [[nodiscard]] LastActivation<T, D> last_activation(const Saved<T, D>& saved) const {
    if constexpr (keeps_input) return {};
    else return {functor::chosen(activation), get<2>(saved), get<3>(saved)};
  }

 private:
  template <class T, class D, class... B>
  static void require_shapes(const Tensor<T, D>& x, const Tensor<T, D>& w, const B&... b) {
    if (w.rank() != 2) fail<ShapeError>({"linear: weights of shape ", w.shape(), "; expected (out, in)"});
    if (x.rank() == 0 || x.size(-1) != w.size(1)) {
      fail<ShapeError>({"linear: input of shape ", x.shape(), " meets weights of shape ", w.shape(),
                        "; expected (..., ", w.size(1), ")"});
    }
    [[maybe_unused]] const auto require_bias = [&](const auto& bias) {
      if (bias.buffer() && !(bias.shape() == Shape{w.size(0)})) {
        fail<ShapeError>({"linear: bias of shape ", bias.shape(), " with weights of shape ", w.shape(), "; expected (",
                          w.size(0), ",)"});
      }
    };
    (require_bias(b), ...);
  }

  /// Where the device makes one, `mask` becomes that of y.
  template <class T, class D, class A, class... B>
  void multiply(const Tensor<T, D>& y, Tensor<T, D>& mask, const Tensor<T, D>& rows, const Tensor<T, D>& w, const A& a,
                const B&... b) const {
    detail::require_same_ordinal("linear", rows, w, b...);
    const T* bias = nullptr;
    const Tuple<B...> dense{b.contiguous()...};  // kept until the launch
    detail::unpack(dense, [&](const auto&... tensor) { ((bias = tensor.data()), ...); });
    const auto y_rows = detail::as_rows(y), columns = w.transpose();
    if constexpr (KeepsMasks<D>) {
      if (is_traced && functor::chosen(a).kind == functor::Activation::relu && y.elements() > 0) {
        const std::int64_t bytes = Backend<D>::mask_bytes(y_rows.size(0), y_rows.size(1));
        mask = Tensor<T, D>({bytes / static_cast<std::int64_t>(sizeof(T))}, y.device());
        if (Backend<D>::gemm_relu(y.device(), detail::matrix(rows), detail::matrix(columns), detail::target(y_rows),
                                  bias, mask.data()))
          return;
        mask = {};
      }
    }
    detail::multiply_into(y_rows, rows, columns, Epilogue<T, A>{bias, false, a});
  }

  /// dz w for the input, with the derivative of the activation that this came from, if that can be done here.
  template <class T, class D>
  static void give_input(const Tensor<T, D>& dz, const Tensor<T, D>& w, Gradient<T, D>& dx) {
    if (!dx) return;
    const auto [function, y, mask] = dx.activation();
    if (function.kind == functor::Activation::none) {
      const auto target = dx.open();
      detail::multiply_into(detail::as_rows(target.out), dz, w, detail::plain_epilogue<T>(target.accumulate));
    } else {
      const DerivativeEpilogue<T, functor::ChosenActivation> epilogue{function, y.data(), y.size(-1), mask.data()};
      detail::multiply_into(detail::as_rows(dx.open_with_activation()), dz, w, epilogue);
    }
  }

  /// dz^T x for the weights, and the sum of dz's rows for the bias.
  template <class T, class D, class... B>
  static void give_weights(const Tensor<T, D>& dz, const Tensor<T, D>& x, Gradient<T, D>& dw, B&... db) {
    typename Gradient<T, D>::Target bias;
    ((bias = db ? db.open() : bias), ...);
    const auto sum_rows = [&] {
      if (!bias.out.buffer()) return;
      detail::reduce_into(bias.out, bias.accumulate, dz.shape(), detail::FoldedAxes(name, dz.shape(), 0), Symbol<0>{},
                          fold::Sum<T>{}, dz);
    };
    if (!dw) return sum_rows();
    const auto weights = dw.open();
    const auto dz_columns = dz.transpose();
    if constexpr (SumsFactors<D>) {
      if (bias.out.buffer() && !bias.accumulate &&
          Backend<D>::gemm_and_sums(dz.device(), detail::matrix(dz_columns), detail::matrix(x),
                                    detail::target(weights.out), weights.accumulate, bias.out.data(), sum_rows))
        return;
    }
    sum_rows();
    detail::multiply_into(weights.out, dz_columns, x, detail::plain_epilogue<T>(weights.accumulate));
  }
};

// Outside the class, and so not inline: the compiled library can hold them.
template <class F, bool keeps_input>
template <class T, class D, class... B>
auto Linear<F, keeps_input>::forward(const Tensor<T, D>& x, const Tensor<T, D>& w, const B&... b) const
    -> Result<T, D> {
  require_shapes(x, w, b...);
  Shape shape = x.shape();
  shape[-1] = w.size(0);
  const auto rows = detail::as_rows(x);
  Tensor<T, D> y(shape, x.device());
  Tensor<T, D> kept, mask;
  if constexpr (keeps_input) {
    multiply(y, mask, rows, w, functor::Identity{}, b...);
    kept = y;
    return Forwarded{detail::mapped(activation, y), Tuple(rows, w, kept, mask)};
  } else {
    multiply(y, mask, rows, w, activation, b...);
    if (!functor::is_identity(activation)) kept = y;
    return Forwarded{y, Tuple(rows, w, kept, mask)};
  }
}

template <class F, bool keeps_input>
template <class T, class D, class... B>
void Linear<F, keeps_input>::backward(const Saved<T, D>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                                      Gradient<T, D>& dw, B&... db) const {
  const auto& kept = get<2>(saved);
  Tensor<T, D> dz = detail::as_rows(g);
  if (kept.buffer()) dz = detail::mapped(detail::ActivationBackward<F>{activation}, dz, detail::as_rows(kept));
  backward_of_z(saved, dz, dx, dw, db...);
}

template <class F, bool keeps_input>
template <class T, class D, class... B>
void Linear<F, keeps_input>::backward_of_z(const Saved<T, D>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                                           Gradient<T, D>& dw, B&... db) const {
  const auto& [x, w, kept, mask] = saved;
  const auto dz = detail::as_rows(g);
  give_weights(dz, x, dw, db...);
  give_input(dz, w, dx);
}

}  // namespace operation

/// A scalar function with a derivative, as in expr/functors.hpp: functor::Relu, functor::Gelu, one of your own.
template <class F, class T>
concept ActivationFor = !TensorLike<F> && std::is_trivially_copyable_v<F> && requires(const F& f, compute_t<T> x) {
  { f(x) } -> std::convertible_to<compute_t<T>>;
};

namespace detail {
template <class X, class W>
concept LinearOperands = Multipliable<X, W> && FloatingDType<value_of<X>>;

template <class F, class... X>
[[nodiscard]] auto linear_operation(const F& activation) {
  constexpr bool is_traced = joint_role<X::role...> == Role::traced;
  constexpr bool keeps_input = is_traced && !DerivedByOutput<F, typename CommonValue<X...>::type>;
  return operation::Linear<F, keeps_input>{activation, is_traced};
}
}  // namespace detail

/// activation(x w^T + b), the bias and the activation applied while the product is on chip.
/// shape: x (..., in), w (out, in), b (out,) or an empty handle for none -> (..., out)
/// gradient: with dz = g * activation'(z): dz w for x, dz^T x for w, the sum of dz's rows for b
/// cost:  one launch; backward one product each for x and w, one reduction for b (on Cuda part of the product for w,
///        where that is small or was timed to be faster so), and one launch for dz unless the activation is the
///        identity or the gradient comes from a linear layer alone: the product there applies the derivative of relu,
///        tanh and sigmoid (on Cuda of relu). Traced, an activation whose derivative needs its input (gelu, silu) is a
///        second launch. Saves x, w and y (or the activation's input), and on Cuda a bit for each element after relu.
/// throws ShapeError naming the shapes
///
///     auto h = linear(x, w, b, functor::Relu{});
template <class X, class W, class B, class F = functor::Identity>
  requires(detail::LinearOperands<X, W> && detail::LinearOperands<X, B> && ActivationFor<F, value_of<X>>)
[[nodiscard]] auto linear(const X& x, const W& w, const B& b, const F& activation = {}) {
  return apply(detail::linear_operation<F, X, W, B>(activation), x, w, b);
}

/// The same without a bias.
template <class X, class W, class F = functor::Identity>
  requires(detail::LinearOperands<X, W> && ActivationFor<F, value_of<X>>)
[[nodiscard]] auto linear(const X& x, const W& w, const F& activation = {}) {
  return apply(detail::linear_operation<F, X, W>(activation), x, w);
}

#define LOCUS_REFUSED linear(const L&, const R&, const auto&...)
#define LOCUS_REFUSED_CALL "linear(x, w, b)"
#define LOCUS_REFUSED_MISTAKE detail::WeightMistake<L, R>
#define LOCUS_REFUSED_LEFT "the input is"
#define LOCUS_REFUSED_RIGHT "the weights are"
#include <locus/device/refuse.inc>
#define LOCUS_REFUSED linear(const L&, const R&, const B&, const auto&...)
#define LOCUS_REFUSED_CALL "linear(x, w, b)"
#define LOCUS_REFUSED_TEMPLATE class L, class R, class B
#define LOCUS_REFUSED_MISTAKE detail::BiasMistake<L, R, B>
#define LOCUS_REFUSED_LEFT "the input is"
#define LOCUS_REFUSED_RIGHT "the bias is"
#include <locus/device/refuse.inc>

#define LOCUS_REFUSED linear(const X&, const W&, const F&)
#define LOCUS_REFUSED_TEMPLATE TensorLike X, TensorLike W, class F
#define LOCUS_REFUSED_IF                              \
  !TensorLike<F> && !ActivationFor<F, value_of<X>> && \
      detail::IsWrong<detail::WeightMistake<X, W>, detail::Wrong::nothing>
#define LOCUS_REFUSED_TEXT                                                                                     \
  "linear(x, w, activation): the activation is no function of one number that travels to a kernel; give it T " \
  "operator()(T) const, and let it hold numbers alone"
#define LOCUS_REFUSED_WHY                                                \
  error::not_possible<error::activation_is_no_function_of_one_number<F>, \
                      error::give_it_operator_call_and_let_it_hold_numbers_alone>
#include <locus/device/refuse_if.inc>
#define LOCUS_REFUSED linear(const X&, const W&, const B&, const F&)
#define LOCUS_REFUSED_TEMPLATE TensorLike X, TensorLike W, TensorLike B, class F
#define LOCUS_REFUSED_IF                                                                                  \
  !ActivationFor<F, value_of<X>>&& detail::IsWrong<detail::WeightMistake<X, W>, detail::Wrong::nothing>&& \
      detail::IsWrong<detail::BiasMistake<X, W, B>, detail::Wrong::nothing>
#define LOCUS_REFUSED_TEXT                                                                                        \
  "linear(x, w, b, activation): the activation is no function of one number that travels to a kernel; give it T " \
  "operator()(T) const, and let it hold numbers alone"
#define LOCUS_REFUSED_WHY                                                \
  error::not_possible<error::activation_is_no_function_of_one_number<F>, \
                      error::give_it_operator_call_and_let_it_hold_numbers_alone>
#include <locus/device/refuse_if.inc>

}  // namespace locus::inline LOCUS_ABI
