// Runs on: host; race.
// Objects that several threads may read at once: tensors, named expressions, traced tensors, parameters and models.

#include <locus/locus.hpp>

#include <doctest/doctest.h>

#include <sched.h>

#include <thread>
#include <utility>
#include <vector>

namespace {
using namespace locus;

constexpr int reader_count = 3, trials = 60;

/// Calls read() in several threads that start together.
template <class F>
void read_together(const F& read) {
  Atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < reader_count; ++i) {
    threads.emplace_back([&] {
      arrived.fetch_add(1);
      while (arrived.load() < reader_count) sched_yield();
      read();
    });
  }
  for (auto& thread : threads) thread.join();
}

bool same(const Tensor<float>& a, const Tensor<float>& b) {
  return a.shape() == b.shape() && max(abs(a - b)).item() == 0.f;
}

}  // namespace

TEST_CASE("threads that read one named expression see its values, computed in one launch") {
  Atomic<int> right{0};
  for (int trial = 0; trial < trials; ++trial) {
    const Tensor a = full({1000}, 1.f);
    const auto h = a + 1.f;
    Atomic<std::int64_t> launches{0};
    read_together([&] {
      const LaunchLog log;
      const Tensor<float> mine = h;
      launches.fetch_add(log.launches());
      right.fetch_add(sum(mine).item() == 2000.f && sum(h * h).item() == 4000.f);
    });
    CHECK(launches.load() == 1);
  }
  CHECK(right.load() == trials * reader_count);
}

TEST_CASE("threads may copy a named expression while another one computes it") {
  Atomic<int> right{0};
  for (int trial = 0; trial < trials; ++trial) {
    const Tensor a = full({1000}, 1.f);
    const auto h = a + 1.f;
    read_together([&] {
      auto mine = h;
      right.fetch_add(sum(h).item() == 2000.f && sum(mine).item() == 2000.f);
      const auto moved = std::move(mine);
      right.fetch_add(sum(moved).item() == 2000.f);
    });
  }
  CHECK(right.load() == 2 * trials * reader_count);
}

TEST_CASE("threads that read one traced expression extend one graph") {
  Atomic<int> right{0};
  for (int trial = 0; trial < trials; ++trial) {
    const auto x = variable(full({1000}, 3.f));
    const auto h = x * x;
    read_together([&] { right.fetch_add(sum(h + h).item() == 18000.f); });
    sum(h).backward();
    right.fetch_add(x.grad()(999) == 6.f);
  }
  CHECK(right.load() == trials * (reader_count + 1));
}

TEST_CASE("threads may apply one model, to plain tensors and to traced ones") {
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{20, 30}, nn::ReLU{}, nn::Linear<float, Cpu>{30, 5}};
  Generator<Cpu> generator{5};
  const Tensor x = randn({8, 20}, generator);
  const Tensor<float> expected = model(x);
  Atomic<int> right{0};
  for (int trial = 0; trial < trials; ++trial) {
    read_together([&] { right.fetch_add(same(model(x), expected) && same(model(trace(x)).value(), expected)); });
  }
  CHECK(right.load() == trials * reader_count);
}
