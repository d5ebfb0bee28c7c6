#pragma once
// Tensors joined along an axis that they have (concat), or along a new one (stack).

#include <locus/expr/operands.hpp>
#include <locus/ops/view.hpp>

#include <array>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// Extents of the result, and the start of each tensor along the axis.
class Joint {
 public:
  Joint(const Shape& first, int axis) : axis_(normalize_axis(axis, first.rank(), "concat")), shape_(first) {
    shape_[axis_] = 0;
  }

  /// Appends a tensor; returns where it begins.
  std::int64_t append(const Shape& shape) {
    bool fits = shape.rank() == shape_.rank();
    for (int d = 0; d < shape.rank() && fits; ++d) fits = d == axis_ || shape[d] == shape_[d];
    if (!fits) {
      Shape expected = shape_;
      expected[axis_] = -1;
      fail<ShapeError>(
          {"concat: a tensor of shape ", shape, " does not fit; expected ", expected, ", where -1 is any extent"});
    }
    const std::int64_t begin = shape_[axis_];
    if (__builtin_add_overflow(begin, shape[axis_], &shape_[axis_]))
      fail<ShapeError>({"concat: the extents along axis ", axis_, " add up to more than 2^63"});
    return begin;
  }
  [[nodiscard]] int axis() const { return axis_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }

 private:
  int axis_;
  Shape shape_;
};

template <class T, class D>
[[nodiscard]] Tensor<T, D> join_tensors(Span<const Tensor<T, D>* const> tensors, int axis) {
  Joint joint(tensors[0]->shape(), axis);
  bool are_channels_last = true;
  for (const auto* x : tensors) {
    joint.append(x->shape());
    are_channels_last &= x->is_channels_last();
  }
  const Tensor<T, D> out(joint.shape(), are_channels_last ? MemoryFormat::channels_last : MemoryFormat::row_major,
                         tensors[0]->device());
  Joint at(tensors[0]->shape(), axis);
  for (const auto* x : tensors) {
    const std::int64_t begin = at.append(x->shape());
    copy_elements(*x, out.slice(at.axis(), begin, begin + x->size(at.axis())));
  }
  return out;
}

}  // namespace detail

namespace operation {

struct Concat {
  static constexpr const char* name = "concat";
  static constexpr bool linear = true;
  int axis;

  template <class T, class D, class... X>
  auto forward(const Tensor<T, D>& first, const X&... rest) const {
    const Tensor<T, D>* const tensors[] = {&first, &rest...};
    const int along = normalize_axis(axis, first.rank(), name);
    auto out = detail::join_tensors<T, D>(tensors, along);
    std::array<std::int64_t, sizeof...(X) + 1> extents{first.size(along), rest.size(along)...};
    return Forwarded{out, Tuple(extents)};
  }
  template <class T, class D, std::size_t n, class... G>
  void backward(const Tuple<std::array<std::int64_t, n>>& saved, const Tensor<T, D>& g, G&... gradients) const {
    const int along = normalize_axis(axis, g.rank(), name);
    std::int64_t begin = 0;
    std::size_t position = 0;
    const auto give = [&](auto& gradient) {
      const std::int64_t end = begin + get<0>(saved)[position++];
      if (gradient) gradient.give(g.slice(along, begin, end));
      begin = end;
    };
    (give(gradients), ...);
  }
};

}  // namespace operation

namespace detail {

template <class X, class... Rest>
concept Joinable = TensorLike<X> && (TensorLike<Rest> && ...) && Computes<X> && (SameDevice<X, Rest> && ...) &&
                   (std::is_same_v<value_of<X>, value_of<Rest>> && ...) &&
                   joint_role<bare_t<X>::role, bare_t<Rest>::role...> != Role::parameter;
/// The mistakes of tensors that do not join.
template <class X, class... Rest>
struct JoinMistake : NoMistake {};
template <TensorLike X, class... Rest>
  requires(!Joinable<X, Rest...>)
struct JoinMistake<X, Rest...>
    : FirstMistake<PlacesAmong<X, Rest...>, MemoryMistake<X>, ParametersMistake<X, Rest...>, PairMistake<X, Rest>...> {
};

/// concat of any number of tensors of one type. A traced list becomes operations on up to four tensors.
template <class X>
auto join_list(Span<const X> list, int axis) {
  using T = value_of<X>;
  using D = device_of<X>;
  if (list.empty()) fail<ArgumentError>({"concat: no tensors; expected at least one"});
  if constexpr (X::role == Role::traced) {
    const operation::Concat join{axis};
    switch (list.size()) {
      case 1: return apply(join, list[0]);
      case 2: return apply(join, list[0], list[1]);
      case 3: return apply(join, list[0], list[1], list[2]);
      case 4: return apply(join, list[0], list[1], list[2], list[3]);
      default: break;
    }
    using Result = decltype(apply(join, list[0]));
    std::vector<Result> quarters;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t begin = list.size() * i / 4, end = list.size() * (i + 1) / 4;
      quarters.push_back(join_list(list.from(begin).first(end - begin), axis));
    }
    return join_list(Span<const Result>(quarters), axis);
  } else {
    std::vector<const Tensor<T, D>*> tensors;
    for (const X& x : list) tensors.push_back(&x.value());
    return join_tensors<T, D>(tensors, axis);
  }
}

template <class X>
auto stack_list(Span<const X> list, int axis) {
  using Result = decltype(unsqueeze(list[0], axis));
  if (list.empty()) fail<ArgumentError>({"stack: no tensors; expected at least one"});
  axis = normalize_axis(axis, list[0].shape().rank() + 1, "stack");
  std::vector<Result> unsqueezed;
  for (const X& x : list) {
    if (!(x.shape() == list[0].shape())) {
      fail<ShapeError>({"stack: tensors of shape ", list[0].shape(), " and ", x.shape(), "; expected equal shapes"});
    }
    unsqueezed.push_back(unsqueeze(x, axis));
  }
  return join_list(Span<const Result>(unsqueezed), axis);
}

}  // namespace detail

namespace detail {
/// Tensors in braces that do not join: making this of them says why.
struct JoinedTensors {
#include <locus/refuse/ops/join_list.inc>
};
}  // namespace detail

/// Tensors joined along an axis; their other extents agree.
/// shape: (..., n1, ...), (..., n2, ...), ... -> (..., n1 + n2 + ..., ...)     gradient: the parts of g, as views
/// cost:  one launch per tensor (a traced list of more than four is joined in a tree: log4(length) copies)
/// throws ShapeError naming a shape that does not fit; ArgumentError for an empty list
///
///     auto all = concat({first, second}, 1);    // a list of one type
///     auto mixed = concat(1, plain, traced);    // axis first: traced and plain tensors, parameters, expressions
template <class X>
  requires detail::Joinable<X>
[[nodiscard]] auto concat(std::initializer_list<X> tensors, int axis = 0) {
  return detail::join_list(Span<const X>(tensors.begin(), tensors.size()), axis);
}
template <class X>
  requires detail::Joinable<X>
[[nodiscard]] auto concat(const std::vector<X>& tensors, int axis = 0) {
  return detail::join_list(Span<const X>(tensors), axis);
}
template <class X, class... Rest>
  requires detail::Joinable<X, Rest...>
[[nodiscard]] auto concat(int axis, const X& first, const Rest&... rest) {
  return apply(operation::Concat{axis}, first, rest...);
}

namespace detail {
/// A parameter takes the role of the operands it is joined with: traced, or plain.
template <Role role, class X>
[[nodiscard]] decltype(auto) as_met(const X& x) {
  if constexpr (X::role != Role::parameter) return (x);
  else if constexpr (role == Role::traced) return trace(x);
  else return (x.value());
}
}  // namespace detail

/// Tensors of one shape side by side along a new axis, as concat otherwise.
template <class X>
  requires detail::Joinable<X>
[[nodiscard]] auto stack(std::initializer_list<X> tensors, int axis = 0) {
  return detail::stack_list(Span<const X>(tensors.begin(), tensors.size()), axis);
}
template <class X>
  requires detail::Joinable<X>
[[nodiscard]] auto stack(const std::vector<X>& tensors, int axis = 0) {
  return detail::stack_list(Span<const X>(tensors), axis);
}
template <class X, class... Rest>
  requires detail::Joinable<X, Rest...>
[[nodiscard]] auto stack(int axis, const X& first, const Rest&... rest) {
  constexpr Role role = detail::joint_role<X::role, Rest::role...>;
  return concat(normalize_axis(axis, first.shape().rank() + 1, "stack"), unsqueeze(detail::as_met<role>(first), axis),
                unsqueeze(detail::as_met<role>(rest), axis)...);
}

detail::JoinedTensors concat(const detail::JoinedTensors&, int axis = 0);
detail::JoinedTensors stack(const detail::JoinedTensors&, int axis = 0);
#include <locus/refuse/ops/join.inc>

}}  // namespace locus::LOCUS_ABI
