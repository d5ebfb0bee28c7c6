#pragma once
// Operands in registers: `width` neighbouring elements, read and written in one access of up to 16 bytes.

#include <locus/cuda/launch_plan.hpp>

#include <utility>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

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

inline constexpr int cache_line = 128;  // bytes

/// Loads the line of global memory that holds an address into the second-level cache, asynchronously.
LOCUS_FN void prefetch_line(const void* address) {
#if LOCUS_DEVICE_PASS
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#else
  (void)*static_cast<const volatile unsigned char*>(address);  // of simulated threads; sanitizers check the address
#endif
}

/// An input of `width` elements. A null pointer reads as zero.
template <class X, int width>
struct InputVector {
  using T = operand_t<X>;
  using Word = typename detail::Word<static_cast<int>(sizeof(T)) * width>::type;
  Word word;

  /// Elements offset ... offset + width - 1; the address is a multiple of the vector's size.
  __device__ void load(X data, int64_t offset, int64_t) {
    word = data ? *reinterpret_cast<const Word*>(data + offset) : Word{};
  }
  /// The same, wherever it is.
  __device__ void load_singly(X data, int64_t offset) {
    T values[width] = {};
    for (int j = 0; j < width; ++j)
      if (data) values[j] = data[offset + j];
    memcpy(&word, values, sizeof word);
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

/// An output of `width` elements. A null pointer discards it.
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

}}}  // namespace locus::LOCUS_ABI::cuda
