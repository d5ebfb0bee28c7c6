#pragma once
// How a transform of one length is computed, with its tables. Tables are computed in double.

#include <locus/core/complex.hpp>
#include <locus/core/std/shared.hpp>

#include <cstdint>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// e^(-2 pi i k / n), from an angle of at most an eighth of a turn.
[[nodiscard]] inline Complex<double> root_of_unity(std::int64_t k, std::int64_t n) {
  constexpr double pi = 3.14159265358979323846;
  k %= n;
  std::int64_t eighths = 8 * k / n;  // the octant
  const bool is_odd = (eighths & 1) != 0;
  const std::int64_t quarter = eighths / 2;
  const std::int64_t within = 4 * k - quarter * n;  // of a quarter turn, over n
  const double angle = 0.5 * pi * static_cast<double>(is_odd ? n - within : within) / static_cast<double>(n);
  const double c = __builtin_cos(angle), s = __builtin_sin(angle);
  const double x = is_odd ? s : c, y = is_odd ? c : s;  // cosine and sine within the quarter
  switch (quarter) {
    case 0: return {x, -y};
    case 1: return {-y, -x};
    case 2: return {-x, y};
    default: return {y, x};
  }
}

/// The factors of n, 4 first; none where a prime factor exceeds 13.
[[nodiscard]] inline std::vector<int> fft_radices(std::int64_t n) {
  std::vector<int> radices;
  const auto take = [&](int radix) {
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
    }
  };
  take(4);
  for (const int radix : {2, 3, 5, 7, 11, 13}) take(radix);
  if (n > 1) radices.clear();
  return radices;
}
[[nodiscard]] inline bool is_smooth(std::int64_t n) { return n == 1 || !fft_radices(n).empty(); }

/// The least number of factors 2, 3 and 5 that is at least n, and even.
[[nodiscard]] inline std::int64_t smooth_length(std::int64_t n) {
  std::int64_t best = INT64_MAX;
  for (std::int64_t fives = 1; fives < 2 * n && fives <= 125; fives *= 5)
    for (std::int64_t threes = fives; threes < 2 * n && threes <= 27 * fives; threes *= 3) {
      std::int64_t length = 2 * threes;
      while (length < n) length *= 2;
      best = length < best ? length : best;
    }
  return best;
}

/// The stages of a transform whose length has small factors alone.
template <class R>
struct BlockPlan {
  struct Stage {
    int radix;
    std::int64_t turns, twiddles, roots;  ///< the last two: where they begin
  };
  std::int64_t n = 1;
  std::vector<Stage> stages;
  std::vector<R> tables;

  explicit BlockPlan(std::int64_t length) : n(length) {
    std::int64_t left = n;
    for (const int radix : fft_radices(n)) {
      left /= radix;
      Stage stage{radix, left, static_cast<std::int64_t>(tables.size()), 0};
      for (int k = 1; k < radix; ++k) add_powers(k, left, radix * left);
      stage.roots = static_cast<std::int64_t>(tables.size());
      if (radix > 5)
        for (int k = 0; k < radix; ++k) add(root_of_unity(k, radix));
      stages.push_back(stage);
    }
  }

 private:
  void add(const Complex<double>& z) {
    tables.push_back(static_cast<R>(z.real));
    tables.push_back(static_cast<R>(z.imag));
  }
  void add_powers(int k, std::int64_t count, std::int64_t of) {
    for (std::int64_t p = 0; p < count; ++p) tables.push_back(static_cast<R>(root_of_unity(k * p, of).real));
    for (std::int64_t p = 0; p < count; ++p) tables.push_back(static_cast<R>(root_of_unity(k * p, of).imag));
  }
};

/// How a transform of length n is computed. Lengths with large prime factors are convolutions (Bluestein, 1970), by
/// transforms of another length. Other lengths have up to two ways: in one block, and as n1 x n2, by a block of length
/// n1 for each of n2 columns, a turn, and a block of length n2 for each of n1 rows.
template <class R>
struct FftPlan : Counted {
  static constexpr std::int64_t longest_block = 4096, shortest_in_two_steps = 64;
  std::int64_t n, n1 = 1, n2 = 1;
  BlockPlan<R> block, columns, rows;
  std::vector<Complex<R>> turns;          ///< e^(-2 pi i k1 j2 / n) at k1 * n2 + j2
  Shared<const FftPlan> padded{};         ///< of Bluestein's convolution
  std::vector<Complex<R>> chirp, kernel;  ///< e^(-pi i j^2 / n), and the transform of its conjugate; of padded's length

  explicit FftPlan(std::int64_t length)
      : n(length),
        n1(n >= shortest_in_two_steps && is_smooth(n) ? middle_divisor(n) : n),
        n2(n / n1),
        block(is_smooth(n) && (n <= longest_block || n2 == 1) ? n : 1),
        columns(n2 > 1 ? n1 : 1),
        rows(n2) {
    if (!is_smooth(n)) make_chirp();
    if (n2 == 1) return;
    turns.reserve(static_cast<std::size_t>(n));
    for (std::int64_t k1 = 0; k1 < n1; ++k1)
      for (std::int64_t j2 = 0; j2 < n2; ++j2) turns.push_back(Complex<R>(root_of_unity(k1 * j2, n)));
  }
  [[nodiscard]] bool has_block() const { return block.n == n; }
  [[nodiscard]] bool has_two_steps() const { return n2 > 1; }

 private:
  /// The least divisor whose square is at least n.
  [[nodiscard]] static std::int64_t middle_divisor(std::int64_t n) {
    std::int64_t best = n;
    for (std::int64_t d = 1; d * d <= n; ++d)
      if (n % d == 0) best = n / d;
    return best;
  }
  void make_chirp() {
    padded = Shared<const FftPlan>(new FftPlan(smooth_length(2 * n - 1)));
    for (std::int64_t j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j)
      chirp.push_back(Complex<R>(root_of_unity(square, 2 * n)));
  }
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
