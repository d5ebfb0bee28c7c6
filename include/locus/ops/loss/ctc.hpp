#pragma once
// Sums over the alignments of a sequence of labels with a longer sequence of inputs: Graves, Fernandez, Gomez,
// Schmidhuber: Connectionist temporal classification (2006). States are labels with blanks around them: state 2 i + 1
// is label i. All numbers are logarithms.

#include <locus/expr/operands.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/reduction.hpp>
#include <locus/tensor/factory.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// log(0), as GPUs can read it.
template <class R>
struct LogOfZero {
  static constexpr R value = -std::numeric_limits<R>::infinity();
};

/// log(exp(a) + exp(b) + exp(c)); -infinity where all three are.
template <class R>
[[nodiscard]] LOCUS_FN R log_sum(R a, R b, R c) {
  constexpr R nothing = LogOfZero<R>::value;
  if (a == nothing && b == nothing && c == nothing) return nothing;
  const R most = larger(larger(b, c), a);
  return most + math::log(math::exp(a - most) + math::exp(b - most) + math::exp(c - most));
}

/// Extends paths by input `time` into this state: from this state, the one before and, unless skip is -infinity, the
/// second before. After the last input nothing changes.
template <class R>
struct CtcForward {
  std::int64_t time;
  LOCUS_FN R operator()(R score, R here, R before, R second, R skip, std::int64_t times) const {
    return time < times ? score + log_sum(here, before, second + skip) : here;
  }
};
/// Likewise for paths that end in one of the last two states, from input `time`, included, on; `here`, `next` and
/// `second` are sums from the input after it on.
template <class R>
struct CtcBackward {
  std::int64_t time;
  LOCUS_FN R operator()(R score, R here, R next, R second, R skip, std::int64_t times, std::int64_t labels,
                        std::int64_t state) const {
    constexpr R nothing = LogOfZero<R>::value;
    if (time >= times) return nothing;
    if (time + 1 == times) return state == 2 * labels || state == 2 * labels - 1 ? score : nothing;
    return score + log_sum(here, next, second + skip);
  }
};
/// The share of all paths that pass through a state at a time: the gradient of a score, up to the sign.
template <class R>
struct CtcGradient {
  LOCUS_FN R operator()(R up_to, R from, R score, R loss, R g) const {
    constexpr R nothing = LogOfZero<R>::value;
    if (up_to == nothing || from == nothing || loss == -nothing) return R(0);
    return -g * math::exp(up_to + (from - score) + loss);
  }
};
template <class R>
struct CtcLoss {
  bool zero_infinity;
  LOCUS_FN R operator()(R last, R before) const {
    constexpr R nothing = LogOfZero<R>::value;
    const R sum = log_sum(last, before, nothing);
    return zero_infinity && sum == nothing ? R(0) : -sum;
  }
};
}  // namespace detail

namespace operation {

/// -log of the sum over paths. scores: (time, batch, states); skips: (batch, states), 0 where a path may come from two
/// states before, else -infinity; times and labels: (batch, 1), the lengths in use.
struct CtcPaths {
  static constexpr const char* name = "ctc_loss";
  static constexpr bool runs_on_duals = true;
  bool zero_infinity;

  template <class R, class D>
  auto forward(const Tensor<R, D>& scores, const Tensor<R, D>& skips, const Tensor<std::int64_t, D>& times,
               const Tensor<std::int64_t, D>& labels) const {
    const std::int64_t most = scores.size(0), batch = scores.size(1), states = scores.size(2);
    // Padding: two states before the first, which no path reaches; and a time before the first, when all paths are in
    // the first state.
    const Tensor<R, D> paths({most + 1, batch, states + 2}, scores.device());
    paths.fill_(detail::LogOfZero<R>::value);
    paths.select(0, 0).select(1, 2).fill_(R(0));
    for (std::int64_t t = 0; t < most; ++t) {
      const auto before = paths.select(0, t);
      detail::map_into(paths.select(0, t + 1).slice(1, 2), detail::CtcForward<R>{t}, scores.select(0, t),
                       before.slice(1, 2), before.slice(1, 1, states + 1), before.slice(1, 0, states), skips, times);
    }
    const Tensor<std::int64_t, D> last = labels * std::int64_t{2} + std::int64_t{2};
    const auto ends = paths.select(0, most);
    const auto at = [&](const Tensor<std::int64_t, D>& state) -> Tensor<R, D> { return gather(ends, 1, state); };
    const auto in_last = at(last), before = at(last - std::int64_t{1});
    const Tensor<R, D> losses({batch, 1}, scores.device()), result({batch, 1}, scores.device());
    detail::map_into(losses, detail::CtcLoss<R>{false}, in_last, before);
    detail::map_into(result, detail::CtcLoss<R>{zero_infinity}, in_last, before);
    return Forwarded{result.squeeze(1), Tuple(scores, skips, times, labels, paths, losses)};
  }

  template <class R, class D, class Saved, class... None>
  void backward(const Saved& saved, const Tensor<R, D>& g, Gradient<R, D>& dscores, None&...) const {
    if (!dscores) return;
    const auto& [scores, skips, times, labels, paths, losses] = saved;
    const std::int64_t most = scores.size(0), batch = scores.size(1), states = scores.size(2);
    // Padding: two states after the last, which lead nowhere. A skip belongs to the state to which it leads.
    const Tensor<R, D> rest({most + 1, batch, states + 2}, scores.device()), skips_to({batch, states}, scores.device());
    rest.fill_(detail::LogOfZero<R>::value);
    skips_to.fill_(detail::LogOfZero<R>::value);
    if (states > 2) skips_to.slice(1, 0, states - 2).copy_(skips.slice(1, 2));
    const Tensor<std::int64_t, D> numbers = arange<std::int64_t>(states, scores.device());
    for (std::int64_t t = most - 1; t >= 0; --t) {
      const auto after = rest.select(0, t + 1);
      detail::map_into(rest.select(0, t).slice(1, 0, states), detail::CtcBackward<R>{t}, scores.select(0, t),
                       after.slice(1, 0, states), after.slice(1, 1, states + 1), after.slice(1, 2), skips_to, times,
                       labels, numbers);
    }
    detail::map_to(dscores, detail::CtcGradient<R>{}, paths.slice(0, 1).slice(2, 2),
                   rest.slice(0, 0, most).slice(2, 0, states), scores, losses, g.unsqueeze(1));
  }
};

}  // namespace operation

}}  // namespace locus::LOCUS_ABI
