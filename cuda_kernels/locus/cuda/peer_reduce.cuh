#pragma once
// Sums over the memory of several ranks, also on other GPUs. One thread combines each element, in the order of the
// sources.

#include <locus/cuda/trace.hpp>
#include <locus/cuda/tuning.hpp>
#include <locus/cuda/vectorize.cuh>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Most ranks that one launch reads and writes.
inline constexpr int most_peers = 64;

namespace detail {
inline constexpr std::uint32_t peer_threads = tuning::peer_threads;

template <class T>
struct PeerOperands {
  const T* source[most_peers];
  T* target[most_peers];
  int sources, targets, ranks;
};

/// nvcc splits a 16-byte store in a loop, unless an intrinsic asks for it.
template <class T, int width>
__device__ void store_to_peers(const PeerOperands<T>& operands, const OutputVector<T, width>& out, int64_t offset) {
  if constexpr (width > 1) {
    uint4 word;
    memcpy(&word, out.values, sizeof word);
    for (int peer = 0; peer < operands.targets; ++peer)
      __stcg(reinterpret_cast<uint4*>(operands.target[peer] + offset), word);
  } else {
    for (int peer = 0; peer < operands.targets; ++peer) out.store(operands.target[peer], offset);
  }
}

/// target[...][i] = source[0][i] op source[1][i] op ..., finished and rounded once.
template <class T, class Op, int width>
__global__ void __launch_bounds__(peer_threads)
    combine_peers(const __grid_constant__ PeerOperands<T> operands, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * peer_threads, vectors = count / width;
  for (int64_t v = static_cast<int64_t>(blockIdx.x) * peer_threads + threadIdx.x; v < vectors; v += step) {
    compute_t<T> sum[width];
    InputVector<const T*, width> in;
    in.load(operands.source[0], v * width, 0);
#pragma unroll
    for (int j = 0; j < width; ++j) sum[j] = in[j];
    for (int peer = 1; peer < operands.sources; ++peer) {
      in.load(operands.source[peer], v * width, 0);
#pragma unroll
      for (int j = 0; j < width; ++j) sum[j] = Op::combine(sum[j], in[j]);
    }
    OutputVector<T, width> out;
#pragma unroll
    for (int j = 0; j < width; ++j) out.set(j, Op::finish(sum[j], operands.ranks));
    store_to_peers(operands, out, v * width);
  }
}

/// out = sum op x, where the sum is an element or a partial sum, and the result a partial sum or, finished, an element.
template <class T, class Op, class In, class Out>
__global__ void __launch_bounds__(peer_threads)
    combine_partial(const In* sum, const T* x, Out* out, int64_t count, int ranks) {
  using A = compute_t<T>;
  const int64_t step = static_cast<int64_t>(gridDim.x) * peer_threads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * peer_threads + threadIdx.x; i < count; i += step) {
    const A combined = Op::combine(static_cast<A>(load_as_register(sum[i])), load_as_register(x[i]));
    if (ranks > 0) out[i] = from_register<Out>(Op::finish(combined, ranks));
    else out[i] = from_register<Out>(combined);
  }
}

[[nodiscard]] inline unsigned peer_blocks(const Context& context, int64_t work) {
  const int64_t needed = (work + peer_threads - 1) / peer_threads;
  const int64_t most = 4 * static_cast<int64_t>(context.multiprocessors());
  return static_cast<unsigned>(needed < 1 ? 1 : needed < most ? needed : most);
}

template <class F>
void launch_peers(Context& context, const char* name, int64_t count, unsigned blocks, const F& launch) {
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin({name, nullptr, Shape{count}});
  launch();
  context.launched(name, std::array<std::int64_t, 1>{count});
  trace.end(blocks, peer_threads);
}

template <class T, class Op, int width>
void combine_vectors(Context& context, const PeerOperands<T>& operands, int64_t count) {
  if (streams_are_checked()) [[unlikely]] {
    StreamUses uses({"all_reduce", nullptr, Shape{count}});
    for (int i = 0; i < operands.sources; ++i) uses.read(operands.source[i], count * int64_t{sizeof(T)});
    for (int i = 0; i < operands.targets; ++i) uses.write(operands.target[i], count * int64_t{sizeof(T)});
    context.check_order(uses);
  }
  const unsigned blocks = peer_blocks(context, count / width);
  launch_peers(context, "all_reduce", count, blocks,
               [&] { combine_peers<T, Op, width><<<blocks, peer_threads, 0, context.stream()>>>(operands, count); });
}
}  // namespace detail

/// Combines the elements of all sources into all targets. Kernels on the context's GPU can read all sources and write
/// all targets; a target may be a source.
template <class T, class Op>
void combine_peers(Context& context, const void* const* sources, int source_count, void* const* targets,
                   int target_count, int64_t count, int ranks) {
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  const int64_t in_vectors = count / width * width;
  detail::PeerOperands<T> operands{};
  operands.sources = source_count;
  operands.targets = target_count;
  operands.ranks = ranks;
  std::uintptr_t address = 0;
  for (int i = 0; i < source_count; ++i) {
    operands.source[i] = static_cast<const T*>(sources[i]);
    address |= reinterpret_cast<std::uintptr_t>(sources[i]);
  }
  for (int i = 0; i < target_count; ++i) {
    operands.target[i] = static_cast<T*>(targets[i]);
    address |= reinterpret_cast<std::uintptr_t>(targets[i]);
  }
  const bool is_aligned = address % 16 == 0;
  if (is_aligned && in_vectors > 0) detail::combine_vectors<T, Op, width>(context, operands, in_vectors);
  const int64_t done = is_aligned ? in_vectors : 0;
  if (done == count) return;
  for (int i = 0; i < source_count; ++i) operands.source[i] += done;
  for (int i = 0; i < target_count; ++i) operands.target[i] += done;
  detail::combine_vectors<T, Op, 1>(context, operands, count - done);
}

/// A ring's step on a chunk: out = sum op x. In the first step, `sum` holds elements, later partial sums; in the last
/// step, `out` holds elements.
template <class T, class Op>
void combine_partial(Context& context, const void* sum, const void* x, void* out, int64_t count, bool first, bool last,
                     int ranks) {
  using A = compute_t<T>;
  if (count == 0) return;
  if (streams_are_checked()) [[unlikely]] {
    StreamUses uses({"all_reduce (ring)", nullptr, Shape{count}});
    uses.read(sum, count * (first ? int64_t{sizeof(T)} : int64_t{sizeof(A)}));
    uses.read(x, count * int64_t{sizeof(T)});
    uses.write(out, count * (last ? int64_t{sizeof(T)} : int64_t{sizeof(A)}));
    context.check_order(uses);
  }
  const unsigned blocks = detail::peer_blocks(context, count);
  const T* const mine = static_cast<const T*>(x);
  detail::launch_peers(context, "all_reduce (ring)", count, blocks, [&] {
    if (first && last) {
      detail::combine_partial<T, Op, T, T><<<blocks, detail::peer_threads, 0, context.stream()>>>(
          static_cast<const T*>(sum), mine, static_cast<T*>(out), count, ranks);
    } else if (first) {
      detail::combine_partial<T, Op, T, A><<<blocks, detail::peer_threads, 0, context.stream()>>>(
          static_cast<const T*>(sum), mine, static_cast<A*>(out), count, 0);
    } else if (!last) {
      detail::combine_partial<T, Op, A, A><<<blocks, detail::peer_threads, 0, context.stream()>>>(
          static_cast<const A*>(sum), mine, static_cast<A*>(out), count, 0);
    } else {
      detail::combine_partial<T, Op, A, T><<<blocks, detail::peer_threads, 0, context.stream()>>>(
          static_cast<const A*>(sum), mine, static_cast<T*>(out), count, ranks);
    }
  });
}

}}}  // namespace locus::LOCUS_ABI::cuda
