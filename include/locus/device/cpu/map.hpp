#pragma once
// Cpu's map: f maps registers to registers over dense runs; the plan's walk around it is compiled once per arity.

#include <locus/core/bounds.hpp>
#include <locus/device/cpu/half_tiles.hpp>
#include <locus/device/cpu/scratch.hpp>
#include <locus/device/cpu/stage.hpp>
#include <locus/device/cpu/transpose.hpp>

LOCUS_LOOPS_BEGIN
namespace locus::inline LOCUS_ABI::cpu {

/// Below this many elements, and bytes of their operands, per thread a launch is not split.
inline constexpr std::int64_t elements_per_thread = 16384, bytes_per_thread = 128 << 10;

/// The loop over one dense run. Pointers are separate parameters, or compilers do not vectorize it. What is computed
/// from no memory, such as constants and random numbers, is compiled for one instruction set, unless its functor says
/// that it `takes_long`.
template <class F, class In, class Out>
struct MapLoop;
template <class F, class... I, class... O>
struct MapLoop<F, Pack<I...>, Pack<O*...>> {
  static void run(const void* f, std::int64_t n, std::int64_t first, const void* const* in, void* const* out) {
    [&]<int... i, int... o>(std::integer_sequence<int, i...>, std::integer_sequence<int, o...>) {
      using Loops = Versions<&loop<o...>>;
      const F& functor = *static_cast<const F*>(f);
      if constexpr (has_versions)
        Loops::call(functor, n, dense_input_t<I>(in[i], first)..., static_cast<O*>(out[o])...);
      else Loops::once(functor, n, dense_input_t<I>(in[i], first)..., static_cast<O*>(out[o])...);
    }(std::make_integer_sequence<int, sizeof...(I)>{}, std::make_integer_sequence<int, sizeof...(O)>{});
  }

 private:
  static constexpr bool has_versions = (!std::is_same_v<I, LinearIndex> || ...) || requires { requires F::takes_long; };

  template <int... o>
  LOCUS_FN static void loop(const F& functor, std::int64_t n, dense_input_t<I>... in, O*... out) {
    const F f = functor;
    LOCUS_IVDEP
    for (std::int64_t k = 0; k < n; ++k) {
      Pack<compute_t<O>...> result;
      f(in[k]..., get<o>(result)...);
      ((out[k] = from_register<O>(get<o>(result))), ...);
    }
  }
};

/// A copy: that of the C library is made for every processor.
template <class T>
struct MapLoop<locus::detail::ConvertElement<T, T>, Pack<const T*>, Pack<T*>> {
  static void run(const void*, std::int64_t n, std::int64_t, const void* const* in, void* const* out) {
    std::memcpy(out[0], in[0], static_cast<std::size_t>(n) * sizeof(T));
  }
};

template <class F>
inline constexpr bool is_copy = false;
template <class T>
inline constexpr bool is_copy<locus::detail::ConvertElement<T, T>> = true;

/// Halves: the loop over floats, by tiles, where a run is long enough.
template <class F, class In, class Out>
struct WidenedLoop;
template <class F, class... I, class... O>
struct WidenedLoop<F, Pack<I...>, Pack<O*...>> {
  static void run(const void* f, std::int64_t n, std::int64_t first, const void* const* in, void* const* out) {
    constexpr std::int64_t shortest_run = 64;
    if (n < shortest_run) return MapLoop<F, Pack<I...>, Pack<O*...>>::run(f, n, first, in, out);
    static constexpr MaybeHalves operands[] = {
        {std::is_same_v<I, LinearIndex> ? 0 : sizeof(operand_t<I>), Widened<I>::is_half}...,
        {sizeof(O), Widened<O*>::is_half}...};
    using Floats = MapLoop<F, Pack<typename Widened<I>::type...>, Pack<typename Widened<O*>::type...>>;
    run_widened(&Floats::run, operands, sizeof...(I), sizeof...(O), f, n, first, in, out);
  }
};

template <class F, class In, class Out>
struct MapLoopFor;
template <class F, class... I, class... O>
struct MapLoopFor<F, Pack<I...>, Pack<O...>> {
  static constexpr bool has_halves = (Widened<I>::is_half || ...) || (Widened<O>::is_half || ...);
  using type = std::conditional_t<has_halves && !is_copy<F>, WidenedLoop<F, Pack<I...>, Pack<O...>>,
                                  MapLoop<F, Pack<I...>, Pack<O...>>>;
};

/// A launch with the type of its functor erased.
struct MapCall {
  const char* function;  ///< type_text<F>()
  std::int64_t elements;
  PlanView plan;  ///< of all elements, or of a part of them
  int inputs;
  const ByteOperand* operands;  ///< inputs, then outputs
  MapRun run;
  const void* f;
  bool copies;  ///< the only input, unchanged
};

/// Large outputs are written around the cache, but for those that are read, too: they are there already.
[[gnu::noinline]] inline void stream_outputs(const MapCall& call, Stage& stage) {
  for (int out = call.inputs; out < call.plan.operands; ++out) {
    const ByteOperand& output = call.operands[out];
    bool is_read = call.elements * output.size < bytes_worth_streaming();
    for (int in = 0; in < call.inputs; ++in) is_read |= call.operands[in].data == output.data;
    if (!is_read) stage.stream_output(out);
  }
}

/// Elements [begin, end) of the plan.
inline void map_range(const MapCall& call, std::int64_t begin, std::int64_t end) {
  const PlanView& plan = call.plan;
  Stage stage(call.operands, plan.operands, plan, LOCUS_STAGE_TILES(plan.operands));
  stream_outputs(call, stage);
  const std::int64_t length = plan.inner_extent();
  Odometer row(plan, begin / length);
  std::int64_t at = begin % length;
  while (begin < end) {
    const std::int64_t n =
        locus::detail::smaller(locus::detail::smaller(length - at, end - begin), stage.longest_run());
    const void* in[max_operands];
    void* out[max_operands];
    const auto offset = [&](int i) { return row.offset[i] + at * plan.inner_stride(i); };
    for (int i = 0; i < call.inputs; ++i) in[i] = stage.input(i, offset(i), n);
    for (int i = call.inputs; i < plan.operands; ++i) out[i - call.inputs] = stage.output(i, offset(i));
    call.run(call.f, n, plan.first_index + begin, in, out);
    for (int i = call.inputs; i < plan.operands; ++i) stage.finish(i, offset(i), n);
    begin += n;
    at += n;
    if (at == length) {
      at = 0;
      row.next();
    }
  }
  if (stage.streams()) finish_streams();
}

/// Inputs that are dense from row to row instead of within a row, one bit for each. Elements keep their order only
/// within strips of rows, so that none are found beside an index.
[[nodiscard]] inline unsigned transposed_inputs(const MapCall& call) {
  const PlanView& plan = call.plan;
  const int row = plan.rank - 2;
  unsigned found = 0;
  if (row < 0 || plan.extent[row] < transposed_rows) return found;
  for (int i = 0; i < call.inputs; ++i) {
    const ByteOperand& operand = call.operands[i];
    if (operand.is_index) return 0;
    const std::int64_t step = plan.inner_stride(i);
    if (operand.data && operand.size >= 4 && step != 0 && step != 1 && plan.stride[i][row] == 1) found |= 1u << i;
  }
  return found;
}

struct TransposedInputs {
  detail::Scratch tiles;
};

/// A strip of rows, by blocks of columns: of transposed inputs, such a block is made dense first.
inline void map_strip(const MapCall& call, unsigned transposed, std::int64_t number) {
  constexpr std::int64_t block_cols = 256;
  const PlanView& plan = call.plan;
  const Strip strip(plan, number);
  const Odometer at(plan, strip.row);
  std::int64_t extent[2] = {strip.count, 0}, stride[max_operands][max_rank];
  ByteOperand operands[max_operands];
  MapCall block = call;
  block.plan.rank = 2;
  block.plan.extent = extent;
  block.plan.stride = stride;
  block.operands = operands;
  for (std::int64_t col = 0; col < plan.inner_extent(); col += block_cols) {
    extent[1] = locus::detail::smaller(plan.inner_extent() - col, block_cols);
    block.plan.elements = extent[0] * extent[1];
    std::byte* tile = detail::of_this_thread<TransposedInputs>().tiles.reserve<std::byte>(
        __builtin_popcount(transposed) * transposed_rows * block_cols * 8);
    for (int i = 0; i < plan.operands; ++i) {
      ByteOperand& operand = operands[i] = call.operands[i];
      stride[i][0] = plan.stride[i][plan.rank - 2];
      stride[i][1] = plan.inner_stride(i);
      if (operand.data) operand.data += (at.offset[i] + col * stride[i][1]) * operand.size;
      if ((transposed >> i & 1u) == 0) continue;
      transpose_strip(operand.size, operand.data, stride[i][1], tile, block_cols, extent[0], extent[1]);
      operand.data = tile;
      stride[i][0] = block_cols;
      stride[i][1] = 1;
      tile += transposed_rows * block_cols * 8;
    }
    map_range(block, 0, block.plan.elements);
  }
}

/// Copies elements [begin, end) to a dense output, each to its place at once.
inline void copy_range(const MapCall& call, std::int64_t begin, std::int64_t end) {
  const PlanView& plan = call.plan;
  const int size = call.operands[0].size;
  const std::int64_t length = plan.inner_extent(), stride = plan.inner_stride(0);
  Odometer row(plan, begin / length);
  for (std::int64_t at = begin % length; begin < end; at = 0, row.next()) {
    const std::int64_t n = locus::detail::smaller(length - at, end - begin);
    const std::byte* const in = call.operands[0].data + (row.offset[0] + at * stride) * size;
    std::byte* const out = call.operands[1].data + (row.offset[1] + at) * size;
    if (stride == 1) std::memcpy(out, in, static_cast<std::size_t>(n * size));
    else gather(out, in, stride, n, size);
    begin += n;
  }
}

/// Whether copy_range() does it: not where the output is worth writing around the cache.
[[nodiscard]] inline bool copies_in_place(const MapCall& call) {
  return call.copies && call.operands[0].data && call.operands[1].data && call.plan.inner_stride(1) == 1 &&
         call.plan.elements * call.operands[1].size < bytes_worth_streaming();
}

/// How many threads are worth their while.
[[nodiscard]] inline std::int64_t parts_of(const MapCall& call) {
  std::int64_t bytes = 0;  // of an element of every operand
  for (int i = 0; i < call.plan.operands; ++i) bytes += call.operands[i].data ? call.operands[i].size : 0;
  const std::int64_t fitting = bytes_per_thread / locus::detail::larger<std::int64_t>(bytes, 1);
  return parts_for(call.plan.elements, locus::detail::smaller(elements_per_thread, fitting));
}

[[nodiscard]] LOCUS_COLD inline locus::detail::LaunchDescription describe(const MapCall& call) {
  const PlanView& plan = call.plan;
  locus::detail::LaunchDescription launch{"map", call.function, plan.extents()};
  for (int i = 0; i < plan.operands; ++i) launch.bytes += plan.touched_bytes(i, call.operands[i]);
  return launch;
}

LOCUS_OUT_OF_LINE inline void map(const MapCall& call) {
  locus::detail::HostTrace trace;
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin(describe(call));
  const std::int64_t elements = call.plan.elements, parts = parts_of(call);
  if (call.copies) {
    if (const TransposingCopy transposing(call.plan, call.operands); transposing.applies()) {
      const auto copy = [&](std::int64_t part) {
        const std::int64_t strips = transposing.strips();
        for (std::int64_t i = strips * part / parts; i < strips * (part + 1) / parts; ++i) transposing.copy(i);
      };
      return parts <= 1 ? copy(0) : parallel_for(parts, copy);
    }
  }
  if (const unsigned transposed = transposed_inputs(call)) {
    const auto map_part = [&](std::int64_t part) {
      const std::int64_t strips = strips_of(call.plan);
      for (std::int64_t i = strips * part / parts; i < strips * (part + 1) / parts; ++i) map_strip(call, transposed, i);
    };
    return parts <= 1 ? map_part(0) : parallel_for(parts, map_part);
  }
  auto* const range = copies_in_place(call) ? &copy_range : &map_range;
  if (parts <= 1) return range(call, 0, elements);
  parallel_for(parts, [&](std::int64_t part) { range(call, elements * part / parts, elements * (part + 1) / parts); });
}

template <class F, class... I, class... O>
void map(const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f, const Pack<I...>& in,
         const Pack<O*...>& out) {
  [&]<int... i, int... o>(std::integer_sequence<int, i...>, std::integer_sequence<int, o...>) {
    const ByteOperand operands[] = {byte_operand(get<i>(in))..., byte_operand(get<o>(out))...};
    map(MapCall{locus::detail::type_text<F>(), plan.elements, plan, static_cast<int>(sizeof...(I)), operands,
                &MapLoopFor<F, Pack<I...>, Pack<O*...>>::type::run, &f, is_copy<F>});
  }(std::make_integer_sequence<int, sizeof...(I)>{}, std::make_integer_sequence<int, sizeof...(O)>{});
}

}  // namespace locus::inline LOCUS_ABI::cpu
LOCUS_LOOPS_END
