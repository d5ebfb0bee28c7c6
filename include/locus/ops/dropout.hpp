#pragma once
// Dropout. The dropped elements follow from a draw, which the backward pass reads again: no mask is stored.

#include <locus/expr/drawn.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace functor {

/// x / (1 - p) where the bits keep it, else 0 * x.
class Dropout {
 public:
  /// throws ArgumentError unless 0 <= p <= 1
  explicit Dropout(double p) {
    if (!(p >= 0 && p <= 1)) fail<ArgumentError>({"dropout: a probability of ", p, "; expected 0 to 1"});
    kept_below_ = static_cast<std::uint64_t>(__builtin_round((1 - p) * 0x1p32));
    scale_ = p < 1 ? 1 / (1 - p) : 0;
    float_scale_ = static_cast<float>(scale_);
  }
  static constexpr unsigned reads(int input) { return input == 0 ? 2u : 0u; }
  template <class T> LOCUS_FN T operator()(T x, std::uint32_t bits) const { return x * factor<T>(bits); }
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T, std::uint32_t bits) const { return {factor<T>(bits), T(0)}; }

 private:
  template <class T>
  [[nodiscard]] LOCUS_FN T factor(std::uint32_t bits) const {
    if constexpr (std::is_same_v<T, double>) return bits < kept_below_ ? scale_ : 0;
    else return bits < kept_below_ ? float_scale_ : 0;
  }
  std::uint64_t kept_below_;
  double scale_;
  float float_scale_;
};

}  // namespace functor

namespace detail {

/// x itself, in the form that dropout returns: a plain temporary expression stays pending.
template <class X>
[[nodiscard]] auto undropped(X&& x) {
  constexpr bool pending = is_expr<X> && !std::is_lvalue_reference_v<X> && bare_t<X>::role == Role::plain;
  if constexpr (pending) return bare_t<X>(std::move(x));
  else return bare_t<decltype(x.eval())>(std::forward<X>(x).eval());
}

/// f(x, 32 random bits) of each element, with the draw that draw_of(count, device) makes: one launch, fused with an
/// expression x.
template <class F, class X, class DrawOf>
[[nodiscard]] auto drawn(const F& f, X&& x, const DrawOf& draw_of) {
  using T = value_of<X>;
  using D = device_of<X>;
  const D device = x.device();
  const Shape shape = x.shape();
  const Draw<D> draw = draw_of(elements(shape), device);
  return Materialize<Role::traced, T, D>::run(
      join_parts(f, as_part<T>(std::forward<X>(x)), bits_for_elements(shape, device, draw)));
}
/// The same in training; otherwise x as it is.
template <class F, class X, class DrawOf>
[[nodiscard]] auto dropped(const F& f, X&& x, const DrawOf& draw_of) {
  if constexpr (bare_t<X>::role != Role::traced) {
    return undropped(std::forward<X>(x));
  } else {
    if (acts_frozen(x)) return undropped(std::forward<X>(x));
    return drawn(f, std::forward<X>(x), draw_of);
  }
}

/// (batch, channels, 1, ...), a number for each channel. throws ShapeError naming the caller
[[nodiscard]] inline Shape channels_of(const char* caller, const Shape& shape) {
  if (shape.rank() < 2) fail<ShapeError>({caller, ": shape ", shape, "; expected (batch, channels, ...)"});
  Shape channels = shape;
  for (int d = 2; d < channels.rank(); ++d) channels[d] = 1;
  return channels;
}
/// Op(f, draw) of x with a draw of a number for each channel, in training; otherwise x as it is.
template <template <class> class Op, class F, class X>
[[nodiscard]] auto dropped_channels(const F& f, X&& x) {
  if constexpr (bare_t<X>::role != Role::traced) {
    return undropped(std::forward<X>(x));
  } else {
    using D = device_of<X>;
    const auto apply_drawn = [&] {
      const D device = x.device();
      return apply(Op<D>{f, Draw<D>(elements(channels_of(Op<D>::name, x.shape())), device)}, x);
    };
    return acts_frozen(x) ? undropped(std::forward<X>(x)) : apply_drawn();
  }
}

/// The dropout factor of element i of a tensor.
template <class T, class D>
struct DropoutFactor {
  functor::Dropout f;
  DrawnNumbers<D> numbers;
  LOCUS_FN void operator()(std::int64_t i, compute_t<T>& out) const { out = f(compute_t<T>(1), numbers.bits(i)); }
};

}  // namespace detail

namespace operation {

/// One factor for each channel, by a draw of a number for each; recomputed by the backward pass.
template <class D>
struct ChannelDropout {
  static constexpr const char* name = "dropout2d";
  static constexpr bool linear = true;
  functor::Dropout f;
  Draw<D> draw;

  template <class T>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{Tensor<T, D>(x * factors<T>(x)), Tuple<>()};
  }
  template <class T>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    detail::map_to(dx, functor::Multiply{}, g, factors<T>(g));
  }

 private:
  template <class T>
  [[nodiscard]] Tensor<T, D> factors(const Tensor<T, D>& x) const {
    return detail::from_indices<T>(detail::channels_of(name, x.shape()), x.device(),
                                   detail::DropoutFactor<T, D>{f, draw.numbers()});
  }
};

}  // namespace operation

/// In training (x is traced and not frozen), each element is 0 with probability p, and divided by 1 - p otherwise. A
/// plain or frozen tensor is returned as it is.
/// shape: as x     gradient: g / (1 - p) where x was kept, else 0
/// cost:  one launch, fused with an expression x; backward one; stores nothing. None for plain and frozen tensors
/// throws ArgumentError unless 0 <= p <= 1
///
/// With equal generators, elements are kept where bernoulli(1 - p, x.shape()) is 1. A dropped infinity or NaN is NaN,
/// as in PyTorch.
///
///     auto h = dropout(relu(linear(x, w, b)), 0.1);
template <class X>
  requires detail::FloatingOperand<detail::bare_t<X>>
[[nodiscard]] auto dropout(X&& x, double p = 0.5) {
  return detail::dropped(functor::Dropout(p), std::forward<X>(x),
                         [](std::int64_t count, auto device) { return Draw(count, device); });
}
/// The same with the numbers of a given generator.
template <class X>
  requires detail::FloatingOperand<detail::bare_t<X>>
[[nodiscard]] auto dropout(X&& x, double p, Generator<device_of<X>>& generator) {
  return detail::dropped(functor::Dropout(p), std::forward<X>(x),
                         [&](std::int64_t count, auto device) { return Draw(count, generator, device); });
}

/// Dropout of whole channels of (batch, channels, ...): each channel is kept or dropped as a whole.
/// shape: as x     gradient: as dropout's
/// cost:  two launches, one of them for a number per channel; backward the same; stores nothing
/// throws ShapeError for fewer than two dimensions; ArgumentError unless 0 <= p <= 1
template <class X>
  requires detail::FloatingOperand<detail::bare_t<X>>
[[nodiscard]] auto dropout2d(X&& x, double p = 0.5) {
  return detail::dropped_channels<operation::ChannelDropout>(functor::Dropout(p), std::forward<X>(x));
}

#include <locus/refuse/ops/dropout.inc>

}}  // namespace locus::LOCUS_ABI
