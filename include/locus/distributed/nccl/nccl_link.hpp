#pragma once
// The collectives of a rank over NCCL: queued in the order of the current stream. The host does not wait for other
// ranks, except in a barrier, or where calls are compared (Options::debug).

#include <locus/core/system/used_libraries.hpp>
#include <locus/device/replay.hpp>
#include <locus/distributed/nccl/nccl_watch.hpp>

#include <optional>
#include <string_view>

#if LOCUS_NCCL
namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// NCCL's name of an element type; none for integers of 16 bits. bool is summed as bytes.
[[nodiscard]] inline std::optional<ncclDataType_t> nccl_type(ElementType type) {
  switch (type) {
    case ElementType::float32: return ncclFloat32;
    case ElementType::float64: return ncclFloat64;
    case ElementType::float16: return ncclFloat16;
    case ElementType::bfloat16: return ncclBfloat16;
    case ElementType::int8: return ncclInt8;
    case ElementType::int32: return ncclInt32;
    case ElementType::int64: return ncclInt64;
    case ElementType::boolean:
    case ElementType::uint8: return ncclUint8;
    case ElementType::uint32: return ncclUint32;
    case ElementType::uint64: return ncclUint64;
    default: return {};
  }
}
/// NCCL's own reduction, if it has the one of the call. Its extremes of floats ignore NaN, so that it has none. Sums of
/// bool are any, products all.
[[nodiscard]] inline std::optional<NcclRank::Reduction> nccl_reduction(const Fingerprint& what) {
  const auto type = nccl_type(what.type);
  const std::string_view op = what.op;
  const bool is_floating = what.type == ElementType::float32 || what.type == ElementType::float64 ||
                           what.type == ElementType::float16 || what.type == ElementType::bfloat16;
  const bool is_bool = what.type == ElementType::boolean;
  if (!type) return {};
  if (op == op::Sum::name) return NcclRank::Reduction{*type, is_bool ? ncclMax : ncclSum};
  if (op == op::Prod::name) return NcclRank::Reduction{*type, is_bool ? ncclMin : ncclProd};
  if (op == op::Mean::name) return NcclRank::Reduction{*type, ncclAvg};
  if (is_floating) return {};
  return NcclRank::Reduction{*type, op == op::Min::name ? ncclMin : ncclMax};
}

/// For records of runs: "2.27.3".
LOCUS_COLD inline void note_version_of_nccl() {
  int code = 0;
  if (ncclGetVersion(&code) == ncclSuccess)
    locus::detail::note_library("NCCL", join(code / 10000, ".", code % 10000 / 100, ".", code % 100));
}

/// Watches the launches of a captured step with collectives.
class NcclLaunches final : public locus::detail::LaunchObserver {
 public:
  NcclLaunches(const Shared<NcclWatch>& watch, std::uint64_t number) : capture(number), watch_(watch) {}
  const std::uint64_t capture;

  /// The step makes one more call; it was counted when it was captured.
  void add(const Fingerprint& what, std::int64_t sequence) {
    what_ = what;
    sequence_ = sequence;
    ++calls_;
  }
  void before() override {
    watch_->require_sound();
    if (watch_->has_left())
      fail<ArgumentError>(
          {"capture: a replay of a step with collectives of a communicator that this rank let go of; keep "
           "the communicator as long as the step"});
    if (std::exchange(was_launched_, true)) sequence_ = watch_->count_replayed(calls_);
    watch_->host().note_call(what_, sequence_);
    before_ = Stream<Cuda>::current(watch_->device()).record();
  }
  void after() override {
    watch_->add(what_, sequence_, before_, Stream<Cuda>::current(watch_->device()).record(), true);
  }

 private:
  Shared<NcclWatch> watch_;
  Fingerprint what_{};         ///< of the step's last call,
  std::int64_t sequence_ = 0;  ///< and its number in the last launch
  std::int64_t calls_ = 0;
  bool was_launched_ = false;
  Event<Cuda> before_{};
};

/// See DeviceEngine.
class NcclLink {
 public:
  static constexpr const char* name = "nccl";
  static constexpr int most_distances = NcclRank::most_operations / 2;
  static constexpr bool queues = true;

  NcclLink(const Shared<Engine<Cpu>>& host, Cuda device) : watch_(new NcclWatch(host, device)) {
    or_leave(*host, [&] {
      const auto id = shared_id(*host);
      host->note_call(first_call, 0);
      watch_->nccl.start(host->rank(), host->size(), id, NcclWait(*host, first_call, 0));
      note_version_of_nccl();
      host->meet(first_call, 0);
      watch_->start();
    });
  }
  /// Waits for the collectives in flight: other ranks need this one until they are done.
  void leave() noexcept { watch_->leave(); }

  template <class F>
  void run(const Collective<Cuda>& call, const F& f) {
    (void)Stream<Cuda>::current(watch_->device());  // throws in a step that is captured on another GPU
    watch_->guard([&] {
      what_ = call.what;
      sequence_ = watch_->number_of(call.sequence);
      const bool is_captured = locus::detail::is_capturing();
      if (call.what.kind == Kind::barrier) return host().meet(what_, sequence_);
      if (host().options().debug && !is_captured) host().meet(what_, sequence_);
      if (is_captured) {
        f();
        return launches().add(what_, sequence_);
      }
      host().note_call(what_, sequence_);
      const Stream<Cuda> stream = Stream<Cuda>::current(watch_->device());
      const Event<Cuda> before = stream.record();
      f();
      watch_->add(what_, sequence_, before, stream.record());
    });
  }
  static void meet() {}  // run() has met
  [[nodiscard]] Shared<Engine<Cpu>> split(GroupChoice choice, std::int64_t sequence) {
    Shared<Engine<Cpu>> group;
    watch_->guard([&] { group = host().split(choice, watch_->number_of(sequence)); });
    return group;
  }
  /// Whether NCCL makes the collective as a whole.
  [[nodiscard]] static bool makes(const Collective<Cuda>& call) {
    if (call.reducer) return call.what.sums == Sums::fastest && nccl_reduction(call.what);
    return call.what.kind == Kind::broadcast || call.what.kind == Kind::all_gather;
  }
  void collective(const Collective<Cuda>& call) {
    const auto by = call.reducer ? *nccl_reduction(call.what) : NcclRank::Reduction{};
    if (call.what.count > 0) queue([&] { queue_collective(call, by); });
  }
  template <class F> void together(const F& f) { queue(f); }
  void send(const void* data, std::int64_t bytes, int peer) const { watch_->nccl.send(data, bytes, peer); }
  void receive(void* data, std::int64_t bytes, int peer) const { watch_->nccl.receive(data, bytes, peer); }

 private:
  /// The broadcast of NCCL's id, after which NCCL starts.
  static constexpr Fingerprint first_call{Kind::broadcast, ElementType::uint8, {}, 0, sizeof(NcclRank::Id)};
  [[nodiscard]] static NcclRank::Id shared_id(Engine<Cpu>& host) {
    NcclRank::Id id{};
    if (host.rank() == 0) id = NcclRank::make_id();
    host.run({first_call, &id, &id, nullptr, 0});
    return id;
  }
  [[nodiscard]] Engine<Cpu>& host() const { return watch_->host(); }
  template <class F> void queue(const F& f) const { watch_->nccl.queue(f, NcclWait(host(), what_, sequence_)); }

  void queue_collective(const Collective<Cuda>& call, NcclRank::Reduction by) const {
    const NcclRank& nccl = watch_->nccl;
    const std::int64_t count = call.what.count, bytes = call.bytes();
    const int root = call.what.root;
    switch (call.what.kind) {
      case Kind::all_reduce: return nccl.all_reduce(call.source, call.target, count, by);
      case Kind::reduce:
        return nccl.reduce(call.source, root == host().rank() ? call.target : nullptr, count, by, root);
      case Kind::reduce_scatter: return nccl.reduce_scatter(call.source, call.target, count, by);
      case Kind::broadcast: return nccl.broadcast(call.source, call.target, bytes, root);
      default: return nccl.all_gather(call.source, call.target, bytes);
    }
  }
  /// Of the step that is being captured.
  [[nodiscard]] NcclLaunches& launches() {
    const std::uint64_t capture = locus::detail::step_capture->number();
    if (!launches_ || launches_->capture != capture) {
      launches_ = Shared<NcclLaunches>(new NcclLaunches(watch_, capture));
      locus::detail::step_capture->at_launch(Shared<locus::detail::LaunchObserver>(launches_.get()));
    }
    return *launches_;
  }

  Shared<NcclWatch> watch_;
  Shared<NcclLaunches> launches_{};  ///< of the last captured step
  Fingerprint what_{};               ///< the call being queued, and its number
  std::int64_t sequence_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
#endif
