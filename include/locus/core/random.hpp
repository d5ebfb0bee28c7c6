#pragma once
// Where random tensors take their numbers from: a seed, and how many of its numbers are used up.

#include <locus/core/posix.hpp>
#include <locus/core/rng.hpp>

namespace locus::inline LOCUS_ABI {

/// Random numbers for tensors on D. What is drawn depends on (seed, offset) alone, so equal generators give equal
/// numbers on every device. Not for use by two threads at once.
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

/// Each kind of number has a stream of its own: numbers of different kinds never share random bits.
enum RandomStream : std::uint64_t {
  stream_of_32_bits = 0,
  stream_of_64_bits = 1,
  stream_of_orders = 2,
  stream_of_normals = 3,
  stream_of_double_normals = 4,
};

/// The default generators notice a new seed by `count`.
struct GlobalSeed {
  Mutex mutex;
  std::uint64_t seed = initial_seed;
  std::uint64_t count = 0;
};
inline GlobalSeed& global_seed();
inline Mutex& mutex_of_global_seed() { return global_seed().mutex; }
inline GlobalSeed& global_seed() {
  static GlobalSeed seed;
  static const bool forks = (wait_at_fork<&mutex_of_global_seed>(), true);
  (void)forks;
  return seed;
}

template <class D>
struct DefaultGenerator {
  Generator<D> generator{initial_seed};
  std::uint64_t seen = 0;
};

/// Guarded by the mutex of the global seed.
template <class D>
DefaultGenerator<D>& default_generator_state() {
  static DefaultGenerator<D> state;
  return state;
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

/// What this thread draws from in place of D's default generator; null: from that one.
template <class D>
[[nodiscard]] DefaultGenerator<D>*& generator_in_place() {
  static thread_local DefaultGenerator<D>* state = nullptr;
  return state;
}

/// `count` numbers of D's default generator, as a generator that stands at the first of them.
template <class D>
[[nodiscard]] Generator<D> draw_from_default(std::int64_t count) {
  auto& global = global_seed();
  const Lock lock(global.mutex);
  auto& state = generator_in_place<D>() ? *generator_in_place<D>() : default_generator_state<D>();
  if (state.seen != global.count) state = {{global.seed}, global.count};
  return {state.generator.seed, state.generator.reserve(count)};
}

/// Draws from D's default generator that can be repeated, by one thread.
template <class D>
class RepeatedDraws {
 public:
  RepeatedDraws() = default;
  RepeatedDraws(const RepeatedDraws&) = delete;
  RepeatedDraws& operator=(const RepeatedDraws&) = delete;

  /// What is drawn from here on is what is repeated.
  void remember() { first_ = draw_from_default<D>(0); }
  /// Between start() and stop() the thread draws the same numbers again. The default generator stays where it is. Not
  /// nested.
  void start() {
    const Lock lock(global_seed().mutex);
    again_ = {first_, global_seed().count};
    generator_in_place<D>() = &again_;
  }
  void stop() { generator_in_place<D>() = nullptr; }

 private:
  Generator<D> first_;
  DefaultGenerator<D> again_;
};

/// While it lives, this thread draws from a generator of its own in place of D's default one: another one for each
/// number.
template <class D>
class OwnDraws {
 public:
  OwnDraws(std::uint64_t seed, std::uint64_t number) : before_(generator_in_place<D>()) {
    const Lock lock(global_seed().mutex);
    draws_ = {{seed + (number + 1) * 0x9e3779b97f4a7c15u}, global_seed().count};
    generator_in_place<D>() = &draws_;
  }
  OwnDraws(const OwnDraws&) = delete;
  OwnDraws& operator=(const OwnDraws&) = delete;
  ~OwnDraws() { generator_in_place<D>() = before_; }

 private:
  DefaultGenerator<D> draws_;
  DefaultGenerator<D>* before_;
};

}  // namespace detail

/// Restarts the default generator of every device: what follows is the same in every run, and on every device.
inline void manual_seed(std::uint64_t seed) {
  auto& global = detail::global_seed();
  const Lock lock(global.mutex);
  global.seed = seed;
  ++global.count;
}

}  // namespace locus::inline LOCUS_ABI
