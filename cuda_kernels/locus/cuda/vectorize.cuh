#pragma once
// Operands in registers: `width` neighbouring elements, read and written in one access of up to 16 bytes.

#include <locus/cuda/indexing.hpp>
#include <locus/device/verbs.hpp>

#include <cstring>
#include <utility>

namespace locus::inline LOCUS_ABI::cuda {

namespace detail {
template <int bytes>
struct Word;
template <>
struct Word<1> {
  using type = unsigned char;
};
template <>
struct Word<2> {
  using type = unsigned short;
};
template <>
struct Word<4> {
  using type = unsigned int;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};
}  // namespace detail

/// An input of `width` elements. A null one reads as zero.
template <class X, int width>
struct InputVector {
  using T = operand_t<X>;
  using Word = typename detail::Word<static_cast<int>(sizeof(T)) * width>::type;
  Word word;

  /// Elements offset ... offset + width - 1; the address is a multiple of the vector's size.
  __device__ void load(X data, int64_t offset, int64_t) {
    word = data ? *reinterpret_cast<const Word*>(data + offset) : Word{};
  }
  /// Element `offset` in every place.
  __device__ void load_repeated(X data, int64_t offset, int64_t) {
    const T value = data ? data[offset] : T{};
    T values[width];
    for (int j = 0; j < width; ++j) values[j] = value;
    memcpy(&word, values, sizeof word);
  }
  [[nodiscard]] __device__ compute_t<T> operator[](int j) const {
    T values[width];
    memcpy(values, &word, sizeof word);
    return load_as_register(values[j]);
  }
};
template <int width>
struct InputVector<LinearIndex, width> {
  int64_t first;
  __device__ void load(LinearIndex, int64_t, int64_t index) { first = index; }
  __device__ void load_repeated(LinearIndex, int64_t, int64_t index) { first = index; }
  [[nodiscard]] __device__ int64_t operator[](int j) const { return first + j; }
};

/// An output of `width` elements. A null one is discarded.
template <class T, int width>
struct OutputVector {
  using Word = typename detail::Word<static_cast<int>(sizeof(T)) * width>::type;
  T values[width];

  __device__ void set(int j, const compute_t<T>& value) { values[j] = from_register<T>(value); }
  __device__ void store(T* data, int64_t offset) const {
    if (!data) return;
    Word word;
    memcpy(&word, values, sizeof word);
    *reinterpret_cast<Word*>(data + offset) = word;
  }
};

/// Calls f with element j of every input and output.
template <class F, class... I, class... O, int width, int... i, int... o>
__device__ void apply(const F& f, int j, const Pack<InputVector<I, width>...>& in, Pack<OutputVector<O, width>...>& out,
                      std::integer_sequence<int, i...>, std::integer_sequence<int, o...>) {
  Pack<compute_t<O>...> result;
  f(get<i>(in)[j]..., get<o>(result)...);
  (get<o>(out).set(j, get<o>(result)), ...);
}

/// The widest vector for which no operand needs more than 16 bytes.
template <class... X>
[[nodiscard]] constexpr int vector_width() {
  int largest = 1;
  ((largest = !std::is_same_v<X, LinearIndex> && static_cast<int>(sizeof(operand_t<X>)) > largest
                  ? static_cast<int>(sizeof(operand_t<X>))
                  : largest),
   ...);
  return 16 / largest;
}

[[nodiscard]] LOCUS_FN LinearIndex advance(LinearIndex index, int64_t) { return index; }
template <class T>
[[nodiscard]] LOCUS_FN T* advance(T* data, int64_t offset) {
  return data ? data + offset : data;
}
/// A pointer to an operand in a kernel's arguments, its type erased; none where the operand has no memory.
struct OperandSlot {
  void* pointer = nullptr;
  int size = 1;  ///< bytes per element

  [[nodiscard]] const std::byte* data() const {
    const std::byte* data = nullptr;
    if (pointer) std::memcpy(&data, pointer, sizeof data);
    return data;
  }
  void advance(int64_t elements) const {
    const std::byte* at = data();
    if (!at) return;
    at += elements * size;
    std::memcpy(pointer, &at, sizeof at);
  }
};
[[nodiscard]] inline OperandSlot slot_of(LinearIndex&) { return {}; }
template <class T>
[[nodiscard]] OperandSlot slot_of(T*& data) {
  return {&data, static_cast<int>(sizeof(T))};
}

/// How a piece can be walked.
enum class Access { contiguous, vectors, elements };

/// For vectors of `width` elements; the first `inputs` operands may be repeated along the innermost dimension.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Access access_of(const Piece& piece, const OperandSlot* operands, int inputs,
                                                        int width) {
  const int inner = piece.rank - 1;
  bool dense = piece.rank == 1, vectors = true;
  for (int i = 0; i < piece.operands; ++i) {
    const std::byte* const data = operands[i].data();
    if (!data) continue;
    const int64_t stride = piece.stride[i][inner];
    dense &= stride == 1;
    if (stride == 0 && i < inputs) continue;
    const auto bytes = static_cast<std::uintptr_t>(operands[i].size * width);
    vectors &= stride == 1 && reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
    for (int d = 0; d < inner; ++d) vectors &= piece.stride[i][d] % width == 0;
  }
  if (!vectors) return Access::elements;
  if (dense) return Access::contiguous;
  return piece.extent[inner] % width == 0 ? Access::vectors : Access::elements;
}

}  // namespace locus::inline LOCUS_ABI::cuda
