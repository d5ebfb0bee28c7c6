#pragma once
// A rank of a process: its engine, its count of calls, and the threads that make asynchronous calls.

#include <locus/core/system/out_of_memory.hpp>
#include <locus/distributed/communicator/handle.hpp>
#include <locus/distributed/communicator/traced_call.hpp>

#include <sched.h>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A call with the tensors that it reads and writes.
template <class T, class D>
struct Prepared {
  Collective<D> call{};
  Tensor<T, D> source{}, target{};
  Tensor<T, D> strided{};  ///< the target is copied to it; without elements: no copy
  Message message{};

  [[nodiscard]] Kind kind() const { return call.what.kind; }
  [[nodiscard]] bool is_ready(Engine<D>& engine, double waited) const {
    return kind() != Kind::recv || engine.has_come(message, waited);
  }
  void operator()(Engine<D>& engine) const {
    const bool is_message = kind() == Kind::send || kind() == Kind::recv;
    const Fingerprint what = is_message ? message.fingerprint(kind()) : call.what;
    const TracedCall traced(engine.name(), what);
    if (kind() == Kind::send) engine.send(message);
    else if (kind() == Kind::recv) engine.take(message);
    else engine.run(call);
    if (strided.buffer()) strided.copy_(target);
  }
  void set(std::int64_t sequence, const Owner* owner) {
    call.sequence = message.sequence = sequence;
    call.owner = message.owner = owner;
  }
  [[nodiscard]] const Tensor<T, D>& result() const { return strided.buffer() ? strided : target; }
};
template <class D>
struct Prepared<void, D> {
  Collective<D> call{};
  Message message{};
  [[nodiscard]] Kind kind() const { return call.what.kind; }
  [[nodiscard]] bool is_ready(Engine<D>&, double) const { return true; }
  void operator()(Engine<D>& engine) const {
    const TracedCall traced(engine.name(), call.what);
    engine.run(call);
  }
  void set(std::int64_t sequence, const Owner* owner) {
    call.sequence = sequence;
    call.owner = owner;
  }
  [[nodiscard]] NoResult result() const { return {}; }
};

/// Makes the call; a receive first waits for its message.
template <class T, class D>
void make_call(Engine<D>& engine, const Prepared<T, D>& prepared) {
  if (prepared.kind() == Kind::recv) {
    const Stopwatch watch;
    for (int turn = 0; !prepared.is_ready(engine, watch.seconds()); ++turn) engine.rest(turn);
  }
  prepared(engine);
}

/// The stream of a rank's asynchronous collectives, receives or sends, made at the first of them and kept: NCCL orders
/// all streams of a communicator after one another, and a stream taken anew may hold work of other threads. One thread
/// at a time uses it.
template <class D>
class JobStream : public Counted {
 public:
  [[nodiscard]] const Stream<D>& of(D device) {
    if (!stream_) stream_.emplace(device);
    return *stream_;
  }

 private:
  std::optional<Stream<D>> stream_;
};
template <class D>
  requires(!StreamingDevice<D>)
class JobStream<D> : public Counted {};

/// A call that a worker thread makes. On a device with streams, it runs in the rank's stream for such calls, after the
/// work that the caller had queued. Messages of a peer and a tag keep their order; messages of different peers or tags
/// do not wait for each other.
template <class T, class D>
class PreparedJob final : public CallJob<D> {
 public:
  PreparedJob(const Shared<Engine<D>>& engine, const Shared<JobStream<D>>& stream, const Prepared<T, D>& prepared,
              std::int64_t sequence)
      : engine_(engine), stream_(stream), prepared_(prepared) {
    prepared_.set(sequence, this);
    if constexpr (StreamingDevice<D>)
      if (!locus::detail::is_capturing()) ready_ = Stream<D>::current(engine->device()).record();
  }
  /// Makes the call in the calling thread and its stream.
  void make() { make_call(*engine_, prepared_); }
  void abandon() noexcept override { engine_->leave("an exception, while a collective was in flight"); }
  [[nodiscard]] Job::Lane lane() const override { return {prepared_.message.peer, prepared_.message.tag}; }

 private:
  bool run() override {
    const locus::detail::TracedRank of(rank_);
    if (!prepared_.is_ready(*engine_, watch_.seconds())) return false;
    if constexpr (StreamingDevice<D>) {
      if (locus::detail::is_capturing()) return capture(), true;
      const Stream<D>& stream = stream_->of(engine_->device());
      stream.wait(ready_);
      with_stream(stream, [&] { prepared_(*engine_); });
      this->finished_ = stream.record();
    } else {
      prepared_(*engine_);
    }
    return true;
  }
  /// Beside the step's later work, unless the call needs memory, which belongs to the stream of the step.
  void capture() {
    if (engine_->runs_beside(prepared_.call)) this->beside_ = locus::detail::BesideStep([&] { prepared_(*engine_); });
    else prepared_(*engine_);
  }
  Shared<Engine<D>> engine_;
  Shared<JobStream<D>> stream_;
  Prepared<T, D> prepared_;
  typename EventOf<D>::type ready_{};
  Stopwatch watch_{};
  int rank_ = locus::detail::traced_rank_of_thread;
};

template <class D>
class RankContext : public Counted {
 public:
  static constexpr const char* handle_name = "Communicator";
  explicit RankContext(Shared<Engine<D>> rank) : engine(std::move(rank)) {}
  ~RankContext() {
    // In stack unwinding, calls in flight fail instead of waiting.
    const bool failed = std::uncaught_exceptions() > exceptions_;
    if (failed) engine->leave("an exception");
    collectives_.finish();
    receives_.finish();
    if (!failed) engine->leave(nullptr);
  }

  /// Makes the call: a collective after the collectives in flight, a receive after the receives in flight, and a send
  /// at once.
  /// throws OutOfMemory before the call begins, unseen by other ranks; if a send between processes had begun, all ranks
  /// fail
  template <class T>
  auto now(Prepared<T, D> prepared) {
    const bool waits = prepared.kind() == Kind::recv   ? !receives_.is_idle()
                       : prepared.kind() != Kind::send ? !collectives_.is_idle()
                                                       : false;
    if (waits) later(prepared).ordered();
    else if (engine->keeps_memory() && !engine->is_queued(prepared.kind())) made(prepared)->make();
    else make(prepared);
    if constexpr (!std::is_void_v<T>) {
      prepared.result().changed();
      return prepared.result();
    }
  }
  template <class T>
  [[nodiscard]] Handle<T, D> later(const Prepared<T, D>& prepared) {
    if constexpr (!std::is_void_v<T>) prepared.result().changed();
    if (locus::detail::is_capturing()) collectives_.finish();  // the captured call is made in this thread
    const Shared<CallJob<D>> job(made(prepared).get());
    if (prepared.kind() == Kind::send || (only_queues(prepared.kind()) && collectives_.is_idle())) {
      (void)job->advance();  // waits for no rank
    } else {
      try {
        (prepared.kind() == Kind::recv ? receives_ : collectives_).add(Shared<Job>(job.get()));
      } catch (...) {
        --count_of(prepared.kind());
        throw;
      }
    }
    return Handle<T, D>(job, prepared.result(), engine->device());
  }

  /// See Engine::split. After the collectives in flight.
  [[nodiscard]] Shared<Engine<D>> split(GroupChoice choice) {
    collectives_.finish();
    const Fingerprint what{.kind = Kind::split};
    const TracedCall traced(engine->name(), what);
    return engine->split(choice, ++collectives_called_);
  }

  const Shared<Engine<D>> engine;
  bool is_called_in_backward = false;  ///< by callers other than `distributed`

 private:
  /// Whether a call waits for no rank. Calls that ranks compare on the host do, except within a captured step.
  [[nodiscard]] bool only_queues(Kind kind) const {
    return engine->is_queued(kind) && (!engine->options().debug || locus::detail::is_capturing());
  }
  [[nodiscard]] std::int64_t& count_of(Kind kind) {
    return kind == Kind::send || kind == Kind::recv ? messages_called_ : collectives_called_;
  }
  [[nodiscard]] const Shared<JobStream<D>>& stream_of(Kind kind) const {
    return kind == Kind::recv ? receives_in_ : kind == Kind::send ? sends_in_ : collectives_in_;
  }
  template <class T>
  [[nodiscard]] Shared<PreparedJob<T, D>> made(const Prepared<T, D>& prepared) {
    std::int64_t& count = count_of(prepared.kind());
    locus::detail::restore_if_abandoned(count);
    const auto& stream = stream_of(prepared.kind());
    const auto make = [&] { return Shared(new PreparedJob<T, D>(engine, stream, prepared, count + 1)); };
    auto job = locus::detail::or_out_of_memory({"dist: no memory for a call"}, make);
    ++count;
    return job;
  }
  template <class T>
  void make(Prepared<T, D>& prepared) {
    locus::detail::restore_if_abandoned(count_of(prepared.kind()));
    prepared.set(++count_of(prepared.kind()), nullptr);
    make_call(*engine, prepared);
  }

  std::int64_t collectives_called_ = 0, messages_called_ = 0;
  int exceptions_ = std::uncaught_exceptions();
  Shared<JobStream<D>> collectives_in_{new JobStream<D>}, receives_in_{new JobStream<D>}, sends_in_{new JobStream<D>};
  Worker collectives_, receives_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
