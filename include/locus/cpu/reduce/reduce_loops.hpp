#pragma once
// The loops of a reduction on Cpu over dense rows of elements, compiled for each functor.

#include <locus/core/short_run.hpp>
#include <locus/cpu/loops/stage.hpp>
#include <locus/cpu/reduce/fold_lanes.hpp>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// An index input if outputs, not summands, lie along the run: the same index for all outputs.
struct FixedIndexInput {
  std::int64_t index;
  FixedIndexInput(const void*, std::int64_t reduced_index) : index(reduced_index) {}
  LOCUS_FN std::int64_t operator[](std::int64_t) const { return index; }
  LOCUS_FN void advance(std::int64_t step) { index += step; }
};
template <class X>
using column_input_t = std::conditional_t<std::is_same_v<X, LinearIndex>, FixedIndexInput, DenseInput<operand_t<X>>>;

/// Rows of n elements that are folded by one call.
struct FoldedRows {
  std::int64_t count, n;
  std::int64_t first;        ///< first value of an input that reads as its index
  const std::int64_t* step;  ///< distance to the next row, for each input
};

/// A reduction's operations on accumulators, types erased; `self` is the ReduceLoop.
struct ReduceLoops {
  const char* function;  ///< type_text<F>()
  using Fold = void (*)(const void* self, const FoldedRows& rows, const void* const* in, void* totals);
  Fold runs;              ///< folds each row, a run of n summands, into an accumulator of its own
  Fold runs_of_repeated;  ///< the same, reading one element of each input that is repeated along runs
  Fold columns;           ///< folds each row, a summand of each of n outputs, into n accumulators
  void (*clear)(const void* self, std::int64_t n, void* totals);
  void (*add)(const void* self, std::int64_t n, void* totals, const void* others);
  /// Writes n results from element `offset` on, `stride` apart.
  void (*write)(const void* self, std::int64_t n, const void* totals, std::int64_t offset, std::int64_t stride);
  std::size_t accumulator_bytes;
  int result_bytes;   ///< of one result
  unsigned repeated;  ///< inputs that may be repeated along runs, a bit for each
};

template <class F, class Op, class T, class In>
class ReduceLoop;
template <class F, class Op, class T, class... I>
class ReduceLoop<F, Op, T, Pack<I...>> {
  using A = typename Op::Accumulator;
  using Positions = std::make_integer_sequence<int, sizeof...(I)>;
  static constexpr bool is_vectorized = Arithmetic<A>;
  static constexpr unsigned repeated = repeated_inputs<F>;
  /// Structs of numbers of one type vectorize side by side, too; structs with positions do not.
  static constexpr bool columns_are_vectorized = is_vectorized || (FoldsRuns<Op> && !requires { Op::indexed; });
  /// Sums of integers in 64 bits wait for memory, and positions are searched one by one: wider vectors do not pay.
  static constexpr bool is_narrow = std::is_integral_v<A> || requires { Op::indexed; };
  /// Registers that fold a run. A sum of integers takes one cycle: one register suffices.
  static constexpr int side_by_side = std::is_same_v<A, std::int64_t> ? 1 : 4;
  static_assert(sizeof(A) <= 192, "an Accumulator is at most 192 bytes");

 public:
  ReduceLoop(const F& f, const Op& op, const T* previous, T* out) : f_(f), op_(op), previous_(previous), out_(out) {}

  [[nodiscard]] static constexpr ReduceLoops loops() {
    return {locus::detail::type_text<F>(),
            &fold_runs<0>,
            &fold_runs<repeated>,
            &fold_columns,
            &clear,
            &add,
            &write,
            sizeof(A),
            sizeof(T),
            repeated};
  }

 private:
  template <unsigned mask>
  static void fold_runs(const void* self, const FoldedRows& rows, const void* const* in, void* totals) {
    of(self).template call_runs<mask>(rows, in, static_cast<A*>(totals), Positions{});
  }
  static void fold_columns(const void* self, const FoldedRows& rows, const void* const* in, void* totals) {
    of(self).call_columns(rows, in, static_cast<A*>(totals), Positions{});
  }
  static void clear(const void* self, std::int64_t n, void* totals) {
    const A identity = of(self).op_.identity();
    for (std::int64_t k = 0; k < n; ++k) static_cast<A*>(totals)[k] = identity;
  }
  static void add(const void* self, std::int64_t n, void* totals, const void* others) {
    Versions<&combine>::once(of(self).op_, n, static_cast<A*>(totals), static_cast<const A*>(others));
  }
  static void write(const void* self, std::int64_t n, const void* totals, std::int64_t offset, std::int64_t stride) {
    of(self).write_results(n, static_cast<const A*>(totals), offset, stride);
  }
  [[nodiscard]] static const ReduceLoop& of(const void* self) { return *static_cast<const ReduceLoop*>(self); }

  template <unsigned mask, int... i>
  void call_runs(const FoldedRows& rows, const void* const* in, A* totals, std::integer_sequence<int, i...>) const {
    using Loops = Versions<&runs<loop_input_t<I, i, mask>...>>;
    if constexpr (is_narrow) Loops::narrow(f_, op_, rows, totals, loop_input_t<I, i, mask>(in[i], rows.first)...);
    else if constexpr (is_vectorized || FoldsRuns<Op>)
      Loops::call(f_, op_, rows, totals, loop_input_t<I, i, mask>(in[i], rows.first)...);
    else runs(f_, op_, rows, totals, loop_input_t<I, i, mask>(in[i], rows.first)...);
  }
  template <int... i>
  void call_columns(const FoldedRows& rows, const void* const* in, A* totals, std::integer_sequence<int, i...>) const {
    if constexpr (columns_are_vectorized && is_narrow)
      Versions<&columns>::narrow(f_, op_, rows, column_input_t<I>(in[i], rows.first)..., totals);
    else if constexpr (columns_are_vectorized)
      Versions<&columns>::call(f_, op_, rows, column_input_t<I>(in[i], rows.first)..., totals);
    else columns(f_, op_, rows, column_input_t<I>(in[i], rows.first)..., totals);
  }

  template <class... In>
  LOCUS_LOOP_FN static void runs(const F& f, const Op& op, const FoldedRows& rows, A* totals, In... in) {
    for (std::int64_t row = 0; row < rows.count; ++row) {
      totals[row] = op.combine(totals[row], folded_run(f, op, rows.n, for_one_run(in)...));
      advance(rows.step, 1, in...);
    }
  }
  template <class... In>
  LOCUS_LOOP_FN static A folded_run(const F& functor, const Op& op, std::int64_t n, In... in) {
    const F f = functor;
    const auto element = [=](std::int64_t k) LOCUS_INLINED { return f(in[k]...); };
    if constexpr (FoldsRuns<Op>) {
      return op.of_run(Run(element, static_cast<std::int32_t>(n)));
    } else {
      if (n >= lanes_of<A>) return fold_elements<side_by_side, Tail::overlapping>(op, n, element);
      A total = op.identity();
      for (std::int64_t k = 0; k < n; ++k) total = op.combine(total, element(k));
      return total;
    }
  }

  LOCUS_LOOP_FN static void columns(const F& f, const Op& op, const FoldedRows& rows, column_input_t<I>... in,
                                    A* totals) {
    std::int64_t row = 0;
    if constexpr (columns_are_vectorized && !std::is_integral_v<A>) {  // integers are rarely summed by columns
      if constexpr (!is_vectorized && sizeof...(I) == 1) {  // structs take longer to add to totals than to one another
        for (; row + 16 <= rows.count; row += 16) {
          fold_together<16>(f, op, rows, in..., totals);
          advance(rows.step, 16, in...);
        }
      }
      for (; row + 4 <= rows.count; row += 4) {
        fold_together<4>(f, op, rows, in..., totals);
        advance(rows.step, 4, in...);
      }
    }
    for (; row < rows.count; ++row) {
      fold_row(f, op, rows.n, in..., totals);
      advance(rows.step, 1, in...);
    }
  }
  LOCUS_LOOP_FN static void combine(const Op& op, std::int64_t n, A* totals, const A* others) {
    LOCUS_IVDEP
    for (std::int64_t k = 0; k < n; ++k) totals[k] = op.combine(totals[k], others[k]);
  }
  /// Reads and writes totals once for `together` rows, whose sum is rounded at its own size.
  template <int together>
  LOCUS_LOOP_FN static void fold_together(const F& functor, const Op& op, const FoldedRows& rows,
                                          column_input_t<I>... in, A* totals) {
    const F f = functor;
    const std::int64_t n = rows.n;
    const auto next = [&](int) LOCUS_INLINED {
      const auto row = [=](std::int64_t k) LOCUS_INLINED { return f(in[k]...); };
      advance(rows.step, 1, in...);
      return row;
    };
    using Row = decltype(next(0));
    [&]<int... row>(std::integer_sequence<int, row...>) LOCUS_INLINED {
      const Row each[] = {next(row)...};
      const auto of_rows = [&](std::int64_t k) LOCUS_INLINED {
        return locus::detail::fold_few<together>(op, [&](std::int32_t r) LOCUS_INLINED { return each[r](k); });
      };
      LOCUS_IVDEP
      for (std::int64_t k = 0; k < n; ++k) totals[k] = op.combine(totals[k], of_rows(k));
    }(std::make_integer_sequence<int, together>{});
  }
  LOCUS_LOOP_FN static void fold_row(const F& functor, const Op& op, std::int64_t n, column_input_t<I>... in,
                                     A* totals) {
    const F f = functor;
    LOCUS_IVDEP
    for (std::int64_t k = 0; k < n; ++k) totals[k] = op.combine(totals[k], f(in[k]...));
  }

  template <class... In>
  LOCUS_FN static void advance([[maybe_unused]] const std::int64_t* step, std::int64_t rows, In&... in) {
    (in.advance(rows * *step++), ...);
  }

  void write_results(std::int64_t n, const A* totals, std::int64_t offset, std::int64_t stride) const {
    for (std::int64_t k = 0; k < n; ++k, offset += stride) {
      auto value = static_cast<compute_t<T>>(op_.finish(totals[k]));
      if (previous_) value = static_cast<compute_t<T>>(value + load_as_register(previous_[offset]));
      out_[offset] = from_register<T>(value);
    }
  }

  const F& f_;
  const Op& op_;
  const T* previous_;
  T* out_;
};

}}}  // namespace locus::LOCUS_ABI::cpu
LOCUS_LOOPS_END
