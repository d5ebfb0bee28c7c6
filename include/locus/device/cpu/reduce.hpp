#pragma once
// Cpu's reduce: folds what f produces, in blocks of a fixed size, so that results do not depend on the thread count.

#include <locus/core/bounds.hpp>
#include <locus/device/cpu/lanes.hpp>
#include <locus/device/cpu/memory.hpp>
#include <locus/device/cpu/stage.hpp>

LOCUS_LOOPS_BEGIN
namespace locus::inline LOCUS_ABI::cpu {

/// Elements folded before partial results are combined: bounds rounding error and is the unit of parallel work.
inline constexpr std::int64_t reduce_block = 8192;

/// An index input where outputs, not summands, lie along the run: the same for all of them.
struct FixedIndexInput {
  std::int64_t index;
  FixedIndexInput(const void*, std::int64_t reduced_index) : index(reduced_index) {}
  LOCUS_FN std::int64_t operator[](std::int64_t) const { return index; }
};
template <class X>
using column_input_t = std::conditional_t<std::is_same_v<X, LinearIndex>, FixedIndexInput, DenseInput<operand_t<X>>>;

/// What a reduction does with accumulators, its types erased; `self` is the ReduceLoop.
struct ReduceLoops {
  const char* function;  ///< type_text<F>()
  using Fold = void (*)(const void* self, std::int64_t n, std::int64_t first, const void* const* in, void* totals);
  Fold run;      ///< folds a run of n summands into one accumulator
  Fold columns;  ///< folds summand j of n outputs into accumulator j
  void (*clear)(const void* self, std::int64_t n, void* totals);
  void (*add)(const void* self, std::int64_t n, void* totals, const void* others);
  /// Writes n results from element `offset` on, `stride` apart.
  void (*write)(const void* self, std::int64_t n, const void* totals, std::int64_t offset, std::int64_t stride);
  std::size_t accumulator_bytes;
  int result_bytes;  ///< of one
};

template <class F, class Op, class T, class In>
class ReduceLoop;
template <class F, class Op, class T, class... I>
class ReduceLoop<F, Op, T, Pack<I...>> {
  using A = typename Op::Accumulator;
  using Positions = std::make_integer_sequence<int, sizeof...(I)>;
  static constexpr bool is_vectorized = std::is_arithmetic_v<A>;
  /// Structs of numbers of one type vectorize side by side, too; those with positions do not.
  static constexpr bool columns_are_vectorized = is_vectorized || (FoldsRuns<Op> && !requires { Op::indexed; });
  static_assert(sizeof(A) <= 32, "an Accumulator is at most 32 bytes");

 public:
  ReduceLoop(const F& f, const Op& op, const T* previous, T* out) : f_(f), op_(op), previous_(previous), out_(out) {}

  [[nodiscard]] static constexpr ReduceLoops loops() {
    return {locus::detail::type_text<F>(), &fold_run, &fold_columns, &clear, &add, &write, sizeof(A), sizeof(T)};
  }

 private:
  static void fold_run(const void* self, std::int64_t n, std::int64_t first, const void* const* in, void* totals) {
    of(self).call_run(n, first, in, static_cast<A*>(totals), Positions{});
  }
  static void fold_columns(const void* self, std::int64_t n, std::int64_t first, const void* const* in, void* totals) {
    of(self).call_columns(n, first, in, static_cast<A*>(totals), Positions{});
  }
  static void clear(const void* self, std::int64_t n, void* totals) {
    const A identity = of(self).op_.identity();
    for (std::int64_t k = 0; k < n; ++k) static_cast<A*>(totals)[k] = identity;
  }
  static void add(const void* self, std::int64_t n, void* totals, const void* others) {
    const Op& op = of(self).op_;
    auto* a = static_cast<A*>(totals);
    for (std::int64_t k = 0; k < n; ++k) a[k] = op.combine(a[k], static_cast<const A*>(others)[k]);
  }
  static void write(const void* self, std::int64_t n, const void* totals, std::int64_t offset, std::int64_t stride) {
    of(self).write_results(n, static_cast<const A*>(totals), offset, stride);
  }
  [[nodiscard]] static const ReduceLoop& of(const void* self) { return *static_cast<const ReduceLoop*>(self); }

  template <int... i>
  void call_run(std::int64_t n, std::int64_t first, const void* const* in, A* total,
                std::integer_sequence<int, i...>) const {
    if constexpr (is_vectorized || FoldsRuns<Op>)
      Versions<&run>::call(f_, op_, n, dense_input_t<I>(in[i], first)..., *total);
    else run(f_, op_, n, dense_input_t<I>(in[i], first)..., *total);
  }
  template <int... i>
  void call_columns(std::int64_t n, std::int64_t first, const void* const* in, A* totals,
                    std::integer_sequence<int, i...>) const {
    if constexpr (columns_are_vectorized)
      Versions<&columns>::call(f_, op_, n, column_input_t<I>(in[i], first)..., totals);
    else columns(f_, op_, n, column_input_t<I>(in[i], first)..., totals);
  }

  LOCUS_FN static void run(const F& functor, const Op& op, std::int64_t n, dense_input_t<I>... in, A& total) {
    const F f = functor;
    const auto element = [=](std::int64_t k) LOCUS_INLINED { return f(in[k]...); };
    if constexpr (FoldsRuns<Op>) total = op.combine(total, op.of_run(Run(element, static_cast<std::int32_t>(n))));
    else total = op.combine(total, fold_elements<4>(op, n, element));
  }

  LOCUS_FN static void columns(const F& functor, const Op& op, std::int64_t n, column_input_t<I>... in, A* totals) {
    const F f = functor;
    LOCUS_IVDEP
    for (std::int64_t k = 0; k < n; ++k) totals[k] = op.combine(totals[k], f(in[k]...));
  }

  void write_results(std::int64_t n, const A* totals, std::int64_t offset, std::int64_t stride) const {
    for (std::int64_t k = 0; k < n; ++k, offset += stride) {
      auto value = static_cast<compute_t<T>>(op_.finish(totals[k]));
      if constexpr (!std::is_same_v<T, bool>) {
        if (previous_) value = static_cast<compute_t<T>>(value + load_as_register(previous_[offset]));
      }
      out_[offset] = from_register<T>(value);
    }
  }

  const F& f_;
  const Op& op_;
  const T* previous_;
  T* out_;
};

/// The walk of one reduction: which outputs are folded together, in which blocks.
class Reduction {
 public:
  /// The last operand of `kept` is the output.
  LOCUS_OUT_OF_LINE Reduction(const PlanView& kept, const PlanView& reduced, const ByteOperand* operands,
                              const ReduceLoops& loops, const void* self)
      : kept_(kept), reduced_(reduced), operands_(operands), loops_(loops), self_(self) {
    const bool dense_columns = prefers_columns();
    by_columns_ = dense_columns || has_short_runs();
    columns_ = by_columns_ ? kept.inner_extent() : 1;
    const std::int64_t widest = dense_columns ? widest_columns() : short_tile;
    width_ = columns_ < widest ? columns_ : widest;
    tiles_per_row_ = (columns_ + width_ - 1) / width_;
    block_ = by_columns_ ? (reduce_block + width_ - 1) / width_ : reduce_block;
    if (by_columns_ && block_ < least_rows) block_ = least_rows;
  }

  void run() const {
    locus::detail::HostTrace trace;
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin(describe());
    const std::int64_t groups = kept_.elements / columns_ * tiles_per_row_;
    const std::int64_t blocks = reduced_.elements > block_ ? (reduced_.elements + block_ - 1) / block_ : 1;
    const std::int64_t chunk = (blocks + most_partials - 1) / most_partials;  // blocks that share a partial result
    const std::int64_t chunks = (blocks + chunk - 1) / chunk;
    if (chunks == 1) {
      const std::int64_t tasks = by_columns_ ? groups : locus::detail::smaller(groups, most_row_tasks);
      return split(tasks, [&](std::int64_t task) { fold_groups(groups * task / tasks, groups * (task + 1) / tasks); });
    }
    const std::size_t part_bytes = static_cast<std::size_t>(width_) * loops_.accumulator_bytes;
    const PoolMemory partials(static_cast<std::size_t>(groups * chunks) * part_bytes);
    const auto part = [&](std::int64_t index) {
      return partials.data() + static_cast<std::size_t>(index) * part_bytes;
    };
    split(groups * chunks, [&](std::int64_t index) {
      const std::int64_t group = index / chunks, first = index % chunks * chunk;
      fold_block(group, first, part(index));
      for (std::int64_t block = first + 1; block < locus::detail::smaller(first + chunk, blocks); ++block) {
        alignas(64) std::byte totals[totals_bytes];
        fold_block(group, block, totals);
        loops_.add(self_, outputs_of(group), part(index), totals);
      }
    });
    split(groups, [&](std::int64_t group) {
      for (std::int64_t c = 1; c < chunks; ++c) {
        loops_.add(self_, outputs_of(group), part(group * chunks), part(group * chunks + c));
      }
      write(Odometer(kept_, row_of(group)), group, part(group * chunks));
    });
  }

 private:
  static constexpr std::int64_t most_partials = 128;  ///< per output
  static constexpr std::int64_t shortest_run = 48;
  static constexpr std::int64_t widest_tile = 2048;
  static constexpr std::int64_t least_rows = 32;       ///< of a block of columns
  static constexpr std::int64_t short_tile = 128;      ///< so many short runs stay in the first-level cache
  static constexpr std::int64_t most_row_tasks = 256;  ///< into which outputs that are folded by runs are grouped
  static constexpr std::size_t totals_bytes = std::size_t{16} << 10;

  [[nodiscard]] LOCUS_COLD locus::detail::LaunchDescription describe() const {
    locus::detail::LaunchDescription launch{"reduce", loops_.function, Shape{kept_.elements, reduced_.elements}};
    for (int i = 0; i < reduced_.operands; ++i)
      launch.bytes += kept_.touched_bytes(i, operands_[i]) *
                      locus::detail::touched_bytes(reduced_.rank, reduced_.extent, reduced_.stride[i], 1);
    launch.bytes +=
        locus::detail::touched_bytes(kept_.rank, kept_.extent, kept_.stride[kept_.operands - 1], loops_.result_bytes);
    return launch;
  }

  /// Neighbouring outputs lie closer in memory than neighbouring summands: fold whole rows into a row of totals. An
  /// input that is repeated along either is near both ways: it decides where no other does.
  [[nodiscard]] bool prefers_columns() const {
    if (kept_.inner_extent() == 1 || reduced_.elements <= 1) return kept_.inner_extent() > 1;
    int columns = 0, runs = 0;
    for (int i = 0; i < reduced_.operands; ++i) {
      const std::int64_t column = kept_.inner_stride(i), run = reduced_.inner_stride(i);
      if (!operands_[i].data) continue;
      const int weight = column == 0 || run == 0 ? 1 : max_operands + 1;
      columns += column == 1 ? weight : 0;
      runs += run == 1 ? weight : 0;
    }
    return columns > runs;
  }

  /// Outputs folded side by side: as many as totals and tiles have room for. The wider, the more of a row is read at
  /// once.
  [[nodiscard]] std::int64_t widest_columns() const {
    std::int64_t widest =
        locus::detail::smaller(widest_tile, static_cast<std::int64_t>(totals_bytes / loops_.accumulator_bytes));
    for (int i = 0; i < reduced_.operands; ++i) {
      const bool is_staged = !operands_[i].is_index && !(operands_[i].data && kept_.inner_stride(i) == 1);
      if (is_staged) widest = locus::detail::smaller(widest, std::int64_t{Stage::tile_bytes} / operands_[i].size);
    }
    return widest;
  }

  /// Runs that would not fill vectors are folded as columns, too.
  [[nodiscard]] bool has_short_runs() const {
    return reduced_.inner_extent() <= shortest_run && kept_.inner_extent() >= shortest_run;
  }

  void split(std::int64_t tasks, TaskRef task) const {
    const std::int64_t work = kept_.elements * (reduced_.elements + 1);
    if (tasks > 1 && parts_for(work, 2 * reduce_block) > 1) return parallel_for(tasks, task);
    for (std::int64_t i = 0; i < tasks; ++i) task(i);
  }

  // A group is a tile of neighbouring outputs, or one output where runs are folded.
  [[nodiscard]] std::int64_t row_of(std::int64_t group) const {
    return by_columns_ ? group / tiles_per_row_ : group / kept_.inner_extent();
  }
  [[nodiscard]] std::int64_t column_of(std::int64_t group) const {
    return by_columns_ ? group % tiles_per_row_ * width_ : group % kept_.inner_extent();
  }
  [[nodiscard]] std::int64_t outputs_of(std::int64_t group) const {
    return by_columns_ ? locus::detail::smaller(columns_ - column_of(group), width_) : 1;
  }

  void fold_block(std::int64_t group, std::int64_t block, void* totals) const {
    Stage stage(operands_, reduced_.operands, by_columns_ ? kept_ : reduced_, LOCUS_STAGE_TILES(reduced_.operands));
    const Odometer base(kept_, row_of(group));
    fold(stage, base, group, block * block_, locus::detail::smaller((block + 1) * block_, reduced_.elements), totals);
  }

  /// All summands of each of these groups. What is set up for the first serves the others.
  void fold_groups(std::int64_t first, std::int64_t last) const {
    alignas(64) std::byte totals[totals_bytes];
    Stage stage(operands_, reduced_.operands, by_columns_ ? kept_ : reduced_, LOCUS_STAGE_TILES(reduced_.operands));
    Odometer base(kept_, row_of(first));
    for (std::int64_t group = first; group < last; ++group) {
      if (group > first && column_of(group) == 0) base.next();
      fold(stage, base, group, 0, reduced_.elements, totals);
      write(base, group, totals);
    }
  }

  /// Folds summands [first, last) of a group's outputs into totals; `base` is at the group's row.
  void fold(Stage& stage, const Odometer& base, std::int64_t group, std::int64_t first, std::int64_t last,
            void* totals) const {
    const std::int64_t outputs = outputs_of(group);
    loops_.clear(self_, outputs, totals);
    if (first == last) return;
    const int count = reduced_.operands;
    const std::int64_t length = reduced_.inner_extent();
    Odometer line(reduced_, first / length);
    std::int64_t at = first % length;
    while (first < last) {
      const std::int64_t summands =
          by_columns_ ? 1
                      : locus::detail::smaller(locus::detail::smaller(length - at, last - first), stage.longest_run());
      const std::int64_t n = by_columns_ ? outputs : summands;
      const void* in[max_operands];
      for (int i = 0; i < count; ++i) {
        in[i] = stage.input(
            i,
            base.offset[i] + column_of(group) * kept_.inner_stride(i) + line.offset[i] + at * reduced_.inner_stride(i),
            n);
      }
      (by_columns_ ? loops_.columns : loops_.run)(self_, n, first, in, totals);
      first += summands;
      at += summands;
      if (at == length) {
        at = 0;
        line.next();
      }
    }
  }

  void write(const Odometer& base, std::int64_t group, const void* totals) const {
    const int out = kept_.operands - 1;
    loops_.write(self_, outputs_of(group), totals, base.offset[out] + column_of(group) * kept_.inner_stride(out),
                 kept_.inner_stride(out));
  }

  PlanView kept_, reduced_;
  const ByteOperand* operands_;
  const ReduceLoops& loops_;
  const void* self_;
  bool by_columns_ = false;
  std::int64_t columns_ = 1, width_ = 1, tiles_per_row_ = 1, block_ = 1;
};

template <class F, class Op, class... I, class T>
void reduce(const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F& f, const Op& op, const Pack<I...>& in,
            const T* previous, T* out) {
  using Loop = ReduceLoop<F, Op, T, Pack<I...>>;
  static constexpr ReduceLoops loops = Loop::loops();
  const Loop loop(f, op, previous, out);
  [&]<int... i>(std::integer_sequence<int, i...>) {
    const ByteOperand operands[] = {byte_operand(get<i>(in))...};
    Reduction(plan.kept, plan.reduced, operands, loops, &loop).run();
  }(std::make_integer_sequence<int, sizeof...(I)>{});
}

}  // namespace locus::inline LOCUS_ABI::cpu
LOCUS_LOOPS_END
