// Runs on: host, cuda (data); race.
// Data sets of a program's own, and the loaders that read them.

#include <locus/data/loading/loader.hpp>
#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <stdexcept>
#include <thread>
#include <utility>

using namespace locus;
using namespace locus_test;

/// Almost data sets.
namespace almost {
struct Nothing {
  std::int64_t size() const { return 3; }
};
struct OtherFields {
  std::int64_t size() const { return 3; }
  data::Fields<float> fields() const { return {{}}; }
  void write(std::int64_t, Span<double>) const {}
};
}  // namespace almost

namespace {

/// Points of a parabola.
struct Parabola {
  std::int64_t count = 10;
  std::int64_t size() const { return count; }
  data::Fields<float, float> fields() const { return {{1}, {1}}; }
  void write(std::int64_t i, Span<float> x, Span<float> y) const {
    x[0] = static_cast<float>(i);
    y[0] = x[0] * x[0];
  }
};

/// The same with names, and a number of samples at a time.
struct NamedParabola {
  template <class D>
  struct Batch {
    Tensor<float, D> x;
    Tensor<double, D> y;
    Tensor<std::int32_t, D> index;
  };
  std::int64_t count = 10;
  std::int64_t size() const { return count; }
  data::Fields<float, double, std::int32_t> fields() const { return {{2}, {1}, {}}; }
  void write(Span<const std::int64_t> list, Span<const std::int64_t>, Span<float> x, Span<double> y,
             Span<std::int32_t> index) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      x[2 * i] = x[2 * i + 1] = static_cast<float>(list[i]);
      y[i] = static_cast<double>(list[i] * list[i]);
      index[i] = static_cast<std::int32_t>(list[i]);
    }
  }
};

/// Fails at one sample; the other samples take different times.
struct Fragile {
  std::int64_t fails_at = -1;
  std::int64_t size() const { return 60; }
  data::Fields<std::int64_t> fields() const { return {{}}; }
  void write(std::int64_t i, Span<std::int64_t> to) const {
    if (i == fails_at) throw std::length_error("of sample " + std::to_string(i));
    std::this_thread::sleep_for(std::chrono::microseconds(i * 37 % 11 * 50));
    to[0] = i;
  }
};

static_assert(data::Dataset<Parabola> && data::Dataset<NamedParabola> && data::Dataset<Fragile>);
static_assert(!data::Dataset<almost::Nothing> && !data::Dataset<almost::OtherFields> && !data::Dataset<Tensor<float>> &&
              !data::Dataset<int>);

}  // namespace

LOCUS_DEVICE_TEST("a data set of ten lines is loaded, on every device", D) {
  for (const int workers : {0, 1, 3}) {
    std::int64_t next = 0;
    auto loader = data::loader<D>(Parabola{}, {.batch_size = 4, .workers = workers});
    for (auto [x, y] : loader) {
      const auto xs = host(x);
      const auto ys = host(y);
      for (std::int64_t i = 0; i < x.size(0); ++i, ++next) {
        CHECK(xs(i, 0) == static_cast<double>(next));
        CHECK(ys(i, 0) == static_cast<double>(next * next));
      }
    }
    CHECK(next == 10);
    CHECK(loader.samples() == 10);
    CHECK(loader.dataset().count == 10);
  }
}

LOCUS_DEVICE_TEST("a data set may name its tensors, and write many samples at a time", D) {
  for (const auto& batch : data::loader<D>(NamedParabola{}, {.batch_size = 10})) {
    CHECK(batch.x.shape() == Shape{10, 2});
    CHECK(host(batch.y)(9, 0) == 81);
    CHECK(host(batch.index)(7) == 7);
  }
  const auto [x, y, index] = data::sample(NamedParabola{}, 3);
  CHECK(y(0) == 9);
  CHECK(x(1) == 3);
  CHECK(index.item() == 3);
}

LOCUS_DEVICE_TEST("batches that wait in pageable memory are the same, and take no pinned memory", D) {
  const auto read = [](int workers, bool pinned) {
    std::vector<double> numbers;
    auto loader = data::loader<D>(
        NamedParabola{41},
        {.batch_size = 6, .shuffle = true, .seed = 5, .ahead = 3, .workers = workers, .pinned = pinned});
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const auto& batch : loader) {
        const auto y = host(batch.y), twice = host(batch.y + batch.y);
        for (std::int64_t i = 0; i < y.size(0); ++i) {
          CHECK(twice(i, 0) == 2 * y(i, 0));
          numbers.push_back(y(i, 0));
        }
      }
    }
    return numbers;
  };
  (void)ones({1}).template to<D>();  // the buffers of copies from pageable memory
  for (const int workers : {0, 2}) {
    const auto expected = read(workers, true);
    CHECK(expected.size() == 82);
    const auto pinned = [] { return is_present<Cuda> ? memory_stats(Pinned{}).requests : 0; };
    const std::int64_t before = pinned();
    CHECK(read(workers, false) == expected);
    CHECK(pinned() == before);
  }
}

TEST_CASE("workers deliver what the shared threads do, in the same order") {
  for (const std::int64_t ahead : {1, 2, 7}) {
    for (const int workers : {0, 1, 2, 5}) {
      CAPTURE(ahead);
      CAPTURE(workers);
      auto loader = data::loader<Cpu>(
          Fragile{}, {.batch_size = 3, .shuffle = true, .seed = 4, .ahead = ahead, .workers = workers});
      const auto expected = data::RandomSampler{60, 4}.order(0);
      std::size_t next = 0;
      for (const auto& [numbers] : loader)
        for (std::int64_t i = 0; i < numbers.size(0); ++i) CHECK(numbers(i) == expected[next++]);
      CHECK(next == 60);
    }
  }
}

TEST_CASE("what a data set throws arrives in the loop, in place of its batch, and keeps its type") {
  for (const int workers : {0, 1, 4}) {
    CAPTURE(workers);
    auto loader = data::loader<Cpu>(Fragile{31}, {.batch_size = 4, .workers = workers});
    std::int64_t next = 0;
    const auto run = [&] {
      for (const auto& [numbers] : loader)
        for (std::int64_t i = 0; i < numbers.size(0); ++i) CHECK(numbers(i) == next++);
    };
    CHECK_THROWS_WITH_AS(run(), "of sample 31", std::length_error);
    CHECK(next == 28);
  }
}

TEST_CASE("an epoch with workers may be left early, and two may run at once") {
  auto loader = data::loader<Cpu>(Fragile{}, {.batch_size = 2, .workers = 2});
  for (int round = 0; round < 10; ++round) {
    int batches = 0;
    for (const auto& [numbers] : loader) {
      CHECK(numbers(0) == 2 * batches);
      if (++batches == round) break;
    }
  }
  auto a = loader.begin();
  auto b = loader.begin();
  ++a;
  CHECK(get<0>(*a)(0) == 2);
  CHECK(get<0>(*b)(0) == 0);
}

/// Counts the threads that write samples.
struct CountsThreads {
  Atomic<int>* threads;
  std::int64_t size() const { return 40; }
  data::Fields<float> fields() const { return {{}}; }
  void write(std::int64_t i, Span<float> to) const {
    static thread_local const Atomic<int>* counted = nullptr;
    if (std::exchange(counted, threads) != threads) threads->fetch_add(1);
    to[0] = static_cast<float>(i);
    if (i == 33) throw std::length_error("of sample 33");
  }
};

TEST_CASE("a loader keeps its workers, after breaks and exceptions and when it moves; loops at once have their own") {
  Atomic<int> threads{0}, others{0};
  auto loader = data::loader<Cpu>(CountsThreads{&threads}, {.batch_size = 2, .ahead = 4, .workers = 3});
  const auto run_to = [](auto& batches, std::int64_t last) {
    std::int64_t next = 0;
    for (const auto& [numbers] : batches) {
      CHECK(numbers(0) == 2 * next);
      if (next++ == last) break;
    }
    return next;
  };
  for (int epoch = 0; epoch < 20; ++epoch) {
    CHECK(run_to(loader, epoch % 5) == epoch % 5 + 1);
    CHECK_THROWS_AS((void)run_to(loader, 20), std::length_error);
  }
  auto moved = std::move(loader);
  for (int epoch = 0; epoch < 5; ++epoch) CHECK(run_to(moved, 3) == 4);
  CHECK(threads.load() <= 3);
  auto first = moved.begin();
  CHECK(run_to(moved, 7) == 8);  // a loop within a loop
  ++first;
  CHECK(get<0>(*first)(0) == 2);
  CHECK(threads.load() <= 6);

  auto left = data::loader<Cpu>(CountsThreads{&others}, {.batch_size = 2, .workers = 2}).begin();
  ++left;  // outlives its loader
  CHECK(get<0>(*left)(0) == 2);
}

TEST_CASE("workers prepare several batches at once") {
  /// Waits in the first sample of a batch until another thread is there, too.
  struct Meeting {
    Atomic<int>* arrived;
    std::int64_t size() const { return 4; }
    data::Fields<float> fields() const { return {{}}; }
    void write(std::int64_t, Span<float> to) const {
      arrived->fetch_add(1);
      for (int i = 0; i < 20'000 && arrived->load() < 2; ++i)
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      to[0] = arrived->load() >= 2 ? 1.f : 0.f;
    }
  };
  Atomic<int> arrived{0};
  for (const auto& [met] : data::loader<Cpu>(Meeting{&arrived}, {.batch_size = 2, .workers = 2})) CHECK(met(0) == 1);
}

TEST_CASE("a sampler that names no sample is refused by its number, whoever prepares") {
  for (const int workers : {0, 2}) {
    auto beyond = data::loader<Cpu>(Parabola{4}, data::SequentialSampler{5}, {.batch_size = 2, .workers = workers});
    int batches = 0;
    const auto run = [&] {
      for (const auto& batch : beyond) batches += get<0>(batch).size(0) == 2;
    };
    CHECK_THROWS_WITH_AS(run(), "sample 4 of 4; expected 0 to 3", IndexError);
    CHECK(batches == 2);
  }
}

TEST_CASE("numbers of workers out of range are refused") {
  CHECK_THROWS_WITH_AS((void)data::loader<Cpu>(Parabola{}, {.workers = -1}), doctest::Contains("workers is -1"),
                       ArgumentError);
  CHECK_THROWS_AS((void)data::loader<Cpu>(Parabola{}, {.workers = 257}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::loader<Cpu>(Parabola{0}), doctest::Contains("empty"), ArgumentError);
}
