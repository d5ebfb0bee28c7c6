#pragma once
// CUDA graphs: the launches of a step, captured once and replayed as one.

#include <locus/cuda/trace.hpp>
#include <locus/device/replay.hpp>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
/// A captured launch whose functor is rebuilt before each replay. The functor lies at the start of the kernel's first
/// argument.
class LaunchNode {
 public:
  /// The node captured last: a kernel with `arguments` arguments, the first of `first_bytes` bytes.
  LaunchNode(cudaStream_t stream, std::size_t arguments, std::size_t first_bytes)
      : first_(first_bytes), arguments_(arguments) {
    const cudaGraphNode_t* nodes = nullptr;
    std::size_t count = 0;
    cudaStreamCaptureStatus status{};
#if CUDART_VERSION >= 13000
    check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr, &count), "capture");
#else
    check(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &nodes, &count), "capture");
#endif
    if (count != 1) fail<CaptureError>({"capture: ", count, " launches at the end of a stream; expected one"});
    node_ = nodes[0];
    check(cudaGraphKernelNodeGetParams(node_, &launch_), "cudaGraphKernelNodeGetParams");
    std::memcpy(first_.data(), launch_.kernelParams[0], first_bytes);
    for (std::size_t i = 1; i < arguments; ++i) arguments_[i] = launch_.kernelParams[i];  // the node owns them
  }

  void update(cudaGraphExec_t graph, const void* functor, std::size_t bytes) {
    std::memcpy(first_.data(), functor, bytes);
    arguments_[0] = first_.data();
    launch_.kernelParams = arguments_.data();
    check(cudaGraphExecKernelNodeSetParams(graph, node_, &launch_), "cudaGraphExecKernelNodeSetParams");
  }

 private:
  cudaGraphNode_t node_ = nullptr;
  cudaKernelNodeParams launch_{};
  std::vector<std::byte> first_;
  std::vector<void*> arguments_;
};

/// The launches of one map; rebuilds their functor before a replay. `graph` is filled in when the capture ends.
class LaunchUpdate : public locus::detail::ReplayAction {
 public:
  explicit LaunchUpdate(const cudaGraphExec_t& graph) : graph_(graph) {}
  void add(LaunchNode node) { nodes_.push_back(std::move(node)); }

 protected:
  void update(const void* functor, std::size_t bytes) {
    for (LaunchNode& node : nodes_) node.update(graph_, functor, bytes);
  }

 private:
  const cudaGraphExec_t& graph_;
  std::vector<LaunchNode> nodes_;
};
template <class Make>
class LaunchUpdateBy final : public LaunchUpdate {
 public:
  LaunchUpdateBy(const cudaGraphExec_t& graph, const Make& make) : LaunchUpdate(graph), make_(make) {}
  void run() override {
    const auto functor = make_();
    update(&functor, sizeof functor);
  }

 private:
  Make make_;
};
}  // namespace detail

/// A step on one GPU: runs it in memory of its own, captures it, and replays it. While this object lives, that memory
/// stays in place and serves the step alone.
class CapturedStep final : public locus::detail::StepCapture {
 public:
  /// throws CudaUnavailable
  explicit CapturedStep(int ordinal) : context_(Context::open(ordinal)) {
    const OrdinalGuard guard(ordinal);
    check(cudaStreamCreateWithFlags(&aside_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), "cudaStreamCreate");
    context_.device_memory_.keep_for_capture(context_.memory_, aside_);
  }
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;
  ~CapturedStep() {
    try {
      const OrdinalGuard guard(context_.ordinal());
      if (replays_in_) order(replays_in_, context_.stream());
      forget();
      context_.device_memory_.release_from_capture(context_.memory_);
      disregard(cudaStreamDestroy(aside_));
      disregard(cudaStreamDestroy(beside_));
      ContextRegistry::give_back(context_);
    } catch (const Error&) {  // the GPU does not answer: nothing of it is used again
    }
  }

  [[nodiscard]] bool captured() const { return graph_.executable != nullptr; }

  /// Runs step() without capturing it, in the captured step's memory: after the caller's earlier work, before its later
  /// work.
  template <class F>
  void run(const F& step) {
    refuse_nested();
    Context& caller = Context::current(context_.ordinal());
    order(caller.stream(), context_.stream());
    try {
      const CurrentContext current(context_);
      step();
    } catch (...) {  // launches queued before the exception run all the same
      order(context_.stream(), caller.stream());
      throw;
    }
    order(context_.stream(), caller.stream());
  }

  /// Captures the launches of step() without running them. If step() throws, nothing is captured.
  /// throws CaptureError naming the operation that cannot be captured
  template <class F>
  void capture(const F& step) {
    refuse_nested();
    const Capturing capturing(*this);
    double& operations = locus::detail::launches.operations;
    const double before = operations;
    step();
    end_capture();
    operations_ = operations - before;
    operations = before;  // a capture computes nothing
  }

  /// Queues the captured launches in the caller's stream; from the second replay on, rebuilds their functors first.
  void replay() {
    Context& caller = Context::current(context_.ordinal());
    caller.refuse_capture("a captured step within it", "capture the outer one alone");
    const OrdinalGuard guard(context_.ordinal());
    if (replayed_)
      for (const auto& each : checks_) each->run();
    for (const auto& observer : observers_) observer->before();
    if (replayed_) {
      for (const auto& action : actions_) action->run();
    } else {
      order(context_.stream(), caller.stream());  // the captured memory was last used in the context's stream
    }
    replayed_ = true;
    replays_in_ = caller.stream();
    LaunchTrace trace(caller);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin({.verb = "replay of a captured step"});
    check(cudaGraphLaunch(graph_.executable, replays_in_), "replay of a captured step (cudaGraphLaunch)");
    ++locus::detail::launches.replay;
    locus::detail::launches.operations += operations_;
    caller.launched("replay of a captured step", {});
    trace.end();
    for (const auto& observer : observers_) observer->after();
  }

  void check_at_replay(Shared<locus::detail::ReplayAction> action) override { checks_.push_back(std::move(action)); }
  void at_replay(Shared<locus::detail::ReplayAction> action) override { actions_.push_back(std::move(action)); }
  void at_abandon(Shared<locus::detail::ReplayAction> action) override { restores_.push_back(std::move(action)); }
  void at_launch(Shared<locus::detail::LaunchObserver> observer) override { observers_.push_back(std::move(observer)); }

  void begin_beside() override {
    order(context_.stream(), beside_);
    std::swap(context_.memory_.stream, beside_);
  }
  std::uint64_t end_beside() override {
    const cudaStream_t stream = context_.stream();
    abandon_beside();
    const Shared<Event> done(new Event(context_.ordinal()));
    done->record(stream);
    done_beside_.push_back(done);
    return done_beside_.size();
  }
  void abandon_beside() noexcept override { std::swap(context_.memory_.stream, beside_); }
  void join_beside(std::uint64_t ticket) override {
    const OrdinalGuard guard(context_.ordinal());
    done_beside_[ticket - 1]->block(context_.stream());
  }

  /// Calls launch(), whose maps use the functor from make(); calls make() again before each replay.
  template <class Make, class Launch>
  void launch_anew(const Make& make, const Launch& launch) {
    detail::LaunchUpdate* const update = new detail::LaunchUpdateBy<Make>(graph_.executable, make);
    actions_.push_back(Shared<locus::detail::ReplayAction>(update));
    struct Adding {
      detail::LaunchUpdate*& target;
      ~Adding() { target = nullptr; }
    };
    const Adding adding{adds_to_};
    adds_to_ = update;
    launch();
  }
  /// To be called after each launch of map: a kernel with `arguments` arguments, the first of `first_bytes` bytes.
  void map_launched(std::size_t arguments, std::size_t first_bytes) {
    if (adds_to_) adds_to_->add(detail::LaunchNode(context_.stream(), arguments, first_bytes));
  }

 private:
  struct Graph {
    cudaGraph_t source = nullptr;
    cudaGraphExec_t executable = nullptr;
  };

  /// Captures the calling thread's operations during its lifetime.
  class Capturing {
   public:
    explicit Capturing(CapturedStep& step) : step_(step), guard_(step.context_.ordinal()), current_(step.context_) {
      step_.forget();
      step_.renumber();
      step_.set_capturing(true);
      const cudaError_t error = cudaStreamBeginCapture(step_.context_.stream(), cudaStreamCaptureModeThreadLocal);
      if (error != cudaSuccess) step_.set_capturing(false);
      check(error, "cudaStreamBeginCapture");
    }
    /// If the step or the end of the capture threw, the capture is abandoned.
    ~Capturing() {
      if (step_.captured()) return;
      step_.stop_capture();
      step_.restore();
      step_.forget();
      (void)cudaGetLastError();
    }
    Capturing(const Capturing&) = delete;
    Capturing& operator=(const Capturing&) = delete;

   private:
    CapturedStep& step_;
    OrdinalGuard guard_;
    CurrentContext current_;
  };

  void refuse_nested() const {
    if (const Context* other = ContextRegistry::capturing_of_thread())
      other->refuse_capture("a captured step within it", "capture the outer one alone");
  }

  void set_capturing(bool capturing) noexcept {
    context_.captured_step_ = capturing ? this : nullptr;
    ContextRegistry::capturing_of_thread() = capturing ? &context_ : nullptr;
    locus::detail::step_capture = capturing ? this : nullptr;
    context_.device_memory_.set_capturing(context_.memory_, capturing);
  }

  cudaError_t stop_capture() noexcept {
    if (!context_.captured_step_) return cudaSuccess;
    const cudaError_t error = cudaStreamEndCapture(context_.stream(), &graph_.source);
    set_capturing(false);
    return error;
  }

  void end_capture() {
    if (!done_beside_.empty()) join_beside(done_beside_.size());
    check(stop_capture(), "capture: the step");
    check(cudaGraphInstantiate(&graph_.executable, graph_.source, 0), "cudaGraphInstantiate");
    restores_.clear();
  }

  /// Restores the snapshots that the step took on the host, the last first.
  void restore() {
    for (std::size_t i = restores_.size(); i-- > 0;) restores_[i]->run();
  }

  /// Destroys the graph. Replays in flight complete.
  void forget() noexcept {
    if (graph_.executable) disregard(cudaGraphExecDestroy(graph_.executable));
    if (graph_.source) disregard(cudaGraphDestroy(graph_.source));
    graph_ = {};
    replayed_ = false;
    checks_.clear();
    actions_.clear();
    restores_.clear();
    observers_.clear();
    done_beside_.clear();
    adds_to_ = nullptr;
  }

  void order(cudaStream_t first, cudaStream_t second) const {
    Event event(context_.ordinal());
    const OrdinalGuard guard(context_.ordinal());
    event.record(first);
    event.block(second);
  }

  Context& context_;
  cudaStream_t aside_ = nullptr, beside_ = nullptr;
  cudaStream_t replays_in_ = nullptr;  ///< the stream of the last replay
  Graph graph_;
  bool replayed_ = false;
  double operations_ = 0;  ///< of a replay, by LaunchCounts
  std::vector<Shared<locus::detail::ReplayAction>> checks_, actions_, restores_;
  std::vector<Shared<locus::detail::LaunchObserver>> observers_;
  std::vector<Shared<Event>> done_beside_;   ///< after the work beside the step, by ticket
  detail::LaunchUpdate* adds_to_ = nullptr;  ///< receives the launches being captured; null: none
};

}}}  // namespace locus::LOCUS_ABI::cuda
