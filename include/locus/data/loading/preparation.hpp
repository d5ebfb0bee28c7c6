#pragma once
// Preparation of batches ahead, by the threads that share loops or by dedicated workers. Batches arrive in order.

#include <locus/core/std/bounds.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/cpu/threads/thread_team.hpp>
#include <locus/data/loading/worker_threads.hpp>

#include <sched.h>

#include <exception>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// Prepares batches ahead, in a ring of slots. Derived classes prepare a batch in its slot, a part at a time.
///
/// One lane at a time prepares a batch. Without workers there is a single lane, whose steps are run by the threads that
/// share loops; otherwise each worker, a dedicated thread, runs the steps of its lane. Workers outlive the preparation:
/// the next one of the same loader takes them over. A child of fork() has no workers: the thread that asks for batches
/// prepares them itself.
class Preparation {
  using Team = cpu::detail::ThreadTeam;

 public:
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

 protected:
  /// Prepares with workers unless `workers` is null. If another preparation has them, it creates others for itself.
  Preparation(std::int64_t batches, std::int64_t ahead, int count, Shared<WorkerThreads> workers)
      : batches_(batches), slots_(static_cast<std::size_t>(ahead)), workers_(std::move(workers)) {
    for (auto& slot : slots_) slot = Shared(new Slot);
    for (int i = 0; i < locus::detail::larger(count, 1); ++i) lanes_.push_back(Shared(new Lane(*this)));
  }
  /// Derived classes call end() in their destructor.
  ~Preparation() = default;

  /// Starts preparation. throws OutOfMemory, without effect
  void begin() {
    Team& team = Team::instance();
    if (!workers_) {
      for (auto& lane : lanes_) team.add(*lane);
      return;
    }
    if (!workers_->engage()) {
      workers_ = Shared(new WorkerThreads(static_cast<int>(lanes_.size())));
      (void)workers_->engage();
    }
    for (auto& lane : lanes_) team.add_held(*lane);
    // If the system grants no thread, the thread that asks prepares the batches.
    threads_ = workers_->run(work, [this](std::size_t i) { return lanes_[i].get(); });
  }
  /// Stops preparation.
  void end() noexcept {
    stopped_.store(true);
    changed_.fetch_add(1);
    changed_.notify();
    if (workers_ && workers_->is_here()) workers_->finish();
    for (auto& lane : lanes_) workers_ ? Team::instance().remove_held(*lane) : Team::instance().remove(*lane);
  }

  /// Prepares more samples of a batch with `samples` prepared ones, and adds their number. Returns whether it is
  /// complete.
  [[nodiscard]] virtual bool continue_batch(std::int64_t batch, std::int64_t& samples) = 0;
  [[nodiscard]] std::size_t slot_of(std::int64_t batch) const {
    return static_cast<std::size_t>(batch) % slots_.size();
  }

  /// Waits for the next batch, or prepares it; returns its number, -1 at the end. Rethrows exceptions of its
  /// preparation
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
      if (!helped) sched_yield();  // a step takes no longer than to sleep and be woken
    }
    if (slot.failure) std::rethrow_exception(slot.failure);
    return next;
  }
  /// Frees the slot of the batch that wait_for_next() returned.
  void take() {
    const std::int64_t taken = taken_.load(Order::relaxed) + 1;
    taken_.store(taken);
    if (workers_) {
      changed_.fetch_add(1);
      changed_.notify();
      return;
    }
    Team::instance().offer_steps();
    const std::uint32_t ready = prepared_.load() - static_cast<std::uint32_t>(taken);
    if (ready == slots_.size() / 2) Team::instance().wake();  // rarely
  }
  /// Whether wait_for_next() would return a batch without waiting.
  [[nodiscard]] bool is_ready() const {
    const std::int64_t next = taken_.load(Order::relaxed);
    return next < batches_ && slots_[slot_of(next)]->ready.load() == next + 1;
  }

 private:
  struct Slot : Counted {
    Atomic<std::int64_t> ready{0};  ///< 1 + number of the prepared batch in the slot
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
    /// Loop of a worker.
    void run() {
      cpu::detail::in_parallel_part = true;  // loops of a sample stay on this thread
      while (!all_.stopped_.load()) {
        const std::uint32_t seen = all_.changed_.load();
        if (help()) continue;
        if (has_step()) sched_yield();  // fork() holds the lane
        else if (!all_.stopped_.load()) all_.changed_.wait(seen);
      }
    }

   private:
    Preparation& all_;
    std::int64_t batch_ = 0, samples_ = 0;
    Atomic<bool> under_way_{false};
  };

  static void work(void* lane) { static_cast<Lane*>(lane)->run(); }
  /// Whether workers prepare batches: not in a child of fork().
  [[nodiscard]] bool has_threads() const { return threads_ > 0 && workers_->is_here(); }

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
  Shared<WorkerThreads> workers_;
  std::size_t threads_ = 0;          ///< of the workers, that exist
  Atomic<std::int64_t> claimed_{0};  ///< batches that lanes prepare or have prepared
  Atomic<std::int64_t> taken_{0};    ///< batches that the loop has taken
  Atomic<bool> failed_{false};       ///< no further batch is begun
  Atomic<bool> stopped_{false};
  Signal prepared_{0};  ///< batches prepared so far; the thread that asks waits on it
  Signal changed_{0};   ///< workers wait on it
};

}}}  // namespace locus::LOCUS_ABI::data::detail
