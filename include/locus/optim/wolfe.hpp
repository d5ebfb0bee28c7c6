#pragma once
// A line search that ends in a point with the strong Wolfe conditions: sufficient decrease, and a flatter slope.

#include <locus/core/std/bounds.hpp>

#include <utility>

namespace locus { inline namespace LOCUS_ABI { namespace optim::detail {

/// A point of a line: the step from the start, the loss, its slope along the line, and its gradient.
template <class Gradient>
struct LinePoint {
  double step = 0, loss = 0, slope = 0;
  Gradient gradient{};
};

/// The minimum, within [low, high], of the cubic with the losses and slopes of two points; the middle if it has none.
template <class G>
[[nodiscard]] double cubic_minimum(const LinePoint<G>& a, const LinePoint<G>& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step), square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = __builtin_sqrt(square);
  const auto& [left, right] = a.step <= b.step ? std::pair<const LinePoint<G>&, const LinePoint<G>&>(a, b)
                                               : std::pair<const LinePoint<G>&, const LinePoint<G>&>(b, a);
  const double share = (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2);
  return locus::detail::smaller(locus::detail::larger(right.step - (right.step - left.step) * share, low), high);
}

/// PyTorch's line search (Nocedal and Wright, 2006, algorithms 3.5 and 3.6, with steps by cubic interpolation).
class WolfeSearch {
  static constexpr double c1 = 1e-4, c2 = 0.9;

 public:
  double tolerance_change = 1e-9;  ///< of the largest element between the ends of a bracket
  int max_evaluations = 25;        ///< beside the first

  template <class G>
  struct Found {
    LinePoint<G> point;
    int evaluations;
  };
  /// evaluate(step) returns the LinePoint at a step. `start` has step 0; `largest` is the largest magnitude of the
  /// line's direction.
  template <class G, class Evaluate>
  [[nodiscard]] Found<G> operator()(const LinePoint<G>& start, double step, double largest,
                                    const Evaluate& evaluate) const {
    const auto too_high = [&start](const LinePoint<G>& x) { return x.loss > start.loss + c1 * x.step * start.slope; };
    const auto is_flat = [&start](const LinePoint<G>& x) { return __builtin_fabs(x.slope) <= -c2 * start.slope; };
    LinePoint<G> before = start, now = evaluate(step);
    int evaluations = 1, iteration = 0;
    bool is_bracketed = false;
    for (; iteration < max_evaluations; ++iteration) {
      const bool is_worse = too_high(now) || (iteration > 1 && now.loss >= before.loss);
      if (!is_worse && is_flat(now)) return {std::move(now), evaluations};
      if (is_worse || now.slope >= 0) {
        is_bracketed = true;
        break;
      }
      const double next = cubic_minimum(before, now, now.step + 0.01 * (now.step - before.step), now.step * 10);
      before = std::move(now);
      now = evaluate(next);
      ++evaluations;
    }
    LinePoint<G> low = is_bracketed ? std::move(before) : start, high = std::move(now);
    if (high.loss < low.loss) std::swap(low, high);
    bool stalled = false;
    for (; iteration < max_evaluations; ++iteration) {
      if (__builtin_fabs(high.step - low.step) * largest < tolerance_change) break;
      const double next = step_within(low, high, stalled);
      LinePoint<G> tried = evaluate(next);
      ++evaluations;
      if (too_high(tried) || tried.loss >= low.loss) {
        high = std::move(tried);
        if (high.loss < low.loss) std::swap(low, high);
        continue;
      }
      const bool is_done = is_flat(tried);
      if (!is_done && tried.slope * (high.step - low.step) >= 0) high = std::move(low);
      low = std::move(tried);
      if (is_done) break;
    }
    return {std::move(low), evaluations};
  }

 private:
  /// The next step within a bracket. Close to an end twice, or beyond it, it is a tenth away from that end.
  template <class G>
  [[nodiscard]] static double step_within(const LinePoint<G>& low, const LinePoint<G>& high, bool& stalled) {
    const double least = locus::detail::smaller(low.step, high.step), most = locus::detail::larger(low.step, high.step);
    const double step = cubic_minimum(low, high, least, most), margin = 0.1 * (most - least);
    if (!(locus::detail::smaller(most - step, step - least) < margin)) {
      stalled = false;
      return step;
    }
    const bool moves = stalled || step >= most || step <= least;
    stalled = !moves;
    if (!moves) return step;
    return __builtin_fabs(step - most) < __builtin_fabs(step - least) ? most - margin : least + margin;
  }
};

}}}  // namespace locus::LOCUS_ABI::optim::detail
