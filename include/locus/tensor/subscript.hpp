#pragma once
// Subscripts of x.at(1, all, range(0, 5, 2)): for each dimension a number, the whole dimension, or a range.
//
// Negative positions count from the end, as in all positions and axes in program text: select, slice, at, element
// access, axes. In tensors of indices or labels, -1 is out of range.

#include <locus/tensor/layout.hpp>

#include <concepts>

namespace locus { inline namespace LOCUS_ABI {

/// Positions start, start + step, ... before end, as in slice. A negative step goes down: range(to_end, to_end, -1)
/// reverses the dimension.
struct IndexRange {
  std::int64_t start = 0, end = to_end, step = 1;
};
[[nodiscard]] constexpr IndexRange range(std::int64_t start, std::int64_t end = to_end, std::int64_t step = 1) {
  return {start, end, step};
}

namespace detail {
struct WholeDimension {};
}  // namespace detail
/// As a subscript, `all` names a whole dimension. (As a function of a tensor it is a reduction.)
constexpr detail::WholeDimension all(const detail::WholeDimension& dimension) { return dimension; }

/// One subscript of x.at(...).
class Subscript {
 public:
  enum class Kind : std::uint8_t { none, number, range, all };

  constexpr Subscript() = default;
  template <std::integral I>
    requires(!std::is_same_v<I, bool>)
  constexpr Subscript(I number) : kind_(Kind::number), range_{static_cast<std::int64_t>(number)} {}
  constexpr Subscript(const IndexRange& range) : kind_(Kind::range), range_(range) {}
  constexpr Subscript(detail::WholeDimension (*)(const detail::WholeDimension&)) : kind_(Kind::all) {}

  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  [[nodiscard]] constexpr const IndexRange& range() const { return range_; }
  [[nodiscard]] constexpr std::int64_t number() const { return range_.start; }

 private:
  Kind kind_ = Kind::none;
  IndexRange range_;
};

namespace detail {

/// throws IndexError for more subscripts than dimensions, and for a number out of range
LOCUS_OUT_OF_LINE inline void require_subscripts(const Shape& shape, const Subscript (&subscripts)[max_rank]) {
  for (int d = 0; d < max_rank && subscripts[d].kind() != Subscript::Kind::none; ++d) {
    if (d == shape.rank()) fail<IndexError>({"at: more than ", d, " subscripts for a tensor of shape ", shape});
    const std::int64_t number = subscripts[d].number(), extent = shape[d];
    if (subscripts[d].kind() == Subscript::Kind::number && (number < -extent || number >= extent)) {
      fail<IndexError>({"at: subscript ", d, " is ", number, " for a tensor of shape ", shape, "; expected ",
                        extent == 0 ? join("a range: dimension ", d, " is empty") : join(-extent, " to ", extent - 1)});
    }
  }
}

/// The part of a tensor, traced or not, selected by subscripts for its first dimensions.
template <class X>
[[nodiscard]] X subscripted(X x, const Subscript (&subscripts)[max_rank]) {
  require_subscripts(x.shape(), subscripts);
  int dim = 0;
  for (const Subscript& s : subscripts) {
    if (s.kind() == Subscript::Kind::none) break;
    if (s.kind() == Subscript::Kind::number) x = x.select(dim, s.number());
    else if (s.kind() == Subscript::Kind::range) x = x.slice(dim++, s.range().start, s.range().end, s.range().step);
    else ++dim;
  }
  return x;
}

}  // namespace detail

}}  // namespace locus::LOCUS_ABI
