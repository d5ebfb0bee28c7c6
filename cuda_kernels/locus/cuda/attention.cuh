#pragma once
// Launches of the kernels of attention_kernels.cuh, forward and backward.

#include <locus/cuda/attention_kernels.cuh>
#include <locus/cuda/gemm.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {

/// Calls launch(), and counts it as one launch of attention. `operands` have the pointers of the kernel's arguments.
template <class T, class F, class... Operands>
void launch_attention(Context& context, const AttentionShape& shape, unsigned blocks, int threads, const F& launch,
                      const Operands&... operands) {
  const std::array<std::int64_t, 4> extents{shape.batch, shape.heads, shape.rows, shape.keys};
  if (streams_are_checked()) [[unlikely]]
    context.check_order_of({"attention", locus::detail::type_text<T>(), Shape(extents)}, operands...);
  ++locus::detail::launches.gemm;
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin({"attention", locus::detail::type_text<T>(), Shape(extents)});
  launch();
  context.launched("attention", extents);
  trace.end(blocks, static_cast<unsigned>(threads));
}

/// Blocks of tiles of so many queries or keys.
template <class Tiles>
[[nodiscard]] int64_t attention_blocks(const AttentionShape& shape, int64_t rows) {
  return shape.batch * shape.heads * ((rows - 1) / Tiles::rows + 1);
}

/// Whether these kernels are preferred to products: products of 16 bits and TF32 run on tensor cores, and are slower
/// only where they are too small to fill a GPU.
template <class T>
[[nodiscard]] bool prefers_tiles(const AttentionCall<T>& call) {
  const bool on_tensor_cores = sizeof(T) == 2 || (std::is_same_v<T, float> && tf32_allowed());
  return !on_tensor_cores || call.pairs() <= static_cast<double>(tuning::most_pairs_by_tiles);
}

/// Calls f(width) with a width of tiles that the heads fit, as a constant. False if there is none. Forward and backward
/// passes have one answer: that of the backward pass, which has the most tiles in shared memory.
template <class T, class F>
[[nodiscard]] bool with_tile_width(const Context& context, const AttentionCall<T>& call, const F& f) {
  using R = compute_t<T>;
  const int64_t width = call.shape.width > call.shape.value_width ? call.shape.width : call.shape.value_width;
  const int64_t heads = call.shape.batch * call.shape.heads;
  const int64_t rows = call.shape.rows > call.shape.keys ? call.shape.rows : call.shape.keys;
  if (heads > INT32_MAX / ((rows - 1) / 64 + 1)) return false;
  const auto tried = [&]<int most>(std::integral_constant<int, most> constant) {
    if (width > most || AttentionTiles<R, most>::bytes(4) > context.shared_memory()) return false;
    f(constant);
    return true;
  };
  if (tried(std::integral_constant<int, 64>{})) return true;
  if constexpr (sizeof(R) == 4) return tried(std::integral_constant<int, 128>{});
  return false;
}
}  // namespace detail

/// Implements AttendingDevice.
template <class T, class Drop>
[[nodiscard]] bool attend(Context& context, const AttentionCall<T>& call, const Drop& drop, const AttentionHeads<T>& y,
                          const AttentionNumbers<compute_t<T>>& numbers) {
  if (!call.shape.has_products() || !detail::prefers_tiles(call)) return false;
  return detail::with_tile_width(context, call, [&](auto width) {
    using Tiles = detail::AttentionTiles<compute_t<T>, width>;
    const auto kernel = &detail::attention_forward<T, Drop, width>;
    const auto blocks = static_cast<unsigned>(detail::attention_blocks<Tiles>(call.shape, call.shape.rows));
    const detail::TiledHeads<const T> q(call.q, call.shape.width), k(call.k, call.shape.width),
        v(call.v, call.shape.value_width);
    const detail::TiledHeads<T> out(y, call.shape.value_width);
    detail::allow_all_shared_memory(context, kernel);
    detail::launch_attention<T>(
        context, call.shape, blocks, Tiles::threads,
        [&] {
          kernel<<<blocks, Tiles::threads, Tiles::bytes(3), context.stream()>>>(call, drop, q, k, v, out, numbers);
        },
        call, drop, y, numbers);
  });
}

/// The gradients, of a call that attend() has taken.
template <class T, class Drop>
[[nodiscard]] bool attend_backward(Context& context, const AttentionCall<T>& call, const Drop& drop,
                                   const AttentionHeads<const T>& y, const AttentionNumbers<compute_t<T>>& numbers,
                                   const AttentionHeads<const T>& g, const AttentionGradientHeads<T>& dq,
                                   const AttentionGradientHeads<T>& dk, const AttentionGradientHeads<T>& dv) {
  using R = compute_t<T>;
  if (!call.shape.has_products() || !detail::prefers_tiles(call)) return false;
  const auto& shape = call.shape;
  return detail::with_tile_width(context, call, [&](auto width) {
    using Tiles = detail::AttentionTiles<R, width>;
    const int64_t rows = shape.batch * shape.heads * shape.rows;
    const Scratch deltas(context, static_cast<std::size_t>(rows) * sizeof(R));
    const int64_t most = 8 * int64_t{context.multiprocessors()}, needed = (rows - 1) / (256 / warp_size) + 1;
    const auto delta_blocks = static_cast<unsigned>(needed < most ? needed : most);
    detail::launch_attention<T>(
        context, shape, delta_blocks, 256,
        [&] {
          detail::attention_deltas<T><<<delta_blocks, 256, 0, context.stream()>>>(shape, y, g, deltas.template as<R>());
        },
        y, g, deltas.template as<R>());
    const detail::AttentionBackward<T> pass{
        {call.q, shape.width}, {call.k, shape.width}, {call.v, shape.value_width}, {g, shape.value_width},
        numbers.largests,      numbers.scales,        deltas.template as<R>(),     shape.rows};
    if (dq.out.data) {
      const auto kernel = &detail::attention_query_gradient<T, Drop, width>;
      const auto blocks = static_cast<unsigned>(detail::attention_blocks<Tiles>(shape, shape.rows));
      const detail::TiledHeads<T> out(dq.out, shape.width);
      detail::allow_all_shared_memory(context, kernel);
      detail::launch_attention<T>(
          context, shape, blocks, Tiles::threads,
          [&] {
            kernel<<<blocks, Tiles::threads, Tiles::bytes(4), context.stream()>>>(call, drop, pass, out, dq.accumulate);
          },
          call, drop, pass, dq.out);
    }
    if (dk.out.data || dv.out.data) {
      const auto kernel = &detail::attention_key_gradients<T, Drop, width>;
      const auto blocks = static_cast<unsigned>(detail::attention_blocks<Tiles>(shape, shape.keys));
      const detail::TiledHeads<T> of_keys(dk.out, shape.width), of_values(dv.out, shape.value_width);
      detail::allow_all_shared_memory(context, kernel);
      detail::launch_attention<T>(
          context, shape, blocks, Tiles::threads,
          [&] {
            kernel<<<blocks, Tiles::threads, Tiles::bytes(4), context.stream()>>>(call, drop, pass, of_keys, of_values,
                                                                                  dk.accumulate, dv.accumulate);
          },
          call, drop, pass, dk.out, dv.out);
    }
  });
}

}}}  // namespace locus::LOCUS_ABI::cuda
