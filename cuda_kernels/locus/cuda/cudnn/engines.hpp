#pragma once
// The engines of cuDNN, with their knobs, that compute a graph, and the execution plan of one of them.

#include <locus/cuda/cudnn/calls.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// The GPU that plans are made for, by a handle. `properties` describe a GPU that is not present, so that engines can
/// be queried without it.
struct Machine {
  cudnnHandle_t handle = nullptr;
  Descriptor properties;
};

// Newer headers deprecate these names, though every cuDNN 9 accepts them and older releases need them.
inline constexpr auto graph_handle = static_cast<cudnnBackendAttributeName_t>(800);  // CUDNN_ATTR_OPERATIONGRAPH_HANDLE
inline constexpr auto plan_handle = static_cast<cudnnBackendAttributeName_t>(400);   // CUDNN_ATTR_EXECUTION_PLAN_HANDLE

/// Whether is_allowed(computation, notes, count) holds for an engine with its knobs.
template <class Computation>
[[nodiscard]] bool allows(Calls& calls, const Computation& computation, const Descriptor& config) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendNumericalNote_t notes[32];
  (void)calls.get(config, CUDNN_ATTR_ENGINECFG_ENGINE, &engine, 1);
  const std::int64_t count = calls.get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, notes, 32);
  return calls.succeeded() && is_allowed(computation, notes, count);
}

/// Allowed engines with their knobs: first cuDNN's heuristic order, fastest expected first, then the fallback engines,
/// which support nearly everything.
template <class Computation>
[[nodiscard]] std::vector<Descriptor> engines_for(Calls& calls, const Machine& machine, const Computation& computation,
                                                  const Descriptor& graph) {
  constexpr std::int64_t most = 64;
  std::vector<Descriptor> engines;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (!calls.succeeded()) break;
    Calls asked(computation);  // a mode without engines is no refusal
    const Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    asked.set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    asked.set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    if (machine.properties) asked.set(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, machine.properties);
    asked.finalize(heuristics, "cudnnBackendFinalize (heuristics)");
    if (!asked.succeeded()) continue;
    std::vector<Descriptor> found;
    for (std::int64_t i = 0; i < most; ++i) found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    const std::int64_t count = asked.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, found.data(), most);
    for (std::int64_t i = 0; i < count; ++i) {
      const Descriptor& config = found[static_cast<std::size_t>(i)];
      if (allows(asked, computation, config)) engines.push_back(config);
    }
  }
  if (engines.empty()) calls.refuse(CUDNN_STATUS_NOT_SUPPORTED, "cuDNN has no engine for it that is allowed");
  return engines;
}

/// An engine made ready to run.
struct ExecutionPlan {
  Descriptor engine, plan;
  std::int64_t workspace = 0;
};
[[nodiscard]] inline ExecutionPlan plan_of(Calls& calls, const Machine& machine, const Descriptor& engine) {
  ExecutionPlan it{engine, Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)};
  if (machine.handle) calls.set(it.plan, plan_handle, machine.handle);
  if (machine.properties) calls.set(it.plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, machine.properties);
  calls.set(it.plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
  calls.finalize(it.plan, "cudnnBackendFinalize (a plan)");
  (void)calls.get(it.plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, &it.workspace, 1);
  return it;
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
