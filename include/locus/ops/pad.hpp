#pragma once
// Padding: a border of a constant, of reflected, repeated or wrapped elements around the last dimensions.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/reduction.hpp>
#include <locus/ops/rows.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The content of the border of pad.
enum class PadMode {
  constant,   ///< a value
  reflect,    ///< elements mirrored at the first and the last one, which are not repeated: c b | a b c | b a
  replicate,  ///< the nearest element: a a | a b c | c c
  circular,   ///< elements from the other end: b c | a b c | a b
};

/// Elements before and after each of the last dimensions, the last dimension first, as in PyTorch: {left, right, top,
/// bottom, ...}. Negative ones crop; a circular border wraps the elements that remain.
class PadAmounts {
 public:
  /// throws ArgumentError unless there is a pair for each of at most eight dimensions
  PadAmounts(std::initializer_list<std::int64_t> amounts) : PadAmounts(amounts.begin(), amounts.size()) {}
  /// From a list of any integers, of a length known at run time: pad(x, std::vector<std::int64_t>(2 * x.rank(), 1)).
  template <detail::IntegerList C>
  PadAmounts(const C& amounts) : PadAmounts(amounts.data(), amounts.size()) {}
  [[nodiscard]] int dims() const { return count_ / 2; }
  /// The amounts before and after dimension `rank - 1 - from_last`.
  [[nodiscard]] std::int64_t before(int from_last) const { return of(2 * std::int64_t{from_last}); }
  [[nodiscard]] std::int64_t after(int from_last) const { return of(2 * std::int64_t{from_last} + 1); }
  /// Amounts of the inverse operation: each one negated.
  [[nodiscard]] PadAmounts opposite() const {
    PadAmounts result = *this;
    for (std::int64_t& amount : result.amounts_) amount = -amount;
    return result;
  }
  /// Only the amounts that crop, or only the others; 0 for the rest.
  [[nodiscard]] PadAmounts only(bool crops) const {
    PadAmounts result = *this;
    for (std::int64_t& amount : result.amounts_)
      if ((amount < 0) != crops) amount = 0;
    return result;
  }
  [[nodiscard]] bool crop() const {
    bool crops = false;
    for (const std::int64_t amount : amounts_) crops |= amount < 0;
    return crops;
  }

 private:
  template <class N>
  LOCUS_OUT_OF_LINE PadAmounts(const N* amounts, std::size_t count) {
    if (count % 2 != 0 || count > 2 * static_cast<std::size_t>(max_rank))
      fail<ArgumentError>({"pad: ", count, " amounts; expected two for each dimension, the last one first"});
    for (std::size_t i = 0; i < count; ++i) {
      detail::require_fits<std::int64_t>("pad", amounts[i], "");
      amounts_[count_++] = static_cast<std::int64_t>(amounts[i]);
    }
  }
  [[nodiscard]] std::int64_t of(std::int64_t side) const { return side < count_ ? amounts_[side] : 0; }

  std::int64_t amounts_[2 * max_rank] = {};
  int count_ = 0;
};

namespace detail {

/// The source of each element of a padded dimension.
struct PadAxis {
  PadMode mode = PadMode::constant;
  std::int64_t extent = 1, before = 0, padded = 1;

  /// The index of the element at `at`; -1: the constant.
  [[nodiscard]] LOCUS_FN std::int64_t source(std::int64_t at) const {
    const std::int64_t i = at - before, last = extent - 1;
    if (i >= 0 && i <= last) return i;
    if (mode == PadMode::constant) return -1;
    if (mode == PadMode::replicate) return i < 0 ? 0 : last;
    if (mode == PadMode::reflect) return i < 0 ? -i : 2 * last - i;
    return i < 0 ? i + extent : i - extent;
  }
  /// Calls f(at) for each place of element i.
  template <class F>
  LOCUS_FN void for_each_place(std::int64_t i, const F& f) const {
    const std::int64_t at = i + before, last = extent - 1;
    if (mode == PadMode::replicate) {
      const std::int64_t begin = i == 0 ? 0 : at, end = i == last ? padded : at + 1;
      for (std::int64_t k = larger(begin, std::int64_t{0}); k < smaller(end, padded); ++k) f(k);
      return;
    }
    if (at >= 0 && at < padded) f(at);
    const bool reflects = mode == PadMode::reflect;
    const std::int64_t left = reflects ? before - i : at - extent;
    const std::int64_t right = reflects ? before + 2 * last - i : at + extent;
    if (left >= 0 && left < before) f(left);
    if (right >= before + extent && right < padded) f(right);
  }
};

/// A row of the padded tensor for each row of work.
template <class T>
struct PadRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  const T* x;
  T* y;
  compute_t<T> value;
  int rank;
  PadAxis axis[max_rank];  ///< one for each dimension, in the memory order of y
  std::int64_t stride[max_rank];

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    std::int64_t offset = 0, rest = row;
    bool inside = true;
    for (int d = rank - 2; d >= 0; --d) {
      const std::int64_t before = rest / axis[d].padded, i = axis[d].source(rest - before * axis[d].padded);
      inside &= i >= 0;
      offset += i * stride[d];
      rest = before;
    }
    const PadAxis along = axis[rank - 1];
    const std::int64_t step = stride[rank - 1];
    const R otherwise = value;
    const T* const from = x + offset;
    team.store(RowOutput<T>{y + row * team.cols()}, [=](std::int64_t c) LOCUS_INLINED {
      const std::int64_t i = inside ? along.source(c) : -1;
      return i < 0 ? otherwise : load_as_register(from[i * step]);
    });
  }
};

/// dx(outer, i, inner) = the sum of the elements of g along the padded dimension that came from i. A row of work goes
/// along inner, or, if inner is 1, along the dimension.
template <class T>
struct UnpadRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  const T* g;
  T* dx;
  PadAxis axis;
  std::int64_t inner;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const bool along = inner == 1;
    const std::int64_t outer = along ? row : row / axis.extent, i = row - outer * axis.extent, step = inner;
    const T* const from = g + outer * axis.padded * inner;
    const PadAxis places = axis;
    team.store(RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [=](std::int64_t c) LOCUS_INLINED {
      R sum = 0;
      const T* const column = along ? from : from + c;
      places.for_each_place(along ? c : i,
                            [&](std::int64_t at) LOCUS_INLINED { sum += load_as_register(column[at * step]); });
      return sum;
    });
  }
};

/// The padded dimension; a circular border is placed after cropping. throws ShapeError where the mode cannot make it
[[nodiscard]] LOCUS_OUT_OF_LINE inline PadAxis pad_axis(const Shape& shape, int dim, const PadAmounts& amounts,
                                                        PadMode mode) {
  constexpr std::int64_t none = 0;
  const std::int64_t extent = shape[dim], before = amounts.before(shape.rank() - 1 - dim);
  const std::int64_t after = amounts.after(shape.rank() - 1 - dim), longer = larger(before, after);
  const auto refuse = [&](std::string_view expected) {
    fail<ShapeError>({"pad: ", before, " before and ", after, " after dimension ", dim, " of shape ", shape,
                      "; expected ", expected});
  };
  std::int64_t padded = 0;
  if (before < -extent || after < -extent) refuse("to crop no more than there is");
  if (__builtin_add_overflow(extent, before, &padded) || __builtin_add_overflow(padded, after, &padded))
    refuse("an extent below 2^63");
  if (padded < 0) refuse("to crop no more than there is");
  if (mode == PadMode::reflect && longer > larger(extent - 1, none)) refuse("less than the extent, to reflect");
  if (mode == PadMode::replicate && extent == 0 && longer > 0) refuse("an element to repeat");
  if (mode != PadMode::circular) return {mode, extent, before, padded};
  const std::int64_t left = extent + smaller(before, none) + smaller(after, none);
  if (longer > left) refuse("at most the extent, less what is cropped, to go round once");
  return {mode, left, larger(before, none), padded};
}

}  // namespace detail

namespace operation {

template <class T>
struct Pad {
  static constexpr const char* name = "pad";
  static constexpr bool linear = true;
  PadAmounts amounts;
  PadMode mode;
  compute_t<T> value;

  template <class D> auto forward(const Tensor<T, D>& x) const { return Forwarded{padded(x), Tuple(x.shape())}; }
  /// A constant border has the derivative 0.
  template <class D>
  [[nodiscard]] Tensor<T, D> derivative(const Tensor<T, D>& along) const {
    return Pad{amounts, mode, compute_t<T>(0)}.padded(along);
  }
  template <class D>
  void backward(const Tuple<Shape>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    if (mode == PadMode::constant) return dx.give(cropped(g));
    if (mode == PadMode::circular && amounts.crop()) return dx.give(unwrapped(get<0>(saved), g));
    const Shape& shape = get<0>(saved);
    const int rank = shape.rank();
    Tensor<T, D> from = g.contiguous();
    int left = 0;  // dimensions still to be unpadded
    for (int d = rank - amounts.dims(); d < rank; ++d) left += changes(rank, d);
    if (left == 0) return dx.give(from);
    for (int d = rank - 1; left > 0; --d) {
      if (!changes(rank, d)) continue;
      if (--left == 0) {
        const auto target = dx.open();
        return unpad(target.out, target.accumulate, from, d);
      }
      from = unpadded(from, d, shape[d]);
    }
  }

 private:
  [[nodiscard]] bool changes(int rank, int dim) const {
    return amounts.before(rank - 1 - dim) != 0 || amounts.after(rank - 1 - dim) != 0;
  }

  template <class D>
  [[nodiscard]] Tensor<T, D> padded(const Tensor<T, D>& x) const {
    if (amounts.dims() > x.rank())
      fail<ShapeError>(
          {"pad: amounts for ", amounts.dims(), " dimensions of shape ", x.shape(), "; expected at most ", x.rank()});
    if (x.rank() == 0) return x;
    detail::PadRow<T> row{x.data(), nullptr, value, x.rank(), {}, {}};
    Shape shape = x.shape();
    constexpr std::int64_t none = 0;
    const bool is_channels_last = x.is_channels_last();
    for (int i = 0; i < x.rank(); ++i) {
      const int d = !is_channels_last || i == 0 ? i : i + 1 < x.rank() ? i + 1 : 1;
      row.axis[i] = detail::pad_axis(x.shape(), d, amounts, mode);
      row.stride[i] = x.strides()[d];
      if (mode == PadMode::circular) row.x -= detail::smaller(amounts.before(x.rank() - 1 - d), none) * row.stride[i];
      shape[d] = row.axis[i].padded;
    }
    const Tensor<T, D> y(shape, x.layout().format(), x.device());
    if (y.empty()) return y;
    row.y = y.data();
    const std::int64_t cols = row.axis[x.rank() - 1].padded;
    Backend<D>::for_each_row(x.device(), y.elements() / cols, cols, row);
    return y;
  }
  /// The gradient of a constant border: g without the border; zero where x was cropped.
  template <class D>
  [[nodiscard]] Tensor<T, D> cropped(const Tensor<T, D>& g) const {
    if (amounts.crop()) return Pad{amounts.opposite(), PadMode::constant, compute_t<T>(0)}.padded(g);
    Tensor<T, D> view = g;
    for (int k = 0; k < amounts.dims(); ++k) {
      const int dim = g.rank() - 1 - k;
      view = view.slice(dim, amounts.before(k), g.size(dim) - amounts.after(k));
    }
    return view;
  }
  /// The gradient of a circular border around a cropped tensor: first of the border, then of the crop.
  template <class D>
  [[nodiscard]] Tensor<T, D> unwrapped(const Shape& shape, const Tensor<T, D>& g) const {
    const Pad border{amounts.only(false), mode, value}, crop{amounts.only(true), PadMode::constant, value};
    Tensor<T, D> from = g.contiguous();
    for (int d = shape.rank() - 1; d >= shape.rank() - amounts.dims(); --d)
      if (border.changes(shape.rank(), d))
        from = border.unpadded(from, d, detail::pad_axis(shape, d, amounts, mode).extent);
    return crop.cropped(from);
  }
  /// The gradient with the border of one dimension added to the `extent` elements it came from.
  template <class D>
  [[nodiscard]] Tensor<T, D> unpadded(const Tensor<T, D>& g, int dim, std::int64_t extent) const {
    Shape shape = g.shape();
    shape[dim] = extent;
    const Tensor<T, D> out(shape, g.device());
    unpad(out, false, g, dim);
    return out;
  }
  template <class D>
  void unpad(const Tensor<T, D>& out, bool accumulate, const Tensor<T, D>& g, int dim) const {
    const detail::RowCount count(out.shape(), dim);
    if (out.empty()) return;
    const auto axis = detail::pad_axis(out.shape(), dim, amounts, mode);
    const bool along = count.inner == 1;
    Backend<D>::for_each_row(out.device(), along ? count.outer : count.outer * count.cols,
                             along ? count.cols : count.inner,
                             detail::UnpadRow<T>{g.data(), out.data(), axis, count.inner, accumulate});
  }
};

}  // namespace operation

/// x with a border around its last dimensions: F.pad. Amounts name the last dimension first.
/// shape:    (..., h, w) -> (..., top + h + bottom, left + w + right) for {left, right, top, bottom}
/// gradient: g at the sources of the elements, added up where they are repeated
/// cost:     one launch; backward none for a constant border (one where x is cropped), else one for each dimension (and
///           one for a circular border where x is cropped)
/// throws ShapeError unless reflected borders are shorter than the extent and circular ones at most as long as the
/// remaining extent, and where more is cropped than there is
///
///     auto y = pad(images, {1, 1, 1, 1});                            // zeros
///     auto z = pad(signal, {3, 0}, PadMode::replicate);
template <class X>
  requires detail::Operand<detail::bare_t<X>>
[[nodiscard]] auto pad(const X& x, const PadAmounts& amounts, PadMode mode = PadMode::constant) {
  return apply(operation::Pad<value_of<X>>{amounts, mode, compute_t<value_of<X>>(0)}, x);
}
/// The same with a value for the constant border; other modes ignore it.
template <class X, class S>
  requires(detail::Operand<detail::bare_t<X>> && detail::ScalarFits<S, value_of<X>>)
[[nodiscard]] auto pad(const X& x, const PadAmounts& amounts, PadMode mode, const S& value) {
  using T = value_of<X>;
  detail::require_fits<T>("pad", value, ", or x.as<std::int64_t>()");
  return apply(operation::Pad<T>{amounts, mode, register_of<T>(value)}, x);
}

#include <locus/refuse/ops/pad.inc>

}}  // namespace locus::LOCUS_ABI
