#pragma once
// A few elements in registers, which a fold combines pairwise, or takes as one run.

#include <locus/core/config.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// map(first) ... map(first + count - 1), combined pairwise.
template <int first, int count, class Op, class Map>
[[nodiscard]] LOCUS_FN typename Op::Accumulator fold_pairwise(const Op& op, const Map& map) {
  if constexpr (count == 1) return map(first);
  else
    return op.combine(fold_pairwise<first, count / 2>(op, map),
                      fold_pairwise<first + count / 2, count - count / 2>(op, map));
}

/// element(0) ... element(count - 1) as a run of a fold (ops/fold.hpp), whose loops are unrolled.
template <int count, class Element>
class ShortRun {
 public:
  static constexpr bool is_short = true;
  LOCUS_FN explicit ShortRun(const Element& element) : element_(element) {}
  [[nodiscard]] LOCUS_FN static constexpr std::int32_t size() { return count; }
  [[nodiscard]] LOCUS_FN auto operator[](std::int32_t k) const { return element_(k); }

  /// Folds map(element k, k).
  template <class Op, class Map>
  [[nodiscard]] LOCUS_FN typename Op::Accumulator fold(const Op& op, const Map& map) const {
    const Element& element = element_;
    return fold_pairwise<0, count>(op, [&](std::int32_t k) LOCUS_INLINED { return map(element(k), k); });
  }

 private:
  const Element& element_;
};

/// Folds lifted elements: element(0) ... element(count - 1).
template <int count, class Op, class Element>
[[nodiscard]] LOCUS_FN typename Op::Accumulator fold_few(const Op& op, const Element& element) {
  if constexpr (
      requires { op.of_run(ShortRun<count, Element>(element)); } && !requires { Op::indexed; })
    return op.of_run(ShortRun<count, Element>(element));
  else return fold_pairwise<0, count>(op, element);
}

}}}  // namespace locus::LOCUS_ABI::detail
