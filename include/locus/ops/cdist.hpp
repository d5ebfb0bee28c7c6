#pragma once
// Pairwise distances between two sets of vectors. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/matmul.hpp>
#include <locus/ops/norm.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// throws ShapeError
template <class T, class D>
void require_vectors(const Tensor<T, D>& x, const Tensor<T, D>& y) {
  if (x.rank() < 2 || y.rank() < 2 || x.size(-1) != y.size(-1))
    fail<ShapeError>(
        {"cdist: operands of shapes ", x.shape(), " and ", y.shape(), "; expected (..., m, d) and (..., n, d)"});
}

/// Adds slope(g, distance, vector, other) to the gradient of one set, summed over the other set and over the batches to
/// which this set is broadcast. One launch.
template <class Slope, class T, class D>
void add_slopes(const Slope& slope, Gradient<T, D>& gradient, const Tensor<T, D>& g, const Tensor<T, D>& distances,
                const Tensor<T, D>& vectors, const Tensor<T, D>& others) {
  Shape shape = g.shape();
  shape.push_back(vectors.size(-1));
  Axes axes{-2};
  for (int d = 0; d + 2 < g.rank(); ++d) {
    const int own = d - (g.rank() - vectors.rank());
    if (own < 0 || (vectors.size(own) == 1 && g.size(d) != 1)) axes.push_back(d);
  }
  const auto target = gradient.open();
  reduce_into(target.out, target.accumulate, shape, FoldedAxes("cdist", shape, axes),
              Apply<Slope, Symbol<0>, Symbol<1>, Symbol<2>, Symbol<3>>{slope, {}}, fold::Sum<T>{}, g.unsqueeze(-1),
              distances.unsqueeze(-1), vectors.unsqueeze(-2), others.unsqueeze(-3));
}
/// The same for both sets.
template <class Slope, class T, class D>
void add_slopes_of_both(const Slope& slope, const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved,
                        const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dy) {
  const auto& [x, y, distances] = saved;
  if (dx) add_slopes(slope, dx, g, distances, x, y);
  if (dy) add_slopes(slope, dy, g.transpose(), distances.transpose(), y, x);
}

}  // namespace detail

namespace operation {

template <fold::NormOrder order>
struct Cdist {
  static constexpr const char* name = "cdist";
  static constexpr bool runs_on_duals = true;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& y) const {
    detail::require_vectors(x, y);
    const auto distances = Norm<order>{-1, false}.compute(x.unsqueeze(-2) - y.unsqueeze(-3));
    return Forwarded{distances, Tuple(x, y, distances)};
  }

  /// The gradient of `vector` for its distance from `other`; the distance was rounded to T.
  template <class T>
  struct Slope {
    template <class R>
    LOCUS_FN R operator()(R g, R distance, R vector, R other) const {
      const R difference = vector - other;
      R slope = functor::Sign{}(difference);
      if constexpr (order == fold::NormOrder::zero) slope = R(0);
      else if constexpr (order == fold::NormOrder::two) slope = distance == R(0) ? R(0) : difference / distance;
      else if constexpr (order == fold::NormOrder::infinity)
        slope = load_as_register(from_register<T>(slope * difference)) == distance ? slope : R(0);
      return detail::times_slope<Slope>(g, slope);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                Gradient<T, D>& dy) const {
    detail::add_slopes_of_both(Slope<T>{}, saved, g, dx, dy);
  }
};

/// Any other p > 0.
struct PowerCdist {
  static constexpr const char* name = "cdist";
  static constexpr bool runs_on_duals = true;
  double p;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& y) const {
    detail::require_vectors(x, y);
    const Tensor<T, D> distances =
        PowerNorm{p, -1, true, name}.compute([&] { return x.unsqueeze(-2) - y.unsqueeze(-3); }).squeeze(-1);
    return Forwarded{distances, Tuple(x, y, distances)};
  }

  template <class R>
  struct Slope {
    PowerNorm::Slope<R> of_difference;
    LOCUS_FN R operator()(R g, R distance, R vector, R other) const {
      return of_difference(g, vector - other, distance);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                Gradient<T, D>& dy) const {
    using R = compute_t<T>;
    detail::add_slopes_of_both(Slope<R>{PowerNorm::Slope<R>(p)}, saved, g, dx, dy);
  }
};

}  // namespace operation

/// The distance between each vector of x and each of y: torch.cdist. p = 1 sums the magnitudes of differences, p = 2 is
/// Euclid's, p = infinity takes the largest, p = 0 counts nonzero differences, and any other p >= 0 is
/// (sum |x - y|^p)^(1/p). There is no cancellation: vectors near each other have their exact distance, and a vector has
/// distance 0 to itself.
/// shape: (..., m, d), (..., n, d) -> (..., m, n); batches broadcast
/// gradient: g sign(x - y) (|x - y| / distance)^(p - 1), 0 where a difference or the distance is 0; for p = infinity
///           g sign(x - y) for the largest difference; none for p = 0
/// cost: one launch of m n d steps, and on Cpu two more where squares overflow or vanish, as between a vector and
///       itself; for another p two such launches with a power for each step, and one of m n. Backward one such launch
///       for each gradient, with powers for another p. Nothing of the size m n d is stored
/// throws ShapeError naming the shapes; ArgumentError where p is NaN, below 0, or finite beyond the largest number of
///        the type
template <class X, class Y>
  requires detail::NormalizedWith<X, Y>
[[nodiscard]] auto cdist(const X& x, const Y& y, double p = 2) {
  using fold::NormOrder;
  if (p == 2) return apply(operation::Cdist<NormOrder::two>{}, x, y);
  if (p == 1) return apply(operation::Cdist<NormOrder::one>{}, x, y);
  if (p == 0) return apply(operation::Cdist<NormOrder::zero>{}, x, y);
  if (p == std::numeric_limits<double>::infinity()) return apply(operation::Cdist<NormOrder::infinity>{}, x, y);
  if (!(p > 0)) fail<ArgumentError>({"cdist: p = ", p, "; expected a number of 0 or more, or infinity"});
  return apply(operation::PowerCdist{p}, x, y);
}

#include <locus/refuse/ops/cdist.inc>

}}  // namespace locus::LOCUS_ABI
