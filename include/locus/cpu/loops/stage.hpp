#pragma once
// Operands of any stride, for loops over dense arrays: an operand that is not dense is gathered into, or scattered
// from, a tile in cache.

#include <locus/cpu/host_trace.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/cpu/loops/streaming.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/device/verbs.hpp>

#include <cstring>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// Into how many parts work of `elements` is split so that each has at least `per_part`; at most one per thread.
[[nodiscard]] inline std::int64_t parts_for(std::int64_t elements, std::int64_t per_part) {
  if (elements < 2 * per_part) return 1;
  const std::int64_t threads = max_threads();
  return elements / per_part < threads ? elements / per_part : threads;
}

/// Elements of up to 8 bytes staged at a time: 8 operands of 8 bytes fill 32 KiB, the first-level cache.
inline constexpr std::int64_t tile_size = 512;

/// One operand of a verb as bytes, so that the walk over a plan is compiled once and not per functor.
struct ByteOperand {
  std::byte* data;  ///< null: an input reads as zero, an output is discarded
  int size;         ///< bytes per element
  bool is_index;
};

template <class T>
[[nodiscard]] ByteOperand byte_operand(T* data) {
  return {reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(data)), sizeof(T), false};
}
[[nodiscard]] inline ByteOperand byte_operand(LinearIndex) { return {nullptr, 8, true}; }

namespace detail {
template <class Word>
LOCUS_FN void gather_words(void* tile, const std::byte* source, std::int64_t stride, std::int64_t n) {
  typedef Word AnyWord __attribute__((may_alias));  // elements of any type are moved as words
  auto* out = static_cast<AnyWord*>(tile);
  const auto* in = reinterpret_cast<const AnyWord*>(source);
  if (stride == 0) {
    const Word repeated = *in;
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < n; ++i) out[i] = repeated;
  } else {
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}
template <class Word>
LOCUS_FN void scatter_words(std::byte* target, std::int64_t stride, const void* tile, std::int64_t n) {
  typedef Word AnyWord __attribute__((may_alias));
  auto* out = reinterpret_cast<AnyWord*>(target);
  const auto* in = static_cast<const AnyWord*>(tile);
  for (std::int64_t i = 0; i < n; ++i) out[i * stride] = in[i];
}

/// The same of elements that are several words of 8 bytes.
template <int words>
LOCUS_FN void move_wide(void* target, std::int64_t target_stride, const void* source, std::int64_t source_stride,
                        std::int64_t n) {
  typedef std::uint64_t AnyWord __attribute__((may_alias));
  auto* out = static_cast<AnyWord*>(target);
  const auto* in = static_cast<const AnyWord*>(source);
  for (std::int64_t i = 0; i < n; ++i)
    for (int k = 0; k < words; ++k) out[i * target_stride * words + k] = in[i * source_stride * words + k];
}
}  // namespace detail

/// tile[i] = source[i * stride], elements of `size` bytes.
inline void gather(void* tile, const std::byte* source, std::int64_t stride, std::int64_t n, int size) {
  switch (size) {
    case 1: return Versions<&detail::gather_words<std::uint8_t>>::once(tile, source, stride, n);
    case 2: return Versions<&detail::gather_words<std::uint16_t>>::once(tile, source, stride, n);
    case 4: return Versions<&detail::gather_words<std::uint32_t>>::once(tile, source, stride, n);
    case 8: return Versions<&detail::gather_words<std::uint64_t>>::once(tile, source, stride, n);
    case 16: return detail::move_wide<2>(tile, 1, source, stride, n);
    default: return detail::move_wide<4>(tile, 1, source, stride, n);
  }
}

/// target[i * stride] = tile[i], elements of `size` bytes.
inline void scatter(std::byte* target, std::int64_t stride, const void* tile, std::int64_t n, int size) {
  switch (size) {
    case 1: return detail::scatter_words<std::uint8_t>(target, stride, tile, n);
    case 2: return detail::scatter_words<std::uint16_t>(target, stride, tile, n);
    case 4: return detail::scatter_words<std::uint32_t>(target, stride, tile, n);
    case 8: return detail::scatter_words<std::uint64_t>(target, stride, tile, n);
    case 16: return detail::move_wide<2>(target, stride, tile, 1, n);
    default: return detail::move_wide<4>(target, stride, tile, 1, n);
  }
}

inline constexpr int max_operands = max_launch_operands;

/// Bytes of the widest element among operands, at least 8.
[[nodiscard]] inline int widest_element(const ByteOperand* operands, int count) {
  int widest = 8;
  for (int i = 0; i < count; ++i) widest = operands[i].size > widest ? operands[i].size : widest;
  return widest;
}

/// A plan with any number of operands.
struct PlanView {
  int rank, operands;
  std::int64_t elements, first_index;
  const std::int64_t* extent;
  const std::int64_t (*stride)[max_rank];

  template <int N>
  PlanView(const Plan<N>& plan)
      : rank(plan.rank),
        operands(N),
        elements(plan.elements),
        first_index(plan.first_index),
        extent(plan.extent),
        stride(plan.stride) {
    static_assert(N <= max_operands, "too many operands in one launch; name a part of the expression");
  }
  [[nodiscard]] std::int64_t inner_extent() const { return extent[rank - 1]; }
  [[nodiscard]] std::int64_t inner_stride(int operand) const { return stride[operand][rank - 1]; }

  [[nodiscard]] Shape extents() const {
    return Shape(Span<const std::int64_t>(extent, static_cast<std::size_t>(rank)));
  }
  /// Bytes of an operand that a walk over the plan reads or writes.
  [[nodiscard]] std::int64_t touched_bytes(int i, const ByteOperand& operand) const {
    return operand.data ? locus::detail::touched_bytes(rank, extent, stride[i], operand.size) : 0;
  }
};

/// Steps through the outer dimensions of a plan (all but the innermost), keeping every operand's offset.
class Odometer {
 public:
  LOCUS_OUT_OF_LINE Odometer(const PlanView& plan, std::int64_t row) : plan_(plan) {
    for (int i = 0; i < plan.operands; ++i) offset[i] = 0;
    for (int d = plan.rank - 2; d >= 0; --d) {
      position_[d] = row % plan.extent[d];
      row /= plan.extent[d];
      for (int i = 0; i < plan.operands; ++i) offset[i] += position_[d] * plan.stride[i][d];
    }
  }
  void next() {
    for (int d = plan_.rank - 2; d >= 0; --d) {
      for (int i = 0; i < plan_.operands; ++i) offset[i] += plan_.stride[i][d];
      if (++position_[d] < plan_.extent[d]) return;
      for (int i = 0; i < plan_.operands; ++i) offset[i] -= plan_.stride[i][d] * plan_.extent[d];
      position_[d] = 0;
    }
  }

  std::int64_t offset[max_operands];

 private:
  const PlanView& plan_;
  std::int64_t position_[max_rank];
};

/// The tiles of `operands` operands, on the stack of the calling function: no more than they need, since stacks of
/// threads may be as small as 128 KiB.
#define LOCUS_STAGE_TILES(operands) \
  static_cast<std::byte*>(__builtin_alloca_with_align(static_cast<std::size_t>(operands) * Stage::tile_bytes, 512))

/// Operands of a run of elements as dense arrays: in place where they are, through tiles otherwise.
class Stage {
 public:
  static constexpr std::size_t tile_bytes = static_cast<std::size_t>(tile_size) * 8;

  /// Runs lie along the innermost dimension of the plan. `repeated`: a bit for each operand of which the loop reads one
  /// element.
  [[gnu::noinline]] Stage(const ByteOperand* operands, int count, const PlanView& along, std::byte* tiles,
                          unsigned repeated = 0)
      : tiles_(tiles), room_(static_cast<std::int64_t>(tile_bytes) / widest_element(operands, count)) {
    for (int i = 0; i < count; ++i) {
      operands_[i] = operands[i];
      stride_[i] = along.inner_stride(i);
      gathered_[i] = nullptr;
      const bool is_one = (repeated >> i & 1u) != 0;
      if (operands[i].data && (stride_[i] == 1 || is_one)) continue;
      elsewhere_ |= 1u << i;
      direct_ &= operands[i].is_index || is_one;
      if (!operands[i].data && !operands[i].is_index) std::memset(tile(i), 0, tile_bytes);
    }
  }

  /// Output i, where it is dense, is written by non-temporal stores.
  void stream_output(int i) {
    if (!operands_[i].data || stride_[i] != 1) return;
    streams_ |= 1u << i;
    elsewhere_ |= 1u << i;
    direct_ = false;
  }
  [[nodiscard]] bool streams() const { return streams_ != 0; }

  /// Most elements of a run.
  [[nodiscard]] std::int64_t longest_run() const { return direct_ ? INT64_MAX : room_; }

  /// Input i: n consecutive elements from `offset` (in elements).
  [[nodiscard]] const void* input(int i, std::int64_t offset, std::int64_t n) {
    return is_elsewhere(i) ? staged(i, offset, n) : address(i, offset);
  }

  /// Where the loop writes output i; finish() scatters it, or streams it, to its place.
  [[nodiscard]] void* output(int i, std::int64_t offset) { return is_elsewhere(i) ? tile(i) : address(i, offset); }
  void finish(int i, std::int64_t offset, std::int64_t n) {
    if (is_elsewhere(i)) carry(i, offset, n);
  }

 private:
  [[nodiscard]] std::byte* tile(int i) { return tiles_ + static_cast<std::size_t>(i) * tile_bytes; }
  [[nodiscard]] bool is_elsewhere(int i) const { return (elsewhere_ >> i & 1u) != 0; }
  [[nodiscard]] std::byte* address(int i, std::int64_t offset) const {
    return operands_[i].data + offset * operands_[i].size;
  }

  [[nodiscard]] [[gnu::noinline]] const void* staged(int i, std::int64_t offset, std::int64_t n) {
    if (!operands_[i].data) return tile(i);
    const std::byte* const source = address(i, offset);
    if (source == gathered_[i] && n <= filled_[i]) return tile(i);
    gather(tile(i), source, stride_[i], n, operands_[i].size);
    gathered_[i] = source;
    filled_[i] = n;
    return tile(i);
  }
  [[gnu::noinline]] void carry(int i, std::int64_t offset, std::int64_t n) {
    if (!operands_[i].data) return;
    const int size = operands_[i].size;
    if (streams_ >> i & 1u) return stream(address(i, offset), tile(i), static_cast<std::size_t>(n * size));
    scatter(address(i, offset), stride_[i], tile(i), n, size);
  }

  bool direct_ = true;
  // One bit for each operand:
  std::uint32_t elsewhere_ = 0;  ///< staged in its tile, or not read at all
  std::uint32_t streams_ = 0;
  ByteOperand operands_[max_operands];
  std::int64_t stride_[max_operands];
  const std::byte* gathered_[max_operands];  ///< the source of the elements in the tile
  std::int64_t filled_[max_operands];
  std::byte* tiles_;
  std::int64_t room_;  ///< elements of a tile
};

/// A dense input inside a vectorized loop: element k as a register.
template <class T>
struct DenseInput {
  const T* data;
  DenseInput(const void* bytes, std::int64_t) : data(static_cast<const T*>(bytes)) {}
  LOCUS_FN compute_t<T> operator[](std::int64_t k) const { return load_as_register(data[k]); }
  LOCUS_FN void advance(std::int64_t step) { data += step; }
};
struct IndexInput {
  std::int64_t first;
  IndexInput(const void*, std::int64_t first_index) : first(first_index) {}
  LOCUS_FN std::int64_t operator[](std::int64_t k) const { return first + k; }
  LOCUS_FN void advance(std::int64_t step) { first += step; }
};
template <class X>
using dense_input_t = std::conditional_t<std::is_same_v<X, LinearIndex>, IndexInput, DenseInput<operand_t<X>>>;

/// An input that is the same for all elements of a run: the loop over the run reads it from a register.
template <class R>
struct RepeatedValue {
  std::conditional_t<std::is_same_v<R, bool>, std::uint8_t, R> value;  // around a bool, g++ vectorizes no loop
  LOCUS_FN R operator[](std::int64_t) const { return static_cast<R>(value); }
};
/// The same input in memory.
template <class T>
struct RepeatedInput {
  const T* data;
  RepeatedInput(const void* bytes, std::int64_t) : data(static_cast<const T*>(bytes)) {}
  LOCUS_FN void advance(std::int64_t step) { data += step; }
};
/// Input i of a loop. `repeated`: a bit for each input of which the loop reads one element.
template <class X, int i, unsigned repeated>
using loop_input_t = std::conditional_t<(repeated >> i & 1u) != 0, RepeatedInput<operand_t<X>>, dense_input_t<X>>;

/// An input for the loop over one run.
template <class Input>
[[nodiscard]] LOCUS_FN Input for_one_run(const Input& input) {
  return input;
}
template <class T>
[[nodiscard]] LOCUS_FN RepeatedValue<compute_t<T>> for_one_run(const RepeatedInput<T>& input) {
  return {load_as_register(*input.data)};
}

/// Whether each of these inputs is the same along the runs of a plan.
[[nodiscard]] inline bool repeats_along(const PlanView& plan, const ByteOperand* operands, unsigned inputs) {
  for (int i = 0; inputs >> i != 0; ++i)
    if ((inputs >> i & 1u) != 0 && operands[i].data && plan.inner_stride(i) != 0) return false;
  return inputs != 0;
}

}}}  // namespace locus::LOCUS_ABI::cpu
LOCUS_LOOPS_END
