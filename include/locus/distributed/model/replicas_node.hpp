#pragma once
// The graph node of the backward passes of a model's replicas.

#include <locus/autograd/traced.hpp>
#include <locus/distributed/communicator/stream_ordered_job.hpp>
#include <locus/distributed/model/replica.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// The backward pass of replicas 1, 2, ... It begins as soon as their results have gradients, and runs while the
/// calling thread runs the backward pass of replica 0, whose nodes are older than those results. It ends at this node,
/// which is older than all of them: here the gradients of parameters and of parts of the input are added to the
/// model's.
template <class M, class In, class U>
class ReplicasNode final : public GraphNode {
 public:
  using T = value_of<M>;
  using D = device_of<M>;

  /// `parts`: the recorded parts of the input, from the second on.
  ReplicasNode(const typename Replica<M>::Parameters& parameters, D place, const std::vector<Traced<In, D>>& parts)
      : place_(place) {
    for (const auto& parameter : parameters) parameters_.push_back(parameter.node());
    for (const auto& part : parts) inputs_.push_back(part.node());
    parts_.resize(parts.size());
  }
  ~ReplicasNode() override { finish(); }

  /// Sets the input of a replica's part i, which is its own, and the result. Not called for results that need no
  /// gradient.
  void set(std::size_t i, const Shared<Replica<M>>& replica, Traced<In, D> x, Traced<U, D> y) {
    const Tensor<In, D> input = x.value();
    parts_[i] = {replica, {std::move(x), std::move(y)}, {}, input, {}, {}};
  }
  /// Sets the gradient of the result of part i.
  void give(std::size_t i, const Tensor<U, D>& gradient) { parts_[i].gradient = gradient; }
  /// Begins the backward pass of part i, if it has a gradient. Releases the tensors that the replica saved, unless
  /// `keeps`.
  void start(std::size_t i, bool keeps) {
    Part& part = parts_[i];
    if (part.job) return;  // it runs already
    if (!part.gradient.buffer()) {
      if (!keeps) part.recorded = {};
      return;
    }
    const Shared<Work> work(new Work);
    work->replica = part.replica.get();
    work->gradient = part.gradient;
    work->place = place_;
    work->keeps = keeps;
    const Shared<BackwardJob> job(new BackwardJob(place_, part.replica->device, {work.get()}));
    work->recorded = part.recorded;
    if (!keeps) part.recorded = {};
    part.replica->worker.add(Shared<Job>(job.get()));  // it has had a thread since the forward pass
    part.work = work;
    part.job = job;
  }

  void propagate() override {
    for (std::size_t i = 0; i < parts_.size(); ++i) start(i, true);  // parts whose graph is retained
    for (Part& part : parts_)
      if (part.job) part.job->join();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].job) continue;
      const Shared<BackwardJob> job = std::exchange(parts_[i].job, {});
      const Shared<Work> work = std::exchange(parts_[i].work, {});
      parts_[i].gradient = {};
      job->require_success();
      collect(i, *work);
    }
  }
  void visit_inputs(void (*visit)(GraphNode&, void*), void* state) override {
    for (const auto& node : parameters_)
      if (node) visit(*node, state);
    for (const auto& node : inputs_)
      if (node) visit(*node, state);
  }
  void free() override {
    finish();
    parts_.clear();
    parameters_.clear();
    inputs_.clear();
    is_freed_ = true;
  }
  void require_ready() const override {
    if (is_freed_) locus::detail::fail_freed();
  }
  void clear_gradient() override { finish(); }
  void call_hooks(std::uint64_t) override {}

 private:
  /// The recorded input and result of a replica.
  struct Recorded {
    Traced<In, D> x{};
    Traced<U, D> y{};
  };
  /// A backward pass of a replica, and the gradients that it computes.
  struct Work : Counted {
    Replica<M>* replica = nullptr;
    Recorded recorded;
    Tensor<U, D> gradient;
    D place{};
    bool keeps = false;
    std::vector<Tensor<T, D>> of_parameters;
    Tensor<In, D> of_input;

    void run() {
      replica->forget_gradients();
      try {
        recorded.y.backward(gradient.to(replica->device), {.retain_graph = keeps});
        of_parameters = replica->take_gradients(place);
        const auto& input = recorded.x.node();
        if (input && input->has_gradient()) of_input = copied_to(recorded.x.grad(), place);
      } catch (...) {
        replica->forget_gradients();
        throw;
      }
      recorded.x.zero_grad();
      recorded = {};  // freed in the thread that used it
    }
  };
  struct RunWork {
    Work* work;
    void operator()() const { work->run(); }
  };
  using BackwardJob = StreamOrderedJob<D, RunWork>;
  /// Input and gradient may be views of memory that the calling thread uses while a job does. So the calling thread
  /// keeps them longer than the job, and releases them itself.
  struct Part {
    Shared<Replica<M>> replica;
    Recorded recorded;
    Tensor<U, D> gradient;
    Tensor<In, D> input;
    Shared<BackwardJob> job;
    Shared<Work> work;
  };

  template <class Node>
  [[nodiscard]] static bool is_wanted(const Shared<Node>& node) {
    return node && !node->is_left_out();
  }
  void collect(std::size_t i, const Work& work) {
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      if (is_wanted(parameters_[p]) && work.of_parameters[p].buffer()) parameters_[p]->give(work.of_parameters[p]);
    if constexpr (FloatingDType<In>)
      if (is_wanted(inputs_[i]) && work.of_input.buffer()) inputs_[i]->give(work.of_input);
  }
  /// Waits for backward passes that were started, and drops their results.
  void finish() noexcept {
    for (Part& part : parts_) {
      if (part.job) part.job->join();
      part.job = {};
      part.work = {};
      part.gradient = {};
    }
  }

  D place_;
  std::vector<Shared<TensorNode<T, D>>> parameters_;  ///< null for frozen parameters
  std::vector<Shared<TensorNode<In, D>>> inputs_;
  std::vector<Part> parts_;
  bool is_freed_ = false;
};

/// The result of one replica, in the place of the model. Its gradient begins the backward pass of the replica.
template <class M, class In, class U>
class ReplicaResultNode final : public TensorNode<U, device_of<M>> {
 public:
  using D = device_of<M>;
  ReplicaResultNode(const Tensor<U, D>& value, Shared<ReplicasNode<M, In, U>> replicas, std::size_t part)
      : TensorNode<U, D>(value), replicas_(std::move(replicas)), part_(part) {}

  void propagate() override {
    if (!this->has_gradient()) return;
    replicas_->give(part_, this->gradient());
    this->clear_gradient();
  }
  void visit_inputs(void (*visit)(GraphNode&, void*), void* state) override { visit(*replicas_, state); }
  /// Called right after propagate(), unless the graph is retained: then the replica releases its graph during its
  /// backward pass.
  void free() override {
    if (replicas_) replicas_->start(part_, false);
    replicas_ = {};
    this->TensorNode<U, D>::clear_gradient();
  }
  void require_ready() const override {
    if (!replicas_) locus::detail::fail_freed();
  }

 private:
  Shared<ReplicasNode<M, In, U>> replicas_;
  std::size_t part_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
