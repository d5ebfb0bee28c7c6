#pragma once
// Rotary positions (Su et al., 2021): pairs of a head's elements are turned by angles that grow with the position.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/reduction.hpp>
#include <locus/tensor/source.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
#include <locus/refuse/ops/rotary_mistakes.inc>
}  // namespace detail

namespace operation {

/// cosines and sines broadcast to the halves of x. They are saved, so that changes before the backward pass throw.
template <class T, class D>
struct Rotary {
  static constexpr const char* name = "rotary";
  static constexpr bool linear = true;
  Tensor<T, D> cosines, sines;

  /// Turns a pair: element i of the first half, and of the second.
  struct Turn {
    bool back;  ///< by the negative angle
    template <class R, class N>
    LOCUS_FN void operator()(R first, R second, N cosine, N sine, R& to_first, R& to_second) const {
      const N s = back ? -sine : sine;
      to_first = first * cosine - second * s;
      to_second = second * cosine + first * s;
    }
  };

  template <class U>
  auto forward(const Tensor<U, D>& x) const {
    require_fit(x);
    const Tensor<U, D> y(x.shape(), x.device());
    turn(y, x, false);
    return Forwarded{y, Tuple(cosines, sines)};
  }
  template <class U>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>&, const Tensor<U, D>& g, Gradient<U, D>& dx) const {
    if (!dx) return;
    const auto target = dx.open();
    const Tensor<U, D> turned = target.accumulate ? Tensor<U, D>(g.shape(), g.device()) : target.out;
    turn(turned, g, true);
    if (target.accumulate) detail::map_into(target.out, functor::Add{}, target.out, turned);
  }

 private:
  template <class U>
  void require_fit(const Tensor<U, D>& x) const {
    Shape half = x.shape();
    const bool is_even = half.rank() > 0 && half[-1] % 2 == 0;
    if (half.rank() > 0) half[-1] /= 2;
    if (!is_even || !(cosines.shape() == sines.shape()) || !detail::broadcasts_to(cosines.shape(), half))
      fail<ShapeError>({name, ": x of shape ", x.shape(), " with cosines of shape ", cosines.shape(),
                        " and sines of shape ", sines.shape(),
                        "; expected x (..., e) of an even e, and tables that broadcast to (..., e / 2)"});
    detail::require_same_ordinal(name, x, cosines);
    detail::require_same_ordinal(name, x, sines);
  }
  template <class U>
  void turn(const Tensor<U, D>& to, const Tensor<U, D>& x, bool back) const {
    const int last = x.rank() - 1;
    const std::int64_t half = x.size(last) / 2;
    const Tensor<U, D> first = x.slice(last, 0, half), second = x.slice(last, half);
    const Tensor<U, D> to_first = to.slice(last, 0, half), to_second = to.slice(last, half);
    const Tensor<T, D> c = cosines.expand(first.shape()), s = sines.expand(first.shape());
    const auto plan = make_plan<6>(
        first.shape(), {detail::operand_of(first), detail::operand_of(second), detail::operand_of(c),
                        detail::operand_of(s), detail::operand_of(to_first), detail::operand_of(to_second)});
    if (plan.elements == 0) return;
    Backend<D>::map(x.device(), plan, Turn{back},
                    Pack<const U*, const U*, const T*, const T*>(first.data(), second.data(), c.data(), s.data()),
                    Pack<U*, U*>(to_first.data(), to_second.data()));
  }
};

}  // namespace operation

/// Turns the pairs (x[i], x[i + e / 2]) of each row by angles, given as cosines and sines, as Hugging Face's
/// apply_rotary_pos_emb: queries and keys then match by the distance of their positions.
/// shape:    x (..., e) of an even e, cosines and sines broadcast to (..., e / 2) -> as x
/// gradient: g, turned back, for x; none for the tables     cost: one launch; backward one
/// throws ShapeError for an odd e, and tables that do not broadcast
///
///     const auto [cosines, sines] = rotary_tables<float>(arange<std::int64_t>(length), 64);   // (length, 32)
///     auto q = rotary(queries, cosines, sines);                         // of shape (batch, heads, length, 64)
template <TensorLike X, TensorLike C, TensorLike S>
  requires detail::IsWrong<detail::RotaryMistake<X, C, S>, detail::Wrong::nothing>
[[nodiscard]] auto rotary(const X& x, const C& cosines, const S& sines) {
  using T = primal_t<value_of<X>>;
  return apply(operation::Rotary<T, device_of<X>>{cosines.eval(), sines.eval()}, x);
}

#include <locus/refuse/ops/rotary.inc>

}}  // namespace locus::LOCUS_ABI
