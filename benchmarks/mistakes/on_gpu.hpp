#pragma once

#include <torch/torch.h>

#include <utility>

/// A tensor that says it is on the first GPU, without memory there, for machines without a GPU. Operations on it take
/// the path of CUDA up to the first access to its elements; the checks of devices come before that.
inline torch::Tensor on_gpu(c10::IntArrayRef shape, torch::ScalarType type = torch::kFloat) {
  c10::Storage storage(c10::Storage::use_byte_size_t{}, 0, c10::DataPtr(nullptr, c10::Device(c10::kCUDA, 0)));
  torch::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CUDA), c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(shape);
  return tensor;
}
