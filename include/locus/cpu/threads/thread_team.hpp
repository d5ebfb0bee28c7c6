#pragma once
// The threads that share a loop, made for loops of microseconds.
//
// OpenMP's barrier waits for every thread of a team. Where another thread of the program keeps a core busy, that costs
// milliseconds per loop. Here threads that are done steal parts that no other thread has begun, and the calling one
// waits only for parts that have begun: threads that are late, or slower, cost little.

#include <locus/cpu/memory.hpp>
#include <locus/cpu/threads/background.hpp>

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// True while this thread runs a part of a loop: loops inside it stay on it.
inline thread_local bool in_parallel_part = false;

class ThreadTeam {
 public:
  static constexpr int most_threads = 256, most_parts = 65535;  // a mask of 16 bits
  using Work = void (*)(void* context, int part);

  /// Never destroyed, so that loops run in destructors of static objects too. After fork(), the child has a team
  /// without threads, which it hires anew; work in the background is as it was between two steps.
  static ThreadTeam& instance() {
    static ThreadTeam* const team = [] {
      (void)MemoryPool::instance();  // registered first, so that steps can end before its lock is taken
      auto* const made = new ThreadTeam;
      pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(); },
                     [] { instance().begin_as_child(); });
      return made;
    }();
    return *team;
  }

  /// Calls work(context, part), which must not throw, for every part, here and on other threads, `threads` in all. Each
  /// has parts of its own, the same whenever both numbers are the same, and does the last ones of others after them.
  /// False, and nothing done, where the team serves another thread.
  [[nodiscard]] bool run(int parts, int threads, Work work, void* context) {
    if (busy_.exchange(true, Order::acquire)) return false;
    hire(threads - 1);
    const std::uint32_t round = round_.load(Order::relaxed) + 1;
    work_ = work;
    context_ = context;
    sharing_.store(threads, Order::relaxed);
    finished_.store(0, Order::relaxed);
    for (int thread = 0; thread < threads; ++thread)
      shares_[thread].state.store(share_of(round, parts * thread / threads, parts * (thread + 1) / threads),
                                  Order::relaxed);
    round_.store(round, Order::release);
    round_.notify();
    const int here = do_parts(0, round);
    for (int spins = 0; finished_.load(Order::acquire) < parts - here; ++spins) relax(spins);
    busy_.store(false, Order::release);
    return true;
  }

  /// From now on, a thread of the team does its steps while no loop needs it; where the system grants no thread, nobody
  /// does but who calls help().
  void add(BackgroundWork& work) {
    background_.add(work);
    offer_steps();
    wake();
  }
  /// Returns when no thread is at a step of it, nor will be.
  void remove(BackgroundWork& work) { background_.remove(work); }
  /// There are steps to do again: threads that are awake see to them.
  void offer_steps() { steps_offered_.store(true, Order::release); }
  /// Threads that sleep see to them, too; the first one is hired. Where a loop is under way, its threads do once they
  /// are done with it.
  void wake() {
    if (busy_.exchange(true, Order::acquire)) return;
    hire(1);
    round_.store(round_.load(Order::relaxed) + 1, Order::release);  // a loop that offers no part
    round_.notify();
    busy_.store(false, Order::release);
  }

 private:
  /// Within a part of a loop nothing is waited for, which may wait for this thread: a child forked there has but to
  /// call exec or exit.
  void before_fork() {
    if (!in_parallel_part) background_.hold();
  }
  void after_fork() {
    if (!in_parallel_part) background_.let_go();
  }
  /// The only thread of the child is this one. What others were at is not to be gone on with.
  void begin_as_child() {
    threads_ = 0;
    if (in_parallel_part) return;
    for (Share& share : shares_) share.state.store(0, Order::relaxed);
    sharing_.store(0, Order::relaxed);
    busy_.store(false, Order::relaxed);
    round_.forget_sleepers();
    background_.let_go();
  }

  /// The parts [begin, end) of a thread that nobody has begun in a round.
  struct alignas(64) Share {
    Atomic<std::uint64_t> state{0};
  };
  static constexpr std::uint64_t share_of(std::uint32_t round, int begin, int end) {
    return std::uint64_t{round} << 32 | static_cast<std::uint64_t>(begin) << 16 | static_cast<std::uint64_t>(end);
  }

  /// Begins a part of this share: its first for the thread itself, its last for another. -1 where none is left.
  [[nodiscard]] int take(Share& share, std::uint32_t round, bool own) {
    for (;;) {
      const std::uint64_t state = share.state.load(Order::acquire);
      const int begin = static_cast<int>(state >> 16 & most_parts), end = static_cast<int>(state & most_parts);
      if (state >> 32 != round || begin == end) return -1;
      if (own && share.state.replace(state, share_of(round, begin + 1, end))) return begin;
      if (!own && share.state.replace(state, share_of(round, begin, end - 1))) return end - 1;
    }
  }

  /// Does this thread's parts, and then what the others have not begun. How many it did.
  int do_parts(int thread, std::uint32_t round) {
    const int threads = sharing_.load(Order::relaxed);
    int done = 0;
    for (int i = 0, of = thread; i < threads; ++i, of = of + 1 < threads ? of + 1 : 0) {
      int of_share = 0;
      for (int part; (part = take(shares_[of], round, i == 0)) >= 0; ++of_share) work_here(part);
      if (thread != 0 && of_share > 0) finished_.fetch_add(of_share, Order::release);
      done += of_share;
    }
    return done;
  }

  void work_here(int part) {
    in_parallel_part = true;
    work_(context_, part);
    in_parallel_part = false;
  }

  static constexpr std::size_t stack_bytes = std::size_t{1} << 20;  ///< some C libraries give too little

  /// Where the system grants no more threads, the calling thread does their parts.
  void hire(int threads) {
    if (threads_ >= threads) return;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    while (threads_ < threads && pthread_create(&thread, &attributes, serve, &shares_[threads_ + 1]) == 0) ++threads_;
    pthread_attr_destroy(&attributes);
  }

  static void* serve(void* share) {
    ThreadTeam& team = instance();
    const int thread = static_cast<int>(static_cast<Share*>(share) - team.shares_);
    for (std::uint32_t round = 0;;) {
      round = team.next_round(round);
      if (thread < team.sharing_.load(Order::relaxed)) team.do_parts(thread, round);
    }
  }

  /// Waits for the next loop: first spinning, since most loops follow soon, at last asleep. Background steps run after
  /// a loop or when idle; the thread that offers them often starts a loop next.
  std::uint32_t next_round(std::uint32_t last) {
    int lull = steps_offered_.load(Order::relaxed) ? 0 : longest_lull;
    for (int spins = 0; spins < 3 * patience; ++spins) {
      const std::uint32_t round = round_.load(Order::acquire);
      if (round != last) return round;
      if (steps_offered_.load(Order::relaxed) && --lull < 0) do_steps(last), lull = longest_lull, spins = 0;
      else relax(spins);
    }
    round_.wait(last);
    return round_.load(Order::acquire);
  }

  /// Does steps until there are none, or the next loop begins.
  void do_steps(std::uint32_t last) {
    if (!steps_offered_.exchange(false)) return;
    in_parallel_part = true;
    bool more = true;
    while (more && round_.load(Order::acquire) == last) more = background_.step();
    in_parallel_part = false;
    if (more) offer_steps();
  }

  /// Some 50 us of pauses; from then on, other threads of this core go first.
  static constexpr int patience = 1500, longest_lull = 300;
  static void relax(int spins) {
    if (spins >= patience) sched_yield();
#if defined(__x86_64__)
    else __builtin_ia32_pause();
#elif defined(__aarch64__)
    else asm volatile("yield");
#endif
  }

  Share shares_[most_threads];
  alignas(64) Signal round_{0};
  Work work_ = nullptr;
  void* context_ = nullptr;
  int threads_ = 0;
  Atomic<int> sharing_{0};  ///< threads that share the loop
  alignas(64) Atomic<int> finished_{0};
  Atomic<bool> busy_{false};
  BackgroundList background_;
  Atomic<bool> steps_offered_{false};
};

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
