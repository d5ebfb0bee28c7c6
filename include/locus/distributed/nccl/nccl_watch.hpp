#pragma once
// Watches the collectives that a rank has queued for NCCL, since the host does not wait for them: a thread looks at the
// oldest one every 20 ms while any is in flight, and sleeps otherwise. If another rank fails, NCCL fails, or nothing
// moves for a time-out, it aborts NCCL, so that the GPU goes on, and notes the failure as a fault of the GPU: the next
// call of the rank throws it, and so does each call that waits for the GPU.

#include <locus/cuda/nccl.hpp>
#include <locus/distributed/engine/engine.hpp>

#include <deque>

#if LOCUS_NCCL
namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

[[noreturn]] LOCUS_COLD inline void raise_nothing_moved(const Engine<Cpu>& host, const Fingerprint& what,
                                                        std::int64_t sequence) {
  raise(what, sequence, host.rank(), host.size(), -1,
        join("NCCL moved nothing for ", host.options().timeout,
             " seconds, though all ranks are there; NCCL_DEBUG=WARN in the environment says why (a longer time-out: "
             "Options::timeout, or LOCUS_DIST_TIMEOUT in the environment)"));
}

/// Called while NCCL has not taken a call: checks every 10 ms that the other ranks are there. throws CollectiveError
class NcclWait {
 public:
  NcclWait(Engine<Cpu>& host, const Fingerprint& what, std::int64_t sequence)
      : host_(host), what_(what), sequence_(sequence) {}
  void operator()() const {
    const double now = watch_.seconds();
    if (now < looked_ + 0.01) return;
    looked_ = now;
    host_.require_others(what_, sequence_, now);
    if (now > host_.options().timeout) raise_nothing_moved(host_, what_, sequence_);
  }

 private:
  Engine<Cpu>& host_;
  Fingerprint what_;
  std::int64_t sequence_;
  Stopwatch watch_;
  mutable double looked_ = 0;
};

/// A rank of NCCL and its collectives in flight. Captured steps share it with the rank, as they launch its collectives.
class NcclWatch : public Counted {
 public:
  NcclWatch(const Shared<Engine<Cpu>>& host, Cuda device) : nccl(device), host_(host), device_(device) {}
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;
  virtual ~NcclWatch() {
    if (has_thread_) {
      ending_.store(true);
      wake();
      pthread_join(thread_, nullptr);
    }
    if (has_left_ && !has_failed_.load()) nccl.finish();
    else nccl.abort();  // by an exception, calls may be in flight that never end
    cuda::Faults::disown(this);
  }

  NcclRank nccl;

  [[nodiscard]] Engine<Cpu>& host() const { return *host_; }
  [[nodiscard]] Cuda device() const { return device_; }

  /// The number of a call that is being made. Replays of captured calls have numbers of their own.
  [[nodiscard]] std::int64_t number_of(std::int64_t sequence) { return last_ = sequence + replayed_; }
  /// So many calls are replayed. Returns the number of the last one.
  [[nodiscard]] std::int64_t count_replayed(std::int64_t calls) {
    replayed_ += calls;
    return last_ += calls;
  }
  /// This rank makes no more calls. Returns when the calls in flight are done, or the rank has failed: other ranks need
  /// this one until then.
  void leave() noexcept {
    has_left_ = true;
    while (!has_failed_.load() && forget_done()) usleep(leave_every);
  }
  [[nodiscard]] bool has_left() const { return has_left_; }

  /// Starts the thread. throws OutOfMemory if the system grants none
  void start() {
    if (pthread_create(
            &thread_, nullptr, [](void* self) { return static_cast<NcclWatch*>(self)->serve(); }, this) != 0)
      fail<OutOfMemory>({"dist::nccl: the system grants no thread for the watch over collectives; use fewer threads"});
    has_thread_ = true;
  }
  /// A call in flight. before, after: the GPU has come to it, and is done. in_step: between them lies a whole replay,
  /// which may take as long as it likes.
  void add(const Fingerprint& what, std::int64_t sequence, const Event<Cuda>& before, const Event<Cuda>& after,
           bool in_step = false) {
    {
      const Lock lock(mutex_);
      if (calls_.empty()) begun_ = watch_.seconds();
      calls_.push_back({what, sequence, before, after, in_step});
    }
    wake();
  }
  /// throws the failure, if there is one
  void require_sound() const {
    if (has_failed_.load()) rethrow();
  }
  /// Calls f(). If it throws, the rank has failed: the others hear of it, and NCCL is aborted.
  template <class F>
  void guard(const F& f) {
    require_sound();
    try {
      abort_on_throw(f, [&](const char* why) { fail_with(std::current_exception(), why); });
    } catch (...) {
      require_sound();  // the first failure
      throw;
    }
  }

 private:
  struct Call {
    Fingerprint what;
    std::int64_t sequence;
    Event<Cuda> before, after;
    bool in_step = false;
  };
  static constexpr int look_every = 20;    ///< ms
  static constexpr int leave_every = 100;  ///< us
  void wake() {
    count_.fetch_add(1);
    count_.notify();
  }
  void* serve() noexcept {
    while (!ending_.load()) {
      const std::uint32_t count = count_.load();
      try {
        const cuda::OrdinalGuard guard(device_.ordinal);
        if (has_failed_.load() || !look()) count_.wait(count);
        else usleep(1000 * look_every);
      } catch (const std::exception& error) {
        fail_with(std::current_exception(), error.what());
      }
    }
    return nullptr;
  }
  /// Drops the calls that are done, from the oldest on. Whether one is left.
  bool forget_done() {
    const Lock lock(mutex_);
    while (!calls_.empty() && calls_.front().after.done()) {
      calls_.pop_front();
      begun_ = watch_.seconds();
    }
    return !calls_.empty();
  }
  /// Looks at the oldest call in flight, if there is one. Time before the GPU comes to it does not count.
  bool look() {
    if (!forget_done()) return false;
    Call first;
    double waited = 0;
    {
      const Lock lock(mutex_);
      if (calls_.empty()) return false;
      first = calls_.front();
      if (!first.before.done()) begun_ = watch_.seconds();
      waited = watch_.seconds() - begun_;
    }
    nccl.require_sound();
    host_->require_others(first.what, first.sequence, waited);
    if (waited > host_->options().timeout && !first.in_step) raise_nothing_moved(*host_, first.what, first.sequence);
    return true;
  }
  /// Keeps the first failure. The fault is there before the GPU goes on.
  void fail_with(const std::exception_ptr& error, const char* why) noexcept {
    {
      const Lock lock(mutex_);
      if (!failure_) {
        failure_ = error;
        cuda::Faults::add(device_.ordinal, this, error);
        has_failed_.store(true);
      }
    }
    host_->leave(why);
    nccl.abort();
  }
  [[noreturn]] void rethrow() const {
    std::exception_ptr failure;
    {
      const Lock lock(mutex_);
      failure = failure_;
    }
    cuda::Faults::note_thrown(this);
    std::rethrow_exception(failure);
  }

  Shared<Engine<Cpu>> host_;
  Cuda device_;
  mutable Mutex mutex_{};
  std::deque<Call> calls_{};  ///< the oldest first
  std::exception_ptr failure_{};
  Atomic<bool> has_failed_{false}, ending_{false};
  Signal count_{0};
  Stopwatch watch_{};
  double begun_ = 0;                      ///< when the oldest call could begin
  std::int64_t last_ = 0, replayed_ = 0;  ///< the last call; calls that replays made
  pthread_t thread_{};
  bool has_thread_ = false, has_left_ = false;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
#endif
