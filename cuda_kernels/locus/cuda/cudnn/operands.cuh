#pragma once
// Operands for cuDNN to read, and results to add: launches before and after its own.

#include <locus/cuda/map.cuh>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn::detail {

/// out = to + added
template <class T>
struct AddTo {
  LOCUS_FN void operator()(compute_t<T> added, compute_t<T> to, compute_t<T>& out) const { out = to + added; }
};

/// A row-major copy, in memory of `copy`.
template <class T>
[[nodiscard]] T* copy_dense(Context& context, const T* data, const Shape& shape, const Strides& strides,
                            Scratch& copy) {
  copy.reserve(static_cast<std::size_t>(elements(shape)) * sizeof(T));
  map(context, make_plan<2>(shape, std::array<Strides, 2>{strides, row_major(shape)}),
      locus::detail::ConvertElement<T, T>{}, Pack<const T*>{data}, Pack<T*>{copy.template as<T>()});
  return copy.template as<T>();
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn::detail
