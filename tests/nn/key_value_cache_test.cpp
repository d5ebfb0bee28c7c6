// Runs on: host, reference, cuda (layers).
#include <locus/nn/cached_attention.hpp>

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>

#include <locus/device/trace/launch_log.hpp>

#include <support/device_list.hpp>
#include <support/launches.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {

// No tensors: not a call, rather than an error within the library.
template <class X>
concept Attends =
    requires(const X& x, const nn::CacheStep<float, Cpu>& step) { nn::cached_attention(x, x, x, step, 0); };
static_assert(Attends<Tensor<float>> && !Attends<std::vector<float>> && !Attends<float>);

/// Queries, keys and values of sequences: (batch, heads, length, width), and their attention by float64 sums.
struct CachedSequences {
  std::int64_t batch, heads, groups, length, width, window;

  [[nodiscard]] std::vector<double> drawn(std::int64_t heads_of, std::uint64_t seed) const {
    return reference(sample<double, Cpu>({batch, heads_of, length, width}, seed)).values;
  }
  /// The result for query j of sequence b, head h.
  [[nodiscard]] std::vector<double> attended(std::int64_t b, std::int64_t h, std::int64_t j) const {
    const auto q = drawn(heads * groups, 1), k = drawn(heads, 2), v = drawn(heads, 3);
    const auto row = [&](const std::vector<double>& of, std::int64_t count, std::int64_t head, std::int64_t t) {
      return of.data() + ((b * count + head) * length + t) * width;
    };
    const std::int64_t first = window == 0 ? 0 : std::max<std::int64_t>(0, j + 1 - window);
    std::vector<double> y(static_cast<std::size_t>(width));
    double sum = 0;
    for (std::int64_t t = first; t <= j; ++t) {
      double score = 0;
      for (std::int64_t e = 0; e < width; ++e)
        score += row(q, heads * groups, h, j)[e] * row(k, heads, h / groups, t)[e];
      const double weight = std::exp(score * 0.3);
      sum += weight;
      for (std::int64_t e = 0; e < width; ++e)
        y[static_cast<std::size_t>(e)] += weight * row(v, heads, h / groups, t)[e];
    }
    for (double& each : y) each /= sum;
    return y;
  }
};

/// Attends to the sequences in pieces of so many tokens and compares each result. unequal: sequence b has b tokens
/// fewer of the first piece, and padding in their place.
template <class T, class D>
void check_pieces(const CachedSequences& all, const std::vector<std::int64_t>& pieces, double allowed,
                  bool unequal = false) {
  const std::int64_t heads = all.heads * all.groups;
  const nn::KeyValueCache<T, D> cache({.layers = 2,
                                       .batch = all.batch,
                                       .heads = all.heads,
                                       .head_width = all.width,
                                       .capacity = all.length + 2,
                                       .window = all.window});
  const auto drawn = [&](std::int64_t count, std::uint64_t seed) {
    return sample<T, D>({all.batch, count, all.length, all.width}, seed);
  };
  const auto q = drawn(heads, 1), k = drawn(all.heads, 2), v = drawn(all.heads, 3);
  bool is_first = true;
  for (const std::int64_t piece : pieces) {
    const auto before = cache.lengths();
    std::vector<std::int64_t> counts(before.size(), piece);
    for (std::size_t b = 0; is_first && unequal && b < counts.size(); ++b) counts[b] -= static_cast<std::int64_t>(b);
    const auto part = [&](const Tensor<T, D>& x) {  // heads are strided, as split of one tensor
      const auto y = Tensor<T, D>({x.size(0), piece, x.size(1), x.size(3)}).transpose(1, 2);
      y.fill_(T(1000.f));
      for (std::int64_t b = 0; b < all.batch; ++b) {
        const std::int64_t from = before[static_cast<std::size_t>(b)], count = counts[static_cast<std::size_t>(b)];
        y.slice(0, b, b + 1).slice(2, 0, count).copy_(x.slice(0, b, b + 1).slice(2, from, from + count));
      }
      return y;
    };
    const auto step = cache.step({all.batch, piece}, unequal ? counts : std::vector<std::int64_t>{});
    (void)nn::cached_attention(part(q), part(v), part(k), step, 0);  // another layer has other keys
    const auto y = reference(nn::cached_attention(part(q), part(k), part(v), step, 1, {.scale = 0.3}));
    CHECK(cache.lengths() == before);
    step.commit();
    for (std::int64_t b = 0; b < all.batch; ++b) {
      const std::int64_t from = before[static_cast<std::size_t>(b)], count = counts[static_cast<std::size_t>(b)];
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t j = 0; j < count; ++j) {
          const auto* const row = y.values.data() + ((b * heads + h) * piece + j) * all.width;
          CHECK(difference_of(std::vector<double>(row, row + all.width), all.attended(b, h, from + j), allowed) == "");
        }
      CHECK(cache.length(b) == from + count);
    }
    CHECK_CLOSE(step.cache().device_lengths(), reference(from(cache.lengths(), {all.batch})));
    is_first = false;
  }
}

}  // namespace

LOCUS_DEVICE_TEST("attention to a cache is attention to all tokens", D) {
  if constexpr (all_dtypes<D>) {
    if constexpr (std::is_same_v<D, Cuda>) check_pieces<float, D>({2, 2, 1, 7, 4, 0}, {4, 1, 1, 1}, 1e-5);
    check_pieces<double, D>({2, 2, 1, 7, 4, 0}, {4, 1, 1, 1}, 1e-12);
    check_pieces<double, D>({2, 2, 3, 7, 4, 0}, {3, 2, 1, 1}, 1e-12);        // prefill in pieces, grouped heads
    check_pieces<double, D>({3, 1, 2, 8, 3, 0}, {4, 1, 3}, 1e-12, true);     // lengths 4, 3, 2
    check_pieces<double, D>({2, 2, 2, 9, 4, 3}, {2, 3, 1, 1, 1}, 1e-12);     // a window of three tokens
    check_pieces<double, D>({2, 1, 1, 9, 4, 3}, {5, 1, 1, 1}, 1e-12, true);  // longer than the window
  }
}

LOCUS_DEVICE_TEST("a captured step replays while its cache grows", D) {
  if constexpr (all_dtypes<D>) {
    const nn::CacheOptions sizes{.layers = 1, .batch = 2, .heads = 2, .head_width = 4, .capacity = 7};
    const nn::KeyValueCache<double, D> plain(sizes), replayed(sizes);
    const Tensor<double, D> q({2, 4, 1, 4}), k({2, 2, 1, 4}), v({2, 2, 1, 4});
    const auto attend = [&](const nn::KeyValueCache<double, D>& cache) {
      const auto step = cache.step({2, 1});
      const Tensor<double, D> y =
          nn::cached_attention(q, k, v, step, 0) + step.positions().template as<double>().reshape({2, 1, 1, 1});
      step.commit();
      return y;
    };
    auto step = capture([&] { return attend(replayed); });
    std::uint64_t seed = 0;
    for (int i = 0; i < 7; ++i) {
      for (const auto* const x : {&q, &k, &v}) x->copy_(sample<double, D>(x->shape(), ++seed));
      const LaunchLog log;
      const Tensor<double, D> y = step();
      if (std::is_same_v<D, Cuda> && i >= 2) CHECK(log.launches() == 1);
      CHECK_CLOSE(y, reference(attend(plain)), 1e-12);
      CHECK(replayed.lengths() == plain.lengths());
      if (i == 3)  // what the host changes between replays counts
        for (const auto* const cache : {&plain, &replayed}) cache->truncate(1, 2);
    }
    CHECK_THROWS_AS(step(), ShapeError);
    CHECK(replayed.lengths() == std::vector<std::int64_t>{7, 5});
  }
}

LOCUS_DEVICE_TEST("a step of a token takes a launch to write, and attention", D) {
  if constexpr (all_dtypes<D>) {
    const nn::KeyValueCache<double, D> cache({.layers = 1, .heads = 2, .head_width = 4, .capacity = 16});
    const auto q = sample<double, D>({1, 4, 1, 4}), k = sample<double, D>({1, 2, 1, 4});
    for (int i = 0; i < 3; ++i) {
      const auto step = cache.step({1, 1});
      const LaunchLog of_step;
      (void)nn::cached_attention(q, k, k, step, 0);
      const auto found = of_step.launches();
      step.commit();
      const auto keys = cache.layer(0).select(0, 0).slice(2, 0, cache.length());
      const LaunchLog of_attention;
      (void)scaled_dot_product_attention(q.reshape({1, 2, 2, 4}), keys, keys);
      // A mask is a launch of its own where no kernel has whole attentions.
      const bool masks = !nn::detail::reads_filled_part<D> && !std::is_same_v<D, Cuda> && i > 0;
      check_launches<D>("cached_attention", found, 1 + of_attention.launches() + masks, 8);
    }
  }
}

TEST_CASE("caches refuse sizes, tokens and lengths that do not fit") {
  const nn::KeyValueCache<double> cache({.layers = 1, .batch = 2, .heads = 2, .head_width = 4, .capacity = 5});
  CHECK(cache.bytes() == 2 * 2 * 2 * 5 * 4 * 8);
  const auto message = [](const auto& f) { return message_of<Error>(f); };
  CHECK(contains(message([] { nn::KeyValueCache<double>({.layers = 1, .heads = 1, .head_width = 1}); }),
                 ".capacity = 0"));
  CHECK(contains(message([&] { (void)cache.step({1, 1}); }), "tokens of shape (1, 1) for 2 sequences"));
  CHECK(contains(message([&] {
                   (void)cache.step({2, 6});
                 }),
                 "6 more tokens for sequence 0 of length 0, whose capacity is 5"));
  CHECK(contains(message([&] { (void)cache.step({2, 3}, {1, 4}); }), "counts {1, 4} for 2 sequences of 3 tokens"));
  CHECK(contains(message([&] { (void)cache.length(2); }), "sequence 2 of 2; expected 0 to 1"));
  cache.step({2, 4}, {4, 3}).commit();
  CHECK(contains(message([&] { (void)cache.step({2, 2}); }), "sequence 0 of length 4"));
  CHECK(contains(message([&] { cache.truncate(0, 5); }), "expected a length from 0 to 4"));
  cache.truncate(0, 1);
  const auto copy = cache;  // a handle
  CHECK(copy.lengths() == std::vector<std::int64_t>{1, 3});
  const auto step = cache.step({2, 1});
  const auto heads = [](std::int64_t count, std::int64_t width) { return sample<double, Cpu>({2, count, 1, width}); };
  CHECK(contains(message([&] { (void)nn::cached_attention(heads(3, 4), heads(2, 4), heads(2, 4), step, 0); }),
                 "expected keys and values (2, 2, 1, 4), and queries of a multiple of 2 heads"));
  CHECK_THROWS_AS((void)nn::cached_attention(heads(2, 3), heads(2, 3), heads(2, 3), step, 0), ShapeError);
  CHECK_THROWS_AS((void)nn::cached_attention(heads(2, 4), heads(2, 4), heads(2, 4), step, 1), IndexError);
  copy.reset();
  CHECK(cache.lengths() == std::vector<std::int64_t>{0, 0});
}
