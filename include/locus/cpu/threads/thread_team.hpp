#pragma once
// The threads that share a loop, made for loops of microseconds.
//
// OpenMP's barrier waits for every thread of a team. If another thread of the program keeps a core busy, that costs
// milliseconds per loop. Here threads that are done steal parts that no other thread has begun, and the calling thread
// waits only for parts that have begun: threads that are late, or slower, cost little.

#include <locus/cpu/memory.hpp>
#include <locus/cpu/threads/background.hpp>

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// True while this thread runs a part of a loop: loops inside it stay on it.
inline thread_local bool in_parallel_part = false;

class ThreadTeam {
 public:
  static constexpr int most_threads = 256, most_parts = 65535;  // a mask of 16 bits
  using Work = void (*)(void* context, int part);

  /// Never destroyed, so that loops run in destructors of static objects too. After fork(), the child has a team
  /// without threads and creates new ones; background work is as it was between two steps.
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

  /// Calls work(context, part), which must not throw, for every part, on `threads` threads, this one included. Each
  /// thread has a share of its own, determined by both numbers, and then steals the last parts of other shares. False,
  /// without effect, if the team serves another thread.
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

  /// From now on, idle threads of the team run the work's steps. If no thread can be created, only help() makes
  /// progress.
  void add(BackgroundWork& work) {
    background_.add(work);
    offer_steps();
    wake();
  }
  /// Returns when no thread runs a step of the work, nor will.
  void remove(BackgroundWork& work) { background_.remove(work); }
  /// The same for work of threads outside the team: fork() waits until none of them runs a step of it.
  void add_held(BackgroundWork& work) { held_.add(work); }
  void remove_held(BackgroundWork& work) { held_.remove(work); }
  /// Announces further steps: threads that are awake run them.
  void offer_steps() { steps_offered_.store(true, Order::release); }
  /// The same, and wakes sleeping threads; creates the first thread if there is none. Threads that run a loop take
  /// steps after it.
  void wake() {
    if (busy_.exchange(true, Order::acquire)) return;
    hire(1);
    round_.store(round_.load(Order::relaxed) + 1, Order::release);  // a loop that offers no part
    round_.notify();
    busy_.store(false, Order::release);
  }

 private:
  /// A fork within a part of a loop waits for nothing, since the loop waits for this thread: the child may only call
  /// exec or exit.
  void before_fork() {
    if (in_parallel_part) return;
    background_.hold();
    held_.hold();
  }
  void after_fork() {
    if (in_parallel_part) return;
    held_.let_go();
    background_.let_go();
  }
  /// The child has this thread alone; parts and steps that other threads had begun are abandoned.
  void begin_as_child() {
    threads_ = 0;
    if (in_parallel_part) return;
    for (Share& share : shares_) share.state.store(0, Order::relaxed);
    sharing_.store(0, Order::relaxed);
    busy_.store(false, Order::relaxed);
    round_.forget_sleepers();
    held_.let_go();
    background_.let_go();
  }

  /// The parts [begin, end) of a thread that have not begun in a round. On a cache line of its own: no false sharing.
  struct alignas(64) Share {
    Atomic<std::uint64_t> state{0};
  };
  static constexpr std::uint64_t share_of(std::uint32_t round, int begin, int end) {
    return std::uint64_t{round} << 32 | static_cast<std::uint64_t>(begin) << 16 | static_cast<std::uint64_t>(end);
  }

  /// Takes a part of a share: its own thread takes the first, a thread that steals the last. -1 if none is left.
  [[nodiscard]] int take(Share& share, std::uint32_t round, bool own) {
    for (;;) {
      const std::uint64_t state = share.state.load(Order::acquire);
      const int begin = static_cast<int>(state >> 16 & most_parts), end = static_cast<int>(state & most_parts);
      if (state >> 32 != round || begin == end) return -1;
      if (own && share.state.replace(state, share_of(round, begin + 1, end))) return begin;
      if (!own && share.state.replace(state, share_of(round, begin, end - 1))) return end - 1;
    }
  }

  /// Runs this thread's parts, then steals from the other shares. Returns how many parts it ran.
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

  /// glibc's default; other C libraries give less, and OpenBLAS's getrf takes half a MiB at each level of its
  /// recursion. Untouched pages take no memory.
  static constexpr std::size_t stack_bytes = std::size_t{8} << 20;

  /// Creates threads. If the system grants no more, the existing ones run all parts.
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

  /// Runs background steps until there are none or the next loop begins.
  void do_steps(std::uint32_t last) {
    if (!steps_offered_.exchange(false)) return;
    in_parallel_part = true;
    bool more = true;
    while (more && round_.load(Order::acquire) == last) more = background_.step();
    in_parallel_part = false;
    if (more) offer_steps();
  }

  /// Spins for some 50 us; from then on yields to other threads of this core.
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
  BackgroundList background_, held_;
  Atomic<bool> steps_offered_{false};
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
