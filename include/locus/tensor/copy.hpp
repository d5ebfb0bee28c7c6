#pragma once
// Copies of tensors: within a device, to another element type, to another device.

#include <locus/tensor/tensor.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

template <class D>
[[noreturn]] [[gnu::cold]] LOCUS_OUT_OF_LINE void refuse_ordinals(std::string_view what, D first, D other) {
  fail<DeviceError>({what, ": one tensor is on ", to_string(first), ", another on ", to_string(other),
                     "; move one with .to(", to_string(first), ")"});
}

/// Throws DeviceError unless all tensors are on the same ordinal.
template <class T, class D, class... Others>
void require_same_ordinal(std::string_view what, const Tensor<T, D>& first, const Others&... others) {
  if constexpr (!std::is_empty_v<D>) {  // else D has one device
    if (!first.buffer()) return;
    const D device = first.device();
    ((others.buffer() && !(others.device() == device) ? refuse_ordinals<D>(what, device, others.device()) : void()),
     ...);
  }
}

/// A tensor as operand of a plan; null for a tensor without memory.
template <class T, class D>
[[nodiscard]] PlanOperand operand_of(const Tensor<T, D>& tensor) {
  if (!tensor.buffer()) return {};
  return {&tensor.shape(), &tensor.strides()};
}
template <class T, class D>
PlanOperand operand_of(const Tensor<T, D>&&) = delete;  // the result points to the tensor's shape

/// The pointer as a verb reads it: const, or the element's index.
template <class T>
[[nodiscard]] const T* read_only(T* data) {
  return data;
}
[[nodiscard]] inline LinearIndex read_only(LinearIndex index) { return index; }

template <class T>
struct FillElement {
  compute_t<T> value;
  LOCUS_FN void operator()(compute_t<T>& out) const { out = value; }
};

/// Copies elements of one device into `target`, which has the shape of `source`.
template <class From, class To, Device D>
void copy_elements(const Tensor<From, D>& source, const Tensor<To, D>& target) {
  require_same_ordinal("copy", source, target);
  const auto plan = in_memory_order(make_plan<2>(target.shape(), {operand_of(source), operand_of(target)}));
  Backend<D>::map(target.device(), plan, ConvertElement<From, To>{}, Pack<const From*>(source.data()),
                  Pack<To*>(target.data()));
}

/// Type-erased elements in memory.
struct PlacedElements {
  const std::byte* first;
  std::int64_t size;  ///< bytes per element
  const Layout& layout;
};
template <class T, class D>
[[nodiscard]] PlacedElements placed_elements(const Tensor<T, D>& tensor) {
  return {reinterpret_cast<const std::byte*>(tensor.data()), sizeof(T), tensor.layout()};
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline bool conflicts(const PlacedElements& source, const PlacedElements& target) {
  const auto from = source.layout.span(), to = target.layout.span();
  if (from.begin == from.end || to.begin == to.end) return false;
  const bool overlap = source.first + from.begin * source.size < target.first + to.end * target.size &&
                       target.first + to.begin * target.size < source.first + from.end * source.size;
  const bool same = source.first == target.first && source.size == target.size;
  return overlap && !(same && source.layout.same_places(target.layout));
}

/// Whether writing `target`, of the same shape, element by element might overwrite an element of `source` before it is
/// read: they overlap, and not every element has the same address in both.
template <class T, class U, class D>
[[nodiscard]] bool conflicts(const Tensor<T, D>& source, const Tensor<U, D>& target) {
  return source.buffer() == target.buffer() && conflicts(placed_elements(source), placed_elements(target));
}

/// The tensor if it is dense in its format, else a row-major copy: for copies to other devices, say. A plain .cpp of a
/// CUDA program has no kernel to make it dense.
template <class T, class D>
[[nodiscard]] Tensor<T, D> dense(const Tensor<T, D>& tensor) {
  constexpr bool without_kernels = std::is_same_v<D, Cuda> && LOCUS_CUDA && !LOCUS_NVCC;
  if (tensor.layout().is_dense(tensor.layout().format())) return tensor;
  if constexpr (without_kernels) {
    fail<ArgumentError>(
        {"to: only a kernel makes a strided view on cuda dense; call contiguous() in a file compiled by ", "nvcc"});
  } else {
    return tensor.clone();
  }
}

}  // namespace detail

template <class T, class D>
Tensor<T, D> Tensor<T, D>::clone() const {
  Tensor copy(shape(), device());
  if constexpr (Device<D>) {
    detail::copy_elements(*this, copy);
  } else {
    if (!is_contiguous())
      fail<ShapeError>({"clone: a tensor in ", to_string(device()), " memory is copied only if it is dense"});
    Transfer<D, D>::copy(device(), data_, device(), copy.data_, bytes_for(shape()));
  }
  return copy;
}

template <class T, class D>
Tensor<T, D> Tensor<T, D>::contiguous() const {
  return is_contiguous() ? *this : clone();
}

template <class T, class D>
Tensor<T, D> Tensor<T, D>::channels_last() const {
  const Strides wanted = detail::strides_of(shape(), MemoryFormat::channels_last);
  if (layout_.is_dense(MemoryFormat::channels_last)) return {buffer_, data_, shape(), wanted};
  const Tensor copy(shape(), MemoryFormat::channels_last, device());
  detail::copy_elements(*this, copy);
  return copy;
}

template <class T, class D>
template <ConvertibleFrom<T> U>
Tensor<U, D> Tensor<T, D>::as() const {
  if constexpr (std::is_same_v<T, U>) {
    return *this;
  } else {
    Tensor<U, D> converted(shape(), layout_.format(), device());
    detail::copy_elements(*this, converted);
    return converted;
  }
}

template <class T, class D>
template <MemorySpace E>
Tensor<T, E> Tensor<T, D>::to(E target) const {
  if constexpr (std::is_same_v<D, E>) {
    if (target == device()) return *this;
  }
  const Tensor source = detail::dense(*this);
  Tensor<T, E> copy(shape(), source.layout_.format(), target);
  Transfer<D, E>::copy(device(), source.data_, target, copy.data(), bytes_for(shape()));
  return copy;
}

template <class T, class D>
const Tensor<T, D>& Tensor<T, D>::fill_(T value) const {
  if constexpr (HostAccessible<D> && !Device<D>) {
    if (!is_contiguous())
      fail<ShapeError>({"fill_: a tensor in ", to_string(device()), " memory is filled only if it is dense"});
    for (std::int64_t i = 0, count = elements(); i < count; ++i) data_[i] = value;
  } else {
    const auto plan = in_memory_order(make_plan<1>(shape(), {detail::operand_of(*this)}));
    Backend<D>::map(device(), plan, detail::FillElement<T>{load_as_register(value)}, Pack<>(), Pack<T*>(data_));
  }
  changed();
  return *this;
}

template <class T, class D>
template <class X>
  requires(detail::CopySource<X, D> && ConvertibleFrom<T, value_of<X>>)
const Tensor<T, D>& Tensor<T, D>::copy_(const X& operand) const {
  auto source = operand.eval().value().expand(shape());
  layout_.require_distinct_elements("copy_");
  if (detail::conflicts(source, *this)) source = source.clone();
  detail::copy_elements(source, *this);
  changed();
  return *this;
}

template <class T, class D>
T Tensor<T, D>::item() const {
  if (elements() != 1) fail<ShapeError>({"item: expected exactly one element, got shape ", shape()});
  if constexpr (HostAccessible<D>) return *data_;
  else return *reshape({}).template to<Cpu>().data();
}

}}  // namespace locus::LOCUS_ABI
