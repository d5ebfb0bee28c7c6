#pragma once
// Convolution passes by cuDNN, with a cache of plans by form.

#include <locus/cuda/cudnn/conv_choice.hpp>
#include <locus/cuda/cudnn/conv_graph.hpp>
#include <locus/cuda/cudnn/library.hpp>
#include <locus/cuda/stream_timer.hpp>
#include <locus/cuda/tuned_gemm_plans.hpp>
#include <locus/cuda/tuning.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// How one form is computed.
struct ConvPlan {
  ExecutionPlan way;
  std::int64_t most_workspace = 0;  ///< bytes that it may take: found when it is made, as a query of the GPU takes long
  std::size_t tried = 0;            ///< of cuDNN's engines
  bool exists = false;              ///< false: cuDNN does not compute the form
  bool is_slower = false;           ///< because other launches are faster
  bool wants_memory = false;        ///< an engine expected to be faster needs more workspace than allowed
  bool is_settled = false;  ///< true: final for the process; false: cuDNN's first answer, until passes are timed
};

/// cuDNN, for TunedGemmPlans.
struct ConvPlans {
  [[nodiscard]] static std::string library() { return join("cuDNN ", cudnnGetVersion()); }
};

/// Launches beside those of a pass.
struct Beside {
  const ConvLaunches* others = nullptr;  ///< that compute the same, finished, and are timed beside cuDNN's engines
  const ConvLaunches* finish = nullptr;  ///< of the epilogue that ConvCall::finish names
  bool others_are_planned = false;  ///< whether the others make plans of this table, which one thread at a time does
};

/// One context's convolutions by cuDNN. cost: a lookup and the call itself once a pass of the same form has been made
class Convolver {
 public:
  /// throws CudaError where cuDNN does not start
  explicit Convolver(Context& context) : context_(context), machine_(Library::machine_of(context)) {}
  Convolver(const Convolver&) = delete;
  Convolver& operator=(const Convolver&) = delete;

  /// Queues the pass, in parts of the batch where that lets a faster engine run, and then `finish`. False, without
  /// effect, where cuDNN does not compute it, or the other launches, which do the same work, are faster.
  [[nodiscard]] bool run(const ConvCall& call, const Beside& beside = {}) {
    const std::int64_t batch = call.shape.batch, images = images_at_once(call, beside);
    if (!run_part(call.part(0, images), images == batch ? beside : Beside{})) return false;
    for (std::int64_t first = images; first < batch; first += images) {
      const ConvCall part = call.part(first, images);
      if (!run_part(part))
        fail<CudaError>({text_of(part), ": cuDNN refuses it, though it computed the images before; ",
                         remedy(CUDNN_STATUS_NOT_SUPPORTED)});
    }
    if (beside.finish) (*beside.finish)();
    return true;
  }

 private:
  /// Images per part: as many as leave the engine that cuDNN expects to be the fastest enough workspace. The whole
  /// batch if even one image is too many, or cuDNN has no plan for a part.
  [[nodiscard]] std::int64_t images_at_once(const ConvCall& call, const Beside& beside) {
    std::int64_t images = call.shape.batch;
    if (!call.is_divisible() || !plan_for(call, beside).wants_memory) return images;
    while (plan_for(call.part(0, images)).wants_memory) {
      if (images == 1) return call.shape.batch;
      images = (images + 1) / 2;
    }
    // Later parts may have other forms: another alignment, accumulation into the result, or the rest of the batch.
    for (std::int64_t first = images; first < call.shape.batch; first += images)
      if (!plan_for(call.part(first, images)).exists) return call.shape.batch;
    return images;
  }
  [[nodiscard]] bool run_part(const ConvCall& call, const Beside& beside = {}) {
    ConvPlan& plan = plan_for(call, beside);
    while (plan.exists) {
      if (launch(context_, machine_, plan.way, call) == Launched::queued) return true;
      take_next(plan, call);
    }
    return false;
  }

  /// Queues a pass that writes `result`, to be timed.
  [[nodiscard]] bool try_out(const ExecutionPlan& way, ConvCall call, void* result, void* workspace) const {
    call.set_result(result);
    Calls calls(call);
    operands_of(call).launch(calls, machine_, way, workspace);
    return calls.succeeded();
  }

  [[nodiscard]] ConvPlan& plan_for(const ConvCall& call, const Beside& beside = {}) {
    const cuda::detail::GemmPlanKey key = key_of(call);
    if (ConvPlan* const known = plans_.find(key); known && (known->is_settled || !may_time())) return *known;
    const ConvPlan plan = make_plan(key, call, beside);
    if (ConvPlan* const known = plans_.find(key)) return *known = plan;
    return plans_.add(key, plan);
  }

  /// The known choice, or the fastest engine if passes are timed, or cuDNN's first answer.
  [[nodiscard]] ConvPlan make_plan(const cuda::detail::GemmPlanKey& key, const ConvCall& call, const Beside& beside) {
    const UncapturedCalls anything_goes;
    ConvPlan plan;
    plan.most_workspace = call.most_workspace(free_bytes());
    Calls calls(call);
    ConvGraph builder(calls, call);
    const Descriptor graph = builder.finish(machine_);
    if (may_time() || cuda::detail::TunedGemmPlans::file_of_process().is_named())
      settle(key, plan, calls, call, graph, beside);
    if (call.must_be_timed()) {
      plan.is_settled |= may_time();
      return plan;
    }
    if (!plan.is_settled && calls.succeeded()) take_from(plan, engines_for(calls, machine_, call, graph), call);
    plan.is_settled |= !plan.exists;  // nothing is to be timed
    if (!plan.exists)
      tell_refusal(call, plan.is_slower      ? "other launches were faster when they were timed"
                         : calls.succeeded() ? "cuDNN makes no plan for any engine"
                                             : calls.reason());
    return plan;
  }

  /// Gives the plan the first of the engines, from `tried` on, that cuDNN makes ready and whose workspace is allowed.
  void take_from(ConvPlan& plan, const std::vector<Descriptor>& engines, const ConvCall& call) const {
    plan.exists = false;
    while (!plan.exists && plan.tried < engines.size()) {
      Calls calls(call);
      plan.way = plan_of(calls, machine_, engines[plan.tried++]);
      const bool fits = plan.way.workspace <= plan.most_workspace;
      plan.wants_memory |= calls.succeeded() && !fits;
      plan.exists = calls.succeeded() && fits;
    }
  }
  /// Gives the plan cuDNN's next engine; clears `exists` if none is left.
  void take_next(ConvPlan& plan, const ConvCall& call) const {
    const UncapturedCalls anything_goes;
    plan.most_workspace = call.most_workspace(free_bytes());
    Calls calls(call);
    ConvGraph builder(calls, call);
    const Descriptor graph = builder.finish(machine_);
    take_from(plan, engines_for(calls, machine_, call, graph), call);
  }

  [[nodiscard]] bool may_time() const {
    return gemm_is_autotuned() && !times_others_ && !launches_are_awaited() &&
           !launches_are_traced();  // waiting and tracing would be timed too
  }

  /// Looks up the plan in the process's table; if passes are timed, adds it there.
  void settle(const cuda::detail::GemmPlanKey& key, ConvPlan& plan, Calls& calls, const ConvCall& call,
              const Descriptor& graph, const Beside& beside) {
    auto& tuned = cuda::detail::TunedGemmPlans::of<ConvPlans>(context_.ordinal());
    if (!calls.succeeded() || adopt(tuned, key, plan, call, graph) || !may_time()) return;
    const std::vector<Descriptor> engines = engines_for(calls, machine_, call, graph);
    if (beside.others && beside.others_are_planned && !engines.empty() && !is_captured())
      (*beside.others)();  // before the lock
    const Lock one_at_a_time(tuned.timing());
    if (adopt(tuned, key, plan, call, graph)) return;
    take_from(plan, engines, call);
    plan.is_settled = true;
    const bool is_timed =
        plan.exists && !tuned.is_full() && !is_captured() && choose_fastest(plan, engines, call, beside);
    plan.exists &= is_timed || !call.must_be_timed();
    if (tuned.is_full() || !(plan.exists || plan.is_slower)) return;
    cuda::detail::GemmPlanChoice choice = choice_of_verbs;
    if (!plan.is_slower && !to_choice(call, plan.way.engine, choice)) return;
    choice.fused = !plan.wants_memory;  // true: one launch; false: the batch runs in parts
    tuned.choose(key, choice, is_timed);
  }

  /// Adopts the known choice for the form. False if there is none, or cuDNN does not accept it.
  [[nodiscard]] bool adopt(cuda::detail::TunedGemmPlans& tuned, const cuda::detail::GemmPlanKey& key, ConvPlan& plan,
                           const ConvCall& call, const Descriptor& graph) const {
    cuda::detail::GemmPlanChoice choice;
    if (!tuned.find(key, choice)) return false;
    if (choice.algorithm == choice_of_verbs.algorithm) return plan.is_slower = plan.is_settled = true;
    Calls calls(call);
    const Descriptor engine = from_choice(calls, machine_, graph, choice);
    const bool allowed = allows(calls, call, engine);
    ExecutionPlan way = plan_of(calls, machine_, engine);
    if (!calls.succeeded() || !allowed || way.workspace > plan.most_workspace) return false;
    plan.way = std::move(way);
    plan.wants_memory = !choice.fused;
    return plan.exists = plan.is_settled = true;
  }

  [[nodiscard]] std::int64_t free_bytes() const { return DeviceMemory::of(context_.ordinal()).available_bytes(); }
  [[nodiscard]] bool is_captured() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda::check(cudaStreamIsCapturing(context_.stream(), &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }

  /// Times the pass on each of the first engines that support it, finished, and the other launches, and gives the plan
  /// the fastest; of two about equal, the earlier. Clears `exists` if cuDNN refuses all, or the others are faster.
  /// False, with the plan unchanged, if memory for that runs out.
  [[nodiscard]] bool choose_fastest(ConvPlan& plan, const std::vector<Descriptor>& engines, const ConvCall& call,
                                    const Beside& beside) try {
    const StreamTimer timer(context_);
    const bool wants_memory = plan.wants_memory;  // set by an engine tried before the first usable one
    const float best = choose_engine(plan, engines, call, beside, timer);
    const float others = beside.others ? time_of(*beside.others, timer, best) : StreamTimer::never;
    plan.is_slower = call.must_be_timed() ? best >= clearly * others : others < clearly * best;
    plan.exists = best < StreamTimer::never && !plan.is_slower;
    plan.wants_memory = wants_memory && plan.exists;
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }
  /// Gives the plan the fastest engine. Returns its milliseconds; `never` if cuDNN refuses all. Its workspace and its
  /// copy of the result are free again afterwards.
  [[nodiscard]] float choose_engine(ConvPlan& plan, const std::vector<Descriptor>& engines, const ConvCall& call,
                                    const Beside& beside, const StreamTimer& timer) const {
    std::vector<ConvPlan> ways{plan};
    std::int64_t most = plan.way.workspace;
    for (ConvPlan next = plan; ways.size() < tuning::most_candidates; ways.push_back(next)) {
      take_from(next, engines, call);
      if (!next.exists) break;
      most = next.way.workspace > most ? next.way.workspace : most;
    }
    Scratch workspace(context_, static_cast<std::size_t>(most)), own(context_);
    void* const result = call.accumulate ? copy_of_result(call, own) : call.result();  // repeated passes would add up
    float best = StreamTimer::never;
    for (const ConvPlan& way : ways) {
      const float time = timer.milliseconds([&] {
        const bool is_queued = try_out(way.way, call, result, workspace.as<void>());
        if (beside.finish && !call.accumulate) (*beside.finish)();  // which adds to the result itself
        return is_queued;
      });
      if (time < clearly * best) plan = way, best = time;
    }
    return best;
  }
  [[nodiscard]] void* copy_of_result(const ConvCall& call, Scratch& copy) const {
    const std::uintptr_t misaligned =
        reinterpret_cast<std::uintptr_t>(call.result()) % 16;  // the alignment that engines were chosen for
    const auto bytes = static_cast<std::size_t>(call.result_bytes());
    copy.reserve(misaligned + bytes);
    void* const result = copy.as<unsigned char>() + misaligned;
    cuda::check(cudaMemcpyAsync(result, call.result(), bytes, cudaMemcpyDeviceToDevice, context_.stream()),
                "convolution (cudaMemcpyAsync)");
    return result;
  }
  /// While it lives, passes are planned without timing.
  class WithoutTiming {
   public:
    explicit WithoutTiming(bool& times_others) : times_others_(times_others) { times_others_ = true; }
    WithoutTiming(const WithoutTiming&) = delete;
    WithoutTiming& operator=(const WithoutTiming&) = delete;
    ~WithoutTiming() { times_others_ = false; }

   private:
    bool& times_others_;
  };
  /// Milliseconds of other launches; `never` if memory for them runs out. If they take twice as long as `best`, they
  /// run twice.
  [[nodiscard]] float time_of(const ConvLaunches& others, const StreamTimer& timer, float best) try {
    // Their passes need new plans where memory has run out; to time these, this thread would wait for its own lock.
    const WithoutTiming passes(times_others_);
    return timer.milliseconds([&] { return others(), true; }, 2 * best);
  } catch (const OutOfMemory&) {
    return StreamTimer::never;
  }
  static constexpr float clearly = 0.98f;

  Context& context_;
  const Machine& machine_;
  cuda::detail::GemmPlanTable<ConvPlan> plans_;
  bool times_others_ = false;
};

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
