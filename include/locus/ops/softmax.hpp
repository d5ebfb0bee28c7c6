#pragma once
// Softmax, its logarithm, and the logarithm of sums of exponentials, over any axis. Rows are read once and stay on
// chip.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/reduction.hpp>
#include <locus/ops/rows.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

// The formulas of an element, for rows and for folds across memory alike.

/// e^(x - largest) of an x that is at most `largest`
struct ExponentialBelow {
  template <class R> LOCUS_FN R operator()(R x, R largest) const { return math::exp_of_negative(x - largest); }
};
/// e^(x - base)
struct ExponentialOfDifference {
  template <class R> LOCUS_FN R operator()(R x, R base) const { return math::exp(x - base); }
};
/// The softmax of x from the inverse of the sum of exponentials; its logarithm from the logarithm of the sum, which is
/// subtracted after the largest: their sum would round at the size of x.
template <bool logarithm>
struct SoftmaxOf {
  template <class R>
  LOCUS_FN R operator()(R x, R largest, R of_sum) const {
    if constexpr (logarithm) return (x - largest) - of_sum;
    else return ExponentialBelow{}(x, largest) * of_sum;
  }
};
/// g y, the summand of softmax's gradient
struct SoftmaxSummand {
  template <class R> LOCUS_FN R operator()(R g, R y) const { return times_slope<SoftmaxSummand>(g, y); }
};
/// dx = y (g - sum(g y)), and for the logarithm g - e^y sum(g), where a sum of 0 contributes nothing, whatever y is
template <bool logarithm>
struct SoftmaxSlope {
  template <class R>
  LOCUS_FN R operator()(R g, R y, R sum) const {
    if constexpr (logarithm) return g - times_slope<SoftmaxSlope>(sum, math::exp_of_negative(y));
    else return times_slope<SoftmaxSlope>(g - sum, y);
  }
};
/// The logarithm of a sum, or its inverse.
template <bool logarithm>
struct OfSum {
  template <class R>
  LOCUS_FN R operator()(R sum) const {
    if constexpr (logarithm) return math::log(sum);
    else return R(1) / sum;
  }
};
/// The largest number of a row where it is finite, or else 0: subtracted before exponentials are taken.
struct BaseOf {
  template <class R> LOCUS_FN R operator()(R largest) const { return largest - largest == R(0) ? largest : R(0); }
};
/// A fold whose result goes through a function.
template <class Fold, class Then>
struct FoldThen : Fold {
  template <class R> LOCUS_FN R finish(R folded) const { return Then{}(folded); }
};

template <class T, bool logarithm>
struct SoftmaxRow {
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr int resident_blocks = 2;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Rows<const T> x;
  Rows<T> y;
  fold::Max<T> larger{};

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    visit(x.input(row));
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    auto values = team.load(x.input(row));
    if constexpr (logarithm) {
      const auto exponentials = sum_exponentials(team, larger, values);
      const R largest = exponentials.largest, log_sum = OfSum<true>{}(exponentials.sum);
      team.store(
          y.output(row), [=](R v, std::int64_t) LOCUS_INLINED { return SoftmaxOf<true>{}(v, largest, log_sum); },
          values);
    } else {
      if constexpr (MayLeaveChip<Team>) {
        if (team.leaves_chip()) return store_at_once(row, team, values);
      }
      const R largest = largest_number(team, larger, values);
      const R sum = team.update_and_reduce(
          fold::Sum<T>{},
          [=](R v, std::int64_t) LOCUS_INLINED { return math::detail::exp_of_negative_as<T>(v - largest); }, values,
          y.output(row));
      const R scale = OfSum<false>{}(sum);
      team.store(
          y.output(row), [=](R v, std::int64_t) LOCUS_INLINED { return v * scale; }, values);
    }
  }

 private:
  template <class Team, class Fragment>
  LOCUS_FN void store_at_once(std::int64_t row, Team& team, const Fragment& values) const {
    using R = compute_t<T>;
    const auto exponentials = sum_exponentials_at_once(team, larger, values);
    const R largest = exponentials.largest, scale = OfSum<false>{}(exponentials.sum);
    team.store(
        y.output(row), [=](R v, std::int64_t) LOCUS_INLINED { return ExponentialOfDifference{}(v, largest) * scale; },
        values);
  }
};

template <class T, bool logarithm>
struct SoftmaxRowBackward {
  static constexpr int fragments = 2;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 3 * sizeof(T);
  static constexpr bool waits_for_memory = !logarithm;
  Rows<const T> y, g;
  Rows<T> dx;
  bool accumulate;

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    visit(y.input(row));
    visit(g.input(row));
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const auto outputs = team.load(y.input(row));
    const auto gradients = team.load(g.input(row));
    if constexpr (logarithm) {
      const R sum = team.reduce(
          fold::Sum<T>{}, [](R dy, std::int64_t) LOCUS_INLINED { return dy; }, gradients);
      if (is_zero(sum)) {  // the outputs need not be read
        return team.store(
            dx.output(row, accumulate), [](R dy, std::int64_t) LOCUS_INLINED { return dy; }, gradients);
      }
      team.store(
          dx.output(row, accumulate),
          [=](R dy, R v, std::int64_t) LOCUS_INLINED { return dy - math::exp_of_negative(v) * sum; }, gradients,
          outputs);
    } else {
      const auto product = [](R dy, R v, std::int64_t) LOCUS_INLINED { return SoftmaxSummand{}(dy, v); };
      const R sum = team.reduce(fold::Sum<T>{}, product, gradients, outputs);
      team.store(
          dx.output(row, accumulate),
          [=](R dy, R v, std::int64_t) LOCUS_INLINED { return SoftmaxSlope<false>{}(dy, v, sum); }, gradients, outputs);
    }
  }
};

/// out[row] = log(sum(e^x)); the largest element is subtracted first unless it is infinite.
template <class T>
struct LogSumExpRow {
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr int resident_blocks = 2;
  static constexpr std::int64_t bytes_per_element = sizeof(T);
  Rows<const T> x;
  T* out;
  fold::Max<T> larger{};

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    visit(x.input(row));
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const auto values = team.load(x.input(row));
    if constexpr (MayLeaveChip<Team>) {
      if (team.leaves_chip()) {
        const auto [largest, sum] = sum_exponentials_at_once(team, larger, values);
        return team.write(out + row, largest - largest == R(0) ? largest + math::log(sum) : largest);
      }
    }
    const R largest = largest_number(team, larger, values);
    const R base = BaseOf{}(largest);
    const R sum = team.reduce(
        fold::SumOfSlow<T>{}, [=](R v, std::int64_t) LOCUS_INLINED { return ExponentialOfDifference{}(v, base); },
        values);
    team.write(out + row, base + OfSum<true>{}(sum));
  }
};

}  // namespace detail

namespace operation {

template <bool logarithm>
struct Softmax {
  static constexpr const char* name = logarithm ? "log_softmax" : "softmax";
  static constexpr bool runs_on_duals = true;
  int axis;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const int along = normalize_axis(axis, x.rank(), name);
    const detail::RowCount count(x.shape(), along);
    Tensor<T, D> y(x.shape(), x.device());
    const auto across = [&]<class P>(const P& device) {
      using R = compute_t<T>;
      const detail::FoldedAxes axes(name, x.shape(), along);
      const Tensor<R, P> largest(axes.kept, device), of_sum(axes.kept, device);
      detail::reduce_into(largest, false, x.shape(), axes, Symbol<0>{}, fold::LargestNumber<T>{}, x);
      detail::reduce_into(of_sum, false, x.shape(), axes, Apply<detail::ExponentialBelow, Symbol<0>, Symbol<1>>{},
                          detail::FoldThen<fold::Sum<R>, detail::OfSum<logarithm>>{}, x, largest);
      detail::map_into(y, detail::SoftmaxOf<logarithm>{}, x, largest, of_sum);
    };
    if (!detail::done_across_memory<T>(x.device(), count, across)) {
      const auto source = detail::around_axis(x, along);
      Backend<D>::for_each_row(x.device(), count.filled(), count.cols,
                               detail::SoftmaxRow<T, logarithm>{detail::rows_of(source), detail::rows_of(y, along)});
    }
    return Forwarded{y, Tuple(y)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const int along = normalize_axis(axis, g.rank(), name);
    const detail::RowCount count(g.shape(), along);
    const auto across = [&]<class P>(const P& device) {
      using R = compute_t<T>;
      const detail::FoldedAxes axes(name, g.shape(), along);
      const Tensor<R, P> sum(axes.kept, device);
      if constexpr (logarithm) detail::reduce_into(sum, false, g.shape(), axes, Symbol<0>{}, fold::Sum<R>{}, g);
      else
        detail::reduce_into(sum, false, g.shape(), axes, Apply<detail::SoftmaxSummand, Symbol<0>, Symbol<1>>{},
                            fold::Sum<R>{}, g, get<0>(saved));
      detail::map_to(dx, detail::SoftmaxSlope<logarithm>{}, g, get<0>(saved), sum);
    };
    if (detail::done_across_memory<T>(g.device(), count, across)) return;
    const auto y = detail::around_axis(get<0>(saved), along), dy = detail::around_axis(g, along);
    const auto target = dx.open();
    Backend<D>::for_each_row(
        g.device(), count.filled(), count.cols,
        detail::SoftmaxRowBackward<T, logarithm>{detail::rows_of(y), detail::rows_of(dy),
                                                 detail::rows_of(target.out, along), target.accumulate});
  }
};

struct LogSumExp {
  static constexpr const char* name = "logsumexp";
  static constexpr bool runs_on_duals = true;
  int axis;
  bool keepdim;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const int along = normalize_axis(axis, x.rank(), name);
    const detail::RowCount count(x.shape(), along);
    const detail::FoldedAxes axes(name, x.shape(), along);
    Tensor<T, D> y(axes.result(keepdim), x.device());
    const auto across = [&]<class P>(const P& device) {
      using R = compute_t<T>;
      const Tensor<R, P> base(axes.kept, device), log_sum(axes.kept, device);
      detail::reduce_into(base, false, x.shape(), axes, Symbol<0>{},
                          detail::FoldThen<fold::LargestNumber<T>, detail::BaseOf>{}, x);
      detail::reduce_into(log_sum, false, x.shape(), axes,
                          Apply<detail::ExponentialOfDifference, Symbol<0>, Symbol<1>>{},
                          detail::FoldThen<fold::Sum<R>, detail::OfSum<true>>{}, x, base);
      detail::map_into(y.reshape(axes.kept), functor::Add{}, base, log_sum);
    };
    if (!detail::done_across_memory<T>(x.device(), count, across)) {
      const auto source = detail::around_axis(x, along);
      Backend<D>::for_each_row(x.device(), count.rows, count.cols,
                               detail::LogSumExpRow<T>{detail::rows_of(source), y.data()});
    }
    return Forwarded{y, Tuple(x, y)};
  }

  struct Slope {
    template <class R>
    LOCUS_FN R operator()(R g, R x, R y) const {
      return detail::times_slope<Slope>(g, math::exp(x - y));
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, y] = saved;
    const Shape kept = detail::FoldedAxes(name, x.shape(), axis).kept;
    detail::map_to(dx, Slope{}, g.reshape(kept), x, y.reshape(kept));
  }
};

}  // namespace operation

/// e^x / sum(e^x) along an axis, stable for large inputs.
/// shape: as x     gradient: y * (g - sum(g * y))
/// cost:  one launch, which reads x once and writes y once; backward one. On hosts, along an axis with many elements
///        behind it (16 to 32): three, and two backward     throws IndexError for a bad axis
///
///     auto p = softmax(logits, 1);   // every row sums to 1
template <detail::FloatingOperand X>
[[nodiscard]] auto softmax(const X& x, int axis) {
  return apply(operation::Softmax<false>{axis}, x);
}

/// x - logsumexp(x) along an axis.     gradient: g - e^y sum(g)     cost: as softmax
template <detail::FloatingOperand X>
[[nodiscard]] auto log_softmax(const X& x, int axis) {
  return apply(operation::Softmax<true>{axis}, x);
}

/// softmax(-x): the smallest element gets the largest share.     cost: as softmax, and a launch
template <detail::FloatingOperand X>
  requires(!detail::IsParameter<X>)
[[nodiscard]] auto softmin(const X& x, int axis) {
  return softmax(-x, axis);
}

namespace detail {
/// Moves several axes to the end and merges them into one; and the inverse.
struct JoinedAxes {
  FoldedAxes folded;
  Axes order, back;
  Shape permuted, joined;
  LOCUS_OUT_OF_LINE JoinedAxes(std::string_view name, const Shape& shape, const Axes& axes)
      : folded(name, shape, axes), back(Dims::filled(shape.rank(), 0)) {
    for (const bool folds : {false, true})
      for (int d = 0; d < shape.rank(); ++d)
        if (folded.folds(d) == folds) back[d] = order.rank(), order.push_back(d);
    for (const std::int64_t d : order) permuted.push_back(shape[static_cast<int>(d)]);
    joined = folded.squeezed;
    joined.push_back(folded.count);
  }
  template <class X> [[nodiscard]] auto of(const X& x) const { return reshape(permute(x, order), joined); }
  template <class Y> [[nodiscard]] auto undone(const Y& y) const { return permute(reshape(y, permuted), back); }
};
}  // namespace detail

/// softmax over several axes together, such as {-2, -1}; also log_softmax, logsumexp. An empty list is all axes.
/// cost: as along one axis, and a copy of x where the axes are not next to each other in memory
template <detail::FloatingOperand X>
  requires(!detail::IsParameter<X>)
[[nodiscard]] auto softmax(const X& x, const Axes& axes) {
  const detail::JoinedAxes joined("softmax", x.shape(), axes);
  return joined.undone(softmax(joined.of(x), -1));
}
template <detail::FloatingOperand X>
  requires(!detail::IsParameter<X>)
[[nodiscard]] auto log_softmax(const X& x, const Axes& axes) {
  const detail::JoinedAxes joined("log_softmax", x.shape(), axes);
  return joined.undone(log_softmax(joined.of(x), -1));
}

/// log(sum(e^x)) along an axis, stable for large inputs; -infinity over no elements.
/// shape: the axis disappears, or stays with extent 1 if keepdim     gradient: g * softmax(x)
/// cost:  one launch, on hosts along an axis with many elements behind it (16 to 32) three; backward one
template <detail::FloatingOperand X>
[[nodiscard]] auto logsumexp(const X& x, int axis, bool keepdim = false) {
  return apply(operation::LogSumExp{axis, keepdim}, x);
}
template <detail::FloatingOperand X>
  requires(!detail::IsParameter<X>)
[[nodiscard]] auto logsumexp(const X& x, const Axes& axes, bool keepdim = false) {
  const detail::JoinedAxes joined("logsumexp", x.shape(), axes);
  return reshape(logsumexp(joined.of(x), -1), joined.folded.result(keepdim));
}

#include <locus/refuse/ops/softmax.inc>

}}  // namespace locus::LOCUS_ABI
