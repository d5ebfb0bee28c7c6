#pragma once
// The steps of a recurrent layer over sequences in packed rows: the rows of step 0 of all sequences, then those of step
// 1, and so on. Sequences are sorted by length, longest first, so that the rows of a step are those of the first
// sequences.

#include <locus/tensor/copy.hpp>
#include <locus/tensor/factory.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The rows of one step: [first, first + batch).
struct RecurrentStep {
  std::int64_t first = 0, batch = 0;
  [[nodiscard]] std::int64_t end() const { return first + batch; }
};

/// The steps in the order in which they are processed: forward, or from the last one back.
class RecurrentSteps {
 public:
  RecurrentSteps() = default;
  /// `batch_sizes`: the number of sequences that reach each step, which never grows
  RecurrentSteps(const std::vector<std::int64_t>& batch_sizes, bool is_reverse) : is_reverse_(is_reverse) {
    steps_.reserve(batch_sizes.size());
    for (const std::int64_t batch : batch_sizes) {
      steps_.push_back({rows_, batch});
      rows_ += batch;
    }
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(steps_.size()); }
  [[nodiscard]] const RecurrentStep& operator[](std::int64_t k) const {
    return steps_[static_cast<std::size_t>(is_reverse_ ? size() - 1 - k : k)];
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// The number of sequences.
  [[nodiscard]] std::int64_t batch() const { return steps_.empty() ? 0 : steps_.front().batch; }

  [[nodiscard]] bool is_reverse() const { return is_reverse_; }
  /// Whether step k continues sequences that step k - 1 processed, and no others: its states are rows of that step.
  [[nodiscard]] bool continues(std::int64_t k) const { return k > 0 && (*this)[k - 1].batch >= (*this)[k].batch; }
  /// Where the run of steps with equal numbers of sequences ends that begins at step k.
  [[nodiscard]] std::int64_t run_end(std::int64_t k) const {
    std::int64_t end = k + 1;
    while (end < size() && (*this)[end].batch == (*this)[k].batch) ++end;
    return end;
  }

 private:
  std::vector<RecurrentStep> steps_;
  std::int64_t rows_ = 0;
  bool is_reverse_ = false;
};

template <class T, class D>
[[nodiscard]] Tensor<T, D> rows_of_step(const Tensor<T, D>& packed, const RecurrentStep& step) {
  return packed.slice(0, step.first, step.end());
}

/// state = initial, or 0 where that is empty.
template <class T, class D>
void start_states(const Tensor<T, D>& initial, const Tensor<T, D>& state) {
  if (initial.buffer()) copy_elements(initial, state);
  else state.fill_(T(0));
}

/// The states before step k, of its sequences: rows of `states`, which holds the state after each step, or of
/// `initial`, or a copy of rows of both where sequences begin. Empty for zeros: step 0 without an initial state.
template <class T, class D>
[[nodiscard]] Tensor<T, D> states_before(const RecurrentSteps& steps, std::int64_t k, const Tensor<T, D>& states,
                                         const Tensor<T, D>& initial) {
  const std::int64_t batch = steps[k].batch;
  if (k == 0) return initial.buffer() ? initial.slice(0, 0, batch) : Tensor<T, D>();
  const RecurrentStep& last = steps[k - 1];
  if (steps.continues(k)) return states.slice(0, last.first, last.first + batch);
  const Tensor<T, D> joined({batch, states.size(1)}, states.device());
  copy_elements(rows_of_step(states, last), joined.slice(0, 0, last.batch));
  start_states(initial.buffer() ? initial.slice(0, last.batch, batch) : initial, joined.slice(0, last.batch, batch));
  return joined;
}

/// Copies the state after the last step of each sequence to `last`, (batch, width). A launch for each length.
template <class T, class D>
void copy_last_states(const RecurrentSteps& steps, const Tensor<T, D>& states, const Tensor<T, D>& last) {
  for (std::int64_t k = 0; k < steps.size(); ++k) {
    const RecurrentStep& step = steps[k];
    const std::int64_t going_on = k + 1 < steps.size() ? steps[k + 1].batch : 0;
    if (going_on >= step.batch) continue;
    copy_elements(states.slice(0, step.first + going_on, step.end()), last.slice(0, going_on, step.batch));
  }
}

}}}  // namespace locus::LOCUS_ABI::detail
