#pragma once
// Matrix products by cuBLASLt: what it is asked, and a memo of what it answered, so that small products cost little on
// the host.

#include <locus/cuda/trace.hpp>

#include <array>
#include <atomic>
#include <vector>

namespace locus::inline LOCUS_ABI::cuda {

namespace detail {
inline std::atomic<bool> tf32{false};
}
/// Whether float32 products, of all threads, may round their inputs to TF32 (10 bits of mantissa). Off at first.
inline void allow_tf32(bool allow) { detail::tf32.store(allow, std::memory_order_relaxed); }
[[nodiscard]] inline bool tf32_allowed() { return detail::tf32.load(std::memory_order_relaxed); }

/// Element types that cuBLASLt multiplies, and how: 16-bit types are summed in float.
template <class T>
[[nodiscard]] constexpr cudaDataType_t blas_type() {
  if constexpr (std::is_same_v<T, float>) return CUDA_R_32F;
  else if constexpr (std::is_same_v<T, double>) return CUDA_R_64F;
  else if constexpr (std::is_same_v<T, half>) return CUDA_R_16F;
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
struct BlasProduct {
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  BlasOperand a, b;
  void* c = nullptr;
  std::int64_t c_ld = 1, c_batch_stride = 0;
  bool accumulate = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

namespace detail {
/// The largest power of two up to 256 that divides the address and, in bytes, the distance between matrices.
[[nodiscard]] inline std::uint32_t alignment_of(const void* data, std::int64_t batch_bytes) {
  const auto bits = reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(batch_bytes) | 256u;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

[[nodiscard]] inline std::int64_t bytes_of(cudaDataType_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

/// Everything that cuBLASLt's choice of an algorithm depends on.
struct PlanKey {
  std::array<std::int64_t, 18> values;
  [[nodiscard]] bool operator==(const PlanKey& other) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != other.values[i]) return false;
    return true;
  }
  [[nodiscard]] std::size_t hash() const {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::int64_t value : values) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash);
  }
};

/// A product as cuBLASLt wants it described, and the algorithm it chose.
struct BlasPlan {
  cublasLtMatmulDescOpaque_t description{};
  cublasLtMatrixLayoutOpaque_t a{}, b{}, c{};
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;
  bool exists = false;
};

/// Plans by their keys; forgets all when it is full.
class PlanTable {
 public:
  /// Null where there is none.
  [[nodiscard]] BlasPlan* find(const PlanKey& key) {
    if (entries_.empty()) return nullptr;
    const std::uint32_t index = places_[place_of(key)];
    return index == none ? nullptr : &entries_[index].plan;
  }
  /// Valid until the next add.
  BlasPlan& add(const PlanKey& key, const BlasPlan& plan) {
    if (entries_.empty() || entries_.size() == most_plans) {
      entries_.clear();
      places_.assign(2 * most_plans, none);
    }
    entries_.push_back({key, plan});
    places_[place_of(key)] = static_cast<std::uint32_t>(entries_.size() - 1);
    return entries_.back().plan;
  }

 private:
  static constexpr std::size_t most_plans = 4096;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Entry {
    PlanKey key;
    BlasPlan plan;
  };
  /// Where the key is, or where it belongs.
  [[nodiscard]] std::size_t place_of(const PlanKey& key) const {
    std::size_t place = key.hash() % places_.size();
    while (places_[place] != none && !(entries_[places_[place]].key == key)) place = (place + 1) % places_.size();
    return place;
  }
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> places_;  ///< of entries, at the place that the key's hash says, or behind it
};
}  // namespace detail

/// One context's cuBLASLt. cost: a lookup and the call itself once a product of the same form has been made
class Blas {
 public:
  explicit Blas(Context& context) : context_(context) { check(cublasLtCreate(&handle_), "cublasLtCreate"); }
  ~Blas() { (void)cublasLtDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Queues the product; false where cuBLASLt has no algorithm for it, and then nothing happened.
  [[nodiscard]] bool multiply(const BlasProduct& product) {
    detail::BlasPlan& plan = plan_for(product);
    if (!plan.exists) return false;
    if (product.bias) set(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
    const float one = 1.f, zero = 0.f;
    const double double_one = 1., double_zero = 0.;
    const bool is_double = product.type == CUDA_R_64F;
    const void* alpha = is_double ? static_cast<const void*>(&double_one) : &one;
    const void* beta = is_double ? static_cast<const void*>(product.accumulate ? &double_one : &double_zero)
                                 : (product.accumulate ? &one : &zero);
    const Scratch workspace(context_, plan.workspace);
    LaunchTrace trace(context_);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin(locus::detail::describe_gemm(nullptr, product.count, product.m, product.n, product.k,
                                               detail::bytes_of(product.type)));
    check(cublasLtMatmul(handle_, &plan.description, alpha, product.a.data, &plan.a, product.b.data, &plan.b, beta,
                         product.c, &plan.c, product.c, &plan.c, &plan.algorithm, workspace.as<void>(), plan.workspace,
                         context_.stream()),
          "gemm (cublasLtMatmul)");
    context_.launched("gemm", std::array<std::int64_t, 4>{product.count, product.m, product.n, product.k});
    trace.end();
    return true;
  }

 private:
  static constexpr std::size_t most_workspace = std::size_t{32} << 20;

  template <class Value>
  static void set(cublasLtMatmulDescOpaque_t& description, cublasLtMatmulDescAttributes_t attribute,
                  const Value& value) {
    check(cublasLtMatmulDescSetAttribute(&description, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
  template <class Value>
  static void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t attribute,
                  const Value& value) {
    check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  }

  [[nodiscard]] detail::BlasPlan& plan_for(const BlasProduct& p) {
    const std::int64_t size = detail::bytes_of(p.type);
    const std::int64_t a_alignment = detail::alignment_of(p.a.data, p.a.batch_stride * size);
    const std::int64_t b_alignment = detail::alignment_of(p.b.data, p.b.batch_stride * size);
    const std::int64_t c_alignment = detail::alignment_of(p.c, p.c_batch_stride * size);
    const detail::PlanKey key{{p.type, p.epilogue, tf32_allowed(), p.accumulate, p.m, p.n, p.k, p.count, p.a.ld,
                               p.a.batch_stride, p.a.transposed, p.b.ld, p.b.batch_stride, p.b.transposed, p.c_ld,
                               p.c_batch_stride, (a_alignment * 512 + b_alignment) * 512 + c_alignment,
                               p.bias != nullptr}};
    if (detail::BlasPlan* known = plans_.find(key)) return *known;
    return plans_.add(key, make_plan(p, a_alignment, b_alignment, c_alignment));
  }

  [[nodiscard]] detail::BlasPlan make_plan(const BlasProduct& p, std::int64_t a_alignment, std::int64_t b_alignment,
                                           std::int64_t c_alignment) const {
    detail::BlasPlan plan;
    describe(plan, p);
    cublasLtMatmulPreferenceOpaque_t preference{};
    check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(a_alignment));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(b_alignment));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(c_alignment));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(c_alignment));
    if (detail::bytes_of(p.type) == 2) {  // partial sums of split products stay in float
      set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
          static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    }
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, &plan.description, &plan.a, &plan.b, &plan.c,
                                                                 &plan.c, &preference, 1, &best, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return plan;
    check(status, "gemm (cublasLtMatmulAlgoGetHeuristic)");
    if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return plan;
    plan.algorithm = best.algo;
    plan.workspace = best.workspaceSize;
    plan.exists = true;
    return plan;
  }

  static void describe(detail::BlasPlan& plan, const BlasProduct& p) {
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    if (p.type == CUDA_R_64F) compute = CUBLAS_COMPUTE_64F;
    if (p.type == CUDA_R_32F && tf32_allowed()) compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    check(cublasLtMatmulDescInit(&plan.description, compute, p.type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F),
          "cublasLtMatmulDescInit");
    set(plan.description, CUBLASLT_MATMUL_DESC_TRANSA, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(plan.description, CUBLASLT_MATMUL_DESC_TRANSB, p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
    if (p.bias) set(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    lay_out(plan.a, p, p.a.transposed ? p.k : p.m, p.a.transposed ? p.m : p.k, p.a.ld, p.a.batch_stride);
    lay_out(plan.b, p, p.b.transposed ? p.n : p.k, p.b.transposed ? p.k : p.n, p.b.ld, p.b.batch_stride);
    lay_out(plan.c, p, p.m, p.n, p.c_ld, p.c_batch_stride);
  }

  static void lay_out(cublasLtMatrixLayoutOpaque_t& layout, const BlasProduct& p, std::int64_t rows, std::int64_t cols,
                      std::int64_t ld, std::int64_t batch_stride) {
    check(cublasLtMatrixLayoutInit(&layout, p.type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
                                   ld),
          "cublasLtMatrixLayoutInit");
    if (p.count == 1) return;
    const auto count = static_cast<std::int32_t>(p.count);
    check(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                                           sizeof batch_stride),
          "cublasLtMatrixLayoutSetAttribute");
  }

  Context& context_;
  cublasLtHandle_t handle_ = nullptr;
  detail::PlanTable plans_;
};

}  // namespace locus::inline LOCUS_ABI::cuda
