#pragma once
// The launches of cross_entropy: one row per example, and the sum of their losses.

#include <locus/ops/fold.hpp>
#include <locus/ops/rows.hpp>
#include <locus/tensor/host_reads.hpp>

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

/// losses[row], shares[row] (the weight of the row's label), largest[row], and log_sums[row]: log(sum(e^(x -
/// largest))). The last two stay apart, since their sum would round at the size of the logits. An ignored label gives
/// zeros, one out of range NaN.
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
    const auto exponentials = sum_exponentials(team, larger, values);
    const R largest = exponentials.largest, sum = exponentials.sum;
    const R log_sum = math::log(sum);
    const R share = rules.weight(label);
    R loss = share * ((largest - load_as_register(logits.row(row)[label * logits.stride])) + log_sum);
    if (rules.smoothing > R(0)) {
      const auto r = rules;
      const R spread = team.reduce(
          fold::SumOfSlow<T>{},
          [=](R v, std::int64_t c) LOCUS_INLINED { return r.weight(c) * ((largest - v) + log_sum); }, values);
      loss = (R(1) - r.smoothing) * loss + r.smoothing / static_cast<R>(r.classes) * spread;
    }
    team.write(losses + row, loss);
    team.write(shares + row, share);
    team.write(largests + row, largest);
    team.write(log_sums + row, log_sum);
  }
};

/// dlogits = scale * ((1 - smoothing) w_label (p - target) + smoothing / classes * (p * sum(w) - w))
template <class T, bool weighted>
struct CrossEntropyRowBackward {
  using R = compute_t<T>;
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Rows<const T> logits;
  LabelRules<T, weighted> rules;
  const R *largests, *log_sums;
  const T* g;             ///< gradient of the result
  std::int64_t g_stride;  ///< 0: one for all rows
  const R* total;         ///< divisor of the sum of losses; null: 1
  Rows<T> dlogits;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t label = rules.labels[row];
    const auto values = team.load(logits.input(row));
    const auto out = dlogits.output(row, accumulate);
    const R adjoint = load_as_register(g[row * g_stride]);
    if (rules.ignores(label) || adjoint == R(0)) return store_nothing(team, out, values);
    const R scale = adjoint / (total ? *total : R(1));
    const R largest = largests[row], log_sum = log_sums[row];
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
          return share * math::exp_of_negative((v - largest) - log_sum) - (c == label ? hard : R(0)) -
                 soft * r.weight(c);
        },
        values);
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
