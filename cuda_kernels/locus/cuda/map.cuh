#pragma once
// Cuda's map: the kernels load, f maps registers to registers, the kernels store.

#include <locus/cuda/capture.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/cuda/transpose.cuh>
#include <locus/cuda/vectorize.cuh>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
template <class F, class In, class Out>
struct MapArguments {
  F f;
  In inputs;
  Out outputs;
};

/// The grid of a launch, its stream, and how many vectors each thread takes.
struct MapLaunch {
  cudaStream_t stream;
  uint32_t blocks, per_thread;
};

template <class F, class In, class Out, class InputIndices, class OutputIndices>
struct MapKernels;

/// The bodies of map's two kernels, for operands I... and O...
template <class F, class... I, class... O, int... i, int... o>
struct MapKernels<F, Pack<I...>, Pack<O*...>, std::integer_sequence<int, i...>, std::integer_sequence<int, o...>> {
  static constexpr int inputs = static_cast<int>(sizeof...(I)), operands = inputs + static_cast<int>(sizeof...(O));
  static constexpr int width = vector_width<I..., O*...>();
  using Arguments = MapArguments<F, Pack<I...>, Pack<O*...>>;
  using Inputs = std::integer_sequence<int, i...>;
  using Outputs = std::integer_sequence<int, o...>;

  template <class X>
  static constexpr int bytes = std::is_same_v<X, LinearIndex> ? 0 : static_cast<int>(sizeof(operand_t<X>));
  static constexpr MapTraffic traffic{(0 + ... + (bytes<I> > 0)), (0 + ... + bytes<I>), (0 + ... + bytes<O*>)};
  template <int w>
  static constexpr uint32_t most_per_thread = static_cast<uint32_t>(most_vectors_per_thread(traffic, w));

  template <int w>
  struct Vectors {
    Pack<InputVector<I, w>...> in;
    Pack<OutputVector<O, w>...> out;

    __device__ void load(const Arguments& a, uint32_t at, int64_t index) {
      (get<i>(in).load(get<i>(a.inputs), at, index), ...);
    }
    __device__ void apply_and_store(const Arguments& a, uint32_t at) {
#pragma unroll
      for (int j = 0; j < w; ++j) apply(a.f, j, in, out, Inputs{}, Outputs{});
      (get<o>(out).store(get<o>(a.outputs), at), ...);
    }
  };

  __device__ static void contiguous(const Arguments& a, uint32_t elements, int64_t first_index, uint32_t per_thread) {
    constexpr uint32_t n = most_per_thread<width>;
    const VectorTiles<width> tiles{per_thread};
    const uint32_t vectors = tiles.vectors(elements);
    Vectors<width> vector[n];
#pragma unroll
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t v = tiles.vector(blockIdx.x, threadIdx.x, k);
      if (k < per_thread && v < vectors) vector[k].load(a, v * width, first_index + v * width);
    }
#pragma unroll
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t v = tiles.vector(blockIdx.x, threadIdx.x, k);
      if (k < per_thread && v < vectors) vector[k].apply_and_store(a, v * width);
    }
    if constexpr (width > 1) {
      const uint32_t at = tiles.leftover(threadIdx.x, elements);
      if (blockIdx.x == 0 && at < elements) {
        Vectors<1> last;
        last.load(a, at, first_index + at);
        last.apply_and_store(a, at);
      }
    }
  }

  /// w == 1: any strides. w > 1: every operand is dense or repeated along the innermost dimension, which is a multiple
  /// of w.
  template <int w>
  __device__ static void strided(const Arguments& a, const Walk<operands>& walk, uint32_t per_thread) {
    constexpr uint32_t n = most_per_thread<w>;
    const VectorTiles<w> tiles{per_thread};
    uint32_t position[n];
    int32_t offset[n][operands];
#pragma unroll
    for (uint32_t k = 0; k < n; ++k) position[k] = tiles.vector(blockIdx.x, threadIdx.x, k) * w;
    walk.offsets(position, offset);
    Vectors<w> vector[n];
#pragma unroll
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t at = tiles.vector(blockIdx.x, threadIdx.x, k) * w;
      if (k >= per_thread || at >= walk.elements) continue;
      const int64_t index = walk.first_index + at;
      ((w > 1 && walk.stride[0][i] == 0 ? get<i>(vector[k].in).load_repeated(get<i>(a.inputs), offset[k][i], index)
                                        : get<i>(vector[k].in).load(get<i>(a.inputs), offset[k][i], index)),
       ...);
    }
#pragma unroll
    for (uint32_t k = 0; k < n; ++k) {
      if (k >= per_thread || tiles.vector(blockIdx.x, threadIdx.x, k) * w >= walk.elements) continue;
#pragma unroll
      for (int j = 0; j < w; ++j) apply(a.f, j, vector[k].in, vector[k].out, Inputs{}, Outputs{});
      (get<o>(vector[k].out).store(get<o>(a.outputs), offset[k][inputs + o]), ...);
    }
  }

  static std::size_t launch_contiguous(const MapLaunch& l, const void* a, uint32_t elements, int64_t first_index);
  template <int w>
  static std::size_t launch_strided(const MapLaunch& l, const void* a, const Piece& piece);
};

/// Number of a kernel's arguments.
template <class... A>
[[nodiscard]] constexpr std::size_t count_arguments(void (*)(A...)) {
  return sizeof...(A);
}

template <class Kernels>
__global__ void __launch_bounds__(map_threads)
    map_contiguous(const __grid_constant__ typename Kernels::Arguments a, uint32_t elements, int64_t first_index,
                   uint32_t per_thread) {
  Kernels::contiguous(a, elements, first_index, per_thread);
}
template <class Kernels, int width>
__global__ void __launch_bounds__(map_threads)
    map_strided(const __grid_constant__ typename Kernels::Arguments a,
                const __grid_constant__ Walk<Kernels::operands> walk, uint32_t per_thread) {
  Kernels::template strided<width>(a, walk, per_thread);
}

template <class F, class... I, class... O, int... i, int... o>
std::size_t MapKernels<F, Pack<I...>, Pack<O*...>, std::integer_sequence<int, i...>,
                       std::integer_sequence<int, o...>>::launch_contiguous(const MapLaunch& l, const void* a,
                                                                            uint32_t elements, int64_t first_index) {
  map_contiguous<MapKernels>
      <<<l.blocks, map_threads, 0, l.stream>>>(*static_cast<const Arguments*>(a), elements, first_index, l.per_thread);
  return count_arguments(&map_contiguous<MapKernels>);
}
template <class F, class... I, class... O, int... i, int... o>
template <int w>
std::size_t MapKernels<F, Pack<I...>, Pack<O*...>, std::integer_sequence<int, i...>,
                       std::integer_sequence<int, o...>>::launch_strided(const MapLaunch& l, const void* a,
                                                                         const Piece& piece) {
  map_strided<MapKernels, w>
      <<<l.blocks, map_threads, 0, l.stream>>>(*static_cast<const Arguments*>(a), Walk<operands>(piece), l.per_thread);
  return count_arguments(&map_strided<MapKernels, w>);
}

/// A launch with the types of its functor and operands erased.
struct MapCall {
  const char* function;  ///< type_text() of the functor
  int inputs;            ///< operands that are read; the others, which are written, follow
  int width;             ///< of vectors, in elements
  MapTraffic traffic;
  void* arguments;  ///< of the kernel; the functor comes first
  std::size_t functor_bytes, argument_bytes;
  const OperandSlot* operands;  ///< pointers into the arguments
  /// For the checker of stream order: memory that the functor uses itself.
  void (*add_pointers_in)(StreamUses& uses, const void* functor, std::size_t bytes);
  // The kernels; each returns how many arguments it takes.
  std::size_t (*contiguous)(const MapLaunch& launch, const void* arguments, uint32_t elements, int64_t first_index);
  std::size_t (*vectors)(const MapLaunch& launch, const void* arguments, const Piece& piece);
  std::size_t (*elements)(const MapLaunch& launch, const void* arguments, const Piece& piece);
};

/// Launches a piece whose indices fit 32 bits; the operands in the arguments point to where it begins. Returns how many
/// arguments the kernel takes.
inline std::size_t launch_piece(const MapLaunch& launch, const MapCall& call, const Piece& piece, Access access) {
  if (access == Access::contiguous)
    return call.contiguous(launch, call.arguments, static_cast<uint32_t>(piece.elements), piece.first_index);
  return (access == Access::vectors ? call.vectors : call.elements)(launch, call.arguments, piece);
}

LOCUS_OUT_OF_LINE inline locus::detail::LaunchDescription describe(const MapCall& call, const Piece& piece) {
  std::int64_t bytes = 0;
  for (int i = 0; i < piece.operands; ++i) {
    if (call.operands[i].data())
      bytes += locus::detail::touched_bytes(piece.rank, piece.extent, piece.stride[i], call.operands[i].size);
  }
  return {.verb = "map",
          .function = call.function,
          .extents = Shape({piece.extent, static_cast<std::size_t>(piece.rank)}),
          .bytes = bytes};
}

/// A functor beside outputs only reads, as far as is known; one without outputs writes where its pointers lead.
LOCUS_COLD inline void read_pointers_in(StreamUses& uses, const void* functor, std::size_t bytes) {
  uses.read_pointers_in(functor, bytes);
}
template <class F>
LOCUS_COLD void add_pointers_in(StreamUses& uses, const void* functor, std::size_t) {
  uses.add_pointers_in(*static_cast<const F*>(functor));
}
template <class F, int outputs>
[[nodiscard]] constexpr auto pointers_in() {
  if constexpr (outputs == 0) return &add_pointers_in<F>;
  else return &read_pointers_in;
}
LOCUS_COLD inline void check_order(Context& context, const MapCall& call, const Piece& piece) {
  StreamUses uses(describe(call, piece));
  for (int i = 0; i < piece.operands; ++i)
    uses.add(call.operands[i].data(), piece.rank, piece.extent, piece.stride[i], call.operands[i].size,
             i >= call.inputs);
  call.add_pointers_in(uses, call.arguments, call.functor_bytes);
  context.check_order(uses);
}

LOCUS_OUT_OF_LINE inline void run(Context& context, const MapCall& call, const Piece& plan, bool in_order) {
  const GpuWidth gpu{context.multiprocessors(), context.resident_threads(), context.compute_capability()};
  const auto launch = [&](const Piece& piece) {
    for (int i = 0; i < piece.operands; ++i) call.operands[i].advance(piece.offset[i]);
    if (streams_are_checked()) [[unlikely]]
      check_order(context, call, piece);
    ++locus::detail::launches.map;
    LaunchTrace trace(context);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin(describe(call, piece));
    const MapGrid grid(piece, call.operands, call.inputs, call.traffic, call.width, gpu);
    const std::size_t arguments =
        launch_piece({context.stream(), grid.blocks, grid.per_thread}, call, piece, grid.access);
    context.launched("map", {piece.extent, static_cast<std::size_t>(piece.rank)});
    if (CapturedStep* step = context.captured_step()) [[unlikely]]
      step->map_launched(arguments, call.argument_bytes);
    trace.end(grid.blocks, map_threads);
    for (int i = 0; i < piece.operands; ++i) call.operands[i].advance(-piece.offset[i]);
  };
  for_each_part(plan, in_order, launch);
}
}  // namespace detail

template <class F, class... I, class... O>
void map(Context& context, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f,
         const Pack<I...>& inputs, const Pack<O*...>& outputs) {
  static_assert(
      std::is_trivially_copyable_v<F>,
      "map: the functor is copied to the GPU, so it must be trivially copyable: values and device pointers only");
  constexpr int ins = static_cast<int>(sizeof...(I)), outs = static_cast<int>(sizeof...(O));
  if constexpr ((std::is_same_v<F, locus::detail::ConvertElement<O, O>> && ...) && ins == 1 && outs == 1) {
    if (detail::copy_by_tiles(context, plan, get<0>(inputs), get<0>(outputs))) return;
  }
  [&]<int... i, int... o>(std::integer_sequence<int, i...>, std::integer_sequence<int, o...>) {
    using Kernels = detail::MapKernels<F, Pack<I...>, Pack<O*...>, std::integer_sequence<int, i...>,
                                       std::integer_sequence<int, o...>>;
    constexpr int width = Kernels::width;
    typename Kernels::Arguments arguments{f, inputs, outputs};
    const OperandSlot operands[] = {slot_of(get<i>(arguments.inputs))..., slot_of(get<o>(arguments.outputs))...};
    const detail::MapCall call{locus::detail::type_text<F>(),
                               ins,
                               width,
                               Kernels::traffic,
                               &arguments,
                               sizeof f,
                               sizeof arguments,
                               operands,
                               detail::pointers_in<F, outs>(),
                               &Kernels::launch_contiguous,
                               &Kernels::template launch_strided<width>,
                               &Kernels::template launch_strided<1>};
    detail::run(context, call, Piece(plan), (std::is_same_v<I, LinearIndex> || ...));
  }(std::make_integer_sequence<int, ins>{}, std::make_integer_sequence<int, outs>{});
}

}}}  // namespace locus::LOCUS_ABI::cuda
