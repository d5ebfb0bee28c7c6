#pragma once
// A view with custom strides, which may overlap; bounds are checked.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/scatter.hpp>
#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// throws ArgumentError; IndexError unless every element that the strides reach is among `count` elements
LOCUS_OUT_OF_LINE inline void require_reach(const Shape& shape, const Strides& strides, std::int64_t offset,
                                            std::int64_t count) {
  if (shape.rank() != strides.rank())
    fail<ArgumentError>(
        {"as_strided: shape ", shape, " with strides ", strides, "; expected a stride for each extent"});
  std::int64_t last = offset;
  bool overflows = false;
  for (int d = 0; d < shape.rank(); ++d) {
    if (strides[d] < 0) fail<ArgumentError>({"as_strided: strides ", strides, "; expected 0 or more: use flip"});
    std::int64_t reach = 0;
    overflows |= __builtin_mul_overflow(strides[d], larger(shape[d] - 1, std::int64_t{0}), &reach);
    overflows |= __builtin_add_overflow(last, reach, &last);
  }
  const bool empty = elements(shape) == 0;
  if (offset < 0 || (!empty && (overflows || last >= count)))
    fail<IndexError>({"as_strided: shape ", shape, " with strides ", strides, " from element ", offset,
                      overflows ? " reaches beyond 2^63" : join(" reaches element ", last), "; the tensor has ",
                      count});
}

/// Maps an element of the view to its element of the dense tensor.
struct StridedPlace {
  std::int64_t extent[max_rank] = {}, stride[max_rank] = {};
  int rank;
  std::int64_t offset;
  LOCUS_OUT_OF_LINE StridedPlace(const Shape& shape, const Strides& strides, std::int64_t first)
      : rank(shape.rank()), offset(first) {
    for (int d = 0; d < rank; ++d) extent[d] = shape[d], stride[d] = strides[d];
  }
  LOCUS_FN void operator()(std::int64_t at, std::int64_t& place) const {
    place = offset;
    for (int d = rank - 1; d >= 0; --d) {
      const std::int64_t before = at / extent[d];
      place += (at - before * extent[d]) * stride[d];
      at = before;
    }
  }
};

}  // namespace detail

namespace operation {

struct AsStrided {
  static constexpr const char* name = "as_strided";
  static constexpr bool linear = true;
  Shape shape;
  Strides strides;
  std::int64_t offset;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    if (!x.is_contiguous())
      fail<ShapeError>({"as_strided: a view of shape ", x.shape(), " with strides ", x.strides(),
                        "; expected a dense tensor: use .contiguous() first"});
    detail::require_reach(shape, strides, offset, x.elements());
    const std::int64_t first = elements(shape) == 0 ? 0 : offset;
    return Forwarded{Tensor<T, D>(x.buffer(), x.data() + first, shape, strides), Tuple<>()};
  }
  template <class T, class D>
  [[nodiscard]] Tensor<T, D> derivative(const Tensor<T, D>& along) const {
    return forward(along.contiguous()).output;
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open();
    const Tensor<T, D> out = target.out.reshape({target.out.elements()});
    if (!target.accumulate) out.fill_(T(0));
    const Shape list{g.elements()};
    const auto places =
        detail::from_indices<std::int64_t>(list, out.device(), detail::StridedPlace(shape, strides, offset));
    detail::add_at(out, g.reshape(list), places, 0, true);
  }
};

}  // namespace operation

/// Views the elements of a dense tensor, from number `offset` on, with a custom shape and strides, which may overlap.
/// gradient: g, added up where elements overlap
/// cost:     nothing; backward two launches and index_add
/// throws IndexError where the strides reach outside x; ArgumentError for negative strides; ShapeError for a view
///
///     auto windows = as_strided(signal, {n - 2, 3}, {1, 1});
template <detail::Operand X>
[[nodiscard]] auto as_strided(const X& x, const Shape& shape, const Strides& strides, std::int64_t offset = 0) {
  return apply(operation::AsStrided{shape, strides, offset}, x);
}
#include <locus/refuse/ops/as_strided.inc>

}}  // namespace locus::LOCUS_ABI
