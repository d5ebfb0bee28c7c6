#pragma once
// The launches of attention beside its products: masking of scores, softmax of rows, and the adjoints of both.

#include <locus/ops/dropout.hpp>
#include <locus/ops/rows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Maps a row of a part to its number among all rows: the rows of a head are contiguous, and heads begin `apart` rows
/// apart.
struct AttentionRowNumbers {
  std::int64_t first, rows, apart;
  [[nodiscard]] LOCUS_FN std::int64_t operator()(std::int64_t row) const {
    const std::int64_t head = row / rows;
    return first + head * apart + (row - head * rows);
  }
};

/// e^x for x <= 0, with subnormal results flushed to 0: on many hosts each subnormal number, and each e^x that rounds
/// to 0, as for masked scores, takes as long as a hundred normal ones.
template <class R>
[[nodiscard]] LOCUS_FN R exp_of_score(R x) {
#if LOCUS_ON_DEVICE
  return math::exp_of_negative(x);
#else
  constexpr R least = std::is_same_v<R, float> ? R(-87) : R(-708);
  return kept_if(!(x < least), math::exp_of_negative(x < least ? least : x));
#endif
}

/// The dropout factor of the probability of key `column` for query `row`.
template <class D>
struct AttentionDropout {
  static constexpr bool drops = true;
  functor::Dropout f;
  DrawnNumbers<D> numbers;
  std::int64_t keys;
  template <class R>
  [[nodiscard]] LOCUS_FN R operator()(R x, std::int64_t row, std::int64_t column) const {
    return f(x, numbers.bits(row * keys + column));
  }
};
/// The same for a device that has one kernel for calls with and without dropout.
template <class D>
struct SomeAttentionDropout {
  bool acts;
  AttentionDropout<D> drop;
  template <class R>
  [[nodiscard]] LOCUS_FN R operator()(R x, std::int64_t row, std::int64_t column) const {
    return drop(x, row, column);
  }
};
struct NoAttentionDropout {
  static constexpr bool drops = false;
  static constexpr bool acts = false;
  template <class R> [[nodiscard]] LOCUS_FN R operator()(R x, std::int64_t, std::int64_t) const { return x; }
};

/// Scores become probabilities, with dropout. `largests` and `scales` get one element for each row: its largest score,
/// 0 if all are -infinity; and 1 over the sum of e^(score - largest), 0 if the sum is 0.
template <class T, class Drop>
struct AttentionRow {
  using R = compute_t<T>;
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  T* scores;
  AttentionRowNumbers number;
  Drop drop;
  R *largests, *scales;
  fold::Max<T> larger{};

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    T* const at = scores + row * team.cols();
    auto values = team.load(RowInput<T>{at});
    const R most = largest_number(team, larger, values);
    const R largest = most == larger.start ? R(0) : most;
    const R sum = team.update_and_reduce(
        fold::Sum<T>{}, [=](R v, std::int64_t) LOCUS_INLINED { return exp_of_score(v - largest); }, values,
        RowOutput<T>{at});
    const R scale = sum == R(0) ? R(0) : R(1) / sum;
    const std::int64_t n = number(row);
    const Drop dropped = drop;
    team.store(
        RowOutput<T>{at}, [=](R v, std::int64_t c) LOCUS_INLINED { return dropped(v * scale, n, c); }, values);
    team.write(largests + n, largest);
    team.write(scales + n, scale);
  }
};

/// Takes scores and the adjoints of the probabilities after dropout. Replaces the scores by these probabilities, and
/// the adjoints by factor p (dp - sum(dp p)), the adjoints of the scores before scaling.
template <class T, class Drop>
struct AttentionRowBackward {
  using R = compute_t<T>;
  static constexpr int fragments = 2;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 4 * sizeof(T);
  T *scores, *adjoints;
  AttentionRowNumbers number;
  Drop drop;
  const R *largests, *scales;
  R factor;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t begin = row * team.cols(), n = number(row);
    const R largest = largests[n], scale = scales[n], scaled_by = factor;
    const Drop dropped = drop;
    auto p = team.load(RowInput<T>{scores + begin});
    auto dp = team.load(RowInput<T>{adjoints + begin});
    team.update([=](R v, std::int64_t) LOCUS_INLINED { return exp_of_score(v - largest) * scale; }, p);
    if constexpr (Drop::drops) team.update([=](R g, std::int64_t c) LOCUS_INLINED { return dropped(g, n, c); }, dp);
    const R sum = team.reduce(
        fold::Sum<T>{}, [](R g, R v, std::int64_t) LOCUS_INLINED { return times_slope<AttentionRowBackward>(g, v); },
        dp, p);
    team.store(
        RowOutput<T>{adjoints + begin},
        [=](R g, R v, std::int64_t) LOCUS_INLINED { return times_slope<AttentionRowBackward>(g - sum, v) * scaled_by; },
        dp, p);
    team.store(
        RowOutput<T>{scores + begin}, [=](R v, std::int64_t c) LOCUS_INLINED { return dropped(v, n, c); }, p);
  }
};

/// Scores of keys that a mask excludes become -infinity, whatever they are. Marks are read as bytes, which compilers
/// compare faster than bool.
template <class R>
struct MaskedScore {
  std::uint8_t allowed;  ///< the mark of allowed keys: 0 or 1
  R low = fold::lowest<R>();
  LOCUS_FN void operator()(R score, std::uint8_t mask, R& out) const { out = mask == allowed ? score : low; }
};
template <class R>
struct AddedScore {
  LOCUS_FN void operator()(R score, R mask, R& out) const { out = score + mask; }
};
template <class R>
struct ScaledQuery {
  R factor;
  LOCUS_FN void operator()(R q, R& out) const { out = q * factor; }
};

/// Whether element i of a square matrix is on its diagonal or below.
struct LowerTriangle {
  std::int64_t extent;
  LOCUS_FN void operator()(std::int64_t i, std::uint8_t& out) const { out = i % extent <= i / extent ? 1 : 0; }
};

}}}  // namespace locus::LOCUS_ABI::detail
