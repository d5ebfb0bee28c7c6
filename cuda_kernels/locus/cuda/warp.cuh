#pragma once
// Exchange of values among the threads of a warp and of a block, for accumulators of any trivially copyable type.

#include <locus/cuda/indexing.hpp>

#include <cstring>
#include <type_traits>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

inline constexpr int warp_size = 32;

/// The value of the lane whose number differs in the bits of `mask`, word by word.
template <class A>
[[nodiscard]] LOCUS_FN A shuffle_xor(const A& value, int mask) {
  static_assert(std::is_trivially_copyable_v<A>, "accumulators travel between threads: trivially copyable types only");
#if LOCUS_ON_DEVICE
  constexpr int words = (sizeof(A) + 3) / 4;
  unsigned int word[words] = {};
  memcpy(word, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < words; ++i) word[i] = __shfl_xor_sync(~0u, word[i], mask);
  A other = value;
  memcpy(&other, word, sizeof(A));
  return other;
#else
  (void)mask;
  return value;
#endif
}

/// Whether a fold says that a and b combine to the same bits as b and a.
template <class Op>
concept Commutes = Op::commutes;

/// Folds the values of a warp. Every lane gets the same bits: partners combine in the order of their lanes.
template <class Op, class A>
[[nodiscard]] LOCUS_FN A warp_reduce(const Op& op, A value, int lane) {
#if LOCUS_ON_DEVICE
#pragma unroll
#endif
  for (int mask = 1; mask < warp_size; mask *= 2) {
    const A other = shuffle_xor(value, mask);
    if constexpr (Commutes<Op>) value = op.combine(value, other);
    else value = lane & mask ? op.combine(other, value) : op.combine(value, other);
  }
  return value;
}

LOCUS_FN void synchronize_block() {
#if LOCUS_ON_DEVICE
  __syncthreads();
#endif
}
/// Waits for `threads` threads of the block, whole warps, that meet at barrier `number`, 1 to 15.
LOCUS_FN void synchronize_threads(int number, int threads) {
#if LOCUS_ON_DEVICE
  __barrier_sync_count(static_cast<unsigned>(number), static_cast<unsigned>(threads));
#else
  (void)number, (void)threads;
#endif
}

}}}  // namespace locus::LOCUS_ABI::cuda
