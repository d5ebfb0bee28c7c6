#pragma once
// Cpu's for_each_row: a team is one thread, a fragment is the row in cache, in register type.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/loops/stage.hpp>
#include <locus/cpu/loops/streaming.hpp>
#include <locus/cpu/reduce/fold_lanes.hpp>
#include <locus/cpu/threads/scratch.hpp>
#include <locus/cpu/tuning.hpp>
#include <locus/device/row_team.hpp>

#include <cstddef>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// Columns computed at a time. A fragment has room for whole multiples of them.
inline constexpr int row_lanes = 16;

/// A row in register type: in place if it is dense and not updated, otherwise in a copy.
template <class R>
struct Fragment {
  const R* values;
  R* room;  ///< for the copy: a whole number of vectors

  /// For a row that was copied, as 16-bit rows are.
  [[nodiscard]] LOCUS_FN R& operator[](std::int64_t c) const { return room[c]; }
};

namespace detail {
// Moving rows does not depend on the functor: compiled once for each element type.

/// Copies a row that is not dense, or null, to a dense one.
template <class T>
LOCUS_OUT_OF_LINE void gather_row(const RowInput<T>& row, std::int64_t n, T* to) {
  const T zero{};
  gather(to, reinterpret_cast<const std::byte*>(row.data ? row.data : &zero), row.data ? row.stride : 0, n, sizeof(T));
}

template <class T>
LOCUS_FN T sum_of(T stored, compute_t<T> value) {
  return from_register<T>(static_cast<compute_t<T>>(load_as_register(stored) + value));
}
/// Rows of register type come here only to be added: otherwise they are computed in place.
template <class T>
LOCUS_FN void put_dense(const compute_t<T>* values, std::int64_t n, T* out, bool accumulate) {
  if (std::is_same_v<T, compute_t<T>> || accumulate) {
    LOCUS_IVDEP
    for (std::int64_t c = 0; c < n; ++c) out[c] = sum_of(out[c], values[c]);
  } else {
    LOCUS_IVDEP
    for (std::int64_t c = 0; c < n; ++c) out[c] = from_register<T>(values[c]);
  }
}
/// values[c] to column c of a row that is converted, strided, or added to.
template <class T>
LOCUS_OUT_OF_LINE void put_row(const compute_t<T>* values, std::int64_t n, const RowOutput<T>& row) {
  if (row.stride == 1) return Versions<&put_dense<T>>::narrow(values, n, row.data, row.accumulate);
  for (std::int64_t c = 0; c < n; ++c) {
    T& target = row.data[c * row.stride];
    target = row.accumulate ? sum_of(target, values[c]) : from_register<T>(values[c]);
  }
}
}  // namespace detail

/// See the concept RowTeam. (Its members are marked for the device too only because row functors are.)
class RowTeam {
 public:
  static constexpr bool is_one_thread = true;

  RowTeam(std::int64_t cols, std::byte* scratch, std::size_t fragment_bytes)
      : cols_(cols), scratch_(scratch + fragment_bytes), fragment_bytes_(fragment_bytes), results_(scratch) {}

  [[nodiscard]] LOCUS_FN std::int64_t cols() const { return cols_; }

  template <class T>
  [[nodiscard]] LOCUS_LOOP_FN Fragment<compute_t<T>> load(const RowInput<T>& row) {
    auto* const room = reinterpret_cast<compute_t<T>*>(scratch_);
    scratch_ += fragment_bytes_;
    const T* values = row.data;
    if constexpr (std::is_same_v<T, compute_t<T>>) {
      if (!row.data || row.stride != 1) return detail::gather_row(row, cols_, room), Fragment<T>{room, room};
      return Fragment<T>{values, room};
    } else {
      auto* const gathered = reinterpret_cast<T*>(results_);
      if (!row.data || row.stride != 1) detail::gather_row(row, cols_, gathered), values = gathered;
      LOCUS_IVDEP
      for (std::int64_t c = 0; c < cols_; ++c) room[c] = load_as_register(values[c]);
      return Fragment<compute_t<T>>{room, room};
    }
  }

  /// Folds map(x[c]..., c) over the columns.
  template <class Op, class Map, class... R>
  [[nodiscard]] LOCUS_LOOP_FN typename Op::Accumulator reduce(const Op& op, const Map& map,
                                                              const Fragment<R>&... x) const {
    if constexpr (requires { Op::adds_slow_terms; }) {
      typename Op::Accumulator total = op.identity();
      for (std::int64_t c = 0; c < cols_; c += fold_block) {
        const std::int64_t end = locus::detail::smaller(c + fold_block, cols_);
        total = op.combine(total, fold<1, Op, Map, R...>(op, map, c, end, x.values...));
      }
      return total;
    } else {
      return fold<4, Op, Map, R...>(op, map, 0, cols_, x.values...);
    }
  }

  /// first[c] = f(first[c], others[c]..., c)
  template <class F, class R, class... Others>
  LOCUS_LOOP_FN void update(const F& f, Fragment<R>& first, const Fragment<Others>&... others) const {
    update_values<F, R, Others...>(f, cols_, first.room, first.values, others.values...);
    first.values = first.room;
  }

  /// x[c] = f(x[c], c), and the fold of the new x, in one pass. `out` is the row to which x is stored next, and no
  /// source of another fragment: a long x is written there directly.
  template <class Op, class F, class R, class T>
  [[nodiscard]] LOCUS_LOOP_FN typename Op::Accumulator update_and_reduce(const Op& op, const F& f, Fragment<R>& x,
                                                                         const RowOutput<T>& out) const {
    const R* const values = x.values;
    R* target = x.room;
    if constexpr (std::is_same_v<T, R>) {
      if (out.stride == 1 && !out.accumulate && cols_ >= long_row) target = out.data;
    }
    x.values = target;
    typename Op::Accumulator total = op.identity();
    for (std::int64_t c = 0; c < cols_; c += fold_block) {
      const std::int64_t end = locus::detail::smaller(c + fold_block, cols_);
      total = op.combine(total, update_and_fold<Op, F, R>(op, f, c, end, values, x.room, target));
    }
    if (target != x.room)
      for (std::int64_t c = cols_ - cols_ % row_lanes; c < cols_; ++c) target[c] = x.room[c];
    return total;
  }

  /// row[c] = f(x[c]..., c)
  template <class T, class F, class... R>
  LOCUS_LOOP_FN void store(const RowOutput<T>& row, const F& f, const Fragment<R>&... x) const {
    using V = compute_t<T>;
    V* values = reinterpret_cast<V*>(results_);
    bool direct = false;
    if constexpr (std::is_same_v<T, V>) {
      direct = row.stride == 1 && !row.accumulate;
      if (direct) values = row.data;
    }
    compute_values<F, V, R...>(f, 0, cols_, values, x.values...);
    if (!direct) detail::put_row(values, cols_, row);
  }

  /// One value of the whole row.
  template <class T> LOCUS_FN void write(T* target, compute_t<T> value) const { *target = from_register<T>(value); }

 private:
  template <int registers, class Op, class Map, class... R>
  LOCUS_LOOP_FN static typename Op::Accumulator fold(const Op& op, const Map& map, std::int64_t first, std::int64_t end,
                                                     const R*... x) {
    const auto element = [=](std::int64_t k) LOCUS_INLINED { return map(x[first + k]..., first + k); };
    return fold_elements<registers, Tail::masked>(op, end - first, element);
  }

  /// One vector at a time, since f takes longer than an addition.
  template <class Op, class F, class R>
  LOCUS_LOOP_FN static typename Op::Accumulator update_and_fold(const Op& op, const F& f, std::int64_t c,
                                                                std::int64_t end, const R* values, R* room, R* target) {
    alignas(64) typename Op::Accumulator partial[row_lanes];
    for (int lane = 0; lane < row_lanes; ++lane) partial[lane] = op.identity();
    for (; c + row_lanes <= end; c += row_lanes) {
      LOCUS_IVDEP
      for (int lane = 0; lane < row_lanes; ++lane) {  // a whole vector
        const R value = f(values[c + lane], c + lane);
        target[c + lane] = value;
        partial[lane] = op.combine(partial[lane], value);
      }
    }
    if (c < end) {  // a vector that the row does not fill
      const auto left = static_cast<std::int32_t>(end - c);
      LOCUS_IVDEP
      for (std::int32_t lane = 0; lane < row_lanes; ++lane) {
        R value = 0;
        auto total = partial[lane];
        if (lane < left) {
          value = f(values[c + lane], c + lane);
          total = op.combine(total, value);
        }
        room[c + lane] = value;
        partial[lane] = total;
      }
    }
    fold_lanes<row_lanes / 2, 1>(op, partial);
    return partial[0];
  }

  template <class F, class R, class... Others>
  LOCUS_LOOP_FN static void update_values(const F& f, std::int64_t n, R* target, const R* first,
                                          const Others*... others) {
    LOCUS_IVDEP
    for (std::int64_t c = 0; c < n; ++c) target[c] = f(first[c], others[c]..., c);
  }

  std::int64_t cols_;
  std::byte* scratch_;
  std::size_t fragment_bytes_;

 protected:
  /// values[0] belongs to column `begin`.
  template <class F, class V, class... R>
  LOCUS_LOOP_FN static void compute_values(const F& f, std::int64_t begin, std::int64_t end, V* values, const R*... x) {
    LOCUS_IVDEP
    for (std::int64_t c = begin; c < end; ++c) values[c - begin] = static_cast<V>(f(x[c]..., c));
  }

  std::byte* results_;  ///< staging for store()
};

/// A team that writes rows by non-temporal stores if `streams`; call finish() after the last row.
class StreamingRowTeam : public RowTeam {
 public:
  StreamingRowTeam(const RowTeam& team, bool streams) : RowTeam(team), streams_(streams) {}

  void finish() const {
    if (streams_) finish_streams();
  }

  /// row[c] = f(x[c]..., c)
  template <class T, class F, class... R>
  LOCUS_LOOP_FN void store(const RowOutput<T>& row, const F& f, const Fragment<R>&... x) const {
    if constexpr (std::is_same_v<T, compute_t<T>>) {
      if (streams_ && row.stride == 1 && !row.accumulate) [[unlikely]]
        return stream_row(row.data, f, x...);
    }
    RowTeam::store(row, f, x...);
  }

 private:
  template <class T, class F, class... R>
  LOCUS_LOOP_FN void stream_row(T* row, const F& f, const Fragment<R>&... x) const {
    T* const values = reinterpret_cast<T*>(results_);
    for (std::int64_t c = 0; c < cols(); c += stream_block) {
      const std::int64_t end = locus::detail::smaller(c + stream_block, cols());
      compute_values<F, T, R...>(f, c, end, values, x.values...);
      stream(reinterpret_cast<std::byte*>(row + c), reinterpret_cast<const std::byte*>(values),
             static_cast<std::size_t>(end - c) * sizeof(T));
    }
  }

  bool streams_;
};

/// Whether rows are written by non-temporal stores: if a launch moves enough bytes to fill most of the cache, little of
/// the output would stay there for the next operation, and its lines need not be read first. Short rows would leave
/// many lines half written.
template <class F>
[[nodiscard]] bool rows_stream(std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t shortest = 256;
  if constexpr (WaitsForMemory<F>)
    return cols >= shortest && rows * cols * F::bytes_per_element >= bytes_worth_streaming_rows();
  else return false;
}

template <class F>
using RowTeamOf = std::conditional_t<WaitsForMemory<F>, StreamingRowTeam, RowTeam>;

namespace detail {
/// f(row, team) for rows [first, last).
template <class F>
LOCUS_LOOP_FN void compute_rows(const F& functor, std::int64_t first, std::int64_t last,
                                const RowTeamOf<F>& team_of_all) {
  const F f = functor;
  const RowTeamOf<F> begin = team_of_all;
  for (std::int64_t row = first; row < last; ++row) {
    RowTeamOf<F> team = begin;
    f(row, team);
  }
}
}  // namespace detail

/// A team of this thread, with room for `fragments` fragments and a result, whose values have at most `value_bytes`
/// bytes.
[[nodiscard]] inline RowTeam row_team(std::int64_t cols, int fragments, int value_bytes = 8) {
  using Word = double;
  std::int64_t words = 0;
  const int words_per_value = value_bytes <= 8 ? 1 : (value_bytes + 7) / 8;
  if (__builtin_mul_overflow(cols / row_lanes + 1, row_lanes * (fragments + 1) * words_per_value, &words))
    words = INT64_MAX;
  auto* const room = detail::of_this_thread<detail::Scratch>().reserve<Word>(words);
  return {cols, reinterpret_cast<std::byte*>(room), static_cast<std::size_t>(words / (fragments + 1)) * sizeof(Word)};
}

template <class F>
void for_each_row(std::int64_t rows, std::int64_t cols, const F& f) {
  const std::int64_t parts =
      parts_for(locus::detail::product_or_most(rows, locus::detail::larger(cols, shortest_row)), elements_per_row_part);
  parallel_for(parts, [&](std::int64_t part) {
    const auto compute = [&](const RowTeamOf<F>& team) {
      Versions<&detail::compute_rows<F>>::call(f, rows * part / parts, rows * (part + 1) / parts, team);
    };
    if constexpr (WaitsForMemory<F>) {
      const StreamingRowTeam team(row_team(cols, F::fragments, fragment_bytes<F>), rows_stream<F>(rows, cols));
      compute(team);
      team.finish();
    } else {
      compute(row_team(cols, F::fragments, fragment_bytes<F>));
    }
  });
}

}}}  // namespace locus::LOCUS_ABI::cpu
LOCUS_LOOPS_END
