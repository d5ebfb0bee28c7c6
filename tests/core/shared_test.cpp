// Runs on: host; race.
#include <locus/core/std/shared.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace {

struct Counting : locus::Counted {
  explicit Counting(int& alive) : alive_(alive) { ++alive_; }
  ~Counting() { --alive_; }
  int& alive_;
};

/// Not to be deleted: it is given back.
struct Lent : locus::Counted {
  int given_back = 0;
  static void dispose(Lent* lent) noexcept { ++lent->given_back; }
};
struct LentForLonger : Lent {};

struct Base : locus::Counted {
  virtual ~Base() = default;
};
struct Derived final : Base {
  explicit Derived(bool& destroyed) : destroyed_(destroyed) {}
  ~Derived() override { destroyed_ = true; }
  bool& destroyed_;
};

/// A handle in a template, of a class that does not depend on its parameters.
template <class T>
struct Holder {
  locus::Shared<Counting> handle{};
  void reset() { handle = {}; }
};

}  // namespace

TEST_CASE("an object lives as long as its last handle") {
  int alive = 0;
  {
    locus::Shared<Counting> first(new Counting(alive));
    CHECK(alive == 1);
    {
      const locus::Shared<Counting> second = first;
      CHECK(second == first);
      CHECK(second.get() == first.get());
      first = {};
      CHECK_FALSE(first);
      CHECK(alive == 1);
      first = second;
    }
    CHECK(alive == 1);
    const auto& same = first;
    first = same;
    CHECK(alive == 1);
    locus::Shared<Counting> moved = std::move(first);
    CHECK(moved);
    CHECK(alive == 1);
    moved = locus::Shared<Counting>(new Counting(alive));
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("a handle in a template that becomes empty lets go of the object") {
  int alive = 0;
  Holder<int> holder{locus::Shared<Counting>(new Counting(alive))};
  holder.reset();
  CHECK_FALSE(holder.handle);
  CHECK(alive == 0);
}

TEST_CASE("a handle assigned to itself keeps the object") {
  int alive = 0;
  locus::Shared<Counting> handle(new Counting(alive));
  auto& same = handle;
  handle = std::move(same);
  CHECK(handle);
  CHECK(alive == 1);
}

TEST_CASE("a handle to nothing") {
  const locus::Shared<Counting> none, copy = none;
  CHECK_FALSE(none);
  CHECK(none == copy);
  CHECK(none.get() == nullptr);
}

TEST_CASE("a class that must not be deleted says how it is disposed of") {
  Lent lent;
  {
    const locus::Shared<Lent> handle(&lent), other = handle;
    CHECK(lent.given_back == 0);
  }
  CHECK(lent.given_back == 1);
  LentForLonger longer;
  { const locus::Shared<LentForLonger> handle(&longer); }
  CHECK(longer.given_back == 1);
}

TEST_CASE("a handle to the base deletes the derived object") {
  bool destroyed = false;
  { const locus::Shared<const Base> handle(new Derived(destroyed)); }
  CHECK(destroyed);
}
