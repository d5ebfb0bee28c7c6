#pragma once
// Cuda's map: the kernels load, f maps registers to registers, the kernels store.

#include <locus/cuda/stream.hpp>
#include <locus/cuda/vectorize.cuh>
#include <locus/device/launch_log.hpp>

namespace locus::inline LOCUS_ABI::cuda {

namespace detail {
template <class F, class In, class Out>
struct MapArguments {
  F f;
  In inputs;
  Out outputs;
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

  // Enough bytes in flight per thread, without needless copies of f: every copy is compiled.
  static constexpr int loads = (0 + ... + (std::is_same_v<I, LinearIndex> ? 0 : 1));
  static constexpr int elements_per_thread = loads == 0 ? 1 : loads <= 2 ? 8 : 4;
  template <int w>
  static constexpr int per_thread = w == 1                        ? (elements_per_thread + 1) / 2
                                    : elements_per_thread / w > 1 ? elements_per_thread / w
                                                                  : 1;

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

  __device__ static void contiguous(const Arguments& a, uint32_t elements, int64_t first_index) {
    constexpr int n = per_thread<width>;
    using Tiles = VectorTiles<width, n>;
    const uint32_t vectors = Tiles::vectors(elements);
    Vectors<width> vector[n];
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const uint32_t v = Tiles::vector(blockIdx.x, threadIdx.x, k);
      if (v < vectors) vector[k].load(a, v * width, first_index + v * width);
    }
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const uint32_t v = Tiles::vector(blockIdx.x, threadIdx.x, k);
      if (v < vectors) vector[k].apply_and_store(a, v * width);
    }
    if constexpr (width > 1) {
      const uint32_t at = Tiles::leftover(threadIdx.x, elements);
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
  __device__ static void strided(const Arguments& a, const Walk<operands>& walk) {
    constexpr int n = per_thread<w>;
    using Tiles = VectorTiles<w, n>;
    uint32_t position[n];
    int32_t offset[n][operands];
#pragma unroll
    for (int k = 0; k < n; ++k) position[k] = Tiles::vector(blockIdx.x, threadIdx.x, k) * w;
    walk.offsets(position, offset);
    Vectors<w> vector[n];
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const uint32_t at = Tiles::vector(blockIdx.x, threadIdx.x, k) * w;
      if (at >= walk.elements) continue;
      const int64_t index = walk.first_index + at;
      ((w > 1 && walk.stride[0][i] == 0 ? get<i>(vector[k].in).load_repeated(get<i>(a.inputs), offset[k][i], index)
                                        : get<i>(vector[k].in).load(get<i>(a.inputs), offset[k][i], index)),
       ...);
    }
#pragma unroll
    for (int k = 0; k < n; ++k) {
      if (Tiles::vector(blockIdx.x, threadIdx.x, k) * w >= walk.elements) continue;
#pragma unroll
      for (int j = 0; j < w; ++j) apply(a.f, j, vector[k].in, vector[k].out, Inputs{}, Outputs{});
      (get<o>(vector[k].out).store(get<o>(a.outputs), offset[k][inputs + o]), ...);
    }
  }

  static void launch(cudaStream_t stream, const Plan<operands>& plan, const Arguments& a);
};

template <class Kernels>
__global__ void __launch_bounds__(256)
    map_contiguous(const __grid_constant__ typename Kernels::Arguments a, uint32_t elements, int64_t first_index) {
  Kernels::contiguous(a, elements, first_index);
}
template <class Kernels, int width>
__global__ void __launch_bounds__(256) map_strided(const __grid_constant__ typename Kernels::Arguments a,
                                                   const __grid_constant__ Walk<Kernels::operands> walk) {
  Kernels::template strided<width>(a, walk);
}

template <class F, class... I, class... O, int... i, int... o>
void MapKernels<F, Pack<I...>, Pack<O*...>, std::integer_sequence<int, i...>, std::integer_sequence<int, o...>>::launch(
    cudaStream_t stream, const Plan<operands>& plan, const Arguments& a) {
  const OperandPlace places[] = {place_of(get<i>(a.inputs))..., place_of(get<o>(a.outputs))...};
  const Access access = access_of(plan, places, inputs, width);
  const auto n = static_cast<uint32_t>(plan.elements);
  if (access == Access::contiguous) {
    const uint32_t blocks = VectorTiles<width, per_thread<width>>::blocks(n);
    map_contiguous<MapKernels><<<blocks, 256, 0, stream>>>(a, n, plan.first_index);
    return;
  }
  const Walk<operands> walk(plan);
  if constexpr (width > 1) {
    if (access == Access::vectors) {
      const uint32_t blocks = VectorTiles<width, per_thread<width>>::blocks(n);
      map_strided<MapKernels, width><<<blocks, 256, 0, stream>>>(a, walk);
      return;
    }
  }
  const uint32_t blocks = VectorTiles<1, per_thread<1>>::blocks(n);
  map_strided<MapKernels, 1><<<blocks, 256, 0, stream>>>(a, walk);
}
}  // namespace detail

template <class F, class... I, class... O>
void map(Context& context, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f,
         const Pack<I...>& inputs, const Pack<O*...>& outputs) {
  static_assert(
      std::is_trivially_copyable_v<F>,
      "map: the functor is copied to the GPU, so it must be trivially copyable: values and device pointers only");
  using Kernels = detail::MapKernels<F, Pack<I...>, Pack<O*...>, std::make_integer_sequence<int, sizeof...(I)>,
                                     std::make_integer_sequence<int, sizeof...(O)>>;
  for_each_piece(inputs, plan, [&](const auto& piece, const auto& offsets) {
    typename Kernels::Arguments a{f, inputs, outputs};
    static_for<sizeof...(I)>([&]<int i> { get<i>(a.inputs) = advance(get<i>(inputs), offsets[i]); });
    static_for<sizeof...(O)>([&]<int o> { get<o>(a.outputs) = advance(get<o>(outputs), offsets[sizeof...(I) + o]); });
    ++locus::detail::launches.map;
    Kernels::launch(context.stream(), piece, a);
    check(cudaGetLastError(), "map");
  });
}

}  // namespace locus::inline LOCUS_ABI::cuda
