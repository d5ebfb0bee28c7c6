#pragma once
// A matrix product in cuBLASLt's terms.

#include <locus/core/dtype.hpp>
#include <locus/cuda/check.hpp>
#include <locus/cuda/gemm_plan_table.hpp>
#include <locus/cuda/precision.hpp>

#include <atomic>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
inline std::atomic<bool> fused_relu{false};
}
inline void allow_fused_relu(bool allow) { detail::fused_relu.store(allow, std::memory_order_relaxed); }
[[nodiscard]] inline bool fused_relu_allowed() { return detail::fused_relu.load(std::memory_order_relaxed); }

/// Element types that cuBLASLt multiplies, and how: 16-bit types are summed in float.
template <class T>
[[nodiscard]] constexpr cudaDataType_t blas_type() {
  if constexpr (std::is_same_v<T, float>) return CUDA_R_32F;
  else if constexpr (std::is_same_v<T, double>) return CUDA_R_64F;
  else if constexpr (std::is_same_v<T, half>) return CUDA_R_16F;
  else if constexpr (std::is_same_v<T, complex64>) return CUDA_C_32F;
  else if constexpr (std::is_same_v<T, complex128>) return CUDA_C_64F;
  else return CUDA_R_16BF;
}

/// A factor in cuBLAS's terms: column-major with `ld` between columns, or the transpose of such a matrix.
struct BlasOperand {
  const void* data = nullptr;
  std::int64_t ld = 1;
  std::int64_t batch_stride = 0;
  bool transposed = false;
};

/// c(m, n) = epilogue(a(m, k) b(k, n) (+ c)), column-major, `count` times. The bias has one entry per row of c.
/// Epilogues that sum write to the bias: CUBLASLT_EPILOGUE_BGRADB sums b, one entry per column;
/// CUBLASLT_EPILOGUE_DRELU_BGRAD and CUBLASLT_EPILOGUE_DGELU_BGRAD sum c, one entry per row.
struct BlasProduct {
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  BlasOperand a, b;
  void* c = nullptr;
  std::int64_t c_ld = 1, c_batch_stride = 0;
  bool accumulate = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  const void* kept = nullptr;  ///< cuBLASLt's auxiliary matrix, of a single product: see FusedActivation

  [[nodiscard]] bool sums_b() const { return epilogue == CUBLASLT_EPILOGUE_BGRADB; }
  [[nodiscard]] bool sums_c() const {
    return epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD || epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD;
  }
  [[nodiscard]] bool applies_derivative() const {
    return sums_c() || epilogue == CUBLASLT_EPILOGUE_DRELU || epilogue == CUBLASLT_EPILOGUE_DGELU;
  }
};

/// An activation with a fused epilogue, and a second epilogue for its derivative. The first, in its AUX form, writes a
/// matrix for the second, with one column per column of c: after relu, bits that mark the elements that passed; after
/// gelu, the activation's input.
enum class FusedActivation { none, identity, relu, gelu };

/// Distance between the columns of that matrix, for a c of m rows: in bits after relu, in elements after gelu.
[[nodiscard]] constexpr std::int64_t kept_ld(FusedActivation activation, std::int64_t m) {
  const std::int64_t multiple = activation == FusedActivation::relu ? 128 : 8;
  return (m + multiple - 1) / multiple * multiple;
}
[[nodiscard]] inline std::int64_t kept_ld(const BlasProduct& p) {
  constexpr int of_gelu = CUBLASLT_EPILOGUE_GELU | (CUBLASLT_EPILOGUE_DGELU & ~CUBLASLT_EPILOGUE_DRELU);
  return kept_ld(p.epilogue & of_gelu ? FusedActivation::gelu : FusedActivation::relu, p.m);
}

namespace detail {
[[nodiscard]] inline std::int64_t bytes_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_C_64F: return 16;
    case CUDA_C_32F:
    case CUDA_R_64F: return 8;
    case CUDA_R_32F: return 4;
    default: return 2;
  }
}

/// As its row-major caller sees it: 2 products (m, k) x (k, n) of float32.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string text_of(const BlasProduct& p) {
  const auto type = p.type == CUDA_R_64F   ? dtype_name<double>()
                    : p.type == CUDA_R_32F ? dtype_name<float>()
                    : p.type == CUDA_R_16F ? dtype_name<half>()
                    : p.type == CUDA_C_32F ? dtype_name<complex64>()
                    : p.type == CUDA_C_64F ? dtype_name<complex128>()
                                           : dtype_name<bfloat16>();
  return join(p.count, p.count == 1 ? " product (" : " products (", p.n, ", ", p.k, ") x (", p.k, ", ", p.m, ") of ",
              type);
}

/// The largest power of two up to 256 that divides the address and, in bytes, the distance between matrices.
[[nodiscard]] inline std::uint32_t alignment_of(const void* data, std::int64_t batch_bytes) {
  const auto bits = reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(batch_bytes) | 256u;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

/// Alignments of a product's matrices.
struct Alignments {
  std::uint32_t a, b, c;
  explicit Alignments(const BlasProduct& p)
      : a(alignment_of(p.a.data, p.a.batch_stride * bytes_of(p.type))),
        b(alignment_of(p.b.data, p.b.batch_stride * bytes_of(p.type))),
        c(alignment_of(p.c, p.c_batch_stride * bytes_of(p.type))) {}
};

/// Bytes from the first element of `count` matrices to the end of the last.
[[nodiscard]] inline std::size_t span_of(const BlasProduct& p, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                         std::int64_t batch_stride) {
  return static_cast<std::size_t>(((cols - 1) * ld + rows + (p.count - 1) * batch_stride) * bytes_of(p.type));
}
[[nodiscard]] inline std::size_t span_of_c(const BlasProduct& p) {
  return span_of(p, p.m, p.n, p.c_ld, p.c_batch_stride);
}
/// Whether the product overwrites its inputs, so that it cannot be computed a second time.
[[nodiscard]] inline bool changes_its_inputs(const BlasProduct& p) {
  const auto first = reinterpret_cast<std::uintptr_t>(p.c);
  const auto meets_c = [&](const void* data, std::size_t size) {
    const auto its_first = reinterpret_cast<std::uintptr_t>(data);
    return first < its_first + size && its_first < first + span_of_c(p);
  };
  const auto factor_meets_c = [&](const BlasOperand& x, std::int64_t rows, std::int64_t cols) {
    return meets_c(x.data, x.transposed ? span_of(p, cols, rows, x.ld, x.batch_stride)
                                        : span_of(p, rows, cols, x.ld, x.batch_stride));
  };
  return p.accumulate || factor_meets_c(p.a, p.m, p.k) || factor_meets_c(p.b, p.k, p.n) ||
         (p.bias && meets_c(p.bias, static_cast<std::size_t>((p.sums_b() ? p.n : p.m) * bytes_of(p.type))));
}

[[nodiscard]] inline GemmPlanKey key_of(const BlasProduct& p) {
  const Alignments alignment(p);
  const std::int64_t alignments = (std::int64_t{alignment.a} * 512 + alignment.b) * 512 + alignment.c;
  return {{p.type, p.epilogue, product_rounds_to_tf32(), p.accumulate, p.m, p.n, p.k, p.count, p.a.ld, p.a.batch_stride,
           p.a.transposed, p.b.ld, p.b.batch_stride, p.b.transposed, p.c_ld, p.c_batch_stride, alignments,
           (p.bias ? alignment_of(p.bias, 0) : 0) + std::int64_t{512} * (p.kept ? alignment_of(p.kept, 0) : 0)}};
}
}  // namespace detail

/// throws OutOfMemory or CudaError naming the call and the product, unless the call succeeded
inline void check(cublasStatus_t status, const char* call, const BlasProduct& p) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    detail::raise(status, join("gemm of ", detail::text_of(p), ": ", call).c_str());
}

}}}  // namespace locus::LOCUS_ABI::cuda
