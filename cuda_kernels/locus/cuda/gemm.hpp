#pragma once
// Matrix products by cuBLASLt, with a memo of how each form is computed, so that small products cost little on the
// host.

#include <locus/cuda/gemm_plan.hpp>
#include <locus/cuda/stream_timer.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/cuda/tuned_gemm_plans.hpp>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The other way to a product with an epilogue: the product by itself into c, then a launch that finishes c, or makes
/// what the epilogue makes beside c.
struct UnfusedProduct {
  BlasProduct product;
  void (*finish)(const void* state, void* c) = nullptr;
  const void* state = nullptr;
};

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

  /// Queues the product. False, and then nothing happened, where cuBLASLt has no algorithm for it, or refuses those
  /// that it answered, or where timing found the other way to be faster.
  [[nodiscard]] bool multiply(const BlasProduct& p, const UnfusedProduct* other = nullptr) {
    detail::GemmPlan& plan = plan_for(p, other);
    while (plan.exists && plan.fused) {
      if (launch(plan, p)) return true;
      take_next(plan, p);
    }
    return false;
  }

  /// For a product that has no algorithm and no other way.
  [[noreturn]] void refuse(const BlasProduct& p) {
    const detail::GemmPlan* const plan = plans_.find(detail::key_of(p));
    const bool has_reason = plan && plan->refusal != CUBLAS_STATUS_SUCCESS;
    fail<CudaError>({"gemm of ", detail::text_of(p), ": there is no algorithm for it with ",
                     detail::machine_of(context_.ordinal(), detail::BlasPlans::library()), has_reason ? " (" : "",
                     has_reason ? cublasLtGetStatusName(plan->refusal) : "", has_reason ? ")" : "",
                     "; use a CUDA toolkit that knows this GPU, or smaller matrices"});
  }

 private:
  /// False, and then nothing happened, where cuBLASLt refuses the plan's algorithm.
  [[nodiscard]] bool launch(detail::GemmPlan& plan, const BlasProduct& p) {
    const Scratch workspace(context_, plan.workspace);
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
  /// Gives the plan cuBLASLt's next answer; where it has no more, the plan does not exist from now on.
  void take_next(detail::GemmPlan& plan, const BlasProduct& p) {
    const detail::Candidates found = candidates(plan, p);
    plan.exists = plan.tried < found.count;
    if (plan.exists) detail::take(plan, found.results[plan.tried++]);
  }

  [[nodiscard]] detail::GemmPlan& plan_for(const BlasProduct& p, const UnfusedProduct* other) {
    const detail::GemmPlanKey key = detail::key_of(p);
    if (detail::GemmPlan* const known = plans_.find(key); known && (known->is_settled || !may_time())) return *known;
    const detail::GemmPlan plan = make_plan(key, p, other);  // which may add another one
    if (detail::GemmPlan* const known = plans_.find(key)) return *known = plan;
    return plans_.add(key, plan);
  }

  /// With the known choice, or the fastest where products are timed, or cuBLASLt's first answer.
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
    return gemm_is_autotuned() && !launches_are_awaited() && !launches_are_traced();  // which would be timed too
  }

  /// Looks the plan up among those of the process, or adds it there, where products are timed.
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

  /// Takes over what is known of the form. False where it is nothing, or nothing that cuBLASLt accepts.
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

  /// Computes the product in every way and gives the plan the fastest; the earlier of two that are about equal. The
  /// plan does not exist where cuBLASLt refuses every way. False, and the plan as it was, where there is no memory for
  /// that.
  [[nodiscard]] bool choose_fastest(detail::GemmPlan& plan, const detail::Candidates& found, const BlasProduct& p,
                                    detail::GemmPlan& alone, const UnfusedProduct* other) try {
    constexpr float clearly = 0.98f;
    const auto counted = locus::detail::launches;  // what is timed is no part of what the caller asked for
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

  /// Where the product may be computed again and again: in c if nothing is lost by that, or in a copy of it.
  [[nodiscard]] void* stage(const BlasProduct& p, Scratch& copy) {
    if (!detail::changes_its_inputs(p)) return p.c;
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(p.c) % 256;  // as the algorithms were asked for
    copy.reserve(misaligned + detail::span_of_c(p));
    void* const c = copy.as<unsigned char>() + misaligned;
    check(cudaMemcpyAsync(c, p.c, detail::span_of_c(p), cudaMemcpyDeviceToDevice, context_.stream()),
          "gemm (cudaMemcpyAsync)");
    return c;
  }

  [[nodiscard]] cublasStatus_t queue(detail::GemmPlan& plan, const BlasProduct& p, void* c, const Scratch& workspace) {
    if (p.bias) detail::set(p, plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    if (p.kept) detail::set(p, plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.kept);
    const float one = 1.f, zero = 0.f;
    const double double_one = 1., double_zero = 0.;
    const bool is_double = p.type == CUDA_R_64F;
    const void* alpha = is_double ? static_cast<const void*>(&double_one) : &one;
    const void* beta =
        is_double ? static_cast<const void*>(p.accumulate ? &double_one : &double_zero) : (p.accumulate ? &one : &zero);
    return cublasLtMatmul(handle_, &plan.description, alpha, p.a.data, &plan.a, p.b.data, &plan.b, beta, c, &plan.c, c,
                          &plan.c, &plan.algorithm, workspace.as<void>(), plan.workspace, context_.stream());
  }

  Context& context_;
  cublasLtHandle_t handle_ = nullptr;
  detail::GemmPlanTable<detail::GemmPlan> plans_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
