#pragma once
// CUDA graphs: the launches of a step, captured once and replayed as one.

#include <locus/cuda/capture_pool.hpp>
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

/// A step on one GPU: runs it in the memory of captured steps, captures it, and replays it. While this object lives,
/// blocks that its replays use stay in place; see CapturePool.
class CapturedStep final : public locus::detail::StepCapture {
 public:
  /// `renewable`: whether replay() may demand that the step is captured anew, which moves results that captures
  /// allocate; such a step shares memory with uncaptured runs, too. throws CudaUnavailable
  explicit CapturedStep(int ordinal, bool renewable = false) : ordinal_(ordinal) {
    require_device(ordinal);
    blocks_.is_renewable = renewable;
  }
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;
  ~CapturedStep() { leave_pool(); }

  [[nodiscard]] bool captured() const { return graph_.executable != nullptr; }

  /// Runs step() without capturing it, in the memory of the captured steps of the caller's stream: after the caller's
  /// earlier work, before its later work.
  template <class F>
  void run(const F& step) {
    refuse_nested();
    Context& caller = Context::current(ordinal_);
    const Entered entered(*this, caller);
    pool_->run(caller, &blocks_, step);
  }
  /// run() of work other than the step. In the caller's stream and memory, if those are not the step's last ones.
  template <class F>
  void run_beside(const F& work) {
    Context& caller = Context::current(ordinal_);
    if (!pool_ || caller.captured_step() || !pool_->enter(caller)) return work();
    const Leaving leaving{*pool_};
    pool_->run(caller, nullptr, work);
  }

  /// Captures the launches of step(), and replays them once in the caller's stream. If step() throws, nothing is
  /// captured. throws CaptureError naming the operation that cannot be captured
  template <class F>
  void capture(const F& step) {
    refuse_nested();
    Context& caller = Context::current(ordinal_);
    const Entered entered(*this, caller);
    {
      const Capturing capturing(*this);
      double& operations = locus::detail::launches.operations;
      const double before = operations;
      step();
      operations_ = std::exchange(operations, before) - before;  // a capture computes nothing
      end_capture();
    }
    const OrdinalGuard guard(ordinal_);
    pool_->replay_captured(caller.stream(), [&] { launch(caller); });
  }

  /// Queues the captured launches in the caller's stream; after the first time, rebuilds their functors before that.
  /// False, without any effect, if a renewable step has to be captured anew.
  [[nodiscard]] bool replay() {
    Context& caller = Context::current(ordinal_);
    caller.refuse_capture("a captured step within it", "capture the outer one alone");
    const OrdinalGuard guard(ordinal_);
    return pool_->replay(blocks_, caller.stream(), [&] { launch(caller); });
  }

  void check_at_replay(Shared<locus::detail::ReplayAction> action) override { checks_.push_back(std::move(action)); }
  void at_replay(Shared<locus::detail::ReplayAction> action) override { actions_.push_back(std::move(action)); }
  void at_abandon(Shared<locus::detail::ReplayAction> action) override { restores_.push_back(std::move(action)); }
  void at_launch(Shared<locus::detail::LaunchObserver> observer) override { observers_.push_back(std::move(observer)); }

  void begin_beside() override {
    pool_->order(context().stream(), pool_->beside());
    abandon_beside();
  }
  std::uint64_t end_beside() override {
    const cudaStream_t stream = context().stream();
    abandon_beside();
    const Shared<Event> done(new Event(ordinal_));
    done->record(stream);
    done_beside_.push_back(done);
    return done_beside_.size();
  }
  void abandon_beside() noexcept override { std::swap(context().memory_.stream, pool_->beside()); }
  void join_beside(std::uint64_t ticket) override {
    const OrdinalGuard guard(ordinal_);
    done_beside_[ticket - 1]->block(context().stream());
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
    if (adds_to_) adds_to_->add(detail::LaunchNode(context().stream(), arguments, first_bytes));
  }

 private:
  struct Graph {
    cudaGraph_t source = nullptr;
    cudaGraphExec_t executable = nullptr;
  };

  /// Exits the pool when it ends.
  struct Leaving {
    CapturePool& pool;
    ~Leaving() { pool.exit(); }
  };
  /// Enters the step's pool, or one more of the caller's, during its lifetime.
  class Entered {
   public:
    Entered(CapturedStep& step, Context& caller) : leaving_{step.enter(caller)} {}

   private:
    Leaving leaving_;
  };

  /// Captures the calling thread's operations during its lifetime.
  class Capturing {
   public:
    explicit Capturing(CapturedStep& step) : step_(step), guard_(step.ordinal_), current_(step.context()) {
      step_.forget();
      step_.renumber();
      step_.pool_->begin(&step_.blocks_, true);
      const cudaError_t error = cudaStreamBeginCapture(step_.context().stream(), cudaStreamCaptureModeThreadLocal);
      if (error != cudaSuccess) step_.pool_->end(false);
      check(error, "cudaStreamBeginCapture");
      step_.set_capturing(true);
    }
    /// Unless the capture has succeeded, it is abandoned.
    ~Capturing() {
      if (step_.captured()) return;
      disregard(step_.stop_capture());
      step_.pool_->end(false);
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

  [[nodiscard]] Context& context() const { return pool_->context(); }
  CapturePool& enter(Context& caller) {
    if (pool_ && pool_->enter(caller)) return *pool_;
    CapturePool& pool = CapturePool::join(caller);
    leave_pool();
    pool_ = &pool;
    return pool;
  }
  void leave_pool() noexcept {
    if (!pool_) return;
    forget();
    std::exchange(pool_, nullptr)->leave();
  }

  void refuse_nested() const {
    if (const Context* other = ContextRegistry::capturing_of_thread())
      other->refuse_capture("a captured step within it", "capture the outer one alone");
  }

  void set_capturing(bool capturing) noexcept {
    context().captured_step_ = capturing ? this : nullptr;
    context().captured_uses_ = capturing ? &uses_ : nullptr;
    ContextRegistry::capturing_of_thread() = capturing ? &context() : nullptr;
    locus::detail::step_capture = capturing ? this : nullptr;
  }

  [[nodiscard]] cudaError_t stop_capture() noexcept {
    if (!context().captured_step_) return cudaSuccess;
    const cudaError_t error = cudaStreamEndCapture(context().stream(), &graph_.source);
    set_capturing(false);
    return error;
  }

  void end_capture() {
    if (!done_beside_.empty()) join_beside(done_beside_.size());
    check(stop_capture(), "capture: the step");
    check(cudaGraphInstantiate(&graph_.executable, graph_.source, 0), "cudaGraphInstantiate");
    restores_.clear();  // frees tensors as the step would: replays may use their memory
    pool_->end(true);
  }

  void launch(Context& caller) {
    if (replayed_)
      for (const auto& each : checks_) each->run();
    if (streams_are_checked()) [[unlikely]]
      StreamOrder::instance().launch(caller.stream(), uses_);
    for (const auto& observer : observers_) observer->before();
    if (std::exchange(replayed_, true))
      for (const auto& action : actions_) action->run();
    LaunchTrace trace(caller);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin({.verb = "replay of a captured step"});
    check(cudaGraphLaunch(graph_.executable, caller.stream()), "replay of a captured step (cudaGraphLaunch)");
    ++locus::detail::launches.replay;
    locus::detail::launches.operations += operations_;
    caller.launched("replay of a captured step", {});
    trace.end();
    for (const auto& observer : observers_) observer->after();
  }

  /// Restores the snapshots that the step took on the host, the last first.
  void restore() {
    for (std::size_t i = restores_.size(); i-- > 0;) restores_[i]->run();
  }

  /// Destroys the graph. Replays in flight complete.
  void forget() noexcept {
    if (graph_.executable) {
      pool_->settle();
      disregard(cudaGraphExecDestroy(graph_.executable));
    }
    if (graph_.source) disregard(cudaGraphDestroy(graph_.source));
    graph_ = {};
    replayed_ = false;
    checks_.clear();
    actions_.clear();
    restores_.clear();
    observers_.clear();
    done_beside_.clear();
    uses_.clear();
    adds_to_ = nullptr;
    pool_->forget(blocks_);
  }

  int ordinal_;
  CapturePool* pool_ = nullptr;  ///< since the first run or capture
  CapturedBlocks blocks_;
  Graph graph_;
  bool replayed_ = false;
  double operations_ = 0;  ///< of a replay, by LaunchCounts
  std::vector<Shared<locus::detail::ReplayAction>> checks_, actions_, restores_;
  std::vector<Shared<locus::detail::LaunchObserver>> observers_;
  std::vector<StreamUses> uses_;             ///< of a replay, where the order of streams is checked
  std::vector<Shared<Event>> done_beside_;   ///< after the work beside the step, by ticket
  detail::LaunchUpdate* adds_to_ = nullptr;  ///< receives the launches being captured; null: none
};

}}}  // namespace locus::LOCUS_ABI::cuda
