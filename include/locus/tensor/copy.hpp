#pragma once
// Copies of tensors: within a device, to another element type, to another device.

#include <locus/tensor/tensor.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {

/// Throws DeviceError unless all tensors are on the same ordinal.
template <class T, class D, class... Others>
void require_same_ordinal(std::string_view what, const Tensor<T, D>& first, const Others&... others) {
  const auto check = [&](const auto& other) {
    if (other.buffer() && first.buffer() && !(other.device() == first.device())) {
      fail<DeviceError>(what, ": one tensor is on ", to_string(first.device()), ", another on ",
                        to_string(other.device()), "; move one with .to(", to_string(first.device()), ")");
    }
  };
  (check(others), ...);
}

template <class T>
struct FillElement {
  compute_t<T> value;
  LOCUS_FN void operator()(compute_t<T>& out) const { out = value; }
};

/// Copies elements of one device into `target`, which has the shape of `source`.
template <class From, class To, Device D>
void copy_elements(const Tensor<From, D>& source, const Tensor<To, D>& target) {
  require_same_ordinal("copy", source, target);
  const auto plan = make_plan<2>(target.shape(), {source.strides(), target.strides()});
  Backend<D>::map(target.device(), plan, ConvertElement<From, To>{}, Pack<const From*>(source.data()),
                  Pack<To*>(target.data()));
}

/// Whether two tensors may touch the same bytes.
template <class T, class U, class D>
[[nodiscard]] bool may_overlap(const Tensor<T, D>& a, const Tensor<U, D>& b) {
  if (!(a.buffer() == b.buffer()) || a.empty() || b.empty()) return false;
  const auto range = [](const auto& tensor) {
    std::int64_t low = 0, high = 0;
    for (int d = 0; d < tensor.rank(); ++d) {
      const std::int64_t reach = (tensor.size(d) - 1) * tensor.strides()[d];
      (reach < 0 ? low : high) += reach;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(tensor.data());
    constexpr auto size = static_cast<std::int64_t>(sizeof(*tensor.data()));
    return std::pair{bytes + low * size, bytes + (high + 1) * size};
  };
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return a_begin < b_end && b_begin < a_end;
}

/// Whether two tensors are the same elements in the same layout: safe to read one while writing the other.
template <class T, class U, class D>
[[nodiscard]] bool same_layout(const Tensor<T, D>& a, const Tensor<U, D>& b) {
  if (static_cast<const void*>(a.data()) != static_cast<const void*>(b.data()) || sizeof(T) != sizeof(U)) return false;
  if (!(a.shape() == b.shape())) return false;
  for (int d = 0; d < a.rank(); ++d)
    if (a.size(d) != 1 && a.strides()[d] != b.strides()[d]) return false;
  return true;
}

/// throws ArgumentError where several elements are one in memory: which of the values written stays would be chance
template <class T, class D>
void require_distinct_elements(std::string_view what, const Tensor<T, D>& target) {
  for (int d = 0; d < target.rank(); ++d) {
    if (target.size(d) > 1 && target.strides()[d] == 0) {
      fail<ArgumentError>(what, " on an expanded view of shape ", target.shape(),
                          ", whose elements share memory; use .clone() first");
    }
  }
}

/// The elements in row-major order, to be copied to another device. In a file that the plain compiler makes of a CUDA
/// program there is no kernel to order them with.
template <class T, class D>
[[nodiscard]] Tensor<T, D> dense(const Tensor<T, D>& tensor) {
  constexpr bool without_kernels = std::is_same_v<D, Cuda> && LOCUS_CUDA && !LOCUS_NVCC;
  if constexpr (without_kernels) {
    if (tensor.is_contiguous()) return tensor;
    fail<ArgumentError>(
        "to: only a kernel makes a strided view on cuda dense; call contiguous() in a file compiled by ", "nvcc");
  } else {
    return tensor.contiguous();
  }
}

}  // namespace detail

template <class T, class D>
Tensor<T, D> Tensor<T, D>::clone() const {
  Tensor copy(shape_, device());
  if constexpr (Device<D>) {
    detail::copy_elements(*this, copy);
  } else {
    if (!is_contiguous())
      fail<ShapeError>("clone: a tensor in ", to_string(device()), " memory is copied only if it is dense");
    Transfer<D, D>::copy(device(), data_, device(), copy.data_, bytes_for(shape_));
  }
  return copy;
}

template <class T, class D>
Tensor<T, D> Tensor<T, D>::contiguous() const {
  return is_contiguous() ? *this : clone();
}

template <class T, class D>
template <DType U>
Tensor<U, D> Tensor<T, D>::as() const {
  if constexpr (std::is_same_v<T, U>) {
    return *this;
  } else {
    Tensor<U, D> converted(shape_, device());
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
  Tensor<T, E> copy(shape_, target);
  Transfer<D, E>::copy(device(), source.data_, target, copy.data(), bytes_for(shape_));
  return copy;
}

template <class T, class D>
const Tensor<T, D>& Tensor<T, D>::fill_(T value) const {
  if constexpr (HostAccessible<D> && !Device<D>) {
    if (!is_contiguous())
      fail<ShapeError>("fill_: a tensor in ", to_string(device()), " memory is filled only if it is dense");
    for (std::int64_t i = 0; i < elements(); ++i) data_[i] = value;
  } else {
    const auto plan = make_plan<1>(shape_, {strides_});
    Backend<D>::map(device(), plan, detail::FillElement<T>{load_as_register(value)}, Pack<>(), Pack<T*>(data_));
  }
  changed();
  return *this;
}

template <class T, class D>
template <class X>
  requires(detail::HasPlace<X> && !detail::PlacedElsewhere<X, D> && Device<D> && !detail::IsTraced<X>)
const Tensor<T, D>& Tensor<T, D>::copy_(const X& operand) const {
  auto source = operand.eval().value().expand(shape_);
  detail::require_distinct_elements("copy_", *this);
  if (detail::may_overlap(source, *this) && !detail::same_layout(source, *this)) source = source.clone();
  detail::copy_elements(source, *this);
  changed();
  return *this;
}

template <class T, class D>
T Tensor<T, D>::item() const {
  if (elements() != 1) fail<ShapeError>("item: expected exactly one element, got shape ", shape_);
  if constexpr (HostAccessible<D>) return *data_;
  else return *reshape({}).template to<Cpu>().data();
}

}  // namespace locus::inline LOCUS_ABI
