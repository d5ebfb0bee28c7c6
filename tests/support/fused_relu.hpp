#pragma once
// Tests with and without relu as an epilogue of cuBLASLt.

#include <locus/cuda/backend.hpp>

namespace locus_test {

/// Allows relu as an epilogue of cuBLASLt during the object's life.
struct FusedRelu {
  bool before = locus::cuda::fused_relu_allowed();
  explicit FusedRelu(bool allowed = true) { locus::cuda::allow_fused_relu(allowed); }
  FusedRelu(const FusedRelu&) = delete;
  FusedRelu& operator=(const FusedRelu&) = delete;
  ~FusedRelu() { locus::cuda::allow_fused_relu(before); }
};

}  // namespace locus_test
