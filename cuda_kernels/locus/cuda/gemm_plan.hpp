#pragma once
// A product in the form that cuBLASLt takes, and the algorithms that it proposes.

#include <locus/cuda/gemm_product.hpp>
#include <locus/cuda/tuning.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::detail {

/// A product as cuBLASLt wants it described, and the algorithm that computes it.
struct GemmPlan {
  cublasLtMatmulDescOpaque_t description{};
  cublasLtMatrixLayoutOpaque_t a{}, b{}, c{};
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;
  int tried = 0;                                   ///< of cuBLASLt's answers
  bool exists = false;                             ///< false: cuBLASLt has no algorithm, or refused all
  cublasStatus_t refusal = CUBLAS_STATUS_SUCCESS;  ///< cuBLASLt's last
  bool fused = true;                               ///< false: the product alone and a second launch are faster
  bool is_settled = false;  ///< true: final for the process; false: cuBLASLt's first answer, until products are timed
};

inline constexpr std::size_t most_workspace = tuning::most_workspace;

/// Sets one attribute of a product's description.
template <class Value>
void set(const BlasProduct& p, cublasLtMatmulDescOpaque_t& description, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  check(cublasLtMatmulDescSetAttribute(&description, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute",
        p);
}
template <class Value>
void set(const BlasProduct& p, cublasLtMatmulPreferenceOpaque_t& preference,
         cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute", p);
}
template <class Value>
void set(const BlasProduct& p, cublasLtMatrixLayoutOpaque_t& layout, cublasLtMatrixLayoutAttribute_t attribute,
         const Value& value) {
  check(cublasLtMatrixLayoutSetAttribute(&layout, attribute, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute",
        p);
}

inline void lay_out(cublasLtMatrixLayoutOpaque_t& layout, const BlasProduct& p, std::int64_t rows, std::int64_t cols,
                    std::int64_t ld, std::int64_t batch_stride) {
  check(
      cublasLtMatrixLayoutInit(&layout, p.type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), ld),
      "cublasLtMatrixLayoutInit", p);
  if (p.count == 1) return;
  set(p, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(p.count));
  set(p, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride);
}

/// Whether an epilogue pays, as far as can be said without timing. A fused sum saves a launch; beside a large product
/// that is little, and cuBLASLt's fused algorithm may be slower than its best product.
[[nodiscard]] inline bool is_worth_fusing(const BlasProduct& p) {
  constexpr double few_multiply_adds = 1 << 28;
  return !(p.sums_b() || p.sums_c()) ||
         static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) <= few_multiply_adds;
}

/// Matrices of a product to copy so that their columns begin at multiples of 16 bytes.
struct AlignedCopies {
  bool a = false, b = false, c = false;
  [[nodiscard]] bool any() const { return a || b || c; }
};
/// cuBLASLt multiplies at a fifth of the speed on tensor cores where columns begin elsewhere: copies pay where each
/// byte copied serves many multiply-adds.
[[nodiscard]] inline AlignedCopies worthwhile_copies(const BlasProduct& p) {
  constexpr std::int64_t needed = 16;
  const std::int64_t element = bytes_of(p.type);
  if (!(element == 2 || (p.type == CUDA_R_32F && product_rounds_to_tf32()))) return {};
  const auto is_misaligned = [&](const void* data, std::int64_t ld, std::int64_t batch_stride) {
    return reinterpret_cast<std::uintptr_t>(data) % needed != 0 || ld * element % needed != 0 ||
           batch_stride * element % needed != 0;
  };
  const AlignedCopies copies{is_misaligned(p.a.data, p.a.ld, p.a.batch_stride),
                             is_misaligned(p.b.data, p.b.ld, p.b.batch_stride),
                             is_misaligned(p.c, p.c_ld, p.c_batch_stride)};
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  // A factor is read and written, a result written, read and written.
  const double copied = 2 * copies.a * m * k + 2 * copies.b * k * n + 3 * copies.c * m * n;
  const double least = tuning::least_multiply_adds_of_copied_byte * copied * static_cast<double>(element);
  return copied > 0 && m * n * k >= least ? copies : AlignedCopies{};
}

/// A plan without an algorithm.
[[nodiscard]] inline GemmPlan describe(const BlasProduct& p) {
  GemmPlan plan;
  plan.fused = is_worth_fusing(p);
  const bool is_double = p.type == CUDA_R_64F || p.type == CUDA_C_64F, is_half = bytes_of(p.type) == 2;
  cublasComputeType_t compute = is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
  if (!is_double && !is_half && product_rounds_to_tf32()) compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  check(cublasLtMatmulDescInit(&plan.description, compute, is_half ? CUDA_R_32F : p.type), "cublasLtMatmulDescInit", p);
  set(p, plan.description, CUBLASLT_MATMUL_DESC_TRANSA, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(p, plan.description, CUBLASLT_MATMUL_DESC_TRANSB, p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(p, plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
  if (p.bias) set(p, plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  if (p.kept) {
    set(p, plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.kept);
    set(p, plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, kept_ld(p));
  }
  lay_out(plan.a, p, p.a.transposed ? p.k : p.m, p.a.transposed ? p.m : p.k, p.a.ld, p.a.batch_stride);
  lay_out(plan.b, p, p.b.transposed ? p.n : p.k, p.b.transposed ? p.k : p.n, p.b.ld, p.b.batch_stride);
  lay_out(plan.c, p, p.m, p.n, p.c_ld, p.c_batch_stride);
  return plan;
}

/// Whether a status says that cuBLASLt does not support this product, or not in this way.
[[nodiscard]] inline bool means_refused(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH || status == CUBLAS_STATUS_INTERNAL_ERROR;
}

/// Algorithms for a product, the fastest expected first.
struct Candidates {
  static constexpr int most = tuning::most_candidates;
  cublasLtMatmulHeuristicResult_t results[most]{};
  int count = 0;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;  ///< why there are none, where cuBLASLt says so
};
/// Whether an algorithm splits k among so many blocks that each has next to none: cuBLASLt 13.1 proposes 264 blocks for
/// k = 128, which take twelve times as long as other algorithms.
[[nodiscard]] inline bool splits_too_much(const cublasLtMatmulAlgo_t& algorithm, const BlasProduct& p) {
  constexpr std::int64_t worth_a_block = 8;
  std::int32_t parts = 1;
  std::size_t written = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written);
  return status == CUBLAS_STATUS_SUCCESS && parts > 1 && parts * worth_a_block > p.k;
}

/// Empty where cuBLASLt knows no algorithm on this GPU.
[[nodiscard]] inline Candidates candidates(cublasLtHandle_t handle, GemmPlan& plan, const BlasProduct& p) {
  const Alignments alignment(p);
  cublasLtMatmulPreferenceOpaque_t preference{};
  check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit", p);
  set(p, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
  set(p, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment.a);
  set(p, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment.b);
  set(p, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment.c);
  set(p, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment.c);
  if (bytes_of(p.type) == 2) {  // partial sums of split products stay in float
    set(p, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  }
  Candidates answer, usable;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, &plan.description, &plan.a, &plan.b, &plan.c, &plan.c, &preference,
                                     Candidates::most, answer.results, &answer.count);
  if (means_refused(status)) {
    usable.status = status;
    return usable;
  }
  check(status, "cublasLtMatmulAlgoGetHeuristic", p);
  for (const bool last_resort : {false, true}) {
    for (int i = 0; i < answer.count; ++i) {
      const auto& result = answer.results[i];
      if (result.state == CUBLAS_STATUS_SUCCESS && splits_too_much(result.algo, p) == last_resort)
        usable.results[usable.count++] = result;
    }
  }
  return usable;
}

inline void take(GemmPlan& plan, const cublasLtMatmulHeuristicResult_t& candidate) {
  plan.algorithm = candidate.algo;
  plan.workspace = candidate.workspaceSize;
  plan.exists = true;
}

/// Gives the plan an algorithm that this version of cuBLASLt proposed for this form before. False, without effect, if
/// cuBLASLt does not take it.
[[nodiscard]] inline bool restore(cublasLtHandle_t handle, GemmPlan& plan, const cublasLtMatmulAlgo_t& algorithm) {
  cublasLtMatmulHeuristicResult_t result{};
  if (cublasLtMatmulAlgoCheck(handle, &plan.description, &plan.a, &plan.b, &plan.c, &plan.c, &algorithm, &result) !=
          CUBLAS_STATUS_SUCCESS ||
      result.workspaceSize > most_workspace)
    return false;
  result.algo = algorithm;
  take(plan, result);
  return true;
}

}}}  // namespace locus::LOCUS_ABI::cuda::detail
