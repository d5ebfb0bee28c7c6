// Runs on: host.
// Copies through tiles: every element is copied once, from where the plan says to where it says.

#include <locus/cuda/transposition.hpp>

#include <doctest/doctest.h>

#include <support/plans.hpp>

using namespace locus;
using locus_test::RandomLayouts;

namespace {

/// Replays all blocks and threads of a copy; `seen` has a count for each element of the target's memory.
void replay(const cuda::Transposition& t, const cuda::Piece& part, std::vector<int>& seen,
            std::vector<std::int64_t>& source_of) {
  using T = cuda::Transposition;
  const auto each_word = [&](std::uint32_t count, auto visit) {  // visit(lane, k)
    for (std::uint32_t thread = 0; thread < T::threads; ++thread)
      for (std::uint32_t k = thread / T::lanes; k < count; k += T::rows) visit(thread % T::lanes, k);
  };
  for (std::uint32_t block = 0; block < t.blocks(); ++block) {
    const T::Place place = t.place(block);
    std::vector<std::int64_t> tile(t.tile() * t.tile(), -1);  // words of pack elements
    each_word(T::lanes, [&](std::uint32_t lane, std::uint32_t word) {
      if (!t.inside(place, lane * t.pack, word * t.pack)) return;
      for (std::uint32_t i = 0; i < t.pack; ++i)
        for (std::uint32_t j = 0; j < t.pack; ++j)
          tile[T::slot(lane * t.pack + i, word, t.pack) * t.pack + j] =
              part.offset[0] + t.source(place, lane * t.pack, word * t.pack + j) + i;
    });
    each_word(t.tile(), [&](std::uint32_t lane, std::uint32_t a) {
      if (!t.inside(place, a, lane * t.pack)) return;
      for (std::uint32_t j = 0; j < t.pack; ++j) {
        const auto at = static_cast<std::size_t>(part.offset[1] + t.target(place, a, lane * t.pack) + j);
        REQUIRE(at < seen.size());
        ++seen[at];
        source_of[at] = tile[T::slot(a, lane, t.pack) * t.pack + j];
      }
    });
  }
}

/// A layout whose strides other than 1, and whose gaps, are multiples of `pack`.
locus_test::Layout packed(locus_test::Layout layout, std::int64_t pack) {
  for (int d = 0; d < layout.strides.rank(); ++d)
    if (layout.strides[d] != 1) layout.strides[d] *= pack;
  layout.span = layout.span * pack;
  return layout;
}

/// Replays copies of random layouts of elements of so many bytes; returns how many took words of several elements.
int replay_random_copies(int bytes, std::uint64_t seed) {
  RandomLayouts random(seed);
  int transposed = 0, packs = 0;
  const std::int64_t widest = bytes < 4 ? 4 / bytes : 1;
  for (int trial = 0; trial < 1500; ++trial) {
    const std::int64_t pack = trial % 8 == 0 ? widest : 1;
    const auto extent = [&] { return pack * (14 + random.below(20)); };
    const Shape shape = pack > 1 ? Shape{extent(), 1 + random.below(3), extent()} : random.shape(6000);
    const auto from = packed(random.layout(shape, true), pack), to = packed(random.layout(shape, false), pack);
    const auto plan = make_plan<2>(shape, std::array<Strides, 2>{from.strides, to.strides});
    const cuda::Piece piece(plan);
    if (plan.elements == 0 || !cuda::Transposition::fits(piece)) continue;
    ++transposed;
    std::vector<int> seen(static_cast<std::size_t>(to.span));
    std::vector<std::int64_t> source_of(seen.size(), -1);
    const auto address = [&](std::int64_t offset) { return static_cast<std::uintptr_t>(256 + offset * bytes); };
    // Parts of few elements stand for the parts of a large copy, which is cut.
    cuda::for_each_part(
        piece, false,
        [&](const cuda::Piece& part) {
          const auto packed_elements =
              cuda::Transposition::pack_of(piece, part, address(part.offset[0]), address(part.offset[1]), bytes);
          packs += packed_elements > 1;
          replay(cuda::Transposition(piece, part, packed_elements), part, seen, source_of);
        },
        trial % 16 < 8 ? 1 << 30
        : pack > 1     ? 6000
                       : 500);
    std::int64_t copied = 0;
    for (const int times : seen) copied += times;
    REQUIRE(copied == plan.elements);
    for (std::int64_t i = 0; i < plan.elements; ++i) {
      std::int64_t source = 0, target = 0, rest = i;
      for (int d = plan.rank - 1; d >= 0; --d) {
        source += rest % plan.extent[d] * plan.stride[0][d];
        target += rest % plan.extent[d] * plan.stride[1][d];
        rest /= plan.extent[d];
      }
      REQUIRE(seen[static_cast<std::size_t>(target)] == 1);
      REQUIRE(source_of[static_cast<std::size_t>(target)] == source);
    }
  }
  CHECK(transposed >= 80);
  return packs;
}

TEST_CASE("tiles copy every element once, over random layouts") {
  CHECK(replay_random_copies(4, 7) == 0);
  CHECK(replay_random_copies(2, 8) >= 10);
  CHECK(replay_random_copies(1, 9) >= 10);
}

TEST_CASE("words of several elements are for aligned copies of even extents and strides") {
  const auto pack = [](const Shape& shape, const Strides& from, const Strides& to, int bytes = 2,
                       std::uintptr_t source = 0, std::uintptr_t target = 0) {
    const auto plan = make_plan<2>(shape, std::array<Strides, 2>{from, to});
    const cuda::Piece piece(plan);
    return cuda::Transposition::pack_of(piece, piece, source, target, bytes);
  };
  CHECK(pack({64, 64}, {1, 64}, {64, 1}) == 2);
  CHECK(pack({64, 64}, {1, 64}, {64, 1}, 1) == 4);
  CHECK(pack({64, 64}, {1, 64}, {64, 1}, 4) == 1);
  CHECK(pack({64, 64}, {1, 64}, {64, 1}, 8) == 1);
  CHECK(pack({64, 64}, {1, 64}, {64, 1}, 2, 2) == 1);
  CHECK(pack({64, 64}, {1, 64}, {64, 1}, 2, 4, 2) == 1);
  CHECK(pack({64, 63}, {1, 64}, {64, 1}) == 1);
  CHECK(pack({64, 66}, {1, 64}, {66, 1}, 1) == 1);
  CHECK(pack({64, 64}, {1, 65}, {64, 1}) == 1);
  CHECK(pack({64, 64}, {1, 64}, {65, 1}) == 1);
  CHECK(pack({3, 64, 64}, {4097, 1, 64}, {4096, 64, 1}) == 1);
  CHECK(pack({3, 64, 64}, {4098, 1, 64}, {4096, 64, 1}) == 2);
  CHECK(pack({64, 30}, {1, 64}, {30, 1}) == 1);  // a tile less than half full
}

TEST_CASE("the words of a warp are in different banks, written and read") {
  using T = cuda::Transposition;
  for (const std::uint32_t pack : {1u, 2u, 4u}) {
    const auto banks = [&](auto slot) {
      std::vector<bool> seen(T::lanes);
      for (std::uint32_t lane = 0; lane < T::lanes; ++lane) seen[slot(lane) % T::lanes] = true;
      return std::count(seen.begin(), seen.end(), true);
    };
    for (std::uint32_t k = 0; k < T::lanes; ++k)
      for (std::uint32_t i = 0; i < pack; ++i)
        CHECK(banks([&](std::uint32_t lane) { return T::slot(lane * pack + i, k, pack); }) == T::lanes);
    for (std::uint32_t a = 0; a < T::lanes * pack; ++a)
      CHECK(banks([&](std::uint32_t lane) { return T::slot(a, lane, pack); }) == T::lanes);
  }
}

TEST_CASE("tiles are for copies that lie across each other, and are not small") {
  const auto fits = [](const Shape& shape, const Strides& from, const Strides& to) {
    const auto plan = make_plan<2>(shape, std::array<Strides, 2>{from, to});
    return cuda::Transposition::fits(cuda::Piece(plan));
  };
  CHECK(fits({64, 64}, {1, 64}, {64, 1}));
  CHECK(fits({64, 64}, {64, 1}, {1, 64}));
  CHECK(fits({3, 64, 20}, {1280, 1, 64}, {1280, 20, 1}));
  CHECK(fits({64, 3, 20}, {1, 64, 192}, {60, 20, 1}));
  CHECK_FALSE(fits({64, 64}, {64, 1}, {64, 1}));
  CHECK_FALSE(fits({64, 64}, {128, 2}, {64, 1}));  // dense nowhere
  CHECK_FALSE(fits({64, 8}, {1, 64}, {8, 1}));     // mostly empty tiles
  CHECK_FALSE(fits({4096}, {1}, {1}));
  CHECK_FALSE(fits({64, 64}, {0, 1}, {64, 1}));
}

}  // namespace
