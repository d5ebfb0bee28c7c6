#pragma once
// The passes of a sharded model: when values are gathered, and gradients reduced.

#include <locus/autograd/backward_walk.hpp>
#include <locus/device/trace/phase_trace.hpp>
#include <locus/distributed/model/packed_buffers.hpp>
#include <locus/distributed/sharded/gathered_values.hpp>
#include <locus/distributed/sharded/reduced_gradients.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// All ranks make the same passes, and so the same collectives in the same order: a unit is gathered where the program
/// first uses it, or one of the units before it in the order of the last forward pass; in a backward pass, one of those
/// after it. It is reduced once its gradients are complete.
template <class T, class D>
class Sharder final : public UnitUses {
  using Unit = ShardedUnit<T, D>;
  enum class Phase { idle, forward, backward };

 public:
  static constexpr const char* handle_name = "Sharded";

  /// Arguments as of ShardedParts.
  Sharder(const std::vector<nn::NamedParameter<T, D>>& named, std::vector<nn::AnyBuffer<D>> buffers,
          const Communicator<D>& within, const std::optional<Communicator<D>>& between, const ShardedOptions& options)
      : parts_(named, within, between, options),
        values_(parts_, this),
        gradients_(parts_, this),
        buffers_(options.broadcast_buffers ? std::move(buffers) : std::vector<nn::AnyBuffer<D>>(), within.device()) {
    parts_.hold().holds_missing = true;
    locus::detail::lenders.fetch_add(1, Order::relaxed);
  }
  ~Sharder() override {
    locus::detail::lenders.fetch_sub(1, Order::relaxed);
    parts_.hold().is_in_use = false;
  }

  [[nodiscard]] const ShardedParts<T, D>& parts() const { return parts_; }

  /// A pass of the model begins, or a part of one that runs within another.
  void begin_call() {
    if (depth_++ > 0) return;
    try {
      begin_forward();
    } catch (...) {
      --depth_;
      throw;
    }
  }
  void end_call() noexcept {
    if (--depth_ == 0 && phase_ == Phase::forward) phase_ = Phase::idle;
  }
  void begin_no_sync() { ++no_sync_; }
  void end_no_sync() { --no_sync_; }
  void drop_local() {
    gradients_.drop_local();
    if (!has_failed_) parts_.hold().reason = nullptr;
  }

  bool use_values(std::size_t u, bool again) override {
    if (phase_ == Phase::idle) {
      if (!BackwardWalk::is_any_running())
        fail<GraphError>(
            {"a parameter of a sharded model, in unit '", parts_.units()[u].name,
             "': its whole value is here within a pass of the model alone; call the result of dist::sharded "
             "in place of the model, or take its .parameters(), or for_each_whole(f)"});
      begin_backward();
    }
    return values_.use(u, phase_ == Phase::forward, again);
  }
  void use_gradients(std::size_t u) override {
    if (phase_ != Phase::backward) begin_backward();
    gradients_.use(u);
  }

 private:
  /// Runs at the end of a pass. If it is destroyed without having run, the pass threw.
  class PassEnd : public Counted {
   public:
    explicit PassEnd(Sharder* sharder) : sharder_(sharder) {}
    ~PassEnd() {
      if (!is_reached_) sharder_->give_up();
    }
    void reach() {
      sharder_->finish_backward();
      is_reached_ = true;
    }

   private:
    Shared<Sharder> sharder_;
    bool is_reached_ = false;
  };

  void require_sound() const {
    if (!has_failed_) return;
    parts_.within().abort("it went on after a backward pass that threw in the middle");
    parts_.within().barrier();  // throws the error
  }
  void begin_forward() {
    require_sound();
    if (locus::detail::is_capturing())
      fail<CaptureError>(
          {"capture: the step cannot be captured for replay, because of a sharded model, whose units take turns in "
           "memory; "
           "train without capture"});
    for (const Unit& unit : parts_.units())
      for (const auto& parameter : unit.parameters)
        if (!parameter.requires_grad())
          fail<GraphError>({"sharded: a parameter of shape ", parameter.shape(), " in unit '", unit.name,
                            "' was frozen; freeze parameters before dist::sharded, which leaves them whole"});
    values_.begin(parts_.version() != version_);
    version_ = parts_.version();
    phase_ = Phase::forward;
  }
  void begin_backward() {
    require_sound();
    if (parts_.version() != version_)
      fail<StaleError>(
          {"backward of a sharded model: its parameters changed after the forward pass; call backward() before the "
           "step "
           "of the optimizer"});
    after_backward([end = Shared<PassEnd>(new PassEnd(this))] { end->reach(); });
    phase_ = Phase::backward;
    gradients_.begin(no_sync_ > 0);
  }
  void finish_backward() {
    locus::detail::DevicePhases phases(parts_.within().device());
    phases.next("communication");
    gradients_.finish();
    values_.drop();
    if (!gradients_.is_local()) copy_buffers();
    parts_.hold().reason =
        !gradients_.is_local()
            ? nullptr
            : "gradients are those of this rank alone, as backward() was called within no_sync(); call backward() once "
              "outside of it, which reduces their sum, or drop them with the model's zero_grad()";
    phase_ = depth_ > 0 ? Phase::forward : Phase::idle;
  }
  void copy_buffers() const {
    if (const auto& between = parts_.between()) buffers_.finish(buffers_.start(*between), *between);
    buffers_.finish(buffers_.start(parts_.within()), parts_.within());
  }
  /// A pass threw after this rank began it. The other ranks wait for the rest of its collectives.
  void give_up() noexcept {
    values_.give_up();
    gradients_.give_up();
    parts_.hold().reason =
        "a backward pass threw in the middle, so that some gradients lack a part; other ranks wait for the rest, and "
        "none can go on: end the program, and start again from a checkpoint";
    has_failed_ = true;
    phase_ = Phase::idle;
  }

  ShardedParts<T, D> parts_;
  GatheredValues<T, D> values_;
  ReducedGradients<T, D> gradients_;
  PackedBuffers<D> buffers_;
  std::uint64_t version_ = 0;  ///< of the parts, in the last forward pass
  Phase phase_ = Phase::idle;
  int depth_ = 0, no_sync_ = 0;
  bool has_failed_ = false;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
