#pragma once
// Cuda's reduce: teams of threads fold chunks of the summands in a fixed order; where one chunk per output would leave
// the GPU idle, a second launch folds the chunks' results.

#include <locus/core/short_run.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/cuda/vectorize.cuh>
#include <locus/cuda/warp.cuh>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
template <class F, class Op, class T, class In>
struct ReduceArguments;

/// The kernel's arguments. `partials[slot][output]` are accumulators of chunks: the input if `folded`, else the output;
/// null writes the final result.
template <class F, class Op, class T, class... I>
struct ReduceArguments<F, Op, T, Pack<I...>> {
  static constexpr int N = static_cast<int>(sizeof...(I));
  F f;
  Op op;
  Pack<I...> inputs;
  Walk<N + 1> kept;
  Walk<N> reduced;
  ReduceTiles tiles;
  const T* previous;
  T* out;
  typename Op::Accumulator* partials;
  bool folded;
  ColumnLoads loads;
};

/// One input of a summand. A null input reads as zero.
template <class X>
struct Summand {
  operand_t<X> value;
  __device__ void load(X data, int64_t offset, int64_t) { value = data ? data[offset] : operand_t<X>{}; }
  [[nodiscard]] __device__ compute_t<operand_t<X>> operator()() const { return load_as_register(value); }
};
template <>
struct Summand<LinearIndex> {
  int64_t value;
  __device__ void load(LinearIndex, int64_t, int64_t index) { value = index; }
  [[nodiscard]] __device__ int64_t operator()() const { return value; }
};

/// The same for `width` neighbouring outputs.
template <class X, int width>
struct ColumnSummand {
  InputVector<X, width> values;
  template <bool only_vectors>
  __device__ void load(X data, int64_t offset, bool is_vector, bool is_repeated) {
    using Word = typename InputVector<X, width>::Word;
    if (only_vectors || is_vector) values.word = *reinterpret_cast<const Word*>(data + offset);
    else if (is_repeated) values.load_repeated(data, offset, 0);
    else values.load_singly(data, offset);
  }
  [[nodiscard]] __device__ compute_t<operand_t<X>> operator()(int j) const { return values[j]; }
};

/// A fold of `width` neighbouring outputs.
template <class Op, int width>
struct FoldOfColumns {
  struct Accumulator {
    typename Op::Accumulator of[width];
  };
  const Op& op;
  [[nodiscard]] __device__ Accumulator identity() const {
    Accumulator a;
    for (int j = 0; j < width; ++j) a.of[j] = op.identity();
    return a;
  }
  [[nodiscard]] __device__ Accumulator combine(const Accumulator& a, const Accumulator& b) const {
    Accumulator c;
    for (int j = 0; j < width; ++j) c.of[j] = op.combine(a.of[j], b.of[j]);
    return c;
  }
};

/// Folds summands begin, begin + lanes ... of a team's lane. `is_line`: they lie one stride apart, so that no index is
/// divided and more loads are in flight.
template <bool is_line, class F, class Op, class T, class... I, int... i>
__device__ typename Op::Accumulator fold_lane(const ReduceArguments<F, Op, T, Pack<I...>>& a, const Pack<I...>& inputs,
                                              uint32_t begin, uint32_t end, std::integer_sequence<int, i...>) {
  constexpr int N = static_cast<int>(sizeof...(I));
  constexpr int of_line = N > 1 ? ReduceTiles::in_flight_of_line / N : ReduceTiles::in_flight_of_line;
  // Structs, such as moments, are cheaper to fold with one another than with a total whose count is not known.
  constexpr bool in_groups = N == 1 && !Arithmetic<typename Op::Accumulator>;
  constexpr int of_walk = in_groups ? 2 * ReduceTiles::in_flight : ReduceTiles::in_flight;
  constexpr int in_flight = is_line && of_line > of_walk ? of_line : of_walk;
  const uint32_t step = a.tiles.lanes;
  typename Op::Accumulator total = a.op.identity();
  for (uint32_t first = begin + a.tiles.lane(threadIdx.x); first < end; first += in_flight * step) {
    uint32_t position[in_flight];
    int32_t offset[in_flight][N > 0 ? N : 1];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) position[k] = first + static_cast<uint32_t>(k) * step;
    if constexpr (is_line) {
#pragma unroll
      for (int k = 0; k < in_flight; ++k)
        ((offset[k][i] = static_cast<int32_t>(position[k]) * a.reduced.stride[0][i]), ...);
    } else if (a.reduced.rank == 2) {  // as for channels of images
      a.reduced.offsets_of_rank_2(position, offset);
    } else {
      a.reduced.offsets(position, offset);
    }
    Pack<Summand<I>...> values[in_flight];
    const auto place = [&](int k) { return first + static_cast<uint32_t>(k) * step; };
    const auto load = [&](int k) {
      (get<i>(values[k]).load(get<i>(inputs), offset[k][i], a.reduced.first_index + place(k)), ...);
    };
    const auto summand = [&](int k) { return a.f(get<i>(values[k])()...); };
    if constexpr (in_groups) {
      if (place(in_flight - 1) < end) {
#pragma unroll
        for (int k = 0; k < in_flight; ++k) load(k);
        total = a.op.combine(total, locus::detail::fold_few<in_flight>(a.op, summand));
        continue;
      }
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (place(k) < end) load(k);
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (place(k) < end) total = a.op.combine(total, summand(k));
    }
  }
  return total;
}

/// The same for `width` neighbouring outputs. `are_vectors`: the summands are, of every input, and lie one stride
/// apart.
template <bool are_vectors, int width, class F, class Op, class T, class... I, int... i>
__device__ auto fold_columns(const ReduceArguments<F, Op, T, Pack<I...>>& a, const Pack<I...>& inputs, uint32_t begin,
                             uint32_t end, std::integer_sequence<int, i...>) {
  constexpr int N = static_cast<int>(sizeof...(I));
  constexpr int in_flight = N < ReduceTiles::in_flight_of_columns ? ReduceTiles::in_flight_of_columns / N : 1;
  const uint32_t step = a.tiles.lanes;
  auto total = FoldOfColumns<Op, width>{a.op}.identity();
  for (uint32_t first = begin + a.tiles.lane(threadIdx.x); first < end; first += in_flight * step) {
    Pack<ColumnSummand<I, width>...> values[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const uint32_t place = first + static_cast<uint32_t>(k) * step;
      if (place >= end) continue;
      int32_t offset[N];
      if constexpr (are_vectors) ((offset[i] = static_cast<int32_t>(place) * a.reduced.stride[0][i]), ...);
      else a.reduced.offsets(place, offset);
      (get<i>(values[k]).template load<are_vectors>(get<i>(inputs), offset[i], a.loads.vectors >> i & 1,
                                                    a.loads.repeated >> i & 1),
       ...);
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (first + static_cast<uint32_t>(k) * step >= end) continue;
      for (int j = 0; j < width; ++j) total.of[j] = a.op.combine(total.of[j], a.f(get<i>(values[k])(j)...));
    }
  }
  return total;
}

template <int width, class F, class Op, class T, class... I, int... i>
__device__ typename FoldOfColumns<Op, width>::Accumulator fold_chunk(const ReduceArguments<F, Op, T, Pack<I...>>& a,
                                                                     uint32_t output, uint32_t begin, uint32_t end,
                                                                     std::integer_sequence<int, i...> each) {
  int32_t base[static_cast<int>(sizeof...(I)) + 1];
  a.kept.offsets(output, base);
  const Pack<I...> inputs{advance(get<i>(a.inputs), base[i])...};
  if constexpr (width > 1) {
    const bool are_vectors = a.reduced.rank == 1 && a.loads.vectors == (1u << sizeof...(I)) - 1;
    return are_vectors ? fold_columns<true, width>(a, inputs, begin, end, each)
                       : fold_columns<false, width>(a, inputs, begin, end, each);
  } else {
    return {{a.reduced.rank == 1 ? fold_lane<true>(a, inputs, begin, end, each)
                                 : fold_lane<false>(a, inputs, begin, end, each)}};
  }
}

/// Folds accumulators of chunks, partials[chunk][output].
template <class Op, class A>
__device__ A fold_partials(const Op& op, const ReduceTiles& tiles, const A* partials, uint32_t output) {
  constexpr int in_flight = sizeof(A) <= 8 ? ReduceTiles::in_flight_of_line : ReduceTiles::in_flight;
  const uint32_t step = tiles.lanes;
  A total = op.identity(), values[in_flight];
  for (uint32_t first = tiles.lane(threadIdx.x); first < tiles.summands; first += in_flight * step) {
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const uint32_t slot = first + static_cast<uint32_t>(k) * step;
      if (slot < tiles.summands) values[k] = partials[int64_t{slot} * tiles.outputs + output];
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (first + static_cast<uint32_t>(k) * step < tiles.summands) total = op.combine(total, values[k]);
    }
  }
  return total;
}

/// Folds the totals of a team's lanes; lane 0 has the result.
template <class Op, class A>
__device__ A fold_team(const Op& op, const ReduceTiles& tiles, A total) {
  __shared__ alignas(16) unsigned char memory[ReduceTiles::threads * sizeof(A)];
  A* const totals = reinterpret_cast<A*>(memory);
  const uint32_t team = tiles.team(threadIdx.x), lane = tiles.lane(threadIdx.x);
  for (uint32_t width = tiles.lanes / 2; width > 0; width /= 2) {
    if (lane >= width && lane < 2 * width) totals[threadIdx.x] = total;
    __syncthreads();
    if (lane < width) total = op.combine(total, totals[tiles.thread_of(team, lane + width)]);
  }
  return total;
}

template <class Arguments>
struct ReduceKernel;
template <class F, class Op, class T, class... I>
struct ReduceKernel<ReduceArguments<F, Op, T, Pack<I...>>> {
  static constexpr int N = static_cast<int>(sizeof...(I));

  /// `width` neighbouring outputs of a thread: the tiles' outputs are groups of so many.
  template <int width>
  __device__ static void run(const ReduceArguments<F, Op, T, Pack<I...>>& a) {
    const FoldOfColumns<Op, width> op{a.op};
    using A = typename FoldOfColumns<Op, width>::Accumulator;
    A* const partials = reinterpret_cast<A*>(a.partials);
    const uint32_t group = a.tiles.output(blockIdx.x, threadIdx.x);
    A total = op.identity();
    if (group < a.tiles.outputs) {
      if (a.folded) total = fold_partials(op, a.tiles, partials, group);
      else
        total = fold_chunk<width>(a, group * width, a.tiles.begin(blockIdx.x), a.tiles.end(blockIdx.x),
                                  std::make_integer_sequence<int, N>{});
    }
    total = fold_team(op, a.tiles, total);
    if (group >= a.tiles.outputs || a.tiles.lane(threadIdx.x) != 0) return;
    if (partials && !a.folded) {
      partials[int64_t{a.tiles.chunk_of(blockIdx.x)} * a.tiles.outputs + group] = total;
    } else {
      for (int j = 0; j < width; ++j) finish(a, group * width + static_cast<uint32_t>(j), total.of[j]);
    }
  }

 private:
  __device__ static void finish(const ReduceArguments<F, Op, T, Pack<I...>>& a, uint32_t output,
                                const typename Op::Accumulator& total) {
    int32_t offset[N + 1];
    a.kept.offsets(output, offset);
    auto value = static_cast<compute_t<T>>(a.op.finish(total));
    if (a.previous) value = static_cast<compute_t<T>>(value + load_as_register(a.previous[offset[N]]));
    a.out[offset[N]] = from_register<T>(value);
  }
};

template <class Arguments, int width>
__global__ void __launch_bounds__(ReduceTiles::threads) reduce_chunks(const __grid_constant__ Arguments a) {
  ReduceKernel<Arguments>::template run<width>(a);
}

/// One launch: a step of folding a piece of the outputs.
struct ReduceLaunch {
  const Piece& kept;
  const FoldStep& step;
  void* partials;  ///< accumulators of the step's chunks, or of all chunks in the step that folds these; null: writes
                   ///< the result
  int width;       ///< outputs of a thread
};

/// A reduction with the types of its functors erased, so that cutting it up is compiled once.
struct ReduceCall {
  const char* function;  ///< type_text() of the functor
  const OperandSlot* inputs;
  void* out;
  int out_bytes;  ///< of an element
  Piece kept, reduced;
  bool in_order;  ///< an input reads as its index
  int widest;     ///< outputs of a thread at most
  std::size_t accumulator_bytes;
  const void* arguments;  ///< the functor comes first
  std::size_t functor_bytes;
  void (*launch)(cudaStream_t stream, const void* arguments, const ReduceLaunch& launch);
};

LOCUS_OUT_OF_LINE inline locus::detail::LaunchDescription describe(const ReduceCall& call, const ReduceLaunch& launch) {
  const Piece &kept = launch.kept, &reduced = launch.step.reduced;
  const ReduceTiles& tiles = launch.step.tiles;
  const bool folded = launch.step.folded;
  std::int64_t bytes = kept.elements * call.out_bytes;
  const auto partials = static_cast<std::int64_t>(call.accumulator_bytes) * kept.elements;
  for (int i = 0; i < reduced.operands && !folded; ++i) {
    if (!call.inputs[i].data()) continue;
    bytes += locus::detail::touched_bytes(kept.rank, kept.extent, kept.stride[i], call.inputs[i].size) *
             locus::detail::touched_bytes(reduced.rank, reduced.extent, reduced.stride[i], 1);
  }
  if (folded) bytes += partials * tiles.summands;
  else if (launch.partials) bytes += partials * tiles.chunks - kept.elements * call.out_bytes;
  return {.verb = folded ? "reduce (its chunks)" : "reduce",
          .function = call.function,
          .extents = {kept.elements, int64_t{tiles.summands}},
          .bytes = bytes};
}

/// For the checker of stream order: a step reads the inputs or the results of other steps, which lie in memory of the
/// same stream, and writes the outputs or such results.
LOCUS_COLD inline void check_order(Context& context, const ReduceCall& call, const ReduceLaunch& launch) {
  const Piece &kept = launch.kept, &reduced = launch.step.reduced;
  StreamUses uses(describe(call, launch));
  const auto add = [&](const std::byte* data, int i, int size, bool writes) {
    const int inner = writes ? 0 : reduced.rank;
    int64_t extent[2 * max_rank], stride[2 * max_rank], offset = kept.offset[i];
    for (int d = 0; d < kept.rank; ++d) extent[d] = kept.extent[d], stride[d] = kept.stride[i][d];
    for (int d = 0; d < inner; ++d)
      extent[kept.rank + d] = reduced.extent[d], stride[kept.rank + d] = reduced.stride[i][d];
    if (inner > 0) offset += reduced.offset[i];
    if (data) uses.add(data + offset * size, kept.rank + inner, extent, stride, size, writes);
  };
  if (!launch.step.folded) {
    for (int i = 0; i + 1 < kept.operands; ++i) add(call.inputs[i].data(), i, call.inputs[i].size, false);
    uses.read_pointers_in(call.arguments, call.functor_bytes);
  }
  if (launch.step.folded || !launch.partials)
    add(static_cast<const std::byte*>(call.out), kept.operands - 1, call.out_bytes, true);
  context.check_order(uses);
}

LOCUS_OUT_OF_LINE inline void reduce_piece(Context& context, const ReduceCall& call, const FoldPlan& plan) {
  const std::size_t slot_bytes = static_cast<std::size_t>(plan.kept.elements) * call.accumulator_bytes;
  const Scratch scratch(context, plan.slots() * slot_bytes);
  auto* const partials = scratch.template as<unsigned char>();
  plan.for_each_step([&](const FoldStep& step) {
    const ReduceLaunch launch{plan.kept, step, partials ? partials + step.slot * slot_bytes : nullptr, plan.width};
    if (streams_are_checked()) [[unlikely]]
      check_order(context, call, launch);
    ++locus::detail::launches.reduce;
    LaunchTrace trace(context);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin(describe(call, launch));
    call.launch(context.stream(), call.arguments, launch);
    context.launched("reduce", std::array<std::int64_t, 2>{plan.kept.elements, step.reduced.elements});
    trace.end(step.tiles.blocks(), ReduceTiles::threads);
  });
}

LOCUS_OUT_OF_LINE inline void run(Context& context, const ReduceCall& call) {
  const bool outputs_first = prefers_outputs(call.kept, call.reduced, call.inputs);
  for_each_part(call.kept, false, [&](const Piece& kept) {
    const int width = outputs_first ? columns_of_thread(kept, call.reduced, call.inputs, call.widest) : 1;
    reduce_piece(context, call, {kept, call.reduced, outputs_first, call.in_order, piece_limit, width});
  });
}

/// The types of a reduction: builds its arguments and launches its kernel.
template <class F, class Op, class T, class... I>
struct TypedReduce {
  static constexpr int N = static_cast<int>(sizeof...(I));
  using Arguments = ReduceArguments<F, Op, T, Pack<I...>>;
  using A = typename Op::Accumulator;

  static void run(Context& context, const ReducePlan<N>& plan, const F& f, const Op& op, const Pack<I...>& inputs,
                  const T* previous, T* out) {
    Arguments arguments{f, op, inputs, {}, {}, {}, previous, out, nullptr, false, {}};
    const auto slots = slots_of(arguments.inputs, std::make_integer_sequence<int, N>{});
    const Piece kept(plan.kept), reduced(plan.reduced);
    detail::run(context, {locus::detail::type_text<F>(), slots.data(), out, static_cast<int>(sizeof(T)), kept, reduced,
                          (std::is_same_v<I, LinearIndex> || ...), widest, sizeof(A), &arguments, sizeof f, &launch});
  }

 private:
  static constexpr int widest = widest_columns<I...>();
  template <int... i>
  static std::array<OperandSlot, N> slots_of(Pack<I...>& inputs, std::integer_sequence<int, i...>) {
    return {slot_of(get<i>(inputs))...};
  }
  static void launch(cudaStream_t stream, const void* arguments, const ReduceLaunch& launch) {
    Arguments a = *static_cast<const Arguments*>(arguments);
    const FoldStep& step = launch.step;
    static_for<N>(
        [&]<int i> { get<i>(a.inputs) = advance(get<i>(a.inputs), launch.kept.offset[i] + step.reduced.offset[i]); });
    a.previous = advance(a.previous, launch.kept.offset[N]);
    a.out = advance(a.out, launch.kept.offset[N]);
    a.kept = Walk<N + 1>(launch.kept);
    if (step.reduced.elements > 0) a.reduced = Walk<N>(step.reduced);
    a.tiles = step.tiles;
    a.partials = static_cast<A*>(launch.partials);
    a.folded = step.folded;
    auto kernel = &reduce_chunks<Arguments, 1>;
    if constexpr (widest > 1) {
      if (launch.width > 1) {
        const auto slots = slots_of(a.inputs, std::make_integer_sequence<int, N>{});
        a.loads = column_loads(launch.kept, step.reduced, slots.data(), widest);
        kernel = &reduce_chunks<Arguments, widest>;
      }
    }
    kernel<<<a.tiles.blocks(), ReduceTiles::threads, 0, stream>>>(a);
  }
};
}  // namespace detail

template <class F, class Op, class... I, class T>
void reduce(Context& context, const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F& f, const Op& op,
            const Pack<I...>& inputs, const T* previous, T* out) {
  static_assert(
      std::is_trivially_copyable_v<F> && std::is_trivially_copyable_v<Op>,
      "reduce: functors are copied to the GPU, so they must be trivially copyable: values and device pointers "
      "only");
  detail::TypedReduce<F, Op, T, I...>::run(context, plan, f, op, inputs, previous, out);
}

}}}  // namespace locus::LOCUS_ABI::cuda
