#pragma once
// Cpu's reduce: folds the values of f in blocks of a fixed size, so that results do not depend on the thread count.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/memory.hpp>
#include <locus/cpu/reduce/reduce_loops.hpp>
#include <locus/cpu/tuning.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// The walk of one reduce launch: which outputs are folded together, in which blocks.
class FoldWalk {
 public:
  /// The last operand of `kept` is the output.
  LOCUS_OUT_OF_LINE FoldWalk(const PlanView& kept, const PlanView& reduced, const ByteOperand* operands,
                             const ReduceLoops& loops, const void* self)
      : kept_(kept), reduced_(reduced), operands_(operands), loops_(loops), self_(self) {
    const bool dense_columns = prefers_columns();
    if (repeats_along(reduced, operands, loops.repeated)) repeated_ = loops.repeated;
    by_columns_ = dense_columns || has_short_runs();
    if (by_columns_) repeated_ = 0;
    is_direct_ = all_dense(by_columns_ ? kept : reduced);
    columns_ = kept.inner_extent();
    const std::int64_t widest = dense_columns ? widest_columns() : by_columns_ ? short_tile : widest_runs();
    width_ = columns_ < widest ? columns_ : widest;
    tiles_per_row_ = (columns_ + width_ - 1) / width_;
    rows_are_outputs_ = !by_columns_ && width_ > 1;
    spread_ = by_columns_ ? rows_that_join() : runs_that_join();
    block_ = by_columns_ ? (reduce_block + width_ - 1) / width_ : spread_ > 1 ? spread_ * run_length : reduce_block;
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
      alignas(64) std::byte totals[totals_bytes];
      fold_block(group, first, totals);
      std::memcpy(part(index), totals, static_cast<std::size_t>(outputs_of(group)) * loops_.accumulator_bytes);
      for (std::int64_t block = first + 1; block < locus::detail::smaller(first + chunk, blocks); ++block) {
        fold_block(group, block, totals);
        loops_.add(self_, outputs_of(group), part(index), totals);
      }
    });
    split(groups, [&](std::int64_t group) {
      for (std::int64_t left = chunks; left > 1; left = (left + 1) / 2)  // pairwise
        for (std::int64_t c = (left + 1) / 2; c < left; ++c)
          loops_.add(self_, outputs_of(group), part(group * chunks + c - (left + 1) / 2), part(group * chunks + c));
      write(Odometer(kept_, row_of(group)), group, part(group * chunks));
    });
  }

 private:
  [[nodiscard]] LOCUS_COLD locus::detail::LaunchDescription describe() const {
    locus::detail::LaunchDescription launch{"reduce", loops_.function, Shape{kept_.elements, reduced_.elements}};
    for (int i = 0; i < reduced_.operands; ++i)
      launch.bytes += kept_.touched_bytes(i, operands_[i]) *
                      locus::detail::touched_bytes(reduced_.rank, reduced_.extent, reduced_.stride[i], 1);
    launch.bytes +=
        locus::detail::touched_bytes(kept_.rank, kept_.extent, kept_.stride[kept_.operands - 1], loops_.result_bytes);
    return launch;
  }

  /// Whether neighbouring outputs lie closer in memory than neighbouring summands: then whole rows are folded into a
  /// row of totals. An input repeated along either has the least weight: it decides only if no other input does.
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

  /// Outputs folded side by side: as many as totals and tiles have room for. Wider tiles read longer parts of a row.
  [[nodiscard]] std::int64_t widest_columns() const {
    std::int64_t widest =
        locus::detail::smaller(widest_tile, static_cast<std::int64_t>(totals_bytes / loops_.accumulator_bytes));
    for (int i = 0; i < reduced_.operands; ++i) {
      const bool is_staged = !operands_[i].is_index && !(operands_[i].data && kept_.inner_stride(i) == 1);
      if (is_staged) widest = locus::detail::smaller(widest, std::int64_t{Stage::tile_bytes} / operands_[i].size);
    }
    return widest;
  }

  /// Outputs whose runs one call folds: enough to make the call long.
  [[nodiscard]] std::int64_t widest_runs() const {
    const auto fit = static_cast<std::int64_t>(totals_bytes / loops_.accumulator_bytes);
    if (!is_direct_ || reduced_.elements == 0) return 1;
    return locus::detail::larger(std::int64_t{1}, locus::detail::smaller(fit, 2 * reduce_block / reduced_.elements));
  }

  /// Whether neighbouring elements of every input lie side by side in memory.
  [[nodiscard]] LOCUS_OUT_OF_LINE bool all_dense(const PlanView& along) const {
    for (int i = 0; i < reduced_.operands; ++i)
      if (!operands_[i].is_index && !is_repeated(i) && !(operands_[i].data && along.inner_stride(i) == 1)) return false;
    return true;
  }

  /// Whether the loop reads one element of an input for a whole run.
  [[nodiscard]] bool is_repeated(int i) const { return (repeated_ >> i & 1u) != 0; }

  /// Number of short rows, one behind the other in memory, that are folded as one.
  [[nodiscard]] std::int64_t rows_that_join() const {
    if (width_ < columns_ || !is_direct_) return 1;
    for (int i = 0; i < reduced_.operands; ++i)
      if (operands_[i].is_index || reduced_.inner_stride(i) != columns_) return 1;
    const auto fit = static_cast<std::int64_t>(totals_bytes / loops_.accumulator_bytes);
    return between_1_and(locus::detail::smaller(joined_row, fit) / columns_, reduced_.inner_extent());
  }

  /// Number of parts of a long run that one call folds.
  [[nodiscard]] std::int64_t runs_that_join() const {
    return is_direct_ && width_ == 1 ? between_1_and(joined_runs, reduced_.elements / run_length) : 1;
  }

  [[nodiscard]] static std::int64_t between_1_and(std::int64_t most, std::int64_t wanted) {
    return locus::detail::larger(std::int64_t{1}, locus::detail::smaller(most, wanted));
  }

  /// Whether runs are too short to fill vectors, or to be worth gathering: they are folded as columns, too.
  [[nodiscard]] bool has_short_runs() const {
    const std::int64_t shortest = all_dense(reduced_) ? shortest_run : shortest_gathered;
    return reduced_.inner_extent() < shortest && kept_.inner_extent() >= shortest;
  }

  void split(std::int64_t tasks, TaskRef task) const {
    const std::int64_t work = kept_.elements * (reduced_.elements + 1);
    if (tasks > 1 && parts_for(work, 2 * reduce_block) > 1) return parallel_for(tasks, task);
    for (std::int64_t i = 0; i < tasks; ++i) task(i);
  }

  // A group is a tile of neighbouring outputs.
  [[nodiscard]] std::int64_t row_of(std::int64_t group) const { return group / tiles_per_row_; }
  [[nodiscard]] std::int64_t column_of(std::int64_t group) const { return group % tiles_per_row_ * width_; }
  [[nodiscard]] std::int64_t outputs_of(std::int64_t group) const {
    return locus::detail::smaller(columns_ - column_of(group), width_);
  }

  void fold_block(std::int64_t group, std::int64_t block, void* totals) const {
    Stage stage(operands_, reduced_.operands, by_columns_ ? kept_ : reduced_, LOCUS_STAGE_TILES(reduced_.operands),
                repeated_);
    const Odometer base(kept_, row_of(group));
    fold(stage, base, group, block * block_, locus::detail::smaller((block + 1) * block_, reduced_.elements), totals);
  }

  /// Folds all summands of groups [first, last), which share one set-up.
  void fold_groups(std::int64_t first, std::int64_t last) const {
    alignas(64) std::byte totals[totals_bytes];
    Stage stage(operands_, reduced_.operands, by_columns_ ? kept_ : reduced_, LOCUS_STAGE_TILES(reduced_.operands),
                repeated_);
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
    const std::int64_t outputs = outputs_of(group), spread = between_1_and(spread_, last - first);
    loops_.clear(self_, outputs * spread, totals);
    if (first == last) return;
    const std::int64_t length = reduced_.inner_extent(), longest = by_columns_ ? spread : longest_run();
    Odometer line(reduced_, first / length);
    std::int64_t at = first % length;
    while (first < last) {
      const std::int64_t left = locus::detail::smaller(length - at, last - first);
      const std::int64_t summands = locus::detail::smaller(left, longest);  // of a row
      const std::int64_t rows = rows_are_outputs_ || !is_direct_ ? 1 : left / summands;
      const std::int64_t n = by_columns_ ? outputs * summands : summands;
      const void* in[max_operands];
      std::int64_t step[max_operands];
      for (int i = 0; i < reduced_.operands; ++i) {
        const std::int64_t to_group = base.offset[i] + column_of(group) * kept_.inner_stride(i);
        in[i] = stage.input(i, to_group + line.offset[i] + at * reduced_.inner_stride(i), n);
        step[i] = step_of(i, summands);
      }
      if (by_columns_) loops_.columns(self_, {rows, n, first, step}, in, totals);
      else
        (repeated_ ? loops_.runs_of_repeated : loops_.runs)(self_, {rows_are_outputs_ ? outputs : rows, n, first, step},
                                                            in, totals);
      first += summands * rows;
      at += summands * rows;
      if (at == length) {
        at = 0;
        line.next();
      }
    }
    join(outputs, spread, totals);
  }

  [[nodiscard]] std::int64_t longest_run() const {
    if (!is_direct_) return std::int64_t{Stage::tile_bytes} / widest_element(operands_, reduced_.operands);
    return rows_are_outputs_ ? reduce_block : run_length;
  }

  /// Distance to the next row, which has the next output or the next summands.
  [[nodiscard]] std::int64_t step_of(int i, std::int64_t summands) const {
    if (operands_[i].is_index) return rows_are_outputs_ ? 0 : summands;
    if (!operands_[i].data) return 0;  // the same zero
    return rows_are_outputs_ ? kept_.inner_stride(i) : summands * reduced_.inner_stride(i);
  }

  /// Folds the accumulators over which an output's summands were spread into the first.
  void join(std::int64_t outputs, std::int64_t spread, void* totals) const {
    while (spread > 1) {
      const std::int64_t kept = (spread + 1) / 2;
      const std::size_t offset = static_cast<std::size_t>(outputs * kept) * loops_.accumulator_bytes;
      loops_.add(self_, outputs * (spread - kept), totals, static_cast<const std::byte*>(totals) + offset);
      spread = kept;
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
  bool by_columns_ = false;        ///< a row is a summand of each of a tile's outputs; otherwise a run of summands
  bool rows_are_outputs_ = false;  ///< rows are runs of the outputs of a tile
  bool is_direct_ = false;         ///< rows are read in place
  unsigned repeated_ = 0;          ///< inputs of which the loop reads one element for each run, a bit for each
  std::int64_t columns_ = 1, width_ = 1, tiles_per_row_ = 1, block_ = 1;
  std::int64_t spread_ = 1;  ///< accumulators of each output of a tile while a block is folded
};

template <class F, class Op, class... I, class T>
void reduce(const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F& f, const Op& op, const Pack<I...>& in,
            const T* previous, T* out) {
  using Loop = ReduceLoop<F, Op, T, Pack<I...>>;
  static constexpr ReduceLoops loops = Loop::loops();
  const Loop loop(f, op, previous, out);
  [&]<int... i>(std::integer_sequence<int, i...>) {
    const ByteOperand operands[] = {byte_operand(get<i>(in))...};
    FoldWalk(plan.kept, plan.reduced, operands, loops, &loop).run();
  }(std::make_integer_sequence<int, sizeof...(I)>{});
}

}}}  // namespace locus::LOCUS_ABI::cpu
