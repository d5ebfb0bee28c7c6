// Runs on: host.
#include <locus/core/std/pack.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

namespace {
using namespace locus;
using locus::detail::FromEach;

/// Counts how often it was moved; it is never copied.
struct Moved {
  int id, times = 0;
  explicit Moved(int number) : id(number) {}
  Moved(Moved&& other) : id(other.id), times(other.times + 1) {}
};
using Two = Tuple<Moved, Moved>;
}  // namespace

TEST_CASE("the items of a tuple are made where they stay, each of its source") {
  const Two made(FromEach(), 1, 2);
  CHECK(get<0>(made).id == 1);
  CHECK(get<1>(made).id == 2);
  CHECK(get<1>(made).times == 0);
  const Two given(Moved(3), Moved(4));
  CHECK(get<1>(given).id == 4);
  CHECK(get<1>(given).times == 1);
}

TEST_CASE("a tuple is made of as many values as it has items, and braces may stand for one") {
  struct Braced {
    int value;
  };
  const Tuple<Braced, double> given({}, 1);
  CHECK(get<0>(given).value == 0);
  CHECK(get<1>(given) == 1);
  static_assert(!std::is_constructible_v<Two, FromEach, int>);
  static_assert(!std::is_constructible_v<Two, FromEach, int, int, int>);
}

TEST_CASE("tuples are joined in order: of two, every item is moved once, of one, none") {
  Two one(FromEach(), 1, 2);
  Two&& same = detail::join_tuples(std::move(one));
  CHECK(&same == &one);
  const auto joined = detail::join_tuples(std::move(one), Two(FromEach(), 3, 4));
  static_assert(joined.size == 4);
  CHECK(get<0>(joined).id == 1);
  CHECK(get<3>(joined).id == 4);
  CHECK(get<0>(joined).times == 1);
  CHECK(get<3>(joined).times == 1);
  const auto three =
      detail::join_tuples(Two(FromEach(), 1, 2), Tuple<Moved>(FromEach(), 3), Tuple<>(), Tuple<Moved>(FromEach(), 4));
  static_assert(three.size == 4);
  CHECK(get<2>(three).id == 3);
  CHECK(get<3>(three).id == 4);
}

TEST_CASE("a tuple decomposes into copies, references, or what it held") {
  Tuple<int, std::string> tuple(3, "three");
  auto [number, text] = tuple;
  text = "another";
  CHECK(get<1>(tuple) == "three");
  auto& [held, name] = tuple;
  held = 4;
  CHECK(get<0>(tuple) == 4);
  auto [moved, taken] = std::move(tuple);
  CHECK(moved == 4);
  CHECK(taken == "three");
  CHECK(number == 3);
  CHECK(name.empty());
}
