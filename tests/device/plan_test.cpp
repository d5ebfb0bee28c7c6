#include <locus/device/plan.hpp>

#include <doctest/doctest.h>

#include <support/plans.hpp>

namespace {
using namespace locus;
using locus_test::Layout;
using locus_test::offset_of;
using locus_test::RandomLayouts;

/// Where element `index` of a plan lies in operand i.
template <int N>
std::int64_t offset_in(const Plan<N>& plan, int i, std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = plan.rank - 1; d >= 0; --d) {
    offset += index % plan.extent[d] * plan.stride[i][d];
    index /= plan.extent[d];
  }
  return offset;
}

/// Whether no two neighbouring dimensions could still be one, and none is superfluous.
template <int N>
bool is_merged(const Plan<N>& plan) {
  if (plan.rank == 1) return true;
  for (int d = 0; d < plan.rank; ++d) {
    if (plan.extent[d] == 1) return false;
    bool merges = d > 0;
    for (int i = 0; i < N && merges; ++i) merges = plan.stride[i][d - 1] == plan.stride[i][d] * plan.extent[d];
    if (merges) return false;
  }
  return true;
}

TEST_CASE("a plan visits what the shape and strides say, in row-major order") {
  RandomLayouts random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const Shape shape = random.shape(500);
    const std::array<Strides, 3> strides{random.layout(shape, true).strides, random.layout(shape, true).strides,
                                         random.layout(shape, false).strides};
    const auto plan = make_plan<3>(shape, strides);
    INFO("shape ", to_string(shape), " strides ", to_string(strides[0]), " ", to_string(strides[1]), " ",
         to_string(strides[2]));
    REQUIRE(plan.elements == elements(shape));
    CHECK(plan.rank >= 1);
    CHECK(plan.first_index == 0);
    if (plan.elements == 0) continue;
    CHECK(is_merged(plan));
    bool equal = true;
    for (int i = 0; i < 3; ++i) {
      for (std::int64_t index = 0; index < plan.elements; ++index) {
        equal &= offset_in(plan, i, index) == offset_of(shape, strides[static_cast<std::size_t>(i)], index);
      }
    }
    CHECK(equal);
  }
}

TEST_CASE("dense operands of any rank are one contiguous run") {
  const Shape shape{2, 1, 3, 4};
  const std::array<Strides, 2> dense{row_major(shape), row_major(shape)};
  const auto plan = make_plan<2>(shape, dense);
  CHECK(plan.rank == 1);
  CHECK(plan.extent[0] == 24);
  CHECK(plan.contiguous());
  CHECK(plan.inner_contiguous());
}

TEST_CASE("a repeated row keeps two dimensions; the inner one is contiguous") {
  const std::array<Strides, 2> strides{Strides{3, 1}, Strides{0, 1}};
  const auto plan = make_plan<2>(Shape{5, 3}, strides);
  CHECK(plan.rank == 2);
  CHECK_FALSE(plan.contiguous());
  CHECK(plan.inner_contiguous());
  const std::array<Strides, 2> column{Strides{3, 1}, Strides{1, 0}};
  CHECK(make_plan<2>(Shape{5, 3}, column).inner_contiguous());
  const std::array<Strides, 2> transposed{Strides{3, 1}, Strides{1, 5}};
  CHECK_FALSE(make_plan<2>(Shape{5, 3}, transposed).inner_contiguous());
}

TEST_CASE("a scalar, and extents of one, are one element") {
  const std::array<Strides, 1> none{Strides{}};
  CHECK(make_plan<1>(Shape{}, none).elements == 1);
  CHECK(make_plan<1>(Shape{}, none).contiguous());
  const std::array<Strides, 1> odd{Strides{7, 0, -3}};
  CHECK(make_plan<1>(Shape{1, 1, 1}, odd).contiguous());
}

TEST_CASE("a reduction's plan pairs every output with its summands") {
  RandomLayouts random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const Shape shape = random.shape(300);
    if (elements(shape) == 0) continue;
    bool reduced[max_rank] = {};
    for (bool& axis : reduced) axis = random.below(2) == 0;
    const std::array<Strides, 2> inputs{random.layout(shape, true).strides, random.layout(shape, true).strides};
    // The result is dense, and says nothing at reduced dimensions.
    Strides output = Dims::filled(shape.rank(), 99);
    Shape kept, folded;
    std::int64_t size = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      (reduced[d] ? folded : kept).insert(0, shape[d]);
      if (reduced[d]) continue;
      output[d] = size;
      size *= shape[d];
    }
    const auto plan = make_reduce_plan<2>(shape, inputs, output, reduced);
    REQUIRE(plan.kept.elements == size);
    REQUIRE(plan.kept.elements * plan.reduced.elements == elements(shape));
    bool equal = true;
    for (std::int64_t index = 0; index < elements(shape); ++index) {
      std::int64_t rest = index, of_output = 0, of_summand = 0, output_step = 1, summand_step = 1;
      for (int d = shape.rank() - 1; d >= 0; --d) {
        (reduced[d] ? of_summand : of_output) += rest % shape[d] * (reduced[d] ? summand_step : output_step);
        (reduced[d] ? summand_step : output_step) *= shape[d];
        rest /= shape[d];
      }
      for (int i = 0; i < 2; ++i) {
        equal &= offset_in(plan.kept, i, of_output) + offset_in(plan.reduced, i, of_summand) ==
                 offset_of(shape, inputs[static_cast<std::size_t>(i)], index);
      }
      equal &= offset_in(plan.kept, 2, of_output) == of_output;
    }
    INFO("shape ", to_string(shape), " output ", to_string(output));
    CHECK(equal);
  }
}

TEST_CASE("outer offsets are those of the rows") {
  RandomLayouts random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const Shape shape = random.shape(200);
    if (elements(shape) == 0) continue;
    const std::array<Strides, 2> strides{random.layout(shape, true).strides, random.layout(shape, true).strides};
    const auto plan = make_plan<2>(shape, strides);
    const std::int64_t length = plan.extent[plan.rank - 1];
    for (std::int64_t row = 0; row < plan.elements / length; ++row) {
      std::int64_t offsets[2];
      outer_offsets(plan, row, offsets);
      CHECK(offsets[0] == offset_in(plan, 0, row * length));
      CHECK(offsets[1] == offset_in(plan, 1, row * length));
    }
  }
}

constexpr std::int64_t limit = std::int64_t{1} << 30;

/// Checks that the pieces of a plan are small, follow each other, and lie where the plan says; returns how many.
template <int N>
int check_pieces(const Plan<N>& plan, RandomLayouts& random) {
  int pieces = 0;
  std::int64_t next = plan.first_index;
  for_each_32bit_piece(plan, [&](const Plan<N>& piece, const std::array<std::int64_t, N>& begin) {
    ++pieces;
    CHECK(piece.first_index == next);
    CHECK(piece.elements > 0);
    CHECK(piece.elements <= limit);
    next += piece.elements;
    for (int probe = 0; probe < 12; ++probe) {
      const std::int64_t at = probe == 0 ? 0 : probe == 1 ? piece.elements - 1 : random.below(piece.elements);
      for (int i = 0; i < N; ++i) {
        const std::int64_t offset = offset_in(piece, i, at);
        CHECK(offset <= limit);
        CHECK(offset >= -limit);
        CHECK(begin[static_cast<std::size_t>(i)] + offset ==
              offset_in(plan, i, piece.first_index - plan.first_index + at));
      }
    }
  });
  CHECK(next == plan.first_index + plan.elements);
  return pieces;
}

TEST_CASE("pieces: small plans are one, large ones are split without a gap") {
  RandomLayouts random(4);
  for (int trial = 0; trial < 100; ++trial) {
    const Shape shape = random.shape(1000);
    const std::array<Strides, 2> strides{random.layout(shape, true).strides, random.layout(shape, false).strides};
    const auto plan = make_plan<2>(shape, strides);
    CHECK(check_pieces(plan, random) == (plan.elements > 0 ? 1 : 0));
  }
  const auto pieces = [&](const Shape& shape, const Strides& first, const Strides& second) {
    const std::array<Strides, 2> strides{first, second};
    auto plan = make_plan<2>(shape, strides);
    plan.first_index = 7;
    return check_pieces(plan, random);
  };
  CHECK(pieces({limit}, {1}, {1}) == 1);
  CHECK(pieces({limit + 1}, {1}, {1}) == 2);
  CHECK(pieces({5 * limit + 3}, {1}, {0}) == 8);
  CHECK(pieces({3, limit - 5}, {limit, 1}, {0, 1}) == 3);      // every row by itself
  CHECK(pieces({2, 2}, {5 * limit, 1}, {1, 3 * limit}) == 4);  // few elements far apart
  CHECK(pieces({6, 5, 4}, {-limit, 4, 1}, {20, -4, -1}) >= 6);
  CHECK(pieces({64, 1 << 25}, {1, 64}, {1 << 25, 1}) > 1);
}

}  // namespace
