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
  for (std::uint32_t block = 0; block < t.blocks(); ++block) {
    const T::Place place = t.place(block);
    std::vector<std::int64_t> tile(T::tile * T::tile, -1);
    for (std::uint32_t thread = 0; thread < T::threads; ++thread) {
      const std::uint32_t lane = thread % T::tile;
      for (std::uint32_t b = thread / T::tile; b < T::tile; b += T::rows)
        if (t.inside(place, lane, b)) tile[b * T::tile + lane] = part.offset[0] + t.source(place, lane, b);
    }
    for (std::uint32_t thread = 0; thread < T::threads; ++thread) {
      const std::uint32_t lane = thread % T::tile;
      for (std::uint32_t a = thread / T::tile; a < T::tile; a += T::rows) {
        if (!t.inside(place, a, lane)) continue;
        const auto at = static_cast<std::size_t>(part.offset[1] + t.target(place, a, lane));
        REQUIRE(at < seen.size());
        ++seen[at];
        source_of[at] = tile[lane * T::tile + a];
      }
    }
  }
}

TEST_CASE("tiles copy every element once, over random layouts") {
  RandomLayouts random(7);
  int transposed = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Shape shape = random.shape(6000);
    const auto from = random.layout(shape, true), to = random.layout(shape, false);
    const auto plan = make_plan<2>(shape, std::array<Strides, 2>{from.strides, to.strides});
    const cuda::Piece piece(plan);
    if (plan.elements == 0 || !cuda::Transposition::fits(piece)) continue;
    ++transposed;
    std::vector<int> seen(static_cast<std::size_t>(to.span));
    std::vector<std::int64_t> source_of(seen.size(), -1);
    // Parts of few elements stand for the parts of a large copy, which is cut.
    cuda::for_each_part(
        piece, false, [&](const cuda::Piece& part) { replay(cuda::Transposition(piece, part), part, seen, source_of); },
        trial % 2 == 0 ? 1 << 30 : 500);
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
  CHECK(transposed >= 200);
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
