#pragma once
// Views as operations, so that they can be traced: the same elements under another shape, at no cost.

#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {

struct Reshape {
  static constexpr const char* name = "reshape";
  static constexpr bool linear = true;
  Shape shape;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{x.reshape(shape), Tuple(x.shape())};
  }
  template <class T, class D>
  void backward(const Tuple<Shape>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    dx.give(g.reshape(get<0>(saved)));
  }
};

struct Permute {
  static constexpr const char* name = "permute";
  static constexpr bool linear = true;
  Axes order;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{x.permute(order), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    Axes inverse = order;
    for (int i = 0; i < order.rank(); ++i) inverse[normalize_axis(static_cast<int>(order[i]), order.rank(), name)] = i;
    dx.give(g.permute(inverse));
  }
};

struct Expand {
  static constexpr const char* name = "expand";
  static constexpr bool linear = true;
  Shape shape;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{x.expand(shape), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    detail::sum_to(g, dx);
  }
};

/// A slice of one dimension; with `drop`, of one element, whose dimension disappears.
struct Slice {
  static constexpr const char* name = "slice";
  static constexpr bool linear = true;
  int dim;
  std::int64_t start, end, step;
  bool drop = false;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{drop ? x.select(dim, start) : x.slice(dim, start, end, step), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open_in_format();
    if (!target.accumulate) target.out.fill_(T(0));
    Layout part = target.out.layout();
    const std::int64_t offset = drop ? part.select(dim, start) : part.slice(dim, start, end, step);
    Tensor<T, D>(target.out.buffer(), target.out.data() + offset, part.shape, part.strides) += g;
  }
};

/// The elements (i, i + offset) of two dimensions.
struct Diagonal {
  static constexpr const char* name = "diagonal";
  static constexpr bool linear = true;
  std::int64_t offset;
  int first, second;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{x.diagonal(offset, first, second), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open_in_format();
    if (!target.accumulate) target.out.fill_(T(0));
    target.out.diagonal(offset, first, second) += g;
  }
};

/// The same images, their channels side by side.
struct ChannelsLast {
  static constexpr const char* name = "channels_last";
  static constexpr bool linear = true;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{x.channels_last(), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    dx.give(g);
  }
};

/// A copy on another device; the gradient comes back.
template <class E>
struct MoveTo {
  static constexpr const char* name = "to";
  static constexpr bool linear = true;
  E target;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{x.template to<E>(target), Tuple(x.device())};
  }
  template <class T, class D>
  void backward(const Tuple<D>& saved, const Tensor<T, E>& g, Gradient<T, D>& dx) const {
    dx.give(g.template to<D>(get<0>(saved)));
  }
};

}  // namespace operation

namespace detail {
/// A tensor or expression to view. A parameter alone is excluded: it would lose its gradient.
template <class X>
concept Viewable = TensorLike<X> && !IsParameter<X>;

/// The order of dimensions that moves each of `source` to its place in `destination`.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Axes moved_dimensions(int rank, const Axes& source, const Axes& destination) {
  if (source.rank() != destination.rank()) {
    fail<ArgumentError>({"movedim: dimensions ", source, " to ", destination, "; expected as many"});
  }
  Axes order = Dims::filled(rank, -1);
  unsigned moved = 0;
  for (int i = 0; i < source.rank(); ++i) {
    const int from = normalize_axis(source[i], rank, "movedim"), to = normalize_axis(destination[i], rank, "movedim");
    if ((moved >> from & 1u) != 0 || order[to] >= 0) {
      fail<ArgumentError>({"movedim: dimensions ", source, " to ", destination, " name one twice"});
    }
    moved |= 1u << from;
    order[to] = from;
  }
  for (int to = 0, from = 0; to < rank; ++to) {
    if (order[to] >= 0) continue;
    while ((moved >> from & 1u) != 0) ++from;
    order[to] = from++;
  }
  return order;
}

/// The shape with ones where NumPy's atleast functions put them.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape at_least(Shape shape, int rank) {
  if (shape.rank() == 0) return Dims::filled(rank, 1);
  if (shape.rank() == 1 && rank > 1) shape.insert(0, 1);
  if (shape.rank() == 2 && rank > 2) shape.push_back(1);
  return shape;
}
}  // namespace detail

/// The same elements in row-major order under another shape; one extent may be -1.
template <detail::Viewable X>
[[nodiscard]] auto reshape(const X& x, const Shape& shape) {
  return apply(operation::Reshape{shape}, x);
}

/// Dimension i of the result is dimension order[i].
template <detail::Viewable X>
[[nodiscard]] auto permute(const X& x, const Axes& order) {
  return apply(operation::Permute{order}, x);
}

/// The same images with their channels side by side in memory; itself if they lie so. See Tensor::channels_last.
/// shape: (batch, channels, height, width), or (batch, channels, depth, height, width)     gradient: g
/// cost:  none, or one launch     throws ShapeError for another number of dimensions
///
///     const auto logits = model(channels_last(images));   // its convolutions, norms and pools keep the order
template <detail::Viewable X>
[[nodiscard]] auto channels_last(const X& x) {
  return apply(operation::ChannelsLast{}, x);
}

/// Two dimensions exchanged; the last two by default.
template <detail::Viewable X>
[[nodiscard]] auto transpose(const X& x, int a = -2, int b = -1) {
  const int rank = x.rank();
  Axes order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[normalize_axis(a, rank, "transpose")], order[normalize_axis(b, rank, "transpose")]);
  return apply(operation::Permute{order}, x);
}

/// Repeated to a broadcast shape without copying; -1 keeps an extent.
template <detail::Viewable X>
[[nodiscard]] auto expand(const X& x, const Shape& shape) {
  return apply(operation::Expand{shape}, x);
}

/// Elements start, start + step, ... before end of one dimension, as in Python. With a negative step a copy, in one
/// launch; otherwise a view.
template <detail::Viewable X>
[[nodiscard]] auto slice(const X& x, int dim, std::int64_t start, std::int64_t end = to_end, std::int64_t step = 1) {
  return apply(operation::Slice{dim, start, end, step}, x);
}

/// Element `index` of one dimension, which disappears.
template <detail::Viewable X>
[[nodiscard]] auto select(const X& x, int dim, std::int64_t index) {
  return apply(operation::Slice{dim, index, index, 1, true}, x);
}

/// The elements (i, i + offset) of two dimensions, which the result has as its last: a view. sum(diagonal(x)) is the
/// trace of a matrix.
template <detail::Viewable X>
[[nodiscard]] auto diagonal(const X& x, std::int64_t offset = 0, int first = 0, int second = 1) {
  return apply(operation::Diagonal{offset, first, second}, x);
}

/// Dimensions `source` moved to the places `destination`; the others keep their order. Each is a number or a list.
/// throws ArgumentError unless both name as many dimensions, none of them twice; IndexError
///
///     auto images = movedim(x, -1, 1);   // (n, rows, cols, channels) -> (n, channels, rows, cols)
template <detail::Viewable X>
[[nodiscard]] auto movedim(const X& x, const ReduceAxes& source, const ReduceAxes& destination) {
  return permute(x, detail::moved_dimensions(x.shape().rank(), source.list(), destination.list()));
}

/// Two dimensions exchanged: transpose under NumPy's name.
template <detail::Viewable X>
[[nodiscard]] auto swapaxes(const X& x, int a, int b) {
  return transpose(x, a, b);
}

/// Repeated to a broadcast shape without copying: expand under NumPy's name.
template <detail::Viewable X>
[[nodiscard]] auto broadcast_to(const X& x, const Shape& shape) {
  return expand(x, shape);
}

/// With at least one dimension (two, three), as in NumPy: (n,) becomes (1, n), (1, n, 1); (m, n) becomes (m, n, 1).
template <detail::Viewable X>
[[nodiscard]] auto atleast_1d(const X& x) {
  return reshape(x, detail::at_least(x.shape(), 1));
}
template <detail::Viewable X>
[[nodiscard]] auto atleast_2d(const X& x) {
  return reshape(x, detail::at_least(x.shape(), 2));
}
template <detail::Viewable X>
[[nodiscard]] auto atleast_3d(const X& x) {
  return reshape(x, detail::at_least(x.shape(), 3));
}

/// Dimensions [first, last] merged into one.
template <detail::Viewable X>
[[nodiscard]] auto flatten(const X& x, int first = 0, int last = -1) {
  const auto& value = x.value();
  return apply(operation::Reshape{detail::flattened(value.shape(), first, last)}, x);
}

/// Dimension `dim` as several, in row-major order; one extent may be -1.
/// shape: (..., n, ...) -> (..., sizes, ...)     throws ShapeError unless n elements fit the sizes
///
///     auto images = unflatten(rows, 1, {1, 28, 28});   // (batch, 784) -> (batch, 1, 28, 28)
template <detail::Viewable X>
[[nodiscard]] auto unflatten(const X& x, int dim, const Shape& sizes) {
  const auto& value = x.value();
  return apply(operation::Reshape{detail::unflattened(value.shape(), dim, sizes)}, x);
}

/// Without dimension `dim`, if its extent is 1.
template <detail::Viewable X>
[[nodiscard]] auto squeeze(const X& x, int dim) {
  return apply(operation::Reshape{x.value().squeeze(dim).shape()}, x);
}

/// Without the named dimensions whose extent is 1.
template <detail::Viewable X>
[[nodiscard]] auto squeeze(const X& x, const Axes& dims) {
  Shape shape;
  const detail::FoldedAxes named("squeeze", x.shape(), dims);
  for (int d = 0; d < x.shape().rank(); ++d)
    if (dims.empty() || !named.folds(d) || x.shape()[d] != 1) shape.push_back(x.shape()[d]);
  return reshape(x, shape);
}

/// Without any dimension of extent 1.
template <detail::Viewable X>
[[nodiscard]] auto squeeze(const X& x) {
  return apply(operation::Reshape{x.value().squeeze().shape()}, x);
}

/// With a new dimension of extent 1 at `dim`.
template <detail::Viewable X>
[[nodiscard]] auto unsqueeze(const X& x, int dim) {
  return apply(operation::Reshape{x.value().unsqueeze(dim).shape()}, x);
}
/// With new dimensions of extent 1 at these positions of the result, as numpy.expand_dims.
template <detail::Viewable X>
[[nodiscard]] auto unsqueeze(const X& x, const Axes& dims) {
  const int rank = x.shape().rank() + dims.rank();
  unsigned added = 0;
  for (const std::int64_t dim : dims) {
    const int d = normalize_axis(dim, rank, "unsqueeze");
    if ((added >> d & 1u) != 0) fail<ArgumentError>({"unsqueeze: dimension ", d, " is named twice in ", dims});
    added |= 1u << d;
  }
  Shape shape;
  for (int d = 0, from = 0; d < rank; ++d) shape.push_back((added >> d & 1u) != 0 ? 1 : x.shape()[from++]);
  return reshape(x, shape);
}

#include <locus/refuse/ops/view.inc>

}}  // namespace locus::LOCUS_ABI
