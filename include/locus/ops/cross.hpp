#pragma once
// The cross product of vectors in space. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {

struct Cross {
  static constexpr const char* name = "cross";
  int axis;
  [[nodiscard]] static constexpr bool is_bilinear() { return true; }

  struct Component {
    template <class R>
    LOCUS_FN R operator()(R a1, R b2, R a2, R b1) const {
      constexpr functor::Multiply times;
      return functor::Subtract{}(times(a1, b2), times(a2, b1));
    }
  };

  template <class T, class D>
  auto forward(const Tensor<T, D>& a, const Tensor<T, D>& b) const {
    const Shape shape = broadcast(a.shape(), b.shape(), name);
    const int along = normalize_axis(axis, shape.rank(), name);
    if (a.rank() != b.rank() || a.size(along) != 3 || b.size(along) != 3)
      fail<ShapeError>({name, ": operands of shapes ", a.shape(), " and ", b.shape(), " along axis ", axis,
                        "; expected as many dimensions, and extent 3 there"});
    return Forwarded{multiplied(a, b, along), Tuple(a, b)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& da,
                Gradient<T, D>& db) const {
    const auto& [a, b] = saved;
    const int along = normalize_axis(axis, g.rank(), name);
    if (da) detail::sum_to(multiplied(b, g, along), da);
    if (db) detail::sum_to(multiplied(g, a, along), db);
  }

 private:
  template <class T, class D>
  [[nodiscard]] static Tensor<T, D> multiplied(const Tensor<T, D>& a, const Tensor<T, D>& b, int along) {
    const Tensor<T, D> result(broadcast(a.shape(), b.shape()), a.device());
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      detail::map_into(result.select(along, i), Component{}, a.select(along, j), b.select(along, k), a.select(along, k),
                       b.select(along, j));
    }
    return result;
  }
};

}  // namespace operation

/// The cross product of vectors of three elements along an axis: torch.linalg.cross.
/// shape: operands of equal rank that broadcast to each other, with extent 3 along the axis
/// gradient: b x g and g x a, summed over broadcast dimensions     cost: three launches; as many for each gradient
/// throws ShapeError naming the shapes; IndexError
template <class A, class B>
  requires(detail::Computes<A> && TensorLike<A> && TensorLike<B> && detail::CombinablePair<A, B> &&
           detail::NotParametersAlone<A, B> && !std::is_same_v<value_of<A>, bool> && detail::RealOrNumber<A>)
[[nodiscard]] auto cross(const A& a, const B& b, int axis = -1) {
  return apply(operation::Cross{axis}, a, b);
}

#include <locus/refuse/ops/cross.inc>

}}  // namespace locus::LOCUS_ABI
