#pragma once
// Generators of random tensors: a seed, and how many of its numbers are used up.

#include <locus/core/check.hpp>
#include <locus/core/rng.hpp>
#include <locus/core/std/posix.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Random numbers for tensors on D. The numbers depend on (seed, offset) alone, so equal generators give equal numbers
/// on every device. Not thread-safe.
template <class D>
struct Generator {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  ///< numbers used up

  /// Uses up `count` numbers; returns the position of the first.
  constexpr std::uint64_t reserve(std::int64_t count) {
    const std::uint64_t first = offset;
    offset += static_cast<std::uint64_t>(count);
    return first;
  }
};

namespace detail {

inline constexpr std::uint64_t initial_seed = 0x10c05;

/// Each kind of number has its own stream: numbers of different kinds never share random bits.
enum RandomStream : std::uint64_t {
  stream_of_32_bits = 0,
  stream_of_64_bits = 1,
  stream_of_orders = 2,
  stream_of_normals = 3,
  stream_of_double_normals = 4,
  stream_of_complex_normals = 16,
  stream_of_ranks = 5,
  stream_of_transforms = 6,
  stream_of_mixes = 7,
  stream_of_gammas = 8,
  stream_of_poissons = 9,
  stream_of_binomials = 10,
};

/// Each new seed has a new `count`, by which default generators detect it.
struct Seed {
  std::uint64_t seed = initial_seed;
  std::uint64_t count = 0;
  int rank = -1;             ///< whose numbers these are; -1: of no rank
  std::uint64_t of_all = 0;  ///< from which the seeds of all ranks were derived
  bool is_given = false;     ///< by manual_seed(), and not derived
};
struct GlobalSeed {
  Mutex mutex;
  std::uint64_t changes = 0;  ///< of any seed
  Seed seed;
  std::uint32_t forks_of_rank = UINT32_MAX;  ///< fork_count() where a process became a rank
};
inline GlobalSeed& global_seed();
inline Mutex& mutex_of_global_seed() { return global_seed().mutex; }
inline GlobalSeed& global_seed() {
  static GlobalSeed seed;
  static const bool forks = (wait_at_fork<&mutex_of_global_seed>(), true);
  (void)forks;
  return seed;
}
/// Guarded by the mutex.
inline void change(Seed& to, std::uint64_t seed) {
  to.seed = seed;
  to.count = ++global_seed().changes;
}

/// The seed of this thread, if it is a rank; null: the process's seed applies.
[[nodiscard]] inline Seed*& seed_of_thread() {
  static thread_local Seed* seed = nullptr;
  return seed;
}
/// Guarded by the mutex of the global seed, as are the generators.
[[nodiscard]] inline Seed& current_seed() { return seed_of_thread() ? *seed_of_thread() : global_seed().seed; }
[[nodiscard]] inline Seed seed_now() {
  const Lock lock(global_seed().mutex);
  return current_seed();
}

template <class D>
struct DefaultGenerator {
  Generator<D> generator{initial_seed};
  std::uint64_t seen = 0;
};

template <class D>
DefaultGenerator<D>& default_generator_state() {
  static DefaultGenerator<D> of_process;
  static thread_local DefaultGenerator<D> of_rank;
  return seed_of_thread() ? of_rank : of_process;
}
template <class D>
[[nodiscard]] DefaultGenerator<D> default_generator() {
  const Lock lock(global_seed().mutex);
  return default_generator_state<D>();
}
template <class D>
void restore_default_generator(const DefaultGenerator<D>& state) {
  const Lock lock(global_seed().mutex);
  default_generator_state<D>() = state;
}

/// D's default generator continues from `generator`.
template <class D>
void set_default_generator(const Generator<D>& generator) {
  const Lock lock(global_seed().mutex);
  default_generator_state<D>() = {generator, current_seed().count};
}

/// Replaces D's default generator in this thread; null: not replaced.
template <class D>
[[nodiscard]] DefaultGenerator<D>*& generator_in_place() {
  static thread_local DefaultGenerator<D>* state = nullptr;
  return state;
}

/// Reserves `count` numbers of D's default generator; returns a generator at the first of them. Guarded by the mutex.
template <class D>
[[nodiscard]] Generator<D> draw_guarded(std::int64_t count) {
  auto& state = generator_in_place<D>() ? *generator_in_place<D>() : default_generator_state<D>();
  if (state.seen != current_seed().count) state = {{current_seed().seed}, current_seed().count};
  return {state.generator.seed, state.generator.reserve(count)};
}
template <class D>
[[nodiscard]] Generator<D> draw_from_default(std::int64_t count) {
  const Lock lock(global_seed().mutex);
  return draw_guarded<D>(count);
}

/// Repeats draws from D's default generator, in one thread.
template <class D>
class RepeatedDraws {
 public:
  RepeatedDraws() = default;
  RepeatedDraws(const RepeatedDraws&) = delete;
  RepeatedDraws& operator=(const RepeatedDraws&) = delete;

  /// The draws after this call are the draws to repeat.
  void remember() { first_ = draw_from_default<D>(0); }
  /// Between start() and stop() the thread draws the same numbers again. The default generator does not advance. Not
  /// nested.
  void start() {
    const Lock lock(global_seed().mutex);
    again_ = {first_, current_seed().count};
    generator_in_place<D>() = &again_;
  }
  void stop() { generator_in_place<D>() = nullptr; }

 private:
  Generator<D> first_;
  DefaultGenerator<D> again_;
};

/// A seed for a separate sequence of random numbers, from two numbers of a generator.
template <class Purpose>
[[nodiscard]] std::uint64_t seed_at(const Generator<Purpose>& generator, RandomStream stream) {
  Philox random(generator.seed, generator.offset, stream);
  const std::uint64_t high = random();
  return high << 32 | random();
}
/// A seed from the default generator of a purpose: drawing it changes no other numbers.
template <class Purpose>
[[nodiscard]] std::uint64_t draw_seed(RandomStream stream) {
  return seed_at(draw_from_default<Purpose>(2), stream);
}

/// Purpose: seeds of ranks. Ranks that a thread starts together have different seeds, derived from the thread's seed.
struct Ranks {};
[[nodiscard]] inline std::uint64_t draw_seed_of_ranks() { return draw_seed<Ranks>(stream_of_ranks); }
[[nodiscard]] inline std::uint64_t seed_of_rank(std::uint64_t of_all, int rank) {
  const PhiloxBlock mixed = random_block(of_all, static_cast<std::uint64_t>(rank), stream_of_ranks);
  return std::uint64_t{mixed.x} << 32 | mixed.y;
}
/// Guarded by the mutex.
inline void change_to_rank(Seed& to, std::uint64_t of_all, int rank) {
  to.rank = rank;
  to.of_all = of_all;
  to.is_given = false;
  change(to, seed_of_rank(of_all, rank));
}
/// The seed of this process or rank is that of `seed`. Default generators start anew if its number differs.
inline void restore_seed(const Seed& seed) {
  const Lock lock(global_seed().mutex);
  Seed& now = current_seed();
  if (now.seed != seed.seed) change(now, seed.seed);
  now.of_all = seed.of_all;
  now.is_given = seed.is_given;
}
/// Makes this thread a rank during its lifetime: one rank at a time, since a thread has one generator for its rank.
/// throws ArgumentError in a thread that is a rank already
class ThreadRank {
 public:
  ThreadRank(int rank, std::uint64_t seed_of_all) {
    if (seed_of_thread())
      fail<ArgumentError>({"rank ", rank, " in a thread that is a rank already; give each rank a thread of its own"});
    const Lock lock(global_seed().mutex);
    change_to_rank(mine_, seed_of_all, rank);
    seed_of_thread() = &mine_;
  }
  ThreadRank(const ThreadRank&) = delete;
  ThreadRank& operator=(const ThreadRank&) = delete;
  ~ThreadRank() { seed_of_thread() = nullptr; }

 private:
  Seed mine_;
};
/// From the first call on, this process is a rank. A child of fork() becomes a rank by its own first call.
inline void become_rank(int rank) {
  auto& global = global_seed();
  const std::uint32_t forks = fork_count();
  const Lock lock(global.mutex);
  if (std::exchange(global.forks_of_rank, forks) == forks) return;
  change_to_rank(global.seed, seed_at(draw_guarded<Ranks>(2), stream_of_ranks), rank);
}

}  // namespace detail

/// Seeds the default generator of every device: the following numbers are equal in every run and on every device. A
/// rank (see distributed/start/spawn.hpp) seeds its own generators.
inline void manual_seed(std::uint64_t seed) {
  const Lock lock(detail::global_seed().mutex);
  detail::Seed& now = detail::current_seed();
  now.is_given = true;
  detail::change(now, seed);
}

}}  // namespace locus::LOCUS_ABI
