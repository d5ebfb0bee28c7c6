#pragma once
// Extents and strides of up to eight dimensions, kept inline.

#include <locus/core/check.hpp>
#include <locus/core/std/span.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>

namespace locus { inline namespace LOCUS_ABI {

inline constexpr int max_rank = 8;

namespace detail {
/// A vector, an array or a span of integers; characters and bool are refused as a likely mistake.
template <class C>
concept IntegerList = requires(const C& c) {
  requires std::is_integral_v<std::remove_cvref_t<decltype(*c.data())>>;
  requires sizeof(*c.data()) >= 2;
  { c.size() } -> std::convertible_to<std::size_t>;
};
}  // namespace detail

/// A short list of at most eight 64-bit numbers: extents, strides, axes.
class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<std::int64_t> values)
      : Dims(Span<const std::int64_t>(values.begin(), values.size())) {}
  LOCUS_OUT_OF_LINE explicit constexpr Dims(Span<const std::int64_t> values) {
    for (auto value : values) push_back(value);
  }
  /// Of a list whose length is known at run time: reshape(x, std::vector<int>{2, 3}).
  template <detail::IntegerList C>
  constexpr Dims(const C& values) {
    const auto* const first = values.data();
    for (std::size_t i = 0; i < values.size(); ++i) push_back(static_cast<std::int64_t>(first[i]));
  }
  [[nodiscard]] static constexpr Dims filled(int rank, std::int64_t value) {
    Dims dims;
    for (int i = 0; i < rank; ++i) dims.push_back(value);
    return dims;
  }

  [[nodiscard]] constexpr int rank() const { return rank_; }
  [[nodiscard]] constexpr bool empty() const { return rank_ == 0; }
  [[nodiscard]] constexpr std::int64_t* begin() { return values_; }
  [[nodiscard]] constexpr std::int64_t* end() { return values_ + rank_; }
  [[nodiscard]] constexpr const std::int64_t* begin() const { return values_; }
  [[nodiscard]] constexpr const std::int64_t* end() const { return values_ + rank_; }

  /// Entry i; negative i counts from the end. throws IndexError
  [[nodiscard]] constexpr std::int64_t operator[](int i) const { return values_[position(i)]; }
  [[nodiscard]] constexpr std::int64_t& operator[](int i) { return values_[position(i)]; }

  constexpr void assign(std::int64_t only) {
    values_[0] = only;
    rank_ = 1;
  }
  constexpr void push_back(std::int64_t value) {
    if (rank_ == max_rank) refuse_more();
    values_[rank_++] = value;
  }
  constexpr void insert(int at, std::int64_t value) {
    push_back(value);
    for (int i = rank_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  constexpr void erase(int at) {
    for (int i = at; i + 1 < rank_; ++i) values_[i] = values_[i + 1];
    --rank_;
  }

  [[nodiscard]] LOCUS_OUT_OF_LINE friend constexpr bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }
  [[nodiscard]] friend std::string to_string(const Dims& dims) {
    std::string text = "(";
    for (int i = 0; i < dims.rank_; ++i) {
      if (i > 0) text += ", ";
      text += std::to_string(dims.values_[i]);
    }
    text += dims.rank_ == 1 ? ",)" : ")";
    return text;
  }

 private:
  [[nodiscard]] constexpr int position(int i) const {
    if (i < -rank_ || i >= rank_) refuse(i);
    return i < 0 ? i + rank_ : i;
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse_more() {
    fail<ShapeError>({"a tensor has at most ", max_rank, " dimensions"});
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(int i) const {
    if (rank_ == 0) fail<IndexError>({"there is no dimension ", i, " in shape ()"});
    fail<IndexError>({"there is no dimension ", i, " in ", *this, "; expected ", -rank_, " to ", rank_ - 1});
  }

  std::int64_t values_[max_rank] = {};
  int rank_ = 0;
};

using Shape = Dims;    ///< extents, outermost first
using Strides = Dims;  ///< distance in elements between neighbours of each dimension
using Axes = Dims;     ///< dimension numbers; negative ones count from the end

/// Product of the extents; 1 for a scalar. throws ShapeError for a negative extent or a product past 2^63
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr std::int64_t elements(const Shape& shape) {
  std::int64_t product = 1;
  bool overflows = false, empty = false;
  for (auto extent : shape) {
    if (extent < 0)
      fail<ShapeError>(
          {"shape ", shape, " has a negative extent; expected 0 or more, and -1 in reshape alone, which infers it"});
    overflows |= __builtin_mul_overflow(product, extent, &product);
    empty |= extent == 0;
  }
  if (overflows && !empty) fail<ShapeError>({"shape ", shape, " has more than 2^63 elements"});
  return empty ? 0 : product;
}

namespace detail {
/// For strides: in a tensor without elements the other extents may be huge, and their product is not used.
[[nodiscard]] constexpr std::int64_t wrapping_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
/// Whether an extent is 0.
[[nodiscard]] constexpr bool is_empty(const Shape& shape) {
  for (auto extent : shape)
    if (extent == 0) return true;
  return false;
}
}  // namespace detail

/// Strides of a dense row-major tensor.
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr Strides row_major(const Shape& shape) {
  Strides strides = Dims::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i)
    strides[i] = detail::wrapping_product(strides[i + 1], shape[i + 1] > 1 ? shape[i + 1] : 1);
  return strides;
}

/// The axis as a number in [0, rank). throws IndexError naming the caller
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr int normalize_axis(std::int64_t axis, int rank, std::string_view caller) {
  if (axis < -rank || axis >= rank) {
    fail<IndexError>({caller, ": axis ", axis, " is out of range for a tensor with ", rank, " dimensions",
                      rank == 0 ? "" : join("; expected ", -rank, " to ", rank - 1)});
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

namespace detail {
/// The broadcast shape; if there is none, calls clash(dimension, extent of a, extent of b), which throws.
template <class Clash>
[[nodiscard]] constexpr Shape broadcast_or(const Clash& clash, const Shape& a, const Shape& b) {
  if (b.empty() || a == b) return a;
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  Shape result = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const auto x = i <= a.rank() ? a[-i] : 1;
    const auto y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1) clash(-i, x, y);
    result[-i] = x == 1 ? y : x;
  }
  return result;
}
}  // namespace detail

/// NumPy's broadcasting: align at the last dimension; extents must be equal or 1. throws ShapeError naming the caller,
/// if it is given, and both shapes
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr Shape broadcast(const Shape& a, const Shape& b,
                                                          std::string_view caller = {}) {
  const auto clash = [&](int dimension, std::int64_t x, std::int64_t y) {
    fail<ShapeError>({caller, caller.empty() ? "" : ": ", "shapes ", a, " and ", b, " do not broadcast: dimension ",
                      dimension, " is ", x, " and ", y,
                      "; expected equal extents, or 1 in one of them: unsqueeze adds an axis of 1"});
  };
  return detail::broadcast_or(clash, a, b);
}

/// Strides with which a tensor of `shape` is read as `target`: 0 where it is repeated.
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr Strides broadcast_strides(const Shape& shape, const Strides& strides,
                                                                    const Shape& target) {
  Strides result = Dims::filled(target.rank(), 0);
  for (int i = 1; i <= shape.rank(); ++i)
    if (shape[-i] != 1) result[-i] = strides[-i];
  return result;
}

/// Whether the elements lie densely in row-major order.
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return shape.rank() > 0 && elements(shape) == 0;
    expected = detail::wrapping_product(expected, shape[i]);
  }
  return true;
}

}}  // namespace locus::LOCUS_ABI
