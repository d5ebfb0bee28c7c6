#pragma once
// Passes of convolutions by cuDNN, with a memo of how each form is computed.

#include <locus/cuda/cudnn/conv_graph.hpp>
#include <locus/cuda/stream_timer.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/cuda/tuned_gemm_plans.hpp>
#include <locus/cuda/tuning.hpp>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// The way in which a form is computed.
struct ConvPlan {
  ExecutionPlan way;
  std::size_t tried = 0;      ///< of cuDNN's engines
  bool exists = false;        ///< or else cuDNN does not compute it
  bool wants_memory = false;  ///< an engine that cuDNN expects to be faster takes more workspace than there is to be
  bool is_settled = false;    ///< for the life of the process; or else cuDNN's first answer, until passes are timed
};

/// cuDNN, for TunedGemmPlans.
struct ConvPlans {
  [[nodiscard]] static std::string library() { return join("cuDNN ", cudnnGetVersion()); }
};

/// One context's cuDNN. cost: a lookup and the call itself once a pass of the same form has been made
class Convolver {
 public:
  /// throws CudaError where cuDNN does not start
  explicit Convolver(Context& context) : context_(context) {
    const UncapturedCalls anything_goes;
    check(cudnnCreate(&machine_.handle), "cudnnCreate", "convolution");
    check(cudnnSetStream(machine_.handle, context.stream()), "cudnnSetStream", "convolution");
  }
  ~Convolver() { (void)cudnnDestroy(machine_.handle); }
  Convolver(const Convolver&) = delete;
  Convolver& operator=(const Convolver&) = delete;

  /// Queues the pass, of some images after the other where that lets a faster engine run. False, and then nothing
  /// happened, where cuDNN does not compute it.
  [[nodiscard]] bool run(const ConvCall& call) {
    const std::int64_t batch = call.shape.batch, images = images_at_once(call);
    if (!run_part(call.part(0, images))) return false;
    for (std::int64_t first = images; first < batch; first += images) {
      const ConvCall part = call.part(first, images);
      if (!run_part(part))
        fail<CudaError>({text_of(part), ": cuDNN refuses it, though it computed the images before; ",
                         remedy(CUDNN_STATUS_NOT_SUPPORTED)});
    }
    return true;
  }

 private:
  /// So many that the engine which cuDNN expects to be the fastest finds its workspace; all, where not even one image
  /// is so few, or cuDNN has no plan for a part.
  [[nodiscard]] std::int64_t images_at_once(const ConvCall& call) {
    std::int64_t images = call.shape.batch;
    if (!call.is_divisible()) return images;
    while (plan_for(call.part(0, images)).wants_memory) {
      if (images == 1) return call.shape.batch;
      images = (images + 1) / 2;
    }
    // Later parts may be other forms: aligned in another way, added to what is there, or the rest of the batch.
    for (std::int64_t first = images; first < call.shape.batch; first += images)
      if (!plan_for(call.part(first, images)).exists) return call.shape.batch;
    return images;
  }
  [[nodiscard]] bool run_part(const ConvCall& call) {
    ConvPlan& plan = plan_for(call);
    while (plan.exists) {
      if (launch(plan, call)) return true;
      take_next(plan, call);
    }
    return false;
  }

  /// False, and then nothing happened, where cuDNN refuses the plan after all.
  [[nodiscard]] bool launch(const ConvPlan& plan, const ConvCall& call) {
    const Scratch workspace(context_, static_cast<std::size_t>(plan.way.workspace));
    LaunchTrace trace(context_);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin(description_of(call));
    Calls calls(call);
    queue(calls, plan.way, call, call.result(), workspace.as<void>());
    if (!calls.succeeded()) {
      cuda::check(cudaGetLastError(), "convolution");  // A sticky error is an earlier launch's.
      tell_refusal(call, calls.reason());
      return false;
    }
    const ConvShape& shape = call.shape;
    context_.launched("convolution", std::array<std::int64_t, 4>{shape.batch, shape.in, shape.out, shape.outputs()});
    ++locus::detail::launches.gemm;
    trace.end();
    return true;
  }
  void queue(Calls& calls, const ExecutionPlan& way, const ConvCall& given, void* result, void* workspace) const {
    ConvCall call = given;
    call.set_result(result);
    const std::int64_t names[] = {name_of_x, name_of_w, name_of_y};
    void* const data[] = {call.x.data, call.w, call.y.data};
    const Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names, 3);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, data, 3);
    calls.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
    calls.finalize(pack, "cudnnBackendFinalize (operands)");
    calls.execute(machine_.handle, way.plan, pack);
  }

  [[nodiscard]] LOCUS_COLD static locus::detail::LaunchDescription description_of(const ConvCall& call) {
    const ConvShape& shape = call.shape;
    const std::int64_t depth = shape.group_in() * shape.taps();
    const char* const verb = call.pass == Pass::forward          ? "convolution by cuDNN"
                             : call.pass == Pass::input_gradient ? "convolution's input gradient by cuDNN"
                                                                 : "convolution's weight gradient by cuDNN";
    return {verb, nullptr, Shape{shape.batch, shape.out, shape.outputs(), depth},
            call.element() * (call.x_elements() + call.y_elements() + call.w_elements()),
            2. * static_cast<double>(call.y_elements()) * static_cast<double>(depth)};
  }
  /// In a trace: why launches of the verbs follow instead of one of cuDNN.
  static void tell_refusal(const ConvCall& call, const std::string& reason) {
    if (launches_are_traced()) [[unlikely]]
      std::fprintf(stderr, "locus: %s: not so by cuDNN (%s)\n", text_of(call).c_str(), reason.c_str());
  }

  [[nodiscard]] ConvPlan& plan_for(const ConvCall& call) {
    const cuda::detail::GemmPlanKey key = key_of(call);
    if (ConvPlan* const known = plans_.find(key); known && (known->is_settled || !may_time())) return *known;
    const ConvPlan plan = make_plan(key, call);
    if (ConvPlan* const known = plans_.find(key)) return *known = plan;
    return plans_.add(key, plan);
  }

  /// With the known choice, or the fastest where passes are timed, or cuDNN's first answer.
  [[nodiscard]] ConvPlan make_plan(const cuda::detail::GemmPlanKey& key, const ConvCall& call) const {
    const UncapturedCalls anything_goes;
    ConvPlan plan;
    Calls calls(call);
    const ConvGraph graph = graph_of(calls, machine_, call);
    if (may_time() || cuda::detail::TunedGemmPlans::file_of_process().is_named()) settle(key, plan, calls, call, graph);
    if (!plan.is_settled && calls.succeeded()) take_from(plan, engines_for(calls, machine_, call, graph), call);
    plan.is_settled |= !plan.exists;  // nothing is to be timed
    if (!plan.exists) tell_refusal(call, calls.succeeded() ? "cuDNN makes no plan for any engine" : calls.reason());
    return plan;
  }

  /// Gives the plan the first of the engines, from `tried` on, that cuDNN makes ready and whose workspace is allowed.
  void take_from(ConvPlan& plan, const std::vector<Descriptor>& engines, const ConvCall& call) const {
    plan.exists = false;
    while (!plan.exists && plan.tried < engines.size()) {
      Calls calls(call);
      plan.way = plan_of(calls, machine_, engines[plan.tried++]);
      const bool fits = plan.way.workspace <= call.most_workspace();
      plan.wants_memory |= calls.succeeded() && !fits;
      plan.exists = calls.succeeded() && fits;
    }
  }
  /// Gives the plan cuDNN's next answer; where it has no more, the plan does not exist from now on.
  void take_next(ConvPlan& plan, const ConvCall& call) const {
    const UncapturedCalls anything_goes;
    Calls calls(call);
    const ConvGraph graph = graph_of(calls, machine_, call);
    take_from(plan, engines_for(calls, machine_, call, graph), call);
  }

  [[nodiscard]] static bool may_time() {
    return gemm_is_autotuned() && !launches_are_awaited() && !launches_are_traced();  // which would be timed too
  }

  /// Looks the plan up among those of the process, or adds it there, where passes are timed.
  void settle(const cuda::detail::GemmPlanKey& key, ConvPlan& plan, Calls& calls, const ConvCall& call,
              const ConvGraph& graph) const {
    auto& tuned = cuda::detail::TunedGemmPlans::of<ConvPlans>(context_.ordinal());
    if (!calls.succeeded() || adopt(tuned, key, plan, call, graph) || !may_time()) return;
    const std::vector<Descriptor> engines = engines_for(calls, machine_, call, graph);
    const Lock one_at_a_time(tuned.timing());
    if (adopt(tuned, key, plan, call, graph)) return;
    take_from(plan, engines, call);
    plan.is_settled = true;
    if (!plan.exists || tuned.is_full()) return;
    const bool is_timed = !is_captured() && choose_fastest(plan, engines, call);
    cuda::detail::GemmPlanChoice choice;
    if (!plan.exists || !to_choice(call, plan.way.engine, choice)) return;
    choice.fused = !plan.wants_memory;  // in one launch, or else a batch is taken in parts
    tuned.choose(key, choice, is_timed);
  }

  /// Takes over what is known of the form. False where it is nothing, or nothing that cuDNN accepts.
  [[nodiscard]] bool adopt(cuda::detail::TunedGemmPlans& tuned, const cuda::detail::GemmPlanKey& key, ConvPlan& plan,
                           const ConvCall& call, const ConvGraph& graph) const {
    cuda::detail::GemmPlanChoice choice;
    if (!tuned.find(key, choice)) return false;
    Calls calls(call);
    const Descriptor engine = from_choice(calls, machine_, graph, choice);
    const bool allowed = allows(calls, call, engine);
    ExecutionPlan way = plan_of(calls, machine_, engine);
    if (!calls.succeeded() || !allowed || way.workspace > call.most_workspace()) return false;
    plan.way = std::move(way);
    plan.wants_memory = !choice.fused;
    return plan.exists = plan.is_settled = true;
  }

  [[nodiscard]] bool is_captured() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda::check(cudaStreamIsCapturing(context_.stream(), &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }

  /// Computes the pass by each of the first engines that take it, and gives the plan the fastest; the earlier of two
  /// that are about equal. The plan does not exist where cuDNN refuses every way. False, and the plan as it was, where
  /// there is no memory for that.
  [[nodiscard]] bool choose_fastest(ConvPlan& plan, const std::vector<Descriptor>& engines, const ConvCall& call) const
      try {
    constexpr float clearly = 0.98f;
    std::vector<ConvPlan> ways{plan};
    std::int64_t most = plan.way.workspace;
    for (ConvPlan next = plan; ways.size() < tuning::most_candidates; ways.push_back(next)) {
      take_from(next, engines, call);
      if (!next.exists) break;
      most = next.way.workspace > most ? next.way.workspace : most;
    }
    Scratch workspace(context_, static_cast<std::size_t>(most)), own(context_);
    void* result = call.result();
    if (call.accumulate) {                                                              // which would add up
      const std::uintptr_t misaligned = reinterpret_cast<std::uintptr_t>(result) % 16;  // as engines were asked for
      const auto bytes = static_cast<std::size_t>(call.result_bytes());
      own.reserve(misaligned + bytes);
      result = own.as<unsigned char>() + misaligned;
      cuda::check(cudaMemcpyAsync(result, call.result(), bytes, cudaMemcpyDeviceToDevice, context_.stream()),
                  "convolution (cudaMemcpyAsync)");
    }
    const StreamTimer timer(context_);
    const bool wants_memory = plan.wants_memory;  // for an engine before the first that serves
    float best = StreamTimer::never;
    for (const ConvPlan& way : ways) {
      const float time = timer.milliseconds([&] {
        Calls calls(call);
        queue(calls, way.way, call, result, workspace.as<void>());
        return calls.succeeded();
      });
      if (time < clearly * best) plan = way, best = time;
    }
    plan.exists = best < StreamTimer::never;
    plan.wants_memory = wants_memory;
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }

  Context& context_;
  Machine machine_;
  cuda::detail::GemmPlanTable<ConvPlan> plans_;
};

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
