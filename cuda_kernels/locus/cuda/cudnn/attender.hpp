#pragma once
// Attention by cuDNN's fused engines, with a cache of plans by form.

#include <locus/cuda/cudnn/attention_graph.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// One context's fused attention. cost: a lookup and the call itself once a pass of the same form has been made; the
/// first pass of a form compiles its kernel, which takes about a second
class Attender {
 public:
  /// throws CudaError where cuDNN does not start
  explicit Attender(Context& context) : context_(context) {
    const UncapturedCalls anything_goes;
    check(cudnnCreate(&machine_.handle), "cudnnCreate", "attention");
    check(cudnnSetStream(machine_.handle, context.stream()), "cudnnSetStream", "attention");
  }
  ~Attender() { (void)cudnnDestroy(machine_.handle); }
  Attender(const Attender&) = delete;
  Attender& operator=(const Attender&) = delete;

  /// Queues the pass. False, without effect, where cuDNN does not compute it.
  [[nodiscard]] bool run(const DnnAttention& call) {
    const DnnAttention::Key key = call.key();
    Plan* plan = plans_.find(key);
    if (!plan) plan = &plans_.add(key, make_plan(call, 0));
    while (plan->exists) {
      Scratch workspace(context_);
      if (plan->way.workspace > 0 && !reserve(workspace, *plan, call)) return false;  // there may be memory next time
      if (launch(*plan, call, workspace.as<void>())) return true;
      *plan = make_plan(call, plan->tried);
    }
    return false;
  }

 private:
  struct Plan {
    ExecutionPlan way;
    std::size_t tried = 0;  ///< of cuDNN's engines
    bool exists = false;    ///< false: cuDNN does not compute the form
  };

  /// The first of cuDNN's engines, after those that were tried, that it makes ready and whose workspace is allowed.
  [[nodiscard]] Plan make_plan(const DnnAttention& call, std::size_t tried) const {
    const UncapturedCalls anything_goes;
    Calls calls(call);
    AttentionGraph builder(calls, call);
    const Descriptor graph = builder.finish(machine_);
    Plan plan{{}, tried, false};
    const std::vector<Descriptor> engines = engines_for(calls, machine_, call, graph);
    std::string reason = calls.reason();
    while (!plan.exists && plan.tried < engines.size()) {
      Calls planned(call);
      plan.way = plan_of(planned, machine_, engines[plan.tried++]);
      plan.exists = planned.succeeded() && plan.way.workspace <= cudnn_workspace_limit();
      reason = planned.succeeded() ? join("a workspace of ", plan.way.workspace, " bytes") : planned.reason();
    }
    if (!plan.exists) tell_refusal(call, reason);
    return plan;
  }

  /// False, without effect, where cuDNN refuses the plan after all.
  [[nodiscard]] bool launch(const Plan& plan, const DnnAttention& call, void* workspace) {
    LaunchTrace trace(context_);
    const AttentionShape& s = call.shape;
    const std::array<std::int64_t, 4> extents{s.batch, s.heads, s.rows, s.keys};
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin(
          {call.is_backward ? "attention's gradients by cuDNN" : "attention by cuDNN", nullptr, Shape(extents)});
    Calls calls(call);
    const AttentionOperands operands(call);
    const Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, operands.names, operands.count);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, operands.data, operands.count);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
    calls.finalize(pack, "cudnnBackendFinalize (operands)");
    calls.execute(machine_.handle, plan.way.plan, pack);
    if (!calls.succeeded()) {
      cuda::check(cudaGetLastError(), "attention");  // A sticky error is an earlier launch's.
      tell_refusal(call, calls.reason());
      return false;
    }
    context_.launched("attention", extents);
    ++locus::detail::launches.gemm;
    trace.end();
    return true;
  }
  [[nodiscard]] static bool reserve(Scratch& workspace, const Plan& plan, const DnnAttention& call) try {
    workspace.reserve(static_cast<std::size_t>(plan.way.workspace));
    return true;
  } catch (const OutOfMemory&) {
    tell_refusal(call, join("no memory for a workspace of ", plan.way.workspace, " bytes"));
    return false;
  }
  /// Says in a trace why other kernels follow instead of cuDNN's.
  static void tell_refusal(const DnnAttention& call, const std::string& reason) {
    if (launches_are_traced()) [[unlikely]]
      std::fprintf(stderr, "locus: %s: not by cuDNN (%s)\n", text_of(call).c_str(), reason.c_str());
  }

  Context& context_;
  Machine machine_;
  cuda::detail::GemmPlanTable<Plan, DnnAttention::Key> plans_;
};

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
