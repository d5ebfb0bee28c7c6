#pragma once
// A linear layer and its activation as one matrix product.

#include <locus/cuda/linear_fusion.hpp>
#include <locus/device/linear_fusion.hpp>
#include <locus/expr/activation_backward.hpp>
#include <locus/expr/chosen_activation.hpp>
#include <locus/ops/matmul.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// The gradient a b of a layer's input, not computed yet.
template <class T, class D>
struct PendingProduct : PendingGradient<T, D> {
  const Tensor<T, D>&a, &b;
  PendingProduct(const Tensor<T, D>& left, const Tensor<T, D>& right)
      : PendingGradient<T, D>(this), a(left), b(right) {}
  void compute(const typename Gradient<T, D>::Target& target) const {
    multiply_into(as_rows(target.out), a, b, plain_epilogue<T>(target.accumulate));
  }
};

}  // namespace detail

namespace operation {

/// y = activation(x w^T + b) = activation(z). With `keeps_input`, the derivative follows from z, else from y.
template <class F, bool keeps_input>
struct Linear {
  static constexpr const char* name = "linear";
  static constexpr bool runs_on_duals = true;
  /// The gradients that the product downstream, which gives the gradient of y, already computed in its epilogue.
  enum class Accepted { nothing, z, z_and_bias };
  F activation;
  bool is_traced = false;
  [[nodiscard]] bool is_bilinear() const { return functor::is_identity(activation); }

  /// For backward the rows of x, w, z or y, and the tensor that a device that KeepsForDerivatives kept.
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
  Accepted accept(const Saved<T, D>& saved, const PendingGradient<T, D>& pending, Gradient<T, D> dz, Gradient<T, D> dx,
                  Gradient<T, D> dw, B... db) const;
  template <class T, class D, class... B>
  void backward_from(Accepted accepted, const Saved<T, D>& saved, const Tensor<T, D>& dz, Gradient<T, D>& dx,
                     Gradient<T, D>& dw, B&... db) const;

 private:
  /// Whether a product may keep the data for the derivative.
  template <class T, class D>
  static constexpr bool is_kept = [] {
    if constexpr (KeepsForDerivatives<D> && !is_dual<T>) return LinearFusion<D>::template keeps<T, F>;
    else return false;
  }();
  /// Whether a product may apply the derivative. In the hot tile of a host's product, derivatives that follow from y
  /// cost next to nothing; for the others, which take exponentials, a map over all of dz is faster.
  template <class T, class D>
  static constexpr bool is_applied = KeepsForDerivatives<D> ? is_kept<T, D> : !keeps_input;

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

  /// The rows y = activation(x w^T + b). `kept`, empty at first, receives the data about z that the product keeps.
  template <class T, class D, class... B>
  void multiply(const Tensor<T, D>& y, Tensor<T, D>& kept, const Tensor<T, D>& x, const Tensor<T, D>& w,
                const B&... b) const {
    detail::require_same_ordinal("linear", x, w, b...);
    const T* bias = nullptr;
    const Tuple<B...> dense{b.contiguous()...};  // kept until the launch
    detail::unpack(dense, [&](const auto&... tensor) { ((bias = tensor.data()), ...); });
    const auto columns = w.transpose();
    if constexpr (is_kept<T, D>) {
      const std::int64_t width = LinearFusion<D>::template kept_columns<T>(activation, y.size(1));
      if (is_traced && width > 0 && y.elements() > 0) {
        kept = Tensor<T, D>({y.size(0), width}, y.device());
        if (LinearFusion<D>::gemm_and_keep(y.device(), detail::matrix(x), detail::matrix(columns), detail::target(y),
                                           Epilogue<T, F>{bias, false, activation}, kept.data()))
          return detail::count_products(1, y.size(0), y.size(1), x.size(1));
      }
    }
    if constexpr (keeps_input) {
      if (!kept.buffer()) kept = Tensor<T, D>(y.shape(), y.device());
      const auto z = kept.slice(1, 0, y.size(1));
      detail::multiply_into(z, x, columns, Epilogue<T, functor::Identity>{bias, false, {}});
      detail::map_into(y, activation, z);
    } else {
      kept = {};
      detail::multiply_into(y, x, columns, Epilogue<T, F>{bias, false, activation});
    }
  }

  /// The sum of dz's rows for the bias.
  template <class T, class D>
  static void sum_rows(const typename Gradient<T, D>::Target& bias, const Tensor<T, D>& dz) {
    if (!bias.out.buffer()) return;
    detail::reduce_into(bias.out, bias.accumulate, dz.shape(), detail::FoldedAxes(name, dz.shape(), 0), Symbol<0>{},
                        fold::Sum<T>{}, dz);
  }

  /// out = epilogue(a b), and the sum of its rows for the bias, in one launch. False, without any effect, if one launch
  /// cannot do both.
  template <class T, class D>
  [[nodiscard]] static bool multiply_and_sum(const Tensor<T, D>& out, const Tensor<T, D>& a, const Tensor<T, D>& b,
                                             const DerivativeEpilogue<T, F>& epilogue, Gradient<T, D>& bias) {
    if (!bias || bias.has_value()) return false;
    const auto sums = bias.open();
    const bool is_made =
        LinearFusion<D>::gemm_and_column_sums(out.device(), detail::matrix(a), detail::matrix(b), detail::target(out),
                                              epilogue, sums.out.data(), [&] { sum_rows(sums, out); });
    if (is_made) detail::count_products(1, out.size(0), out.size(1), a.size(1));
    else bias.withdraw();
    return is_made;
  }

  /// dz^T x for the weights, and the sum of dz's rows for the bias, unless there is none or it has its sum already.
  template <class T, class D, class... B>
  static void give_weights(const Tensor<T, D>& dz, const Tensor<T, D>& x, [[maybe_unused]] bool gives_bias,
                           Gradient<T, D>& dw, B&... db) {
    typename Gradient<T, D>::Target bias;
    ((bias = db && gives_bias ? db.open() : bias), ...);
    const auto sum = [&] { sum_rows(bias, dz); };
    if (!dw) return sum();
    const auto weights = dw.open();
    const auto dz_columns = dz.transpose();
    if constexpr (SumsFactors<D> && !is_dual<T>) {
      if (bias.out.buffer() && !bias.accumulate &&
          LinearFusion<D>::gemm_and_sums(dz.device(), detail::matrix(dz_columns), detail::matrix(x),
                                         detail::target(weights.out), weights.accumulate, bias.out.data(), sum))
        return detail::count_products(1, dz.size(1), x.size(1), dz.size(0));
    }
    sum();
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
  const Tensor<T, D> y(shape, x.device()), y_rows = detail::as_rows(y);
  Tensor<T, D> kept, value;
  multiply(y_rows, kept, rows, w, b...);
  if constexpr (keeps_input) value = kept.slice(1, 0, w.size(0));
  else if (!functor::is_identity(activation)) value = y_rows;
  return Forwarded{y, Tuple(rows, w, value, kept)};
}

template <class F, bool keeps_input>
template <class T, class D, class... B>
void Linear<F, keeps_input>::backward(const Saved<T, D>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                                      Gradient<T, D>& dw, B&... db) const {
  const auto& value = get<2>(saved);
  Tensor<T, D> dz = detail::as_rows(g);
  if (value.buffer()) {
    dz = Tensor<T, D>(value.shape(), value.device());
    detail::map_into(dz, detail::ActivationBackward<F>{activation}, detail::as_rows(g), value);
  }
  backward_from(Accepted::z, saved, dz, dx, dw, db...);
}

template <class F, bool keeps_input>
template <class T, class D, class... B>
void Linear<F, keeps_input>::backward_from(Accepted accepted, const Saved<T, D>& saved, const Tensor<T, D>& dz,
                                           Gradient<T, D>& dx, Gradient<T, D>& dw, B&... db) const {
  const auto& [x, w, value, kept] = saved;
  const auto rows = detail::as_rows(dz);
  give_weights(rows, x, accepted != Accepted::z_and_bias, dw, db...);
  if (dx) dx.give(detail::PendingProduct(rows, w));
}

template <class F, bool keeps_input>
template <class T, class D, class... B>
auto Linear<F, keeps_input>::accept(const Saved<T, D>& saved, const PendingGradient<T, D>& pending, Gradient<T, D> dz,
                                    Gradient<T, D>, Gradient<T, D>, B... db) const -> Accepted {
  const auto& [x, w, value, kept] = saved;
  if constexpr (!is_applied<T, D>) return Accepted::nothing;
  else {
    const auto* const product = pending.template as<detail::PendingProduct<T, D>>();
    if (!product || !value.buffer() || (is_kept<T, D> && !kept.buffer())) return Accepted::nothing;
    const DerivativeEpilogue<T, F> epilogue{activation, value.data(), value.strides()[0], kept.data()};
    const auto out = detail::as_rows(dz.open().out);
    if constexpr (is_kept<T, D>) {
      if ((multiply_and_sum(out, product->a, product->b, epilogue, db) || ...)) return Accepted::z_and_bias;
    }
    detail::multiply_into(out, product->a, product->b, epilogue);
    return Accepted::z;
  }
}

}  // namespace operation

/// A scalar function with a derivative, as in expr/functors.hpp: functor::Relu, functor::Gelu, one of your own.
template <class F, class T>
concept ActivationFor = !TensorLike<F> && std::is_trivially_copyable_v<F> && requires(const F& f, compute_t<T> x) {
  { f(x) } -> std::convertible_to<compute_t<T>>;
};

namespace detail {
template <class X, class... W>
concept LinearOperands = TensorLike<X> && (TensorLike<W> && ...) && FloatingDType<value_of<X>> &&
                         (CombinablePair<X, W> && ...) && NotParametersAlone<X, W...>;

template <class F, class... X>
[[nodiscard]] auto linear_operation(const F& activation) {
  constexpr bool is_traced = joint_role<X::role...> == Role::traced;
  constexpr bool keeps_input = is_traced && !DerivedByOutput<F, compute_t<typename CommonValue<X...>::type>>;
  return operation::Linear<F, keeps_input>{activation, is_traced};
}
}  // namespace detail

/// activation(x w^T + b), the bias and the activation applied while the product is on chip.
/// shape: x (..., in), w (out, in), b (out,) or an empty handle for none -> (..., out)
/// gradient: with dz = g * activation'(z): dz w for x, dz^T x for w, the sum of dz's rows for b
/// cost:  on Cpu one launch, two for a traced activation whose derivative needs its input (gelu, silu); on Cuda two
///        with an activation, one for functor::GeluTanh in 16 bits and for relu after cuda::allow_fused_relu(true).
///        Backward one product each for x and w, one reduction for b (on Cuda part of a product, where that is small or
///        was timed to be faster so), and one launch for dz unless the activation is the identity or the gradient comes
///        from a linear layer alone: the product there applies the derivative of relu, tanh and sigmoid (on Cuda of
///        functor::GeluTanh in 16 bits, and of relu after cuda::allow_fused_relu(true)).
///        Saves x, w and y (or the activation's input), and where relu is fused a bit for each element.
/// throws ShapeError naming the shapes
///
///     auto h = linear(x, w, b, functor::Relu{});
template <class X, class W, class B, class F = functor::Identity>
  requires(detail::LinearOperands<X, W, B> && ActivationFor<F, value_of<X>>)
[[nodiscard]] auto linear(const X& x, const W& w, const B& b, const F& activation = {}) {
  return apply(detail::linear_operation<F, X, W, B>(activation), x, w, b);
}

/// The same without a bias.
template <class X, class W, class F = functor::Identity>
  requires(detail::LinearOperands<X, W> && ActivationFor<F, value_of<X>>)
[[nodiscard]] auto linear(const X& x, const W& w, const F& activation = {}) {
  return apply(detail::linear_operation<F, X, W>(activation), x, w);
}

#include <locus/refuse/ops/linear.inc>

}}  // namespace locus::LOCUS_ABI

#include <locus/instances/ops/linear.inc>
