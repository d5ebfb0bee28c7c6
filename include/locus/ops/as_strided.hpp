#pragma once
// A view by strides of one's own, which may overlap, checked.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/scatter.hpp>
#include <locus/tensor/random.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {

/// throws ArgumentError, IndexError unless all that the strides reach is among `count` elements
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

/// A row-major index, as a tensor of one of its own.
struct OwnPlace {
  LOCUS_FN void operator()(std::int64_t at, std::int64_t& place) const { place = at; }
};

}  // namespace detail

namespace operation {

struct AsStrided {
  static constexpr const char* name = "as_strided";
  Shape shape;
  Strides strides;
  std::int64_t offset;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    if (!x.is_contiguous())
      fail<ShapeError>({"as_strided: a view of shape ", x.shape(), " with strides ", x.strides(),
                        "; expected a dense tensor: use .contiguous() first"});
    return Forwarded{view(x), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open();
    const Tensor<T, D> out = target.out.reshape({target.out.elements()});
    if (!target.accumulate) out.fill_(T(0));
    const auto places = view(detail::from_indices<std::int64_t>(out.shape(), out.device(), detail::OwnPlace{}));
    detail::add_at(out, g.reshape({g.elements()}), places.reshape({g.elements()}), 0, true);
  }

 private:
  template <class T, class D>
  [[nodiscard]] Tensor<T, D> view(const Tensor<T, D>& x) const {
    detail::require_reach(shape, strides, offset, x.elements());
    return Tensor<T, D>(x.buffer(), x.data() + (elements(shape) == 0 ? 0 : offset), shape, strides);
  }
};

}  // namespace operation

/// The elements of a dense tensor, from number `offset` on, under a shape and strides of one's own, which may overlap.
/// gradient: g, added up where elements overlap
/// cost:     nothing; backward two launches, and those of index_add
/// throws IndexError where an element would be none of x; ArgumentError for negative strides; ShapeError for a view
///
///     auto windows = as_strided(signal, {n - 2, 3}, {1, 1});
template <detail::Operand X>
[[nodiscard]] auto as_strided(const X& x, const Shape& shape, const Strides& strides, std::int64_t offset = 0) {
  return apply(operation::AsStrided{shape, strides, offset}, x);
}
#include <locus/refuse/ops/as_strided.inc>

}  // namespace locus::inline LOCUS_ABI
