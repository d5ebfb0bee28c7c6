// Runs on: host; race.
#include <locus/core/check.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/cpu/threads/scratch.hpp>

#include <doctest/doctest.h>
#include <support/skip.hpp>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace {
using namespace locus;
using std::chrono::milliseconds;

cpu::detail::ThreadTeam& team() { return cpu::detail::ThreadTeam::instance(); }

/// Steps up to a limit that may be raised.
class Steps : public cpu::BackgroundWork {
 public:
  explicit Steps(int most, milliseconds each = {}) : limit(most), each_(each) { team().add(*this); }
  ~Steps() override { stop(); }
  void stop() {
    if (!stopped_) team().remove(*this);
    stopped_ = true;
  }
  Atomic<int> limit, begun{0}, done{0}, threads_inside{0};
  Atomic<bool> overlapped{false};

 private:
  [[nodiscard]] bool has_step() const override { return done.load() < limit.load(); }
  void step() noexcept override {
    begun.fetch_add(1);
    if (in_step_) overlapped.store(true);
    in_step_ = true;
    threads_inside.store(cpu::max_threads());
    if (each_.count()) std::this_thread::sleep_for(each_);
    in_step_ = false;
    done.fetch_add(1);
  }
  milliseconds each_;
  bool in_step_ = false, stopped_ = false;
};

/// False where that does not come true within some seconds.
bool comes_true(const std::function<bool()>& is_so) {
  for (int i = 0; i < 20'000; ++i) {
    if (is_so()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

}  // namespace

TEST_CASE("parallel_for runs every task once, nested loops serially, and passes on an exception") {
  std::vector<int> runs(1000, 0);
  cpu::parallel_for(
      1000, [&](std::int64_t i) { cpu::parallel_for(3, [&](std::int64_t) { ++runs[static_cast<std::size_t>(i)]; }); });
  CHECK(runs == std::vector<int>(1000, 3));
  cpu::parallel_for(0, [](std::int64_t) { FAIL("no task to run"); });
  CHECK_THROWS_AS(cpu::parallel_for(8,
                                    [](std::int64_t i) {
                                      if (i == 5) fail<IndexError>({"five"});
                                    }),
                  IndexError);
  CHECK(cpu::max_threads() >= 1);
}

TEST_CASE("a thread that is held up keeps only the task that it is at") {
  const int threads = cpu::max_threads();
  cpu::set_max_threads(2);
  if (cpu::max_threads() < 2) SKIP_TEST("the program is compiled without threads");
  for (const std::int64_t slow : {0, 3, 4, 7}) {
    Atomic<int> others{0};
    bool others_came = false;
    cpu::parallel_for(8, [&](std::int64_t i) {
      if (i == slow) others_came = comes_true([&] { return others.load() == 7; });
      else others.fetch_add(1);
    });
    CHECK(others_came);
  }
  cpu::set_max_threads(threads);
}

TEST_CASE("threads do what there is to do in the background, also after they slept, and beside loops") {
  Steps steps(1000), more(500);
  CHECK(comes_true([&] { return steps.done.load() == 1000 && more.done.load() == 500; }));
  std::this_thread::sleep_for(milliseconds(20));
  steps.limit.store(3000);
  team().offer_steps();
  team().wake();
  std::int64_t sum = 0;
  for (int loop = 0; loop < 3000; ++loop) {
    std::vector<std::int64_t> parts(8);
    cpu::parallel_for(8, [&](std::int64_t i) { parts[static_cast<std::size_t>(i)] = i; });
    for (const std::int64_t part : parts) sum += part;
  }
  CHECK(sum == 3000 * 28);
  CHECK(comes_true([&] { return steps.done.load() == 3000; }));
  CHECK_FALSE(steps.overlapped.load());
  CHECK(steps.threads_inside.load() == 1);
}

TEST_CASE("no thread is at a step of work that was removed") {
  for (int trial = 0; trial < 5; ++trial) {
    Steps steps(1 << 30, milliseconds(5));
    CHECK(comes_true([&] { return steps.begun.load() > 0; }));
    steps.stop();
    const int begun = steps.begun.load();
    CHECK(steps.done.load() == begun);
    std::this_thread::sleep_for(milliseconds(10));
    CHECK(steps.begun.load() == begun);
  }
}

TEST_CASE("who needs a step may do it, unless another thread is at it") {
  Steps steps(1 << 30, milliseconds(1));
  int mine = 0;
  CHECK(comes_true([&] {
    mine += steps.help();
    team().offer_steps();
    team().wake();
    return mine >= 1 && steps.done.load() > mine;
  }));
  steps.stop();
  CHECK_FALSE(steps.overlapped.load());
  CHECK(steps.done.load() > mine);
  CHECK_FALSE(steps.help());
}

namespace {
struct WorkingMemory {
  int number = 0;
};
}  // namespace

TEST_CASE("working memory of a thread needs none of the thread-specific keys, which a program may have used up") {
  std::vector<pthread_key_t> keys;
  for (pthread_key_t key; keys.size() < 1'000'000 && pthread_key_create(&key, nullptr) == 0;) keys.push_back(key);
  REQUIRE(keys.size() < 1'000'000);
  auto* const mine = cpu::detail::try_of_this_thread<WorkingMemory>();
  for (const pthread_key_t key : keys) (void)pthread_key_delete(key);
  REQUIRE(mine != nullptr);
  mine->number = 7;
  CHECK(cpu::detail::of_this_thread<WorkingMemory>().number == 7);
}
