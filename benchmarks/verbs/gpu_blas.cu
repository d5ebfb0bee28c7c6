// Products by cuBLASLt.

#include "gpu.hpp"

#include <locus/cuda/backend.hpp>

#include <limits>
#include <vector>

namespace bench {

using locus::Cuda;
using locus::cuda::check;

/// A named wrapper: nvcc 13.0 aborts on a vector of cublasLtMatmulAlgo_t, a typedef of an unnamed struct.
struct Proposal {
  cublasLtMatmulAlgo_t algorithm;
};

struct BlasLtProduct::State {
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
  static constexpr int most_proposals = 16, tries = 5;

  Cuda device;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  void* workspace = nullptr;
  std::vector<Proposal> proposals;
  std::size_t best = 0;
  bool tuned = false;

  State(int ordinal, ProductType type, std::int64_t m, std::int64_t n, std::int64_t k) : device{ordinal} {
    check(cublasLtCreate(&handle), "cublasLtCreate");
    check(cudaMalloc(&workspace, workspace_bytes), "cudaMalloc");
    const cudaDataType_t element = type == ProductType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
    const auto compute = type == ProductType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescCreate(&description, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
    a = layout(element, n, k);  // column-major: the transposed product of transposed factors
    b = layout(element, k, m);
    c = layout(element, n, m);
    ask();
  }
  ~State() {
    for (auto matrix : {a, b, c}) (void)cublasLtMatrixLayoutDestroy(matrix);
    (void)cublasLtMatmulDescDestroy(description);
    (void)cublasLtDestroy(handle);
    (void)cudaFree(workspace);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static cublasLtMatrixLayout_t layout(cudaDataType_t element, std::int64_t rows, std::int64_t cols) {
    cublasLtMatrixLayout_t made = nullptr;
    check(cublasLtMatrixLayoutCreate(&made, element, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
                                     rows),
          "cublasLtMatrixLayoutCreate");
    return made;
  }

  void ask() {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                               sizeof workspace_bytes),
          "cublasLtMatmulPreferenceSetAttribute");
    cublasLtMatmulHeuristicResult_t results[most_proposals];
    int found = 0;
    const auto status =
        cublasLtMatmulAlgoGetHeuristic(handle, description, a, b, c, c, preference, most_proposals, results, &found);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    for (int i = 0; i < found; ++i)
      if (results[i].state == CUBLAS_STATUS_SUCCESS) proposals.push_back({results[i].algo});
    if (proposals.empty()) locus::fail<locus::Error>({"cuBLASLt has no algorithm for this product"});
  }

  void multiply(const void* left, const void* right, void* out, std::size_t proposal) const {
    const float one = 1, zero = 0;
    check(cublasLtMatmul(handle, description, &one, right, a, left, b, &zero, out, c, out, c,
                         &proposals[proposal].algorithm, workspace, workspace_bytes, locus::cuda::stream(device)),
          "cublasLtMatmul");
  }

  /// Times each algorithm on the first operands, and keeps the fastest for all later runs.
  void tune(const void* left, const void* right, void* out) {
    const auto meter = gpu_meter(device.ordinal);
    double fastest = std::numeric_limits<double>::infinity();
    for (std::size_t proposal = 0; proposal < proposals.size(); ++proposal) {
      Samples samples;
      const auto run = [&] { multiply(left, right, out, proposal); };
      run();
      meter->sample(run, tries, false, samples);
      if (samples.gpu[0] < fastest) fastest = samples.gpu[0], best = proposal;
    }
    tuned = true;
  }
};

BlasLtProduct::BlasLtProduct(int ordinal, ProductType type, std::int64_t m, std::int64_t n, std::int64_t k)
    : state_(std::make_shared<State>(ordinal, type, m, n, k)) {}

void BlasLtProduct::run(const void* a, const void* b, void* c) const {
  if (!state_->tuned) state_->tune(a, b, c);
  state_->multiply(a, b, c, state_->best);
}

}  // namespace bench
