// Runs on: host; race.
#include <locus/core/std/atomic.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace locus;

TEST_CASE("an atomic number is changed by several threads") {
  Atomic<int> count{0};
  const auto add = [&] {
    for (int i = 0; i < 10000; ++i) count.fetch_add(1, Order::relaxed);
  };
  std::thread other(add);
  add();
  other.join();
  CHECK(count.load() == 20000);
  CHECK(count.exchange(7) == 20000);
  CHECK_FALSE(count.replace(8, 9));
  CHECK(count.replace(7, 9));
  CHECK(count.load() == 9);
}

TEST_CASE("a signal wakes who waits for it, and shows what was written before") {
  Signal question{0}, answer{0};
  int number = 0;
  std::thread other([&] {
    for (std::uint32_t round = 0; round < 2000; ++round) {
      question.wait(round);
      number += 1;
      answer.store(round + 1);
      answer.notify();
    }
  });
  for (std::uint32_t round = 0; round < 2000; ++round) {
    number += 1;
    question.store(round + 1);
    question.notify();
    answer.wait(round);
  }
  other.join();
  CHECK(number == 4000);
}

TEST_CASE("a signal wakes everyone, and nobody sleeps where it has changed already") {
  Signal start{0}, arrived{0};
  const auto run = [&] {
    start.wait(0);
    arrived.fetch_add(1);
    arrived.notify();
  };
  std::thread first(run), second(run);
  start.store(1);
  start.notify();
  start.wait(0);
  for (std::uint32_t seen = arrived.load(); seen < 2; seen = arrived.load()) arrived.wait(seen);
  first.join();
  second.join();
  CHECK(arrived.load() == 2);
}
