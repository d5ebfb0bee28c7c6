// Runs on: host.
// Replays the accesses of every thread of every block: each element exactly once, and nothing else.
#include <locus/cuda/indexing.hpp>

#include <doctest/doctest.h>

#include <algorithm>

#include <support/plans.hpp>

namespace {
using namespace locus;
using locus_test::offset_in;
using locus_test::offset_of;
using locus_test::RandomLayouts;

TEST_CASE("division by multiplication is exact up to 2^31") {
  RandomLayouts random(1);
  const auto check = [](std::uint32_t n, std::uint32_t d) { return cuda::Divisor(d).quotient(n) == n / d; };
  bool exact = true;
  for (std::uint32_t d = 1; d < 300; ++d) {
    for (std::uint32_t n = 0; n < 2000; ++n) exact &= check(n, d);
  }
  for (int trial = 0; trial < 200000; ++trial) {
    const std::int64_t largest = std::int64_t{1} << random.below(32);
    const auto d = static_cast<std::uint32_t>(1 + random.below(std::min(largest, std::int64_t{1} << 30)));
    const auto n = static_cast<std::uint32_t>(random.below((std::int64_t{1} << 31) + 1));
    const std::uint32_t near = n / d * d;
    exact &= check(n, d) && check(near, d) && (near == 0 || check(near - 1, d)) && check(1u << 31, d);
  }
  CHECK(exact);
}

TEST_CASE("powers of two") {
  for (std::int64_t n = 1; n < 5000; ++n) {
    const std::int64_t power = cuda::power_of_two_from(n);
    CHECK((power & (power - 1)) == 0);
    CHECK(power >= n);
    CHECK(power < 2 * n);
  }
}

TEST_CASE("a walk finds the offsets that the shape and strides say") {
  RandomLayouts random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const Shape shape = random.shape(600);
    if (elements(shape) == 0) continue;
    const std::array<Strides, 2> strides{random.layout(shape, true).strides, random.layout(shape, false).strides};
    const auto plan = make_plan<2>(shape, strides);
    const cuda::Walk<2> walk{cuda::Piece(plan)};
    bool equal = true;
    for (std::int64_t index = 0; index < elements(shape); ++index) {
      std::int32_t offset[2];
      walk.offsets(static_cast<std::uint32_t>(index), offset);
      equal &= offset[0] == offset_of(shape, strides[0], index) && offset[1] == offset_of(shape, strides[1], index);
    }
    INFO("shape ", to_string(shape));
    CHECK(equal);
  }
}

template <int width>
void check_tiles(std::uint32_t elements, std::uint32_t per_thread) {
  const cuda::VectorTiles<width> tiles{per_thread};
  std::vector<int> touched(elements);
  bool inside = true;
  const auto touch = [&](std::uint32_t at) { at < elements ? void(++touched[at]) : void(inside = false); };
  for (std::uint32_t block = 0; block < cuda::map_blocks(elements, width, per_thread); ++block) {
    for (std::uint32_t thread = 0; thread < tiles.threads; ++thread) {
      for (std::uint32_t k = 0; k < per_thread; ++k) {
        const std::uint32_t vector = tiles.vector(block, thread, k);
        if (vector >= tiles.vectors(elements)) continue;
        for (std::uint32_t j = 0; j < width; ++j) touch(vector * width + j);
      }
      const std::uint32_t leftover = tiles.leftover(thread, elements);
      if (width > 1 && block == 0 && leftover < elements) touch(leftover);
    }
  }
  CHECK(inside);
  CHECK(std::all_of(touched.begin(), touched.end(), [](int times) { return times == 1; }));
}

TEST_CASE("map: vectors and leftovers cover a run") {
  RandomLayouts random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const auto n = static_cast<std::uint32_t>(trial < 20 ? trial + 1 : 1 + random.below(30000));
    for (const std::uint32_t per_thread : {1U, 2U, 3U, 4U}) {
      check_tiles<1>(n, per_thread);
      check_tiles<2>(n, per_thread);
      check_tiles<4>(n, per_thread);
      check_tiles<8>(n, per_thread);
      check_tiles<16>(n, per_thread);
    }
  }
}

TEST_CASE("reduce: teams and chunks cover every summand of every output") {
  RandomLayouts random(4);
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t outputs = 1 + random.below(trial % 3 ? 40 : 3000);
    const std::int64_t summands = trial == 0 ? 0 : random.below(trial % 3 ? 30000 : 400);
    const bool outputs_first = random.below(2) == 0;
    const cuda::ReduceTiles tiles(outputs, summands, outputs_first, random.below(2) ? 1024 : 1);
    INFO("outputs ", outputs, " summands ", summands, " outputs first ", outputs_first);
    REQUIRE(tiles.teams * tiles.lanes == tiles.threads);
    REQUIRE(tiles.chunks >= 1);
    std::vector<int> touched(static_cast<std::size_t>(outputs * summands)),
        finished(static_cast<std::size_t>(outputs) * tiles.chunks);
    bool inside = true;
    for (std::uint32_t block = 0; block < tiles.blocks(); ++block) {
      inside &= tiles.chunk_of(block) < tiles.chunks && tiles.end(block) <= summands;
      for (std::uint32_t thread = 0; thread < tiles.threads; ++thread) {
        inside &= tiles.thread_of(tiles.team(thread), tiles.lane(thread)) == thread;
        const std::uint32_t output = tiles.output(block, thread);
        if (output >= outputs) continue;
        if (tiles.lane(thread) == 0) ++finished[tiles.chunk_of(block) * static_cast<std::size_t>(outputs) + output];
        for (std::uint32_t at = tiles.begin(block) + tiles.lane(thread); at < tiles.end(block); at += tiles.lanes) {
          ++touched[static_cast<std::size_t>(output * summands + at)];
        }
      }
    }
    CHECK(inside);
    CHECK(std::all_of(touched.begin(), touched.end(), [](int times) { return times == 1; }));
    CHECK(std::all_of(finished.begin(), finished.end(), [](int times) { return times == 1; }));
  }
}

constexpr std::int64_t limit = std::int64_t{1} << 30;

TEST_CASE("unordered parts are few, small, and cover the plan") {
  const auto check = [&](const Shape& shape, const Strides& first, const Strides& second) {
    const std::array<Strides, 2> strides{first, second};
    const auto plan = make_plan<2>(shape, strides);
    std::int64_t covered = 0, sum_of_starts = 0;
    int parts = 0;
    cuda::for_each_part(cuda::Piece(plan), false, [&](const cuda::Piece& part) {
      ++parts;
      covered += part.elements;
      sum_of_starts += part.offset[0];
      CHECK(part.elements <= limit);
      for (int i = 0; i < 2; ++i) {
        std::int64_t low = 0, high = 0;
        for (int d = 0; d < part.rank; ++d) {
          const std::int64_t reach = (part.extent[d] - 1) * part.stride[i][d];
          (reach < 0 ? low : high) += reach;
        }
        CHECK(high - low <= limit);
      }
    });
    CHECK(covered == plan.elements);
    CHECK((parts == 1) == (sum_of_starts == 0));
    return parts;
  };
  CHECK(check({100}, {1}, {1}) == 1);
  CHECK(check({limit + 2}, {1}, {1}) == 2);
  CHECK(check({1 << 20, 1 << 11}, {1, 1 << 20}, {1 << 11, 1}) == 4);
  CHECK(check({2, 2}, {5 * limit, 1}, {1, 3 * limit}) == 4);
  int visits = 0;
  const std::array<Strides, 1> dense{Strides{1}};
  const auto nothing = make_plan<1>(Shape{0}, dense);
  cuda::for_each_part(cuda::Piece(nothing), false, [&](const cuda::Piece&) { ++visits; });
  CHECK(visits == 0);
}

/// Offset of an operand's element according to a part, counted from the operand's first element.
std::int64_t offset_in_part(const cuda::Piece& part, int operand, std::int64_t index) {
  std::int64_t offset = part.offset[operand];
  for (int d = part.rank - 1; d >= 0; --d) {
    offset += index % part.extent[d] * part.stride[operand][d];
    index /= part.extent[d];
  }
  return offset;
}

/// Checks that ordered parts of a plan are small, follow each other, and lie where the plan says; returns how many.
template <int N>
int check_ordered_parts(const Plan<N>& plan, RandomLayouts& random) {
  int parts = 0;
  std::int64_t next = plan.first_index;
  cuda::for_each_part(cuda::Piece(plan), true, [&](const cuda::Piece& part) {
    ++parts;
    CHECK(part.first_index == next);
    CHECK(part.elements > 0);
    CHECK(part.elements <= limit);
    next += part.elements;
    for (int probe = 0; probe < 12; ++probe) {
      const std::int64_t at = probe == 0 ? 0 : probe == 1 ? part.elements - 1 : random.below(part.elements);
      for (int i = 0; i < N; ++i) {
        const std::int64_t offset = offset_in_part(part, i, at);
        CHECK(offset - part.offset[i] <= limit);
        CHECK(offset - part.offset[i] >= -limit);
        CHECK(offset == offset_in(plan, i, part.first_index - plan.first_index + at));
      }
    }
  });
  CHECK(next == plan.first_index + plan.elements);
  return parts;
}

TEST_CASE("ordered parts: small plans are one, large ones are split without a gap") {
  RandomLayouts random(4);
  for (int trial = 0; trial < 100; ++trial) {
    const Shape shape = random.shape(1000);
    const std::array<Strides, 2> strides{random.layout(shape, true).strides, random.layout(shape, false).strides};
    const auto plan = make_plan<2>(shape, strides);
    CHECK(check_ordered_parts(plan, random) == (plan.elements > 0 ? 1 : 0));
  }
  const auto parts = [&](const Shape& shape, const Strides& first, const Strides& second) {
    const std::array<Strides, 2> strides{first, second};
    auto plan = make_plan<2>(shape, strides);
    plan.first_index = 7;
    return check_ordered_parts(plan, random);
  };
  CHECK(parts({limit}, {1}, {1}) == 1);
  CHECK(parts({limit + 1}, {1}, {1}) == 2);
  CHECK(parts({5 * limit + 3}, {1}, {0}) == 8);
  CHECK(parts({3, limit - 5}, {limit, 1}, {0, 1}) == 3);      // every row by itself
  CHECK(parts({2, 2}, {5 * limit, 1}, {1, 3 * limit}) == 4);  // few elements far apart
  CHECK(parts({6, 5, 4}, {-limit, 4, 1}, {20, -4, -1}) >= 6);
  CHECK(parts({64, 1 << 25}, {1, 64}, {1 << 25, 1}) > 1);
}

}  // namespace
