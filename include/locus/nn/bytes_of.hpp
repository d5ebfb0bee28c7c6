#pragma once
// The bytes of a tensor, as a tensor on the same memory.

#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

/// The elements of a dense, row-major tensor as bytes, in its own memory.
template <class T, class D>
[[nodiscard]] Tensor<std::uint8_t, D> bytes_of(const Tensor<T, D>& dense) {
  const std::int64_t bytes = dense.elements() * static_cast<std::int64_t>(sizeof(T));
  return Tensor<std::uint8_t, D>(dense.buffer(), reinterpret_cast<std::uint8_t*>(dense.data()), {bytes}, {1});
}

}}}  // namespace locus::LOCUS_ABI::nn::detail
