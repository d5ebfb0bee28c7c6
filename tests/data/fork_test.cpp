// Runs on: host.
// Children of fork(), made while other threads prepare batches and share loops.

#include <locus/locus.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <cstdlib>
#include <support/child.hpp>
#include <support/skip.hpp>
#include <thread>
#include <vector>

namespace {
using namespace locus;
using locus_test::status_of_child;

constexpr int forks = 100, threads = 4;

data::LabelledImages some_images() {
  Generator<Cpu> generator{7};
  const Tensor images = randint<std::uint8_t>(0, 256, {640, 1, 28, 28}, generator);
  return {images, randint(0, 10, {640}, generator), 10};
}

/// The labels of the batches that are left.
template <class Iterator>
std::vector<std::int64_t> labels_of_rest(Iterator& at) {
  std::vector<std::int64_t> labels;
  for (; at != std::default_sentinel; ++at) {
    const auto& batch = *at;
    labels.insert(labels.end(), batch.labels.data(), batch.labels.data() + batch.labels.elements());
    if (batch.images.shape() != Shape{batch.labels.elements(), 1, 28, 28}) return {};
  }
  return labels;
}

/// Whether the tasks of one loop run at the same time, which needs as many threads.
bool loops_have_threads() {
  Atomic<int> arrived{0};
  cpu::parallel_for(2, [&](std::int64_t) {
    arrived.fetch_add(1);
    for (int i = 0; i < 20'000 && arrived.load() < 2; ++i) usleep(500);
  });
  return arrived.load() == 2 && max(full({1 << 20}, 1.f) + 1.f).item() == 2.f;
}

struct MoreThreads {
  int before = cpu::max_threads();
  MoreThreads() { cpu::set_max_threads(threads); }
  ~MoreThreads() { cpu::set_max_threads(before); }
};

}  // namespace

TEST_CASE("a child that is forked while batches are prepared goes on with them, lets go of them, or exits") {
  const MoreThreads more;
  if (cpu::max_threads() < 2) SKIP_TEST("the program is compiled without threads");
  const auto images = some_images();
  auto loader = data::loader<Cpu>(images, {.batch_size = 16, .shuffle = true, .seed = 3, .ahead = 4});
  const auto same_again = [&] { return data::loader<Cpu>(images, {.batch_size = 16, .shuffle = true, .seed = 3}); };
  auto copy = same_again();
  std::vector<std::int64_t> expected;
  for (int round = 0; round < forks;) {
    CAPTURE(round);
    {
      auto at = copy.begin();
      expected = labels_of_rest(at);
    }
    auto at = loader.begin();
    for (std::size_t begin = 0; at != std::default_sentinel && round < forks; ++at, begin += 16) {
      if (begin % 80 != 0) continue;  // other batches, to be in the middle of preparing
      const std::vector<std::int64_t> rest(expected.begin() + static_cast<std::ptrdiff_t>(begin), expected.end());
      const int status = status_of_child([&] {
        if (round % 3 == 0) return labels_of_rest(at) == rest && loops_have_threads() ? 0 : 1;
        if (round % 3 == 1) {
          {
            auto gone = std::move(at);
          }
          auto mine = same_again();
          auto first = mine.begin();
          return loops_have_threads() && labels_of_rest(first).size() == 640 ? 0 : 1;
        }
        if (LOCUS_ADDRESS_SANITIZER) return 0;  // its search for leaks would wait for threads that the child has not
        std::exit(0);
      });
      REQUIRE(status == 0);
      ++round;
    }
  }
}

TEST_CASE("a child that is forked while workers prepare batches prepares the others itself, or lets go of them") {
  if (cpu::max_threads() < 2) SKIP_TEST("the program is compiled without threads");
  const auto images = some_images();
  auto loader = data::loader<Cpu>(images, {.batch_size = 16, .ahead = 4, .workers = 2});
  std::vector<std::int64_t> expected;
  {
    auto all = loader.begin();
    expected = labels_of_rest(all);
  }
  for (std::size_t taken = 0; taken < 30; ++taken) {
    CAPTURE(taken);
    auto at = loader.begin();
    for (std::size_t i = 0; i < taken; ++i) ++at;
    const std::vector<std::int64_t> rest(expected.begin() + static_cast<std::ptrdiff_t>(16 * taken), expected.end());
    const int status = status_of_child([&] {
      if (taken % 2 == 0) return labels_of_rest(at) == rest ? 0 : 1;
      { auto gone = std::move(at); }
      auto mine = loader.begin();
      return labels_of_rest(mine) == expected ? 0 : 1;
    });
    CHECK(status == 0);
    CHECK(labels_of_rest(at) == rest);  // the parent goes on
    if (status != 0) break;
  }
  const auto whole = [&] {  // while the workers sleep
    auto mine = loader.begin();
    return labels_of_rest(mine) == expected;
  };
  CHECK(status_of_child([&] { return whole() && whole() ? 0 : 1; }) == 0);
  CHECK(status_of_child([&] {
          auto gone = std::move(loader);
          return 0;
        }) == 0);
  CHECK(whole());
}

TEST_CASE("a child is forked while other threads share loops, allocate and draw random numbers") {
  const MoreThreads more;
  if (cpu::max_threads() < 2) SKIP_TEST("the program is compiled without threads");
  Atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      while (!stop.load()) (void)sum(rand({1 << 15}) + 1.f);
    });
  }
  for (int round = 0; round < forks; ++round) {
    CAPTURE(round);
    const int status = status_of_child([] {
      const bool right = sum(full({1 << 16}, 2.f)).item() == float{1 << 17} && loops_have_threads();
      const Tensor drawn = rand({1000});
      return right && max(drawn).item() < 1.f ? 0 : 1;
    });
    CHECK(status == 0);
    if (status != 0) break;
  }
  stop.store(true);
  for (auto& thread : busy) thread.join();
}
