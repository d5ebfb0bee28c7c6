#pragma once
// Who prepares batches ahead, and when: the threads that share loops, or threads of their own. They arrive in order.

#include <locus/core/std/bounds.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/cpu/threads/thread_team.hpp>

#include <sched.h>

#include <exception>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// A number of batches, of which so many are prepared ahead, in a ring. Derived classes prepare a batch in its slot of
/// the ring, a part at a time.
///
/// A batch has one lane at a time, which prepares it. Without workers there is a single lane, whose steps the threads
/// run that share loops; otherwise each worker, a thread of its own, runs the steps of one. In a child of fork(), which
/// has no workers, the thread that asks for batches prepares them itself.
class Preparation {
  using Team = cpu::detail::ThreadTeam;

 public:
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

 protected:
  Preparation(std::int64_t batches, std::int64_t ahead, int workers)
      : batches_(batches), slots_(static_cast<std::size_t>(ahead)), own_threads_(workers > 0) {
    for (auto& slot : slots_) slot = Shared(new Slot);
    for (int i = 0; i < locus::detail::larger(workers, 1); ++i) lanes_.push_back(Shared(new Lane(*this)));
  }
  /// Derived classes call end() in their destructor.
  ~Preparation() = default;

  /// Batches are prepared from now on.
  void begin() {
    Team& team = Team::instance();
    if (own_threads_) threads_.reserve(lanes_.size());  // before the team knows the lanes, as it may throw
    for (auto& lane : lanes_) own_threads_ ? team.add_held(*lane) : team.add(*lane);
    forks_ = locus::detail::fork_count();
    if (!own_threads_) return;
    for (auto& lane : lanes_) {  // if the system grants none, the thread that asks prepares the batches
      pthread_t thread;
      if (pthread_create(&thread, nullptr, work, lane.get()) == 0) threads_.push_back(thread);
    }
  }
  /// No batch is prepared from now on.
  void end() noexcept {
    stopped_.store(true);
    changed_.fetch_add(1);
    changed_.notify();
    if (has_threads())
      for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    for (auto& lane : lanes_) own_threads_ ? Team::instance().remove_held(*lane) : Team::instance().remove(*lane);
  }

  /// Prepares some more samples of a batch, of which `samples` are prepared, and counts them. Whether it is whole then.
  [[nodiscard]] virtual bool continue_batch(std::int64_t batch, std::int64_t& samples) = 0;
  [[nodiscard]] std::size_t slot_of(std::int64_t batch) const {
    return static_cast<std::size_t>(batch) % slots_.size();
  }

  /// Waits for the next batch, whose number this is, or prepares it; -1 at the end. throws what preparing it threw
  [[nodiscard]] std::int64_t wait_for_next() {
    const std::int64_t next = taken_.load(Order::relaxed);
    if (next == batches_) return -1;
    const Slot& slot = *slots_[slot_of(next)];
    while (slot.ready.load() != next + 1) {
      if (has_threads()) {
        const std::uint32_t seen = prepared_.load();
        if (slot.ready.load() != next + 1) prepared_.wait(seen);
        continue;
      }
      bool helped = false;
      for (auto& lane : lanes_) helped |= lane->help();
      if (!helped) sched_yield();  // a step takes no longer than to fall asleep and to be woken
    }
    if (slot.failure) std::rethrow_exception(slot.failure);
    return next;
  }
  /// The slot of the batch that wait_for_next() named is free again.
  void take() {
    const std::int64_t taken = taken_.load(Order::relaxed) + 1;
    taken_.store(taken);
    if (own_threads_) {
      changed_.fetch_add(1);
      changed_.notify();
      return;
    }
    Team::instance().offer_steps();
    const std::uint32_t ready = prepared_.load() - static_cast<std::uint32_t>(taken);
    if (ready == slots_.size() / 2) Team::instance().wake();  // rarely
  }
  /// Whether wait_for_next() would name a batch without waiting.
  [[nodiscard]] bool is_ready() const {
    const std::int64_t next = taken_.load(Order::relaxed);
    return next < batches_ && slots_[slot_of(next)]->ready.load() == next + 1;
  }

 private:
  struct Slot : Counted {
    Atomic<std::int64_t> ready{0};  ///< number of the batch in it that is prepared, and 1
    std::exception_ptr failure;
  };

  /// Prepares one batch after another.
  class Lane final : public Counted, public cpu::BackgroundWork {
   public:
    explicit Lane(Preparation& all) : all_(all) {}
    [[nodiscard]] bool has_step() const override { return under_way_.load() || all_.may_claim(all_.claimed_.load()); }
    void step() noexcept override {
      if (!under_way_.load(Order::relaxed)) {
        if (!all_.claim(batch_)) return;
        samples_ = 0;
        under_way_.store(true);
      }
      Slot& slot = *all_.slots_[all_.slot_of(batch_)];
      try {
        if (!all_.continue_batch(batch_, samples_)) return;
      } catch (...) {
        slot.failure = std::current_exception();
        all_.failed_.store(true);
      }
      under_way_.store(false);
      slot.ready.store(batch_ + 1);
      all_.prepared_.fetch_add(1);
      all_.prepared_.notify();
    }
    /// What a worker does.
    void run() {
      cpu::detail::in_parallel_part = true;  // loops of a sample stay on this thread
      while (!all_.stopped_.load()) {
        const std::uint32_t seen = all_.changed_.load();
        if (help()) continue;
        if (has_step()) sched_yield();  // fork() holds it
        else if (!all_.stopped_.load()) all_.changed_.wait(seen);
      }
    }

   private:
    Preparation& all_;
    std::int64_t batch_ = 0, samples_ = 0;
    Atomic<bool> under_way_{false};
  };

  static void* work(void* lane) {
    static_cast<Lane*>(lane)->run();
    return nullptr;
  }
  /// Whether workers prepare batches: not in a child of fork().
  [[nodiscard]] bool has_threads() const { return !threads_.empty() && forks_ == locus::detail::fork_count(); }

  [[nodiscard]] bool may_claim(std::int64_t next) const {
    return next < batches_ && next - taken_.load() < static_cast<std::int64_t>(slots_.size()) && !failed_.load();
  }
  [[nodiscard]] bool claim(std::int64_t& batch) {
    do {
      batch = claimed_.load();
      if (!may_claim(batch)) return false;
    } while (!claimed_.replace(batch, batch + 1));
    return true;
  }

  std::int64_t batches_;
  std::vector<Shared<Slot>> slots_;
  std::vector<Shared<Lane>> lanes_;
  bool own_threads_;
  std::vector<pthread_t> threads_;
  std::uint32_t forks_ = 0;
  Atomic<std::int64_t> claimed_{0};  ///< batches that lanes prepare, or have prepared
  Atomic<std::int64_t> taken_{0};    ///< of them
  Atomic<bool> failed_{false};       ///< none is begun any more
  Atomic<bool> stopped_{false};
  Signal prepared_{0};  ///< how many are ready, or were: what the thread that asks waits for
  Signal changed_{0};   ///< counts what workers wait for
};

}}}  // namespace locus::LOCUS_ABI::data::detail
