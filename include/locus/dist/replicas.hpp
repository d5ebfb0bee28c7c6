#pragma once
// Replicas of a model, each in a place and a thread of its own, and the node that takes gradients back through them.

#include <locus/autograd/flat.hpp>
#include <locus/autograd/traced.hpp>
#include <locus/core/random.hpp>
#include <locus/dist/handle.hpp>
#include <locus/dist/worker.hpp>
#include <locus/nn/module.hpp>

namespace locus::inline LOCUS_ABI::dist::detail {

using locus::detail::evaluated;

/// Orders the streams of two threads on two places: what the first had queued when this was made comes before what
/// the second queues after enter(), and what that had queued at leave() before what the first queues after join().
/// On a device without streams: nothing.
template <class D>
class CrossThreadOrder {
 public:
  CrossThreadOrder(D here, D there) : places_{here, there} { record(before_); }
  void enter() const { wait(before_); }
  void leave() { record(after_); }
  void join() const { wait(after_); }

 private:
  using EventOrNone = typename EventOf<D>::type;
  void record([[maybe_unused]] EventOrNone (&events)[2]) const {
    if constexpr (StreamingDevice<D>)
      for (int i = 0; i < 2; ++i) events[i] = Stream<D>::current(places_[i]).record();
  }
  void wait([[maybe_unused]] const EventOrNone (&events)[2]) const {
    if constexpr (StreamingDevice<D>)
      for (int i = 0; i < 2; ++i) Stream<D>::current(places_[i]).wait(events[i]);
  }

  D places_[2];
  EventOrNone before_[2]{}, after_[2]{};
};

/// f() in another thread, in order with what the thread that made it queues on two places.
template <class D, class F>
class OrderedJob final : public Job {
 public:
  OrderedJob(D here, D there, F f) : order_(here, there), f_(std::move(f)) {}
  /// Returns when f did, and lets what follows on the device come after it. It never throws.
  void join() noexcept {
    this->await();
    try {
      order_.join();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  /// After join(): throws what f did.
  void require_success() {
    this->rethrow();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  bool run() override {
    struct Leave {
      CrossThreadOrder<D>& order;
      ~Leave() {
        try {
          order.leave();
        } catch (const Error&) {  // the device does not answer, which whoever joins sees
        }
      }
    };
    order_.enter();
    const Leave leave{order_};
    f_();
    return true;
  }

  CrossThreadOrder<D> order_;
  F f_;
  std::exception_ptr failure_;
};

/// A copy of the elements in another place, in memory of its own.
template <class T, class D>
[[nodiscard]] Tensor<T, D> copied_to(const Tensor<T, D>& x, D place) {
  const Tensor<T, D> moved = x.to(place);
  return moved.buffer() == x.buffer() ? moved.clone() : moved;
}
/// Copies elements of a dense tensor to dense memory in any place.
template <class T, class D>
void copy_elements_to(const Tensor<T, D>& source, const Tensor<T, D>& target) {
  Transfer<D, D>::copy(source.device(), source.data(), target.device(), target.data(),
                       static_cast<std::size_t>(source.elements()) * sizeof(T));
  target.changed();
}

/// A copy of a model elsewhere, which follows it, and the thread that computes with it.
template <class M>
class Replica : public Counted {
 public:
  using T = value_of<M>;
  using D = device_of<M>;
  using Parameters = std::vector<Parameter<T, D>>;

  Replica(const M& original, D place)
      : device(place),
        model(nn::detail::ModelCopy<T, D, T, D>(place).layer(original)),
        parameters(model.parameters()),
        buffers_(model.buffers()) {
    if (!parameters.empty()) flat_.push_back(locus::flatten(parameters));
  }

  const D device;
  const M model;
  const Parameters parameters;

  /// Values and buffers become those of the original, where they are others. Where that lies in flat memory in the same
  /// order, all values are one copy.
  void follow(const Parameters& originals, const std::vector<nn::AnyBuffer<D>>& buffers) {
    follow_values(originals);
    buffer_versions_.resize(2 * buffers.size(), never);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Tensor<std::uint8_t, D> theirs = buffers[i].bytes(), mine = buffers_[i].bytes();
      std::uint64_t* const versions = &buffer_versions_[2 * i];
      if (versions[0] == theirs.version() && versions[1] == mine.version()) continue;
      copy_elements_to(theirs, mine);
      versions[0] = theirs.version();
      versions[1] = mine.version();
    }
  }
  /// The gradients of one pass, in the place of the model, for each parameter, without memory for none; forgets them
  /// here.
  [[nodiscard]] std::vector<Tensor<T, D>> take_gradients(D place) const {
    std::vector<Tensor<T, D>> result(parameters.size());
    bool any = false;
    for (const auto& parameter : parameters) any |= parameter.has_grad();
    if (!any) return result;
    const Tensor<T, D> all = copied_to(flat_[0].gradients(), place);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].has_grad()) continue;
      const FlatRange range = range_of(parameters[i]);
      result[i] = all.slice(0, range.begin, range.begin + range.count).reshape(parameters[i].shape());
    }
    forget_gradients();
    return result;
  }
  void forget_gradients() const {
    for (const auto& parameter : parameters) parameter.zero_grad();
  }

  Worker worker;

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  [[nodiscard]] FlatRange range_of(const Parameter<T, D>& parameter) const {
    std::size_t at = 0;
    while (!(flat_[0].parameters()[at] == parameter)) ++at;
    return flat_[0].range(at);
  }
  void follow_values(const Parameters& originals) {
    bool is_same = values_.size() == originals.size(), is_flat = !originals.empty();
    const auto& first = is_flat ? originals[0].flat_place() : none_;
    for (std::size_t i = 0; i < originals.size(); ++i) {
      const auto& place = originals[i].flat_place();
      is_flat = is_flat && place.memory && place.memory == first.memory && place.slot + i == first.slot;
      is_same = is_same && values_[i] == Seen{originals[i].value().data(), originals[i].value().version()};
    }
    if (is_same) return;
    if (is_flat) {
      const std::size_t begin = originals.back().flat_place().slot;
      copy_elements_to(locus::detail::slots_of(*first.memory, first.memory->values, begin, first.slot + 1),
                       flat_[0].values());
    } else {
      for (std::size_t i = 0; i < originals.size(); ++i)
        copy_elements_to(originals[i].value().contiguous(), parameters[i].value());
    }
    values_.clear();
    for (const auto& original : originals) values_.push_back({original.value().data(), original.value().version()});
  }

  /// What the values were copied from.
  struct Seen {
    const T* data;
    std::uint64_t version;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  const locus::detail::FlatPlace<T, D> none_{};
  std::vector<FlatParameters<T, D>> flat_;  ///< of the parameters; none where there are none
  std::vector<nn::AnyBuffer<D>> buffers_;
  std::vector<Seen> values_;
  std::vector<std::uint64_t> buffer_versions_;
};

/// The backward pass of replicas 1, 2, ... It begins as soon as their results have gradients, goes on while the calling
/// thread goes back through replica 0, whose nodes are older than those results, and ends here, at a node that is older
/// than all of them: where the gradients of parameters and of parts of the input are added to the model's.
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
  }
  ~ReplicasNode() override { finish(); }

  /// What a replica computed, from an input of its own.
  void add(const Shared<Replica<M>>& replica, Traced<In, D> x, Traced<U, D> y) {
    const Tensor<In, D> input = x.value();
    parts_.push_back({replica, {std::move(x), std::move(y)}, {}, input, {}, {}});
  }
  /// The gradient of what part i computed is known.
  void give(std::size_t i, const Tensor<U, D>& gradient) { parts_[i].gradient = gradient; }
  /// Begins the backward pass of part i, if it has a gradient. What the replica saved is released unless it `keeps` it.
  void start(std::size_t i, bool keeps) {
    Part& part = parts_[i];
    if (part.work) return;  // it runs
    if (!part.gradient.buffer()) {
      if (!keeps) part.recorded = {};
      return;
    }
    part.work = Shared<Work>(new Work);
    part.work->replica = part.replica.get();
    part.work->recorded = part.recorded;
    part.work->gradient = part.gradient;
    part.work->place = place_;
    part.work->keeps = keeps;
    if (!keeps) part.recorded = {};
    const Shared<BackwardJob> job(new BackwardJob(place_, part.replica->device, {part.work.get()}));
    part.replica->worker.add(Shared<Job>(job.get()));
    part.job = job;
  }

  void propagate() override {
    for (std::size_t i = 0; i < parts_.size(); ++i) start(i, true);  // those whose graph is retained
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
    for (const auto& node : parameters_) visit(*node, state);
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
  /// What a replica computed with.
  struct Recorded {
    Traced<In, D> x{};
    Traced<U, D> y{};
  };
  /// A backward pass of a replica, and what it gave.
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
      recorded = {};  // in the thread that used it
    }
  };
  struct RunWork {
    Work* work;
    void operator()() const { work->run(); }
  };
  using BackwardJob = OrderedJob<D, RunWork>;
  /// The calling thread may use the memory of the input and of the gradient while a job does, where these are views. So
  /// it keeps them longer, and lets them go itself.
  struct Part {
    Shared<Replica<M>> replica;
    Recorded recorded;
    Tensor<U, D> gradient;
    Tensor<In, D> input;
    Shared<BackwardJob> job;
    Shared<Work> work;
  };

  void collect(std::size_t i, const Work& work) {
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      if (work.of_parameters[p].buffer()) parameters_[p]->give(work.of_parameters[p]);
    if constexpr (FloatingDType<In>)
      if (inputs_[i] && work.of_input.buffer()) inputs_[i]->give(work.of_input);
  }
  /// Waits for what was started; it counts no more.
  void finish() noexcept {
    for (Part& part : parts_) {
      if (part.job) part.job->join();
      part.job = {};
      part.work = {};
      part.gradient = {};
    }
  }

  D place_;
  std::vector<Shared<TensorNode<T, D>>> parameters_;
  std::vector<Shared<TensorNode<In, D>>> inputs_;
  std::vector<Part> parts_;
  bool is_freed_ = false;
};

/// What one replica computed, in the place of the model. Its gradient begins the backward pass of the replica.
template <class M, class In, class U>
class ReplicaResultNode final : public TensorNode<U, device_of<M>> {
 public:
  using D = device_of<M>;
  ReplicaResultNode(const Tensor<U, D>& value, Shared<ReplicasNode<M, In, U>> replicas, std::size_t part)
      : TensorNode<U, D>(value.shape(), value.device()), replicas_(std::move(replicas)), part_(part) {}

  void propagate() override {
    if (!this->has_gradient()) return;
    replicas_->give(part_, this->gradient());
    this->clear_gradient();
  }
  void visit_inputs(void (*visit)(GraphNode&, void*), void* state) override { visit(*replicas_, state); }
  /// Right after propagate(), unless the graph is retained: then the replica's is released as it is used.
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

}  // namespace locus::inline LOCUS_ABI::dist::detail
