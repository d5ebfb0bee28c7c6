#pragma once
// Non-owning views of contiguous elements. (std::span, whose constructors check iterator concepts, costs g++ 25 ms and
// 3.5 MB for every element type.)

#include <locus/core/config.hpp>

#include <cstddef>
#include <type_traits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// U is T, or T is const U: then U* converts to T*, for arrays too.
template <class U, class T>
concept SameElements = std::is_same_v<U, T> || std::is_same_v<const U, T>;
}  // namespace detail

/// A pointer and a count. Anything with data() and size() converts to it, such as a vector or std::span.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  template <detail::SameElements<T> U>
  constexpr Span(U* data, std::size_t size) : data_(data), size_(size) {}
  template <std::size_t n>
  constexpr Span(T (&array)[n]) : data_(array), size_(n) {}
  template <class C>
    requires requires(C& values, void (*take)(std::size_t)) {
      requires detail::SameElements<std::remove_reference_t<decltype(*values.data())>, T>;
      take(values.size());
    } && (!std::is_same_v<std::remove_cvref_t<C>, Span>)
  constexpr Span(C&& values) : data_(values.data()), size_(values.size()) {}

  [[nodiscard]] constexpr T* data() const { return data_; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr T* begin() const { return data_; }
  [[nodiscard]] constexpr T* end() const { return data_ + size_; }
  [[nodiscard]] constexpr T& operator[](std::size_t i) const { return data_[i]; }

  [[nodiscard]] constexpr Span first(std::size_t count) const { return {data_, count}; }
  /// Without the elements before `begin`.
  [[nodiscard]] constexpr Span from(std::size_t begin) const { return {data_ + begin, size_ - begin}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}}  // namespace locus::LOCUS_ABI
