#pragma once
// The launches of cross_entropy and linear_cross_entropy: one row per example, and the sum of their losses.

#include <locus/ops/fold.hpp>
#include <locus/ops/rows.hpp>
#include <locus/tensor/host_reads.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The inputs of an example's loss beside its logits.
template <class T, bool weighted>
struct LabelRules {
  using R = compute_t<T>;
  const std::int64_t* labels;
  const T* weights;  ///< one per class, where weighted
  std::int64_t classes, ignored;
  R smoothing;

  [[nodiscard]] LOCUS_FN bool ignores(std::int64_t label) const { return label == ignored; }
  [[nodiscard]] LOCUS_FN bool in_range(std::int64_t label) const { return label >= 0 && label < classes; }
  [[nodiscard]] LOCUS_FN R weight([[maybe_unused]] std::int64_t c) const {
    if constexpr (weighted) return load_as_register(weights[c]);
    else return R(1);
  }
};

/// The loss of a row of logits, the weight of its label, the largest logit, and log(sum(e^(x - largest))). The last two
/// stay apart, since their sum would round at the size of the logits.
template <class R>
struct LossOfRow {
  R loss, share, largest, log_sum;
};
template <class T, bool weighted, class Team, class Fragment>
[[nodiscard]] LOCUS_FN auto loss_of_row(Team& team, const fold::Max<T>& larger, const LabelRules<T, weighted>& rules,
                                        std::int64_t label, compute_t<T> logit, const Fragment& values) {
  using R = compute_t<T>;
  const auto exponentials = sum_exponentials(team, larger, values);
  const R largest = exponentials.largest, sum = exponentials.sum;
  const R log_sum = math::log(sum);
  const R share = rules.weight(label);
  R loss = share * ((largest - logit) + log_sum);
  if (rules.smoothing > R(0)) {
    const auto r = rules;
    const R spread = team.reduce(
        fold::SumOfSlow<T>{},
        [=](R v, std::int64_t c) LOCUS_INLINED { return r.weight(c) * ((largest - v) + log_sum); }, values);
    loss = (R(1) - r.smoothing) * loss + r.smoothing / static_cast<R>(r.classes) * spread;
  }
  return LossOfRow<R>{loss, share, largest, log_sum};
}

/// Stores the gradients of a row of logits,
/// scale * ((1 - smoothing) w_label (p - target) + smoothing / classes * (p * sum(w) - w)).
template <class T, bool weighted, class Team, class Fragment>
LOCUS_FN void store_logit_gradients(Team& team, const RowOutput<T>& out, const LabelRules<T, weighted>& rules,
                                    std::int64_t label, compute_t<T> scale, compute_t<T> largest, compute_t<T> log_sum,
                                    const Fragment& values) {
  using R = compute_t<T>;
  const R hard = (R(1) - rules.smoothing) * scale * (rules.in_range(label) ? rules.weight(label) : R(0));
  const R soft = rules.smoothing > R(0) ? scale * rules.smoothing / static_cast<R>(rules.classes) : R(0);
  const auto r = rules;
  R weight_sum = static_cast<R>(rules.classes);
  if constexpr (weighted)
    if (rules.smoothing > R(0))
      weight_sum = team.reduce(
          fold::Sum<T>{}, [=](R, std::int64_t c) LOCUS_INLINED { return r.weight(c); }, values);
  const R share = hard + soft * weight_sum;
  team.store(
      out,
      [=](R v, std::int64_t c) LOCUS_INLINED {
        return share * math::detail::exp_of_negative_as<T>((v - largest) - log_sum) - (c == label ? hard : R(0)) -
               soft * r.weight(c);
      },
      values);
}

/// losses[row], shares[row], largest[row] and log_sums[row], the members of LossOfRow. An ignored label gives zeros,
/// one out of range NaN.
template <class T, bool weighted>
struct CrossEntropyRow {
  using R = compute_t<T>;
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr int resident_blocks = 2;
  static constexpr std::int64_t bytes_per_element = sizeof(T);
  Rows<const T> logits;
  LabelRules<T, weighted> rules;
  R *losses, *shares, *largests, *log_sums;
  R nan = std::numeric_limits<R>::quiet_NaN();
  fold::Max<T> larger{};

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    visit(logits.input(row));
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t label = rules.labels[row];
    if (rules.ignores(label) || !rules.in_range(label)) {
      const R value = rules.ignores(label) ? R(0) : nan;
      team.write(losses + row, value);
      team.write(shares + row, value);
      team.write(largests + row, value);
      team.write(log_sums + row, value);
      return;
    }
    const auto values = team.load(logits.input(row));
    const R logit = load_as_register(logits.row(row)[label * logits.stride]);
    const auto found = loss_of_row(team, larger, rules, label, logit, values);
    team.write(losses + row, found.loss);
    team.write(shares + row, found.share);
    team.write(largests + row, found.largest);
    team.write(log_sums + row, found.log_sum);
  }
};

/// The gradients of the logits, given the numbers that CrossEntropyRow wrote for each row. They may replace the logits.
template <class T, bool weighted, class G = T>
struct CrossEntropyRowBackward {
  using R = compute_t<T>;
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Rows<const T> logits;
  LabelRules<T, weighted> rules;
  const R *largests, *log_sums;
  const G* g;             ///< gradient of the result
  std::int64_t g_stride;  ///< 0: one for all rows
  const R* total;         ///< divisor of the sum of losses; null: 1
  Rows<T> dlogits;
  bool accumulate;

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    visit(logits.input(row));
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t label = rules.labels[row];
    const auto values = team.load(logits.input(row));
    const auto out = dlogits.output(row, accumulate);
    const R adjoint = load_as_register(g[row * g_stride]);
    if (rules.ignores(label) || is_zero(adjoint)) return store_nothing(team, out, values);
    const R scale = adjoint / (total ? *total : R(1));
    store_logit_gradients(team, out, rules, label, scale, largests[row], log_sums[row], values);
  }
};

/// losses[row] and shares[row], as CrossEntropyRow writes them, and the gradients of these losses in place of the
/// logits.
template <class T, bool weighted>
struct CrossEntropyRowInPlace {
  using R = compute_t<T>;
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Rows<T> logits;
  LabelRules<T, weighted> rules;
  R *losses, *shares;
  R nan = std::numeric_limits<R>::quiet_NaN();
  fold::Max<T> larger{};

  template <class Visit>
  LOCUS_FN void for_each_input(std::int64_t row, const Visit& visit) const {
    visit(logits.input(row));
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t label = rules.labels[row];
    const auto out = logits.output(row);
    if (rules.ignores(label) || !rules.in_range(label)) {
      const R value = rules.ignores(label) ? R(0) : nan;
      team.write(losses + row, value);
      team.write(shares + row, value);
      team.store(out, [=](std::int64_t) LOCUS_INLINED { return value; });
      return;
    }
    const auto values = team.load(logits.input(row));
    // Read before the reductions, which all threads of the team leave together: afterwards another thread stores there.
    const R logit = load_as_register(logits.row(row)[label * logits.stride]);
    const auto found = loss_of_row(team, larger, rules, label, logit, values);
    team.write(losses + row, found.loss);
    team.write(shares + row, found.share);
    store_logit_gradients(team, out, rules, label, R(1), found.largest, found.log_sum, values);
  }
};

/// The loss and its divisor. A reduction may add its result to another: hence the sum.
template <class R>
struct LossTotal {
  R loss, weight;
  friend LOCUS_FN LossTotal operator+(const LossTotal& a, const LossTotal& b) {
    return {a.loss + b.loss, a.weight + b.weight};
  }
};
/// A sum and its rounding error (Knuth's two-sum): many weights of a few values are all rounded in one direction.
template <class R>
struct CompensatedSum {
  R sum, lost;
  friend LOCUS_FN CompensatedSum operator+(const CompensatedSum& a, const CompensatedSum& b) {
    const R total = a.sum + b.sum, from_b = total - a.sum;
    const R error = (a.sum - (total - from_b)) + (b.sum - from_b);
    return {total, a.lost + b.lost + (error - error == R(0) ? error : R(0))};  // infinite and NaN sums lose nothing
  }
  [[nodiscard]] LOCUS_FN R rounded() const { return sum + lost; }
};
template <class R>
struct FoldLosses {
  struct Accumulator {
    CompensatedSum<R> loss, weight;
  };
  bool divides;
  LOCUS_FN Accumulator identity() const { return {{0, 0}, {0, 0}}; }
  LOCUS_FN Accumulator operator()(R loss, R weight) const { return {{loss, 0}, {weight, 0}}; }
  LOCUS_FN Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    return {a.loss + b.loss, a.weight + b.weight};
  }
  LOCUS_FN LossTotal<R> finish(const Accumulator& a) const {
    const R loss = a.loss.rounded(), weight = a.weight.rounded();
    return {divides ? loss / weight : loss, weight};
  }
};

/// The sum of the losses, divided by the sum of their shares if `divides`, and the sum of the shares: (2). One launch.
template <class R, class D>
[[nodiscard]] Tensor<R, D> fold_losses(const Tensor<R, D>& losses, const Tensor<R, D>& shares, bool divides) {
  const Tensor<R, D> pair({2}, losses.device());
  const FoldLosses<R> op{divides};
  const auto plan = make_reduce_plan<2>(losses.shape(), {operand_of(losses), operand_of(shares), PlanOperand{}}, 1u);
  Backend<D>::reduce(losses.device(), plan, op, op, Pack<const R*, const R*>(losses.data(), shares.data()),
                     static_cast<const LossTotal<R>*>(nullptr), reinterpret_cast<LossTotal<R>*>(pair.data()));
  return pair;
}

/// throws ShapeError unless there is one weight per class
LOCUS_OUT_OF_LINE inline void require_class_weights(std::string_view name, const Shape& weights, std::int64_t classes) {
  if (!(weights == Shape{classes}))
    fail<ShapeError>(
        {name, ": class weights of shape ", weights, " for ", classes, " classes; expected (", classes, ",)"});
}
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline void require_smoothing(std::string_view name, double smoothing) {
  if (!(smoothing >= 0 && smoothing <= 1))
    fail<ArgumentError>({name, ": label_smoothing ", smoothing, "; expected 0 to 1"});
}

/// throws IndexError for a label that is neither a class nor `*ignored` (null: none is ignored), on a device that
/// ChecksElements
template <class D>
void require_labels(std::string_view name, const Tensor<std::int64_t, D>& labels, std::int64_t classes,
                    const std::int64_t* ignored = nullptr) {
  check_elements(labels, [&](std::int64_t label, std::int64_t i) {
    if ((label < 0 || label >= classes) && !(ignored && label == *ignored))
      fail<IndexError>({name, ": label ", label, " at position ", i, " is not a class; expected 0 to ", classes - 1,
                        ignored ? join(", or ignore_index ", *ignored) : ""});
  });
}

}}}  // namespace locus::LOCUS_ABI::detail
