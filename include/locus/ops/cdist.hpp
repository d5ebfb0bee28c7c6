#pragma once
// Distances between every two of two sets of vectors. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/matmul.hpp>
#include <locus/ops/norm.hpp>

namespace locus::inline LOCUS_ABI {

namespace operation {

template <fold::NormOrder order>
struct Cdist {
  static constexpr const char* name = "cdist";

  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& y) const {
    if (x.rank() < 2 || y.rank() < 2 || x.size(-1) != y.size(-1))
      fail<ShapeError>(
          {name, ": operands of shapes ", x.shape(), " and ", y.shape(), "; expected (..., m, d) and (..., n, d)"});
    const auto distances = Norm<order>{-1, false}.compute(x.unsqueeze(-2) - y.unsqueeze(-3));
    return Forwarded{distances, Tuple(x, y, distances)};
  }

  /// What a distance gives the vector from which `other` is subtracted.
  struct Slope {
    template <class R>
    LOCUS_FN R operator()(R g, R distance, R vector, R other) const {
      const R difference = vector - other;
      R slope = functor::Sign{}(difference);
      if constexpr (order == fold::NormOrder::two) slope = distance == R(0) ? R(0) : difference / distance;
      else if constexpr (order == fold::NormOrder::infinity) slope = slope * difference == distance ? slope : R(0);
      return detail::times_slope<Slope>(g, slope);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                Gradient<T, D>& dy) const {
    const auto& [x, y, distances] = saved;
    if (dx) add_slopes(dx, g, distances, x, y);
    if (dy) add_slopes(dy, g.transpose(), distances.transpose(), y, x);
  }

 private:
  template <class T, class D>
  static void add_slopes(Gradient<T, D>& gradient, const Tensor<T, D>& g, const Tensor<T, D>& distances,
                         const Tensor<T, D>& vectors, const Tensor<T, D>& others) {
    Shape shape = g.shape();
    shape.push_back(vectors.size(-1));
    // Summed over the other set, and over batches to which this one is repeated.
    Axes axes{-2};
    for (int d = 0; d + 2 < g.rank(); ++d) {
      const int own = d - (g.rank() - vectors.rank());
      if (own < 0 || (vectors.size(own) == 1 && g.size(d) != 1)) axes.push_back(d);
    }
    const auto target = gradient.open();
    detail::reduce_into(target.out, target.accumulate, shape, detail::FoldedAxes(name, shape, axes),
                        Apply<Slope, Symbol<0>, Symbol<1>, Symbol<2>, Symbol<3>>{}, fold::Sum<T>{}, g.unsqueeze(-1),
                        distances.unsqueeze(-1), vectors.unsqueeze(-2), others.unsqueeze(-3));
  }
};

}  // namespace operation

/// The distance between every vector of x and every one of y: torch.cdist. p = 1 sums the magnitudes of differences,
/// p = 2 is Euclid's, p = infinity takes the largest. Nothing cancels: vectors that are near each other have their
/// exact distance, and a vector has 0 to itself. shape:    (..., m, d), (..., n, d) -> (..., m, n); batches broadcast
/// gradient: g (x - y) / distance for p = 2, 0 where that is 0; g sign(x - y) for p = 1, and for p = infinity where
/// that
///           is the largest
/// cost:     one launch of m n d steps, and on Cpu two more where squares overflow or vanish, as those of a vector to
///           itself; as much again for each gradient. Nothing of the size m n d is stored.
/// throws ShapeError naming the shapes; ArgumentError for another p
template <class X, class Y>
  requires detail::NormalizedWith<X, Y>
[[nodiscard]] auto cdist(const X& x, const Y& y, double p = 2) {
  using fold::NormOrder;
  if (p == 2) return apply(operation::Cdist<NormOrder::two>{}, x, y);
  if (p == 1) return apply(operation::Cdist<NormOrder::one>{}, x, y);
  if (p != std::numeric_limits<double>::infinity())
    fail<ArgumentError>({"cdist: p = ", p, "; expected 1, 2 or infinity"});
  return apply(operation::Cdist<NormOrder::infinity>{}, x, y);
}

#include <locus/refuse/ops/cdist.inc>

}  // namespace locus::inline LOCUS_ABI
