// Runs on: host; race.
#include <locus/core/check.hpp>
#include <locus/core/std/memo.hpp>

#include <doctest/doctest.h>

#include <string>
#include <support/child.hpp>
#include <thread>
#include <utility>
#include <vector>

using namespace locus;
using locus::detail::Memo;
using locus_test::status_of_child;

TEST_CASE("a value is computed once, and again after a failure") {
  Memo<std::string> memo;
  int calls = 0;
  const auto fails = [&]() -> std::string {
    ++calls;
    fail<DataError>({"no"});
  };
  CHECK_FALSE(memo.known());
  CHECK_THROWS_AS((void)memo.get(fails), DataError);
  CHECK_FALSE(memo.known());
  const auto gives = [&] { return ++calls, std::string("value"); };
  CHECK(memo.get(gives) == "value");
  CHECK(memo.get(gives) == "value");
  CHECK(calls == 2);
}

TEST_CASE("copies have the value where it is known, and compute their own where it is not") {
  Memo<std::string> empty, memo;
  (void)memo.get([] { return std::string("value"); });
  const auto other = [] { return std::string("other"); };
  Memo<std::string> copy = memo, of_empty = empty;
  CHECK(copy.known());
  CHECK(copy.get(other) == "value");
  CHECK_FALSE(of_empty.known());
  CHECK(of_empty.get(other) == "other");
  Memo<std::string> moved = std::move(copy);
  CHECK(moved.get(other) == "value");
  CHECK_FALSE(copy.known());
  moved = empty;
  CHECK_FALSE(moved.known());
  moved = std::move(of_empty);
  CHECK(moved.take() == "other");
  CHECK_FALSE(moved.known());
  CHECK_FALSE(of_empty.known());
}

TEST_CASE("of several threads one computes, and all see what it computed; where it fails, another one does") {
  constexpr int count = 4;
  for (int trial = 0; trial < 300; ++trial) {
    Memo<std::vector<int>> memo;
    Atomic<int> calls{0}, failures{0}, right{0}, arrived{0};
    const bool first_fails = trial % 3 == 0;
    const auto compute = [&] {
      if (calls.fetch_add(1) == 0 && first_fails) {
        usleep(500);  // others wait for it by then
        fail<DataError>({"the first attempt"});
      }
      return std::vector<int>(100, 1);
    };
    const auto read = [&] {
      arrived.fetch_add(1);
      while (arrived.load() < count) sched_yield();
      try {
        int sum = 0;
        for (const int x : memo.get(compute)) sum += x;
        right.fetch_add(sum == 100);
      } catch (const DataError&) {
        failures.fetch_add(1);  // this thread does not try again
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(read);
    for (auto& thread : threads) thread.join();
    CHECK(right.load() == count - first_fails);
    CHECK(calls.load() == 1 + first_fails);
    CHECK(failures.load() == first_fails);
  }
}

TEST_CASE("a child that is forked while another thread computes the value computes its own, and so does its child") {
  Memo<int> memo;
  Atomic<bool> begun{false}, forked{false};
  std::thread computes([&] {
    (void)memo.get([&] {
      begun.store(true);
      while (!forked.load()) sched_yield();
      return 1;
    });
  });
  while (!begun.load()) sched_yield();
  const auto own = [&] { return memo.get([] { return 2; }); };
  CHECK(status_of_child(own) == 2);
  CHECK(status_of_child([&] { return status_of_child(own); }) == 2);
  forked.store(true);
  computes.join();
  CHECK(own() == 1);
}
