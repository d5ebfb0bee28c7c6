#pragma once
// Vector norms along axes.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/core/std/bounds.hpp>
#include <locus/ops/fold_safely.hpp>
#include <locus/ops/moment_folds.hpp>
#include <locus/ops/reduce.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace fold {
enum class NormOrder { zero, one, two, infinity, least };  ///< least is -infinity

/// The number of nonzero x, sum |x|, max |x| or min |x|
template <class T, NormOrder order>
struct Norm {
  using R = compute_t<T>;
  using Accumulator = R;
  R start = order == NormOrder::least ? highest<T>() : R(0);
  LOCUS_FN R identity() const { return start; }
  LOCUS_FN R lift(R x) const {
    if constexpr (order == NormOrder::zero) return x == R(0) ? R(0) : R(1);
    else return functor::Abs{}(x);
  }
  LOCUS_FN R combine(R a, R b) const {
    if constexpr (order == NormOrder::infinity) return functor::Maximum{}(a, b);
    else if constexpr (order == NormOrder::least) return functor::Minimum{}(a, b);
    else return a + b;
  }
  LOCUS_FN R finish(R a) const { return a; }
};
/// sqrt(sum x^2)
template <class T>
struct Norm<T, NormOrder::two> {
  using R = compute_t<T>;
  using Accumulator = R;
  Atomic<bool>* lost = nullptr;  ///< set if squares overflow or vanish, unless it is null
  LOCUS_FN R identity() const { return 0; }
  LOCUS_FN R lift(R x) const { return x * x; }
  LOCUS_FN R combine(R a, R b) const { return a + b; }
  LOCUS_FN R finish(R a) const {
    const R norm = math::sqrt(a);
    if (!is_whole(norm)) note_loss(lost);
    return norm;
  }
  /// Whether the norm lost no square.
  LOCUS_FN static bool is_whole(R norm) { return norm >= R(ScalesFor<R>::least_root) && norm <= R(ScalesFor<R>::most); }
};
}  // namespace fold

namespace detail {
/// Euclidean norms, by sums of squares, or by scaled squares if some overflow or vanish.
template <class T, class D, class Fold>
[[nodiscard]] Tensor<T, D> euclidean(const Fold& fold) {
  return fold_safely<T, D>(fold, fold::Norm<T, fold::NormOrder::two>{}, fold::ScaledNorm<T>{});
}
}  // namespace detail

namespace operation {

template <fold::NormOrder order>
struct Norm {
  static constexpr const char* name = "norm";
  static constexpr bool runs_on_duals = true;
  ReduceAxes axes;
  bool keepdim;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    if constexpr (order == fold::NormOrder::two) {
      return detail::euclidean<T, device_of<X>>(
          [&](const auto& op) { return detail::reduce<T>(name, op, static_cast<X&&>(x), axes, keepdim); });
    } else {
      return detail::reduce<T>(name, fold::Norm<T, order>{}, std::forward<X>(x), axes, keepdim);
    }
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    auto y = compute(x);
    return Forwarded{y, Tuple(x, y)};
  }

  struct Slope {
    template <class R>
    LOCUS_FN R operator()(R g, R x, R y) const {
      if constexpr (order == fold::NormOrder::two) return y == R(0) ? R(0) : detail::times_slope<Slope>(g, x / y);
      else return detail::times_slope<Slope>(g, functor::Sign{}(x));
    }
  };
  struct Attains {
    static constexpr bool gives_bool = true;
    template <class R> LOCUS_FN bool operator()(R x, R y) const { return functor::Abs{}(x) == y || (x != x && y != y); }
  };
  struct Share {
    template <class R>
    LOCUS_FN R operator()(R g, R x, R y, std::int64_t ties) const {
      return Attains{}(x, y) ? detail::times_slope<Share>(g, functor::Sign{}(x)) / static_cast<R>(ties) : R(0);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, result] = saved;
    const Shape kept = detail::FoldedAxes(name, x.shape(), axes).kept;
    const Tensor<T, D> y = result.reshape(kept);
    if constexpr (order == fold::NormOrder::zero) {
      dx.give(Tensor<T, D>(Shape{}, x.device()).fill_(T(0)).expand(x.shape()));
    } else if constexpr (order == fold::NormOrder::infinity || order == fold::NormOrder::least) {
      const auto ties = detail::reduce<std::int64_t>(name, fold::Sum<bool>{}, elementwise(Attains{}, x, y), axes, true);
      detail::map_to(dx, Share{}, g.reshape(kept), x, y, ties);
    } else {
      detail::map_to(dx, Slope{}, g.reshape(kept), x, y);
    }
  }
};

/// (sum |x|^p)^(1/p) for any other p. Each |x| is divided by the largest, for p < 0 by the least, so that no power
/// overflows, and those that vanish are too small to count.
struct PowerNorm {
  static constexpr const char* name = "norm";
  static constexpr bool runs_on_duals = true;
  double p;
  ReduceAxes axes;
  bool keepdim;
  const char* caller = name;

  template <class R>
  struct Share {
    R p;
    LOCUS_FN R operator()(R x, R extreme) const { return math::pow(functor::Abs{}(x) / extreme, p); }
  };
  /// The extreme alone where it is 0, infinite or NaN.
  template <class R>
  struct Root {
    R inverse_p;
    LOCUS_FN R operator()(R extreme, R sum) const {
      const R norm = extreme * math::pow(sum, inverse_p);
      return extreme == R(0) || extreme - extreme != R(0) ? extreme : norm;
    }
  };
  /// The norm of the tensor that `of` returns. `of` is called twice, and may return a pending one: nothing of its size
  /// is stored.
  template <class Of>
  auto compute(const Of& of) const {
    using fold::NormOrder;
    using X = detail::bare_t<decltype(of())>;
    using T = value_of<X>;
    using D = device_of<X>;
    using R = compute_t<T>;
    const R order = detail::finite_as<R>(caller, "p", p);
    const D device = of().device();
    const auto folded = [&](const auto& op, const auto& part) {
      return detail::reduce_part<R>(caller, op, part, device, axes, true);
    };
    const auto extreme = p > 0 ? folded(fold::Norm<T, NormOrder::infinity>{}, detail::as_part<T>(of()))
                               : folded(fold::Norm<T, NormOrder::least>{}, detail::as_part<T>(of()));
    const auto sum = folded(fold::Sum<R>{},
                            detail::join_parts(Share<R>{order}, detail::as_part<T>(of()), detail::as_part<R>(extreme)));
    const Tensor<T, D> y(extreme.shape(), device);
    detail::map_into(y, Root<R>{static_cast<R>(1 / p)}, extreme, sum);
    return y;
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const Tensor<T, D> kept = compute([&]() -> const Tensor<T, D>& { return x; });
    const Tensor<T, D> y = kept.reshape(detail::FoldedAxes(name, x.shape(), axes).result(keepdim));
    return Forwarded{y, Tuple(x, y)};
  }

  /// sign(x) (|x| / y)^(p - 1), and 0 where x or y is 0, also for p < 1. For p < 1 the quotient of the roots is raised
  /// to twice the exponent: the quotient of x and y may vanish where the power is representable.
  template <class R>
  struct Slope {
    R exponent;
    bool of_roots;
    explicit Slope(double p) : exponent(static_cast<R>(p < 1 ? 2 * (p - 1) : p - 1)), of_roots(p < 1) {}
    LOCUS_FN R operator()(R g, R x, R y) const {
      const R magnitude = functor::Abs{}(x);
      const R quotient = of_roots ? math::sqrt(magnitude) / math::sqrt(y) : magnitude / y;
      const R slope = functor::Sign{}(x)*math::pow(quotient, exponent);
      return x == R(0) || y == R(0) ? R(0) : detail::times_slope<Slope>(g, slope);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, y] = saved;
    const Shape kept = detail::FoldedAxes(name, x.shape(), axes).kept;
    detail::map_to(dx, Slope<compute_t<T>>(p), g.reshape(kept), x, y.reshape(kept));
  }
};

}  // namespace operation

/// Vector norm over axes (all of them by default), of any order, as torch.linalg.vector_norm: p = 2 is Euclid's, p = 1
/// sums magnitudes, p = infinity is the largest, p = -infinity the least, p = 0 counts nonzero elements, and any other
/// p is (sum |x|^p)^(1/p). Right wherever it is representable, also where powers overflow or vanish. Over no elements
/// it is 0, and infinity for p < 0.
/// gradient: g sign(x) (|x| / norm)^(p - 1), 0 where x or the norm is 0; for infinity and -infinity g sign(x) in equal
///           parts to the largest, or the least; none for p = 0
/// cost: one launch, into which a temporary expression is fused, and on Cpu two more where squares overflow or vanish,
///       as for zeros; backward one, two for p = infinity and -infinity. Another p: three launches, and two powers for
///       each element; backward one
/// throws ArgumentError for p = NaN, or another p that the type of the computation cannot represent
///
///     auto lengths = norm(x, 2, -1), cubic = norm(x, 3, 0, true);
///     auto most = norm(x, std::numeric_limits<double>::infinity(), {0, 1});
template <detail::FloatingOperand X>
[[nodiscard]] auto norm(X&& x, double p = 2, const ReduceAxes& axes = {}, bool keepdim = false) {
  using fold::NormOrder;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (p == 2) return detail::reduce_or_record(operation::Norm<NormOrder::two>{axes, keepdim}, std::forward<X>(x));
  if (p == 1) return detail::reduce_or_record(operation::Norm<NormOrder::one>{axes, keepdim}, std::forward<X>(x));
  if (p == 0) return detail::reduce_or_record(operation::Norm<NormOrder::zero>{axes, keepdim}, std::forward<X>(x));
  if (p == infinity)
    return detail::reduce_or_record(operation::Norm<NormOrder::infinity>{axes, keepdim}, std::forward<X>(x));
  if (p == -infinity)
    return detail::reduce_or_record(operation::Norm<NormOrder::least>{axes, keepdim}, std::forward<X>(x));
  if (p != p) fail<ArgumentError>({"norm: p = ", p, "; expected a number, or infinity"});
  return apply(operation::PowerNorm{p, axes, keepdim}, x);
}

#include <locus/refuse/ops/norm.inc>

}}  // namespace locus::LOCUS_ABI
