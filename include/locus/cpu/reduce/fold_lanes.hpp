#pragma once
// Folds the lanes of vector registers.

#include <locus/core/dtype.hpp>

#include <cstdint>
#include <type_traits>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// Folds partial results that are `width` apart, then half as far apart, down to `last`: with widths from half the
/// lanes to 1, partial[0] is the fold of all. Each step is a loop of known length, so that it vectorizes.
template <int width, int last, class Op, class A>
LOCUS_LOOP_FN void fold_lanes(const Op& op, A* partial) {
  if constexpr (width >= last && width > 0) {
    LOCUS_IVDEP
    for (int lane = 0; lane < width; ++lane) partial[lane] = op.combine(partial[lane], partial[lane + width]);
    fold_lanes<width / 2, last>(op, partial);
  }
}

/// Accumulators that the widest register holds.
template <class A>
inline constexpr int lanes_of = Arithmetic<A> ? sizeof(A) == 8 ? 8 : 16 : 1;

/// How a tail shorter than a register is read: under a mask or, if there are enough elements, with some before it.
enum class Tail { masked, overlapping };

/// Folds element(k) for k in [0, n), in `registers` registers side by side, so that none waits for another. The order
/// depends on n alone.
template <int registers, Tail tail, class Op, class Element>
[[nodiscard]] LOCUS_LOOP_FN typename Op::Accumulator fold_elements(const Op& op, std::int64_t n,
                                                                   const Element& element) {
  using A = typename Op::Accumulator;
  using Lane = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
  constexpr int lanes = lanes_of<A>, side_by_side = registers * lanes;
  const A identity = op.identity();
  alignas(64) A partial[side_by_side];
  for (int lane = 0; lane < lanes; ++lane) partial[lane] = identity;
  std::int64_t k = 0;
  if constexpr (registers > 1) {
    if (n >= side_by_side) {
      for (int lane = lanes; lane < side_by_side; ++lane) partial[lane] = identity;
      for (; k + side_by_side <= n; k += side_by_side) {
        LOCUS_IVDEP
        for (int lane = 0; lane < side_by_side; ++lane) partial[lane] = op.combine(partial[lane], element(k + lane));
      }
      fold_lanes<side_by_side / 2, lanes>(op, partial);
    }
  }
  for (; k + lanes <= n; k += lanes) {
    LOCUS_IVDEP
    for (int lane = 0; lane < lanes; ++lane)  // a whole register
      partial[lane] = op.combine(partial[lane], element(k + lane));
  }
  if (k < n) {
    [[maybe_unused]] const Lane left = static_cast<Lane>(n - k), folded = static_cast<Lane>(k + lanes - n);
    LOCUS_IVDEP
    for (Lane lane = 0; lane < lanes; ++lane) {
      if constexpr (tail == Tail::masked) {
        A value = partial[lane];
        if (lane < left) value = op.combine(value, element(k + lane));
        partial[lane] = value;
      } else {
        const A value = op.combine(partial[lane], element(n - lanes + lane));
        partial[lane] = lane < folded ? partial[lane] : value;
      }
    }
  }
  fold_lanes<lanes / 2, 1>(op, partial);
  return partial[0];
}

/// A run of elements in cache, for an Op that FoldsRuns and makes several passes over it.
template <class Element>
class Run {
 public:
  LOCUS_FN Run(const Element& element, std::int32_t size) : element_(element), size_(size) {}
  [[nodiscard]] LOCUS_FN std::int32_t size() const { return size_; }
  [[nodiscard]] LOCUS_FN auto operator[](std::int64_t k) const { return element_(k); }

  /// Folds map(element k, k).
  template <class Op, class Map>
  [[nodiscard]] LOCUS_LOOP_FN typename Op::Accumulator fold(const Op& op, const Map& map) const {
    const Element element = element_;
    return fold_elements<2, Tail::masked>(
        op, size_, [=](std::int64_t k) LOCUS_INLINED { return map(element(k), static_cast<std::int32_t>(k)); });
  }

 private:
  Element element_;
  std::int32_t size_;
};

template <class Op>
concept FoldsRuns =
    requires(const Op& op, const Run<typename Op::Accumulator (*)(std::int64_t)>& run) { op.of_run(run); };

}}}  // namespace locus::LOCUS_ABI::cpu
LOCUS_LOOPS_END
