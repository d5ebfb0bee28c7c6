#pragma once
// A rank of a process: its engine, what it is about to call, and what happens beside its thread.

#include <locus/dist/handle.hpp>

namespace locus::inline LOCUS_ABI::dist::detail {

/// A call with the tensors that it reads and writes.
template <class T, class D>
struct Prepared {
  Collective<D> call{};
  Tensor<T, D> source{}, target{};
  Tensor<T, D> strided{};  ///< which the target is copied to; without elements: nothing
  Message message{};

  void operator()(Engine<D>& engine) const {
    if (call.what.kind == Kind::send) engine.send(message);
    else if (call.what.kind == Kind::recv) engine.receive(message);
    else engine.run(call);
    if (strided.buffer()) strided.copy_(target);
  }
  [[nodiscard]] const Tensor<T, D>& result() const { return strided.buffer() ? strided : target; }
};
template <class D>
struct Prepared<void, D> {
  Collective<D> call{};
  void operator()(Engine<D>& engine) const { engine.run(call); }
  [[nodiscard]] NoResult result() const { return {}; }
};

/// A call that a worker makes, on a device with streams in one of its own, after what the caller had queued.
template <class T, class D>
class PreparedJob final : public CallJob<D> {
 public:
  PreparedJob(const Shared<Engine<D>>& engine, Prepared<T, D> prepared)
      : engine_(engine), prepared_(std::move(prepared)) {
    if constexpr (StreamingDevice<D>) ready_ = Stream<D>::current(engine->device()).record();
  }

 private:
  void run() override {
    if constexpr (StreamingDevice<D>) {
      const Stream<D> stream(engine_->device());
      stream.wait(ready_);
      with_stream(stream, [&] { prepared_(*engine_); });
      this->finished_ = stream.record();
    } else {
      prepared_(*engine_);
    }
  }
  Shared<Engine<D>> engine_;
  Prepared<T, D> prepared_;
  typename EventOf<D>::type ready_{};
};

template <class D>
class Member : public Counted {
 public:
  explicit Member(Shared<Engine<D>> rank) : engine(std::move(rank)) {}
  ~Member() {
    worker_.finish();
    engine->leave(std::uncaught_exceptions() > 0 ? "an exception" : nullptr);
  }

  /// Makes the call, after those that are in flight.
  template <class T>
  auto now(const Prepared<T, D>& prepared) {
    if (worker_.is_idle()) prepared(*engine);
    else later(prepared).ordered();
    if constexpr (!std::is_void_v<T>) {
      prepared.result().changed();
      return prepared.result();
    }
  }
  template <class T>
  [[nodiscard]] Handle<T, D> later(const Prepared<T, D>& prepared) {
    if constexpr (!std::is_void_v<T>) prepared.result().changed();
    const Shared<CallJob<D>> job(new PreparedJob<T, D>(engine, prepared));
    worker_.add(Shared<Job>(job.get()));
    return Handle<T, D>(job, prepared.result(), engine->device());
  }

  const Shared<Engine<D>> engine;
  std::int64_t collectives = 0, messages = 0;

 private:
  Worker worker_;
};

}  // namespace locus::inline LOCUS_ABI::dist::detail
