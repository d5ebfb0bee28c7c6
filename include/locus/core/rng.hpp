#pragma once
// Counter-based random numbers: number i of a seed is a function of (seed, i), the same on every device, in any order
// (normal numbers up to rounding, which differs between instruction sets).

#include <locus/core/check.hpp>
#include <locus/core/math.hpp>
#include <locus/core/std/span.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace locus { inline namespace LOCUS_ABI {

/// Four 32-bit lanes: a counter of Philox, or its output.
struct PhiloxBlock {
  std::uint32_t x, y, z, w;

  /// Lane i of 0 to 3, by selection: an indexed local array would live in memory on a GPU.
  [[nodiscard]] LOCUS_FN constexpr std::uint32_t operator[](std::uint32_t i) const {
    return i < 2 ? (i == 0 ? x : y) : (i == 2 ? z : w);
  }
  [[nodiscard]] LOCUS_FN friend constexpr bool operator==(const PhiloxBlock& a, const PhiloxBlock& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
  }
};

struct PhiloxKey {
  std::uint32_t x, y;
};

namespace detail {

[[nodiscard]] LOCUS_FN constexpr PhiloxBlock philox_round(const PhiloxBlock& c, std::uint32_t key_x,
                                                          std::uint32_t key_y) {
  const std::uint64_t p = std::uint64_t{0xD2511F53u} * c.x;
  const std::uint64_t q = std::uint64_t{0xCD9E8D57u} * c.z;
  return {static_cast<std::uint32_t>(q >> 32) ^ c.y ^ key_x, static_cast<std::uint32_t>(q),
          static_cast<std::uint32_t>(p >> 32) ^ c.w ^ key_y, static_cast<std::uint32_t>(p)};
}

// A pack, not a loop: g++ -O2 would keep the loop, and then not vectorize the loop around it.
template <std::uint32_t... Round>
[[nodiscard]] LOCUS_FN constexpr PhiloxBlock philox_rounds(PhiloxBlock c, PhiloxKey key,
                                                           std::integer_sequence<std::uint32_t, Round...>) {
  ((c = philox_round(c, key.x + Round * 0x9E3779B9u, key.y + Round * 0xBB67AE85u)), ...);
  return c;
}

// On the host, float functions are the vectorizable ones of math.hpp, and double functions builtins, which save every
// file the 0.1 s of <cmath>. Angles are in turns, since a GPU's sin needs local memory and its sinpi does not.
#if LOCUS_ON_DEVICE
#define LOCUS_RANDOM_FUNCTION(on_device, on_host) on_device
#else
#define LOCUS_RANDOM_FUNCTION(on_device, on_host) on_host
#endif
LOCUS_FN float random_log(float x) { return LOCUS_RANDOM_FUNCTION(::logf(x), math::log(x)); }
LOCUS_FN float random_sqrt(float x) { return LOCUS_RANDOM_FUNCTION(::sqrtf(x), math::sqrt(x)); }
LOCUS_FN float random_sin(float turns) {
  return LOCUS_RANDOM_FUNCTION(::sinpif(2.f * turns), math::sin(6.2831853071795864769f * turns));
}
LOCUS_FN float random_cos(float turns) {
  return LOCUS_RANDOM_FUNCTION(::cospif(2.f * turns), math::cos(6.2831853071795864769f * turns));
}
LOCUS_FN double random_log(double x) { return LOCUS_RANDOM_FUNCTION(::log(x), __builtin_log(x)); }
LOCUS_FN double random_sqrt(double x) { return LOCUS_RANDOM_FUNCTION(::sqrt(x), __builtin_sqrt(x)); }
LOCUS_FN double random_sin(double turns) {
  return LOCUS_RANDOM_FUNCTION(::sinpi(2. * turns), __builtin_sin(6.2831853071795864769 * turns));
}
LOCUS_FN double random_cos(double turns) {
  return LOCUS_RANDOM_FUNCTION(::cospi(2. * turns), __builtin_cos(6.2831853071795864769 * turns));
}
#undef LOCUS_RANDOM_FUNCTION

}  // namespace detail

/// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC 2011).
[[nodiscard]] LOCUS_FN constexpr PhiloxBlock philox4x32(const PhiloxBlock& counter, PhiloxKey key) {
  return detail::philox_rounds(counter, key, std::make_integer_sequence<std::uint32_t, 10>{});
}

/// Block number `block` of a seed. Different streams of one seed are independent: 2^64 blocks each.
[[nodiscard]] LOCUS_FN constexpr PhiloxBlock random_block(std::uint64_t seed, std::uint64_t block,
                                                          std::uint64_t stream = 0) {
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                     static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

/// Number `index` of the seed's 32-bit numbers: lane index % 4 of block index / 4.
[[nodiscard]] LOCUS_FN constexpr std::uint32_t random_bits(std::uint64_t seed, std::uint64_t index,
                                                           std::uint64_t stream = 0) {
  return random_block(seed, index / 4, stream)[static_cast<std::uint32_t>(index % 4)];
}

/// 32 random bits as a multiple of 2^-24 in [0, 1).
[[nodiscard]] LOCUS_FN constexpr float unit_float(std::uint32_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 8)) * 0x1p-24f;
}
/// 64 random bits as a multiple of 2^-53 in [0, 1).
[[nodiscard]] LOCUS_FN constexpr double unit_double(std::uint32_t high, std::uint32_t low) {
  const auto bits = (std::uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-53;
}

/// Uniform in [0, 1), 24 random bits. Equal bit for bit on every device.
[[nodiscard]] LOCUS_FN constexpr float uniform(std::uint64_t seed, std::uint64_t index, std::uint64_t stream = 0) {
  return unit_float(random_bits(seed, index, stream));
}
/// Uniform in [0, 1), 53 random bits: half a block each. Equal bit for bit on every device.
[[nodiscard]] LOCUS_FN constexpr double uniform_double(std::uint64_t seed, std::uint64_t index,
                                                       std::uint64_t stream = 0) {
  const PhiloxBlock lanes = random_block(seed, index / 2, stream);
  return index % 2 ? unit_double(lanes.z, lanes.w) : unit_double(lanes.x, lanes.y);
}

/// Two independent standard normal numbers.
template <class T>
struct NormalPair {
  T first, second;
};

/// Box-Muller: radius from the first number, angle from the second. |result| < 6.8
[[nodiscard]] LOCUS_FN NormalPair<float> normal_pair(std::uint32_t radius_bits, std::uint32_t angle_bits) {
  const float u = static_cast<float>(radius_bits) * 0x1p-32f + 0x1p-33f;  // (0, 1]
  const float radius = detail::random_sqrt(-2.f * detail::random_log(u));
  const float angle = unit_float(angle_bits);
  return {radius * detail::random_cos(angle), radius * detail::random_sin(angle)};
}
/// The same from a whole block, to double precision. |result| < 8.7
[[nodiscard]] LOCUS_FN NormalPair<double> normal_pair_double(const PhiloxBlock& lanes) {
  const double u = unit_double(lanes.x, lanes.y) + 0x1p-54;  // (0, 1]
  const double radius = detail::random_sqrt(-2. * detail::random_log(u));
  const double angle = unit_double(lanes.z, lanes.w);
  return {radius * detail::random_cos(angle), radius * detail::random_sin(angle)};
}

/// Standard normal: a quarter of block index / 4. Devices agree to rounding (their logarithm and cosine differ).
[[nodiscard]] LOCUS_FN float standard_normal(std::uint64_t seed, std::uint64_t index, std::uint64_t stream = 0) {
  const PhiloxBlock lanes = random_block(seed, index / 4, stream);
  const auto pair = index % 4 < 2 ? normal_pair(lanes.x, lanes.y) : normal_pair(lanes.z, lanes.w);
  return index % 2 ? pair.second : pair.first;
}
/// Standard normal in double precision: half of block index / 2.
[[nodiscard]] LOCUS_FN double normal_double(std::uint64_t seed, std::uint64_t index, std::uint64_t stream = 0) {
  const auto pair = normal_pair_double(random_block(seed, index / 2, stream));
  return index % 2 ? pair.second : pair.first;
}

/// The numbers of one seed in sequence, for host code; usable wherever <random> wants a uniform random bit generator.
class Philox {
 public:
  using result_type = std::uint32_t;

  /// Starts at number `offset` of the seed's stream.
  explicit constexpr Philox(std::uint64_t seed, std::uint64_t offset = 0, std::uint64_t stream = 0)
      : seed_(seed), stream_(stream), next_(offset) {}

  [[nodiscard]] static constexpr result_type min() { return 0; }
  [[nodiscard]] static constexpr result_type max() { return 0xffffffffu; }

  constexpr result_type operator()() {
    if (next_ / 4 != block_ || !filled_) fill();
    return lanes_[static_cast<std::uint32_t>(next_++ % 4)];
  }

  /// Uniform in [0, n), without bias. throws ArgumentError for n < 1
  [[nodiscard]] constexpr std::int64_t bounded(std::int64_t n) {
    if (n < 1) fail<ArgumentError>({"Philox::bounded: no number in [0, ", n, "); expected an upper end of at least 1"});
    const auto range = static_cast<std::uint64_t>(n);
    return static_cast<std::int64_t>(range <= max() ? bounded_by_product(static_cast<std::uint32_t>(range))
                                                    : bounded_by_rejection(range));
  }

  [[nodiscard]] constexpr float uniform() { return unit_float((*this)()); }
  /// Uniform in [low, high): a number that rounding would make `high` becomes `low`.
  [[nodiscard]] constexpr float uniform(float low, float high) {
    const float x = low + (high - low) * uniform();
    return x < high ? x : low;
  }

  /// Number that the next call returns; Philox(seed, position(), stream) continues from here.
  [[nodiscard]] constexpr std::uint64_t position() const { return next_; }
  constexpr void discard(std::uint64_t count) { next_ += count; }

 private:
  [[gnu::noinline]] constexpr void fill() {
    block_ = next_ / 4;
    lanes_ = random_block(seed_, block_, stream_);
    filled_ = true;
  }

  // Lemire: Fast random integer generation in an interval, 2019. Divides only when the low half falls into the bias.
  constexpr std::uint64_t bounded_by_product(std::uint32_t n) {
    std::uint64_t product = std::uint64_t{(*this)()} * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t bias = (0u - n) % n;
      while (static_cast<std::uint32_t>(product) < bias) product = std::uint64_t{(*this)()} * n;
    }
    return product >> 32;
  }
  [[gnu::noinline]] constexpr std::uint64_t bounded_by_rejection(std::uint64_t n) {
    const std::uint64_t bias = (std::uint64_t{0} - n) % n;
    for (;;) {
      const std::uint64_t high = (*this)();
      const std::uint64_t bits = high << 32 | (*this)();
      if (bits >= bias) return bits % n;
    }
  }

  std::uint64_t seed_, stream_, next_;
  std::uint64_t block_ = 0;
  PhiloxBlock lanes_{};
  bool filled_ = false;
};

/// Fisher-Yates, every order equally likely, the same for the same engine with every standard library.
constexpr void shuffle(Span<std::int64_t> values, Philox& engine) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(engine.bounded(static_cast<std::int64_t>(i)))]);
  }
}

}}  // namespace locus::LOCUS_ABI
