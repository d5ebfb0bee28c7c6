#pragma once
// Tensors over arrays of the standard library, and std::mdspan from tensors. Nothing is copied. The functions take any
// mdspan: std::mdspan, or Kokkos's of https://github.com/kokkos/mdspan.

#include <locus/tensor/from_blob.hpp>

#include <array>
#include <limits>

#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// An mdspan whose elements lie at a pointer plus strides.
template <class M>
concept StridedSpan = requires(const M& elements) {
  typename M::extents_type;
  typename M::mapping_type;
  requires std::is_same_v<typename M::data_handle_type, typename M::element_type*>;
  requires std::is_same_v<typename M::reference, typename M::element_type&>;
  requires M::is_always_strided();
  elements.data_handle();
  elements.mapping();
};
/// A range of numbers of which `view` cannot be a tensor: see WritableElsewhere.
template <class R>
concept ConstantElements = requires(const R& values) {
  std::size(values);
  requires DType<std::remove_cvref_t<decltype(*std::data(values))>>;
};

template <StridedSpan M>
[[nodiscard]] Layout layout_of_span(const M& elements) {
  Layout layout{{}, {}};
  if constexpr (M::rank() > 0) {  // without dimensions, there is no stride()
    for (std::size_t d = 0; d < M::rank(); ++d) {
      layout.shape.push_back(static_cast<std::int64_t>(elements.extent(d)));
      layout.strides.push_back(static_cast<std::int64_t>(elements.stride(d)));
    }
  }
  return layout;
}

/// throws ShapeError or ArgumentError unless an mdspan of type M can describe the layout, its strides aside
template <StridedSpan M>
void require_span(const Layout& layout) {
  const Shape& shape = layout.shape;
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<typename M::index_type>::max());
  if (static_cast<std::size_t>(shape.rank()) != M::rank())
    fail<ShapeError>({"to_mdspan: shape ", shape, " for an mdspan of ", M::rank(), " dimensions"});
  bool is_in_range = static_cast<std::uint64_t>(layout.span().end) <= most;
  for (const std::int64_t extent : shape) is_in_range &= static_cast<std::uint64_t>(extent) <= most;
  if (!is_in_range)
    fail<ShapeError>({"to_mdspan: shape ", shape, " with strides ", layout.strides,
                      " reaches past the mdspan's index type; take std::int64_t"});
  if (layout.shares_elements())
    fail<ArgumentError>({"to_mdspan: a view of shape ", shape, ", expanded or unfolded, whose elements may share ",
                         "memory; use .clone() first"});
  for (std::size_t d = 0; d < M::rank(); ++d) {
    const std::size_t fixed = M::static_extent(d), dynamic = static_cast<std::size_t>(-1);
    if (fixed != dynamic && fixed != static_cast<std::size_t>(shape.begin()[d]))
      fail<ShapeError>({"to_mdspan: shape ", shape, " for an mdspan of extent ", fixed, " in dimension ", d});
  }
}
}  // namespace detail

/// A tensor over the elements of a writable vector, array or std::span of numbers, in row-major order, by default of
/// one dimension; as from_blob. They must live, and a vector keep its size, as long as the tensor is used; from(values,
/// shape) copies.
/// cost:  no copy     throws ShapeError unless the counts agree
///
///     void center(std::span<float> samples) {
///       const auto x = view(samples);
///       x.copy_(x - mean(x));   // writes to the samples
///     }
template <class R>
  requires detail::WritableElsewhere<R&&>
[[nodiscard]] auto view(R&& values, const Shape& shape) {
  if (static_cast<std::uint64_t>(elements(shape)) != std::size(values))
    fail<ShapeError>({"view: ", std::size(values), " values for shape ", shape, ", which has ", elements(shape)});
  return from_blob(std::data(values), shape);
}
template <class R>
  requires detail::WritableElsewhere<R&&>
[[nodiscard]] auto view(R&& values) {
  return from_blob(std::data(values), Shape{static_cast<std::int64_t>(std::size(values))});
}

/// A tensor over the elements of an mdspan, of any layout with strides: layout_right, layout_left, layout_stride. The
/// memory must outlive the tensor.
/// cost:  no copy     throws ArgumentError for elements that share memory
///
///     std::mdspan<float, std::dextents<int, 2>> grid(memory, rows, columns);
///     auto x = view(grid);
template <detail::StridedSpan M>
  requires DType<typename M::element_type>
[[nodiscard]] Tensor<typename M::element_type, Cpu> view(const M& elements) {
  static_assert(M::rank() <= std::size_t{max_rank}, "a tensor has at most eight dimensions");
  const Layout layout = detail::layout_of_span(elements);
  return from_blob(elements.data_handle(), layout.shape, layout.strides);
}

/// The elements of a tensor as an mdspan of type M, in the tensor's memory, which must outlive it. Its elements may be
/// const, its layout layout_right, layout_left or layout_stride, its extents static.
/// cost:  no copy
/// throws ShapeError for another rank, another static extent, or an extent past M's index type; ArgumentError for
/// strides that the layout does not have, or repeated elements
///
///     auto rows = to_mdspan<std::mdspan<const float, std::dextents<std::size_t, 2>>>(x);
template <detail::StridedSpan M, DType T, class D>
  requires HostAccessible<D> && std::is_same_v<typename M::value_type, T>
[[nodiscard]] M to_mdspan(const Tensor<T, D>& x) {
  using Index = typename M::index_type;
  using Extents = typename M::extents_type;
  using Mapping = typename M::mapping_type;
  detail::require_span<M>(x.layout());
  constexpr std::size_t rank = M::rank();
  std::array<Index, rank> extents{}, strides{};
  for (std::size_t d = 0; d < rank; ++d) {
    extents[d] = static_cast<Index>(x.shape().begin()[d]);
    strides[d] = extents[d] > 1 ? static_cast<Index>(x.strides().begin()[d]) : Index{1};
  }
  if constexpr (rank == 0) {
    return M(x.data(), Mapping());
  } else if constexpr (std::is_constructible_v<Mapping, Extents, std::array<Index, rank>>) {
    return M(x.data(), Mapping(Extents(extents), strides));
  } else {
    const Mapping mapping{Extents(extents)};
    for (std::size_t d = 0; d < rank; ++d)
      if (!x.empty() && extents[d] > 1 && mapping.stride(d) != strides[d])
        fail<ArgumentError>({"to_mdspan: strides ", x.strides(), " of shape ", x.shape(),
                             " are not those of the mdspan's layout; use .contiguous() for layout_right, or take "
                             "layout_stride"});
    return M(x.data(), mapping);
  }
}

#ifdef __cpp_lib_mdspan
/// The elements of a tensor of `rank` dimensions as a std::mdspan with strides, from C++23 on.
///
///     auto m = to_mdspan<2>(x);   // m[i, j] is x(i, j)
template <std::size_t rank, DType T, class D>
  requires HostAccessible<D>
[[nodiscard]] auto to_mdspan(const Tensor<T, D>& x) {
  return to_mdspan<std::mdspan<T, std::dextents<std::int64_t, rank>, std::layout_stride>>(x);
}
#endif

#include <locus/refuse/interop/view.inc>

}}  // namespace locus::LOCUS_ABI
