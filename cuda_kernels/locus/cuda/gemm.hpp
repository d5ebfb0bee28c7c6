#pragma once
// Matrix products by cuBLASLt, with a cache of plans by form, so that small products cost little on the host.

#include <locus/cuda/gemm_plan.hpp>
#include <locus/cuda/stream_timer.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/cuda/tuned_gemm_plans.hpp>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The alternative to a fused product: the product alone into c, then a launch that finishes c or computes the
/// epilogue's other result.
struct UnfusedProduct {
  BlasProduct product;
  void (*finish)(const void* state, void* c) = nullptr;
  const void* state = nullptr;
};

namespace detail {
/// For the checker of stream order.
LOCUS_COLD inline void check_order(Context& context, const BlasProduct& p) {
  StreamUses uses(locus::detail::describe_gemm(nullptr, p.count, p.n, p.m, p.k, bytes_of(p.type)));
  const auto add = [&](const void* data, std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t of_batch,
                       bool writes) {
    const std::int64_t extent[] = {p.count, cols, rows}, stride[] = {of_batch, ld, 1};
    uses.add(data, 3, extent, stride, bytes_of(p.type), writes);
  };
  add(p.a.data, p.a.transposed ? p.k : p.m, p.a.transposed ? p.m : p.k, p.a.ld, p.a.batch_stride, false);
  add(p.b.data, p.b.transposed ? p.n : p.k, p.b.transposed ? p.k : p.n, p.b.ld, p.b.batch_stride, false);
  add(p.c, p.m, p.n, p.c_ld, p.c_batch_stride, true);
  if (p.sums_b() || p.sums_c()) uses.write(p.bias, (p.sums_b() ? p.n : p.m) * bytes_of(p.type));
  else uses.read(p.bias, p.m * bytes_of(p.type));
  if (p.applies_derivative()) uses.read(p.kept, 1);
  else uses.write(p.kept, 1);
  context.check_order(uses);
}
}  // namespace detail

/// One context's cuBLASLt. cost: a lookup and the call itself once a product of the same form has been made
class Blas {
 public:
  explicit Blas(Context& context) : context_(context) {
    const UncapturedCalls anything_goes;
    check(cublasLtCreate(&handle_), "cublasLtCreate");
  }
  ~Blas() { (void)cublasLtDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Queues the product. False, without effect, if cuBLASLt has no algorithm for it or refuses all that it proposed, or
  /// if timing found the alternative faster.
  [[nodiscard]] bool multiply(const BlasProduct& p, const UnfusedProduct* other = nullptr) {
    detail::GemmPlan& plan = plan_for(p, other);
    while (plan.exists && plan.fused) {
      if (launch(plan, p)) return true;
      take_next(plan, p);
    }
    return false;
  }

  /// For a product with neither an algorithm nor an alternative.
  [[noreturn]] void refuse(const BlasProduct& p) {
    const detail::GemmPlan* const plan = plans_.find(detail::key_of(p));
    const bool has_reason = plan && plan->refusal != CUBLAS_STATUS_SUCCESS;
    fail<CudaError>({"gemm of ", detail::text_of(p), ": there is no algorithm for it with ",
                     detail::machine_of(context_.ordinal(), detail::BlasPlans::library()), has_reason ? " (" : "",
                     has_reason ? cublasLtGetStatusName(plan->refusal) : "", has_reason ? ")" : "",
                     "; use a CUDA toolkit that knows this GPU, or smaller matrices"});
  }

 private:
  /// False, without effect, where cuBLASLt refuses the plan's algorithm.
  [[nodiscard]] bool launch(detail::GemmPlan& plan, const BlasProduct& p) {
    const Scratch workspace(context_, plan.workspace);
    if (streams_are_checked()) [[unlikely]]
      detail::check_order(context_, p);
    LaunchTrace trace(context_);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin(locus::detail::describe_gemm(nullptr, p.count, p.n, p.m, p.k, detail::bytes_of(p.type)));
    const cublasStatus_t status = queue(plan, p, p.c, workspace);
    if (detail::means_refused(status)) {
      plan.refusal = status;
      (void)cudaGetLastError();           // Clears this call's error.
      check(cudaGetLastError(), "gemm");  // A sticky error is an earlier launch's.
      return false;
    }
    check(status, "cublasLtMatmul", p);
    context_.launched("gemm", std::array<std::int64_t, 4>{p.count, p.n, p.m, p.k});
    trace.end();
    return true;
  }
  [[nodiscard]] detail::Candidates candidates(detail::GemmPlan& plan, const BlasProduct& p) {
    const detail::Candidates found = detail::candidates(handle_, plan, p);
    if (found.status != CUBLAS_STATUS_SUCCESS) plan.refusal = found.status;
    return found;
  }
  /// Gives the plan cuBLASLt's next algorithm; clears `exists` if none is left.
  void take_next(detail::GemmPlan& plan, const BlasProduct& p) {
    const detail::Candidates found = candidates(plan, p);
    plan.exists = plan.tried < found.count;
    if (plan.exists) detail::take(plan, found.results[plan.tried++]);
  }

  [[nodiscard]] detail::GemmPlan& plan_for(const BlasProduct& p, const UnfusedProduct* other) {
    const detail::GemmPlanKey key = detail::key_of(p);
    if (detail::GemmPlan* const known = plans_.find(key); known && (known->is_settled || !may_time())) return *known;
    const detail::GemmPlan plan = make_plan(key, p, other);  // may itself add a plan
    if (detail::GemmPlan* const known = plans_.find(key)) return *known = plan;
    return plans_.add(key, plan);
  }

  /// The known choice, or the fastest algorithm if products are timed, or cuBLASLt's first answer.
  [[nodiscard]] detail::GemmPlan make_plan(const detail::GemmPlanKey& key, const BlasProduct& p,
                                           const UnfusedProduct* other) {
    detail::GemmPlan plan = detail::describe(p);
    if (may_time() || detail::TunedGemmPlans::file_of_process().is_named()) settle(key, plan, p, other);
    if (plan.is_settled) return plan;
    const detail::Candidates found = candidates(plan, p);
    if (found.count > 0) detail::take(plan, found.results[plan.tried++]);
    return plan;
  }

  [[nodiscard]] static bool may_time() {
    return gemm_is_autotuned() && !launches_are_awaited() &&
           !launches_are_traced();  // waiting and tracing would be timed too
  }

  /// Looks up the plan in the process's table; if products are timed, adds it there.
  void settle(const detail::GemmPlanKey& key, detail::GemmPlan& plan, const BlasProduct& p,
              const UnfusedProduct* other) {
    detail::TunedGemmPlans& tuned = detail::TunedGemmPlans::of(context_.ordinal());
    if (adopt(tuned, key, plan, p) || !may_time()) return;
    const bool is_captured = this->is_captured();
    const detail::Candidates found = candidates(plan, p);
    detail::GemmPlan alone;
    if (other && !is_captured) alone = plan_for(other->product, nullptr);
    const Lock one_at_a_time(tuned.timing());
    if (adopt(tuned, key, plan, p)) return;
    if (found.count > 0) detail::take(plan, found.results[0]);
    plan.is_settled = true;
    if (found.count == 0 || tuned.is_full()) return;
    const bool is_timed = !is_captured && choose_fastest(plan, found, p, alone, other);
    if (!plan.exists) return;
    detail::GemmPlanChoice choice{{}, plan.fused};
    static_assert(sizeof choice.algorithm == sizeof plan.algorithm);
    std::memcpy(choice.algorithm.data(), &plan.algorithm, sizeof plan.algorithm);
    tuned.choose(key, choice, is_timed);
  }

  /// Adopts the known choice for the form. False if there is none, or cuBLASLt does not accept it.
  [[nodiscard]] bool adopt(detail::TunedGemmPlans& tuned, const detail::GemmPlanKey& key, detail::GemmPlan& plan,
                           const BlasProduct& p) const {
    detail::GemmPlanChoice choice;
    if (!tuned.find(key, choice) || (!choice.fused && p.epilogue == CUBLASLT_EPILOGUE_DEFAULT)) return false;
    cublasLtMatmulAlgo_t algorithm;
    std::memcpy(&algorithm, choice.algorithm.data(), sizeof algorithm);
    if (!detail::restore(handle_, plan, algorithm)) return false;
    plan.fused = choice.fused;
    return plan.is_settled = true;
  }

  [[nodiscard]] bool is_captured() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(context_.stream(), &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }

  /// Times the product in every way and gives the plan the fastest; of two about equal, the earlier. Clears `exists` if
  /// cuBLASLt refuses all. False, with the plan unchanged, if memory for that runs out.
  [[nodiscard]] bool choose_fastest(detail::GemmPlan& plan, const detail::Candidates& found, const BlasProduct& p,
                                    detail::GemmPlan& alone, const UnfusedProduct* other) try {
    constexpr float clearly = 0.98f;
    const auto counted = locus::detail::launches;  // timed launches do not count as the caller's
    std::size_t most = alone.workspace;
    for (const auto& result : found.results) most = result.workspaceSize > most ? result.workspaceSize : most;
    Scratch workspace(context_, most), copy(context_);
    void* const c = stage(p, copy);
    const StreamTimer timer(context_);
    float best = StreamTimer::never;
    for (int i = 0; i < found.count; ++i) {
      detail::GemmPlan way = plan;
      detail::take(way, found.results[i]);
      const float time = timer.milliseconds([&] { return succeeded(queue(way, p, c, workspace)); });
      if (time < clearly * best) plan = way, best = time;
    }
    float time_alone = StreamTimer::never;
    if (alone.exists) {
      time_alone = timer.milliseconds([&] {
        const bool queued = succeeded(queue(alone, other->product, c, workspace));
        if (queued) other->finish(other->state, c);
        return queued;
      });
    }
    plan.fused = !(time_alone < clearly * best);
    plan.exists = best < StreamTimer::never || time_alone < StreamTimer::never;
    locus::detail::launches = counted;
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }

  [[nodiscard]] static bool succeeded(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) (void)cudaGetLastError();
    return status == CUBLAS_STATUS_SUCCESS;
  }

  /// Memory for repeated computation: c itself if the product leaves its inputs unchanged, else a copy of c.
  [[nodiscard]] void* stage(const BlasProduct& p, Scratch& copy) {
    if (!detail::changes_its_inputs(p)) return p.c;
    const std::size_t misaligned =
        reinterpret_cast<std::uintptr_t>(p.c) % 256;  // the alignment that algorithms were chosen for
    copy.reserve(misaligned + detail::span_of_c(p));
    void* const c = copy.as<unsigned char>() + misaligned;
    check(cudaMemcpyAsync(c, p.c, detail::span_of_c(p), cudaMemcpyDeviceToDevice, context_.stream()),
          "gemm (cudaMemcpyAsync)");
    return c;
  }

  [[nodiscard]] cublasStatus_t queue(detail::GemmPlan& plan, const BlasProduct& p, void* c, const Scratch& workspace) {
    if (p.bias) detail::set(p, plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    if (p.kept) detail::set(p, plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.kept);
    // Numbers of real types are the real parts.
    static constexpr float one[] = {1.f, 0.f}, zero[] = {0.f, 0.f};
    static constexpr double double_one[] = {1., 0.}, double_zero[] = {0., 0.};
    const bool is_double = p.type == CUDA_R_64F || p.type == CUDA_C_64F;
    const void* alpha = is_double ? static_cast<const void*>(double_one) : one;
    const void* beta =
        is_double ? static_cast<const void*>(p.accumulate ? double_one : double_zero) : (p.accumulate ? one : zero);
    return cublasLtMatmul(handle_, &plan.description, alpha, p.a.data, &plan.a, p.b.data, &plan.b, beta, c, &plan.c, c,
                          &plan.c, &plan.algorithm, workspace.as<void>(), plan.workspace, context_.stream());
  }

  Context& context_;
  cublasLtHandle_t handle_ = nullptr;
  detail::GemmPlanTable<detail::GemmPlan> plans_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
