#pragma once
// Launches of cuDNN's plans.

#include <locus/cuda/cudnn/engines.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// The operands of a launch: their names in the graph and addresses, those of numbers on the host.
class Operands {
 public:
  void add(std::int64_t name, const void* at, bool is_written = false) {
    names_[count_] = name, is_written_[count_] = is_written, data_[count_++] = const_cast<void*>(at);
  }

  /// Queues the plan. Calls are skipped after one that cuDNN refuses.
  void launch(Calls& calls, const Machine& machine, const ExecutionPlan& way, void* workspace) const {
    const Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names_, count_);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, data_, count_);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
    calls.finalize(pack, "cudnnBackendFinalize (operands)");
    calls.execute(machine.handle, way.plan, pack);
  }

  void check_order(Context& context, const locus::detail::LaunchDescription& launch) const {
    StreamUses uses(launch);
    for (std::int64_t i = 0; i < count_; ++i) is_written_[i] ? uses.write(data_[i], 1) : uses.read(data_[i], 1);
    context.check_order(uses);
  }

 private:
  static constexpr int most = 16;
  std::int64_t names_[most];
  void* data_[most];
  bool is_written_[most];
  std::int64_t count_ = 0;
};

/// Says in a trace why another engine, or kernels of Locus, follow instead of a launch of cuDNN's.
template <class Computation>
void tell_refusal(const Computation& computation, const std::string& reason) {
  if (launches_are_traced()) [[unlikely]]
    std::fprintf(stderr, "locus: %s: not by cuDNN (%s)\n", text_of(computation).c_str(), reason.c_str());
}

/// What errors and traces say of a launch.
struct LaunchName {
  const char* verb;
  std::array<std::int64_t, 4> extents;
};

/// The outcome of a launch: queued, or without effect, as cuDNN refused the plan after all or its workspace was no
/// longer free.
enum class Launched { queued, refused, out_of_memory };

/// Queues a computation, of which operands_of(it), launch_name(it) and description_of(it) tell.
template <class Computation>
[[nodiscard]] Launched launch(Context& context, const Machine& machine, const ExecutionPlan& way,
                              const Computation& computation) {
  Scratch workspace(context);
  try {
    if (way.workspace > 0) workspace.reserve(static_cast<std::size_t>(way.workspace));
  } catch (const OutOfMemory&) {
    tell_refusal(computation, join("no memory for a workspace of ", way.workspace, " bytes"));
    return Launched::out_of_memory;
  }
  const Operands operands = operands_of(computation);
  if (streams_are_checked()) [[unlikely]]
    operands.check_order(context, description_of(computation));
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin(description_of(computation));
  Calls calls(computation);
  operands.launch(calls, machine, way, workspace.as<void>());
  const LaunchName name = launch_name(computation);
  if (!calls.succeeded()) {
    cuda::check(cudaGetLastError(), name.verb);  // A sticky error is an earlier launch's.
    tell_refusal(computation, calls.reason());
    return Launched::refused;
  }
  context.launched(name.verb, name.extents);
  ++locus::detail::launches.gemm;
  trace.end();
  return Launched::queued;
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
