#pragma once
// Threads that a loader keeps from its first epoch on. They sleep between epochs.

#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// Dedicated threads, for one epoch at a time: engage(), run(), and at its end finish(). A child of fork() has none of
/// them.
class WorkerThreads final : public Counted {
 public:
  /// Threads are created by the first run(). throws OutOfMemory
  explicit WorkerThreads(int count) : seats_(static_cast<std::size_t>(count)) {
    for (auto& seat : seats_) seat = Shared(new Seat{*this});
  }
  ~WorkerThreads() {
    if (!is_here()) return;
    for (auto& seat : seats_) seat->work = nullptr;
    next_turn();
    for (std::size_t i = 0; i < hired_; ++i) pthread_join(seats_[i]->thread, nullptr);
  }

  [[nodiscard]] bool is_here() const { return forks_ == locus::detail::fork_count(); }
  /// Reserves the threads for one epoch; false if another has them.
  [[nodiscard]] bool engage() { return !engaged_.exchange(true); }

  /// Calls work(of(i)) on each thread i; returns the number of threads, which is less if the system grants no more.
  template <class Of>
  std::size_t run(void (*work)(void*), const Of& of) {
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      seats_[i]->work = work;
      seats_[i]->argument = of(i);
    }
    finished_.store(0);
    for (; hired_ < seats_.size(); ++hired_) {
      Seat& seat = *seats_[hired_];
      seat.turn = turn_.load();
      if (pthread_create(&seat.thread, nullptr, serve, &seat) != 0) break;
    }
    next_turn();
    return hired_;
  }
  /// Waits until all calls of work have returned, and ends the reservation.
  void finish() {
    for (std::uint32_t done; (done = finished_.load()) != hired_;) finished_.wait(done);
    engaged_.store(false);
  }

 private:
  struct Seat : Counted {
    WorkerThreads& all;
    pthread_t thread{};
    std::uint32_t turn = 0;  ///< the last one that the thread took part in
    void (*work)(void*) = nullptr;
    void* argument = nullptr;
    explicit Seat(WorkerThreads& threads) : all(threads) {}
  };

  void next_turn() {
    turn_.fetch_add(1);
    turn_.notify();
  }
  static void* serve(void* of) {
    Seat& seat = *static_cast<Seat*>(of);
    for (;;) {
      seat.all.turn_.wait(seat.turn);
      seat.turn = seat.all.turn_.load();
      if (!seat.work) return nullptr;
      seat.work(seat.argument);
      seat.all.finished_.fetch_add(1);
      seat.all.finished_.notify();
    }
  }

  std::vector<Shared<Seat>> seats_;
  std::size_t hired_ = 0;
  std::uint32_t forks_ = locus::detail::fork_count();
  Atomic<bool> engaged_{false};
  Signal turn_{0};      ///< of run(); threads wait on it
  Signal finished_{0};  ///< threads that have returned from work in this turn
};

}}}  // namespace locus::LOCUS_ABI::data::detail
