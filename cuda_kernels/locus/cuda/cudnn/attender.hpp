#pragma once
// Attention by cuDNN's fused engines, with a cache of plans by form.

#include <locus/cuda/cudnn/attention_graph.hpp>
#include <locus/cuda/cudnn/library.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// One context's fused attention. cost: a lookup and the call itself once a pass of the same form has been made; the
/// first pass of a form compiles its kernel, which takes about a second
class Attender {
 public:
  /// throws CudaError where cuDNN does not start
  explicit Attender(Context& context) : context_(context), machine_(Library::machine_of(context)) {}
  Attender(const Attender&) = delete;
  Attender& operator=(const Attender&) = delete;

  /// Queues the pass. False, without effect, where cuDNN does not compute it.
  [[nodiscard]] bool run(const DnnAttention& call) {
    const DnnAttention::Key key = call.key();
    Plan* plan = plans_.find(key);
    if (!plan) plan = &plans_.add(key, make_plan(call, 0));
    while (plan->exists) {
      const Launched launched = launch(context_, machine_, plan->way, call);
      if (launched != Launched::refused) return launched == Launched::queued;  // there may be memory next time
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

  Context& context_;
  const Machine& machine_;
  cuda::detail::GemmPlanTable<Plan, DnnAttention::Key> plans_;
};

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
