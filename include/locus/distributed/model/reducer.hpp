#pragma once
// Gradients of parameters, reduced over ranks while a backward pass goes on.

#include <locus/autograd/backward_walk.hpp>
#include <locus/autograd/flat.hpp>
#include <locus/device/trace/phase_trace.hpp>
#include <locus/distributed/model/packed_buffers.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// The element type in which gradients are reduced.
enum class ReduceIn : std::uint8_t { type_of_gradients, bfloat16 };

/// Options of `distributed`; the same on all ranks.
struct DistributedOptions {
  std::int64_t bucket_bytes = 25 << 20;       ///< least size of a bucket of gradients, which are reduced together
  std::int64_t first_bucket_bytes = 1 << 20;  ///< least size of the bucket that is ready first
  /// Reduce during the backward pass; else at its end, as always if batch normalization is synchronized.
  bool overlap = true;
  bool broadcast_buffers = true;  ///< copy rank 0's buffers to all ranks after each reduction
  /// Weigh ranks by their samples, for the result of one process with all samples; else equally.
  bool weigh_by_samples = false;
  /// No parameter gets a gradient on any rank that had none on all ranks in the first pass: ranks agree on this set
  /// then, and not in each pass. A parameter of the set that gets none in a later pass has zeros.
  bool static_graph = false;
  /// bfloat16: half the bytes of float gradients are sent. Each rank's gradients are rounded to bfloat16, added in
  /// float in the order of ranks, and rounded once more.
  ReduceIn reduce_in = ReduceIn::type_of_gradients;
};

namespace detail {

/// Multiplies a gradient by the share of its rank, weight / sum. Without weight, the result is 0, also for NaN and
/// infinity.
template <class R>
struct WeighGradient {
  R weight;
  LOCUS_FN R operator()(R gradient, R sum) const { return weight == R(0) ? R(0) : gradient * (weight / sum); }
};

/// Reduces the gradients of parameters of T on D, during its lifetime, in every backward pass that reaches one of them.
///
/// A bucket is a run of neighbours in flat memory. All ranks reduce buckets in the order of memory, whatever the order
/// in which gradients become ready: each bucket as soon as it and all before it are complete; buckets of which the pass
/// left out some gradients, at its end. The time of a reduction differs between ranks, so if a pass calls other
/// collectives, all buckets are reduced at its end.
///
/// Collectives of a pass: the weight of each rank, if weighed; the buckets; the flags of parameters that have a
/// gradient on any rank, with .static_graph in the first pass alone; the buffers, if there are any to broadcast.
///
/// Gradients of frozen parameters are not sent: when the set of frozen parameters changes, buckets are made anew. All
/// ranks freeze the same parameters.
template <class T, class D>
class Reducer : public Counted {
  using R = compute_t<T>;

 public:
  static constexpr const char* handle_name = "Distributed";
  Reducer(FlatParameters<T, D> flat, std::vector<nn::AnyBuffer<D>> buffers, const Communicator<D>& comm,
          const DistributedOptions& options)
      : flat_(std::move(flat)),
        comm_(comm),
        of_gradients_(comm.with_purpose(Purpose::gradients)),
        compressed_(of_gradients_.with_sums(Sums::in_rank_order)),
        options_(options),
        buffers_(options.broadcast_buffers ? std::move(buffers) : std::vector<nn::AnyBuffer<D>>(), comm_.device()),
        used_({static_cast<std::int64_t>(flat_.size())}, comm_.device()),
        total_(Shape{}, comm_.device()),
        is_ready_(flat_.size()),
        bucket_of_(flat_.size(), no_bucket) {
    fill_buckets();
    for (std::size_t i = 0; i < flat_.size(); ++i) {
      const Parameter<T, D>& parameter = flat_.parameters()[i];
      parameter.hold_gradient(hold_);
      hooks_.push_back(parameter.leaf()->on_gradient([this, i](const Tensor<T, D>&) { ready(i); }, true));
    }
  }
  ~Reducer() {
    if (!is_local_) hold_->reason = nullptr;
    hold_->is_in_use = false;
  }

  [[nodiscard]] const Communicator<D>& communicator() const { return comm_; }
  [[nodiscard]] const DistributedOptions& options() const { return options_; }
  [[nodiscard]] std::size_t buckets() const { return buckets_.size(); }

  /// Called before training samples go through the model.
  void begin_pass(std::int64_t samples) {
    require_capturable();
    require_sound();
    restore_counts_if_abandoned();
    weight_ += static_cast<double>(samples);
  }
  void set_weight(double weight) {
    if (!options_.weigh_by_samples)
      fail<ArgumentError>({"weigh: ranks count alike; say .weigh_by_samples = true in the options of distributed"});
    if (!(weight >= 0) || !locus::detail::is_finite(weight))
      fail<ArgumentError>({"weigh: a weight of ", weight, "; expected a finite number of 0 or more"});
    restore_counts_if_abandoned();
    own_weight_ = weight;
  }

  void begin_no_sync() {
    ++no_sync_;
    update_hold();
  }
  void end_no_sync() {
    --no_sync_;
    update_hold();
  }

 private:
  /// Parameters [first, last) in the order of memory.
  struct Bucket {
    std::size_t first, last;
    std::size_t awaits = 0;  ///< gradients that are not ready
    Handle<T, D> handle{};
    Tensor<bfloat16, D> rounded{};  ///< with ReduceIn::bfloat16
    Handle<bfloat16, D> rounded_handle{};
  };
  /// Runs at the end of a pass. If it is destroyed without having run, the pass threw.
  class PassEnd : public Counted {
   public:
    PassEnd(Shared<Reducer> reducer, bool is_local) : reducer_(std::move(reducer)), is_local_(is_local) {}
    ~PassEnd() {
      if (is_local_) reducer_->is_collecting_ = false;
      else if (!is_reached_) reducer_->give_up();
    }
    void reach() {
      if (is_local_) reducer_->collect();
      else reducer_->finish();
      is_reached_ = true;
    }

   private:
    Shared<Reducer> reducer_;
    bool is_local_, is_reached_ = false;
  };
  void at_end(bool is_local) {
    after_backward([end = Shared<PassEnd>(new PassEnd(Shared<Reducer>(this), is_local))] { end->reach(); });
  }

  /// (nvcc takes the result of the assignment for a discarded handle.)
  template <class U>
  static void keep(Handle<U, D>& place, std::type_identity_t<Handle<U, D>> handle) noexcept {
    (void)(place = std::move(handle));
  }
  [[nodiscard]] bool is_trained(std::size_t i) const { return flat_.parameters()[i].requires_grad(); }
  void fill_buckets() {
    buckets_.clear();
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < flat_.size(); ++i) {
      bucket_of_[i] = no_bucket;
      if (!is_trained(i)) continue;
      const std::int64_t most = buckets_.size() > 1 ? options_.bucket_bytes : options_.first_bucket_bytes;
      if (buckets_.empty() || bytes >= most || buckets_.back().last != i) {
        buckets_.push_back({i, i});
        bytes = 0;
      }
      bytes += flat_.range(i).count * static_cast<std::int64_t>(sizeof(T));
      bucket_of_[i] = buckets_.size() - 1;
      buckets_.back().last = i + 1;
    }
  }
  /// Whether the buckets hold exactly the parameters that are not frozen.
  [[nodiscard]] bool buckets_fit() const {
    for (std::size_t i = 0; i < flat_.size(); ++i)
      if (is_trained(i) != (bucket_of_[i] != no_bucket)) return false;
    return true;
  }

  void require_capturable() const {
    if (!locus::detail::is_capturing()) return;
    if (!comm_.is_capturable())
      fail<CaptureError>(
          {"capture: the step cannot be captured for replay, because ranks reduce its gradients, for which they meet "
           "on the host; train without capture, or over dist::nccl"});
    if (lacks_some_ && !is_agreed_)
      fail<CaptureError>(
          {"capture: the step cannot be captured for replay, because a parameter got no gradient on "
           "rank ",
           comm_.rank(),
           " in the last pass, and the host reads whether other ranks have one; "
           "say .static_graph = true in the options of distributed if passes do not differ"});
  }
  void require_sound() const {
    if (!has_failed_) return;
    comm_.abort("it went on after a backward pass that threw in the middle");
    comm_.barrier();  // throws the error
  }

  /// A capture that is abandoned computed no gradients and counts no samples.
  void restore_counts_if_abandoned() {
    locus::detail::at_abandon([self = Shared<Reducer>(this), weight = weight_, collected = collected_,
                               own_weight = own_weight_, kept = hold_->kept, is_local = is_local_,
                               lacks_some = lacks_some_] {
      self->weight_ = weight;
      self->collected_ = collected;
      self->own_weight_ = own_weight;
      self->hold_->kept = kept;
      self->lacks_some_ = lacks_some;
      if (!self->has_failed_) self->is_local_ = is_local;
      self->update_hold();
    });
  }

  /// Gradient i is complete.
  void ready(std::size_t i) {
    if (!is_trained(i)) return;  // frozen since the forward pass
    require_capturable();
    if (!is_reducing_ && !is_collecting_) restore_counts_if_abandoned();
    if (no_sync_ > 0 && !is_reducing_) {
      if (!is_collecting_) at_end(true);
      is_collecting_ = is_local_ = true;
      return update_hold();
    }
    if (!is_reducing_) begin();
    if (bucket_of_[i] == no_bucket)
      fail<GraphError>({"distributed: requires_grad_() of a parameter of shape ", flat_.parameters()[i].shape(),
                        " was called in the middle of a backward pass; call it before the forward pass"});
    if (is_ready_[i])
      fail<GraphError>({"distributed: a parameter of shape ", flat_.parameters()[i].shape(),
                        " got a gradient twice in one backward pass, the second time from a backward() within it, when "
                        "the first was being reduced; call that one after the pass"});
    is_ready_[i] = true;
    --buckets_[bucket_of_[i]].awaits;
    while (overlaps_ && next_ < buckets_.size() && buckets_[next_].awaits == 0) start(buckets_[next_++]);
  }
  /// At the end of a pass within no_sync(). Its samples count until zero_grad() has dropped all gradients.
  void collect() {
    collected_ = collected() + weight_;
    weight_ = 0;
    hold_->kept = 0;
    for (const auto& parameter : flat_.parameters()) hold_->kept += parameter.has_grad();
  }
  [[nodiscard]] double collected() const { return hold_->kept > 0 ? collected_ : 0; }
  void begin() {
    require_sound();
    at_end(false);
    is_reducing_ = true;
    overlaps_ = options_.overlap && !comm_.is_called_in_backward();
    update_hold();
    next_ = 0;
    if (!buckets_fit()) {
      fill_buckets();
      is_agreed_ = false;
    }
    is_ready_.assign(flat_.size(), false);
    for (Bucket& bucket : buckets_) bucket.awaits = bucket.last - bucket.first;
    if (overlaps_) weigh();
  }
  void weigh() {
    if (!options_.weigh_by_samples) return;
    const double weight = own_weight_ >= 0 ? own_weight_ : collected() + weight_;
    share_.weight = static_cast<R>(weight);
    total_.fill_(share_.weight);
    keep(weighing_, of_gradients_.all_reduce_async(total_));
  }
  void start(Bucket& bucket) {
    const Tensor<T, D> gradients = flat_.gradients(bucket.first, bucket.last);
    if (options_.weigh_by_samples) {
      if (weighing_.started()) (void)std::move(weighing_).ordered();
      locus::detail::map_into(gradients, share_, gradients, total_);
    }
    const auto reduce = [&](const auto& comm, const auto& x) {
      return options_.weigh_by_samples ? comm.all_reduce_async(x) : comm.all_reduce_async(x, mean);
    };
    if (options_.reduce_in == ReduceIn::type_of_gradients) return keep(bucket.handle, reduce(of_gradients_, gradients));
    if constexpr (std::is_same_v<T, bfloat16>) return keep(bucket.handle, reduce(compressed_, gradients));
    else {
      if (!bucket.rounded.buffer()) bucket.rounded = Tensor<bfloat16, D>(gradients.shape(), comm_.device());
      bucket.rounded.copy_(gradients);
      keep(bucket.rounded_handle, reduce(compressed_, bucket.rounded));
    }
  }
  /// Orders the work that follows after the reduction of a bucket.
  void complete(Bucket& bucket) {
    if (bucket.handle.started()) (void)std::move(bucket.handle).ordered();
    if (!bucket.rounded_handle.started()) return;
    const Tensor<bfloat16, D> sum = std::move(bucket.rounded_handle).ordered();
    flat_.gradients(bucket.first, bucket.last).copy_(sum);
  }
  void finish() {
    locus::detail::DevicePhases phases(comm_.device());
    phases.next("communication");
    if (!overlaps_) weigh();
    while (next_ < buckets_.size()) start(buckets_[next_++]);
    lacks_some_ = lacks_some();
    Handle<std::uint8_t, D> using_ranks;
    if (!is_agreed_) {
      note_used();
      keep(using_ranks, of_gradients_.all_reduce_async(used_, max));
    }
    auto buffers = buffers_.start(of_gradients_);
    for (Bucket& bucket : buckets_) complete(bucket);
    if (!is_agreed_) agree(std::move(using_ranks).ordered());
    if (lacks_some_) take_from_others();
    buffers_.finish(std::move(buffers), comm_);
    weight_ = collected_ = 0;
    own_weight_ = -1;
    hold_->kept = 0;
    is_reducing_ = is_local_ = false;
    update_hold();
  }
  /// Flags the parameters that have a gradient here, in one launch per run of equal flags.
  void note_used() {
    const auto has = [&](std::size_t i) { return flat_.parameters()[i].has_grad(); };
    for (std::size_t first = 0, last = 0; first < flat_.size(); first = last) {
      while (last < flat_.size() && has(last) == has(first)) ++last;
      (void)used_.slice(0, static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)).fill_(has(first));
    }
  }
  /// Whether a trained parameter has no gradient on this rank. With .static_graph, throws GraphError if one has a
  /// gradient that had none on any rank in the first pass: other ranks do not know of it.
  [[nodiscard]] bool lacks_some() const {
    bool lacks = false;
    for (std::size_t i = 0; i < flat_.size(); ++i) {
      const Parameter<T, D>& parameter = flat_.parameters()[i];
      lacks |= !parameter.has_grad() && is_trained(i);
      if (is_agreed_ && parameter.has_grad() && is_trained(i) && !is_used_on_any(i))
        fail<GraphError>({"distributed: a parameter of shape ", parameter.shape(), " got a gradient on rank ",
                          comm_.rank(),
                          ", and had none on any rank in the first pass; leave out .static_graph = true "
                          "if passes differ"});
    }
    return lacks;
  }
  /// A rank that lacks a gradient reads which parameters have one on any rank. With .static_graph, this holds from now
  /// on.
  void agree(const Tensor<std::uint8_t, D>& used) {
    used_on_any_ = lacks_some_ ? used.template to<Cpu>() : Tensor<std::uint8_t, Cpu>();
    is_agreed_ = options_.static_graph;
  }
  [[nodiscard]] bool is_used_on_any(std::size_t i) const {
    return !used_on_any_.buffer() || used_on_any_.data()[i] != 0;
  }
  /// Parameters without a gradient here get the reduced one if another rank has one. Parameters without a gradient on
  /// any rank stay without, so that optimizers pass over them on all ranks.
  void take_from_others() const {
    for (std::size_t i = 0; i < flat_.size(); ++i) {
      const Parameter<T, D>& parameter = flat_.parameters()[i];
      if (!is_used_on_any(i) || parameter.has_grad()) continue;
      if (!parameter.requires_grad())
        fail<GraphError>({"distributed: a parameter of shape ", parameter.shape(), " is frozen on rank ", comm_.rank(),
                          " and trained on others; freeze the same parameters on all ranks"});
      (void)parameter.node()->open();
    }
  }
  /// A pass threw after this rank began to reduce. The other ranks wait for its remaining buckets.
  void give_up() noexcept {
    keep(weighing_, {});
    for (Bucket& bucket : buckets_) {
      keep(bucket.handle, {});
      keep(bucket.rounded_handle, {});
    }
    is_reducing_ = false;
    has_failed_ = is_local_ = true;
    update_hold();
  }

  void update_hold() noexcept {
    hold_->reason =
        has_failed_ ? "a backward pass threw in the middle, so that some gradients are those of this rank alone; other "
                      "ranks wait for the rest, and none can go on: end the program, and start again from a checkpoint"
        : is_reducing_ ? "gradients are still being reduced over ranks; call this after backward() has returned"
        : is_local_    ? "gradients are those of this rank alone, as backward() was called within no_sync(); call "
                         "backward() once outside of it, which reduces their sum, or drop them with zero_grad()"
        : no_sync_ > 0 ? "called within no_sync(), where gradients are not reduced over ranks; let its guard go first"
                       : nullptr;
  }

  FlatParameters<T, D> flat_;
  Communicator<D> comm_, of_gradients_;
  Communicator<D> compressed_;  ///< of bfloat16, which is added in float
  DistributedOptions options_;
  PackedBuffers<D> buffers_;
  Tensor<std::uint8_t, D> used_;             ///< of each parameter: 1 if any rank has a gradient
  Tensor<std::uint8_t, Cpu> used_on_any_{};  ///< the same on the host; without elements: all, as all have one here
  bool lacks_some_ = false;                  ///< whether a trained one had none here in the last pass
  bool is_agreed_ = false;                   ///< whether used_on_any_ holds for each pass to come
  Tensor<R, D> total_;                       ///< the sum of the weights of all ranks
  std::vector<bool> is_ready_;
  static constexpr std::size_t no_bucket = ~std::size_t{0};
  std::vector<std::size_t> bucket_of_;  ///< no_bucket for a frozen parameter
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  ///< the next bucket to reduce
  Handle<R, D> weighing_{};
  WeighGradient<R> share_{};
  double weight_ = 0, collected_ = 0, own_weight_ = -1;  ///< collected: of passes within no_sync()
  int no_sync_ = 0;
  bool overlaps_ = false, is_reducing_ = false, is_local_ = false, is_collecting_ = false, has_failed_ = false;
  Shared<locus::detail::GradientHold> hold_{new locus::detail::GradientHold};
  std::vector<GradientHook> hooks_;
};

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::dist
