// Runs on: host.
#include <locus/device/iteration_plan.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <support/plans.hpp>

namespace {
using namespace locus;
using locus_test::Layout;
using locus_test::offset_in;
using locus_test::offset_of;
using locus_test::RandomLayouts;

/// Whether no two neighbouring dimensions can be merged and none has extent 1.
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

/// A shape that broadcasts to `shape`: some leading dimensions dropped, some extents set to 1.
Shape broadcastable(const Shape& shape, RandomLayouts& random) {
  Shape result;
  for (auto d = static_cast<int>(random.below(shape.rank() + 1)); d < shape.rank(); ++d)
    result.push_back(random.below(3) == 0 ? 1 : shape[d]);
  return result;
}

TEST_CASE("operands are read as the shape that theirs broadcasts to") {
  RandomLayouts random(4);
  for (int trial = 0; trial < 300; ++trial) {
    const Shape shape = random.shape(300);
    const Shape first_shape = broadcastable(shape, random), second_shape = broadcastable(shape, random);
    const Strides first = random.layout(first_shape, false).strides, second = random.layout(second_shape, true).strides;
    const Strides own = random.layout(shape, false).strides;
    const std::array<PlanOperand, 4> operands{PlanOperand{&first_shape, &first}, PlanOperand{&second_shape, &second},
                                              PlanOperand{nullptr, &own}, PlanOperand{}};
    const std::array<Strides, 4> expected{broadcast_strides(first_shape, first, shape),
                                          broadcast_strides(second_shape, second, shape), own,
                                          Dims::filled(shape.rank(), 0)};
    const auto plan = make_plan<4>(shape, operands);
    INFO("shape ", to_string(shape), " of ", to_string(first_shape), " and ", to_string(second_shape));
    REQUIRE(plan.elements == elements(shape));
    bool equal = true;
    for (int i = 0; i < 4; ++i)
      for (std::int64_t index = 0; index < plan.elements; ++index)
        equal &= offset_in(plan, i, index) == offset_of(shape, expected[static_cast<std::size_t>(i)], index);
    CHECK(equal);
  }
}

TEST_CASE("a plan of some dimensions walks those alone") {
  const Shape shape{2, 3, 5, 7}, matrix{5, 9};
  const Strides dense = row_major(shape), of_matrix = row_major(matrix);
  const auto plan = make_plan<2>(shape, {PlanOperand{&shape, &dense}, PlanOperand{&matrix, &of_matrix}}, 0b0011u);
  CHECK(plan.elements == 6);
  CHECK(plan.rank == 1);  // the batch merges
  CHECK(plan.stride[0][0] == 35);
  CHECK(plan.stride[1][0] == 0);
  CHECK(make_plan<1>({0, 4}, {PlanOperand{}}, 0b10u).elements == 4);
  CHECK(make_plan<1>({0, 4}, {PlanOperand{}}, 0b01u).elements == 0);
}

TEST_CASE("dense operands of any rank are one contiguous run") {
  const Shape shape{2, 1, 3, 4};
  const std::array<Strides, 2> dense{row_major(shape), row_major(shape)};
  const auto plan = make_plan<2>(shape, dense);
  CHECK(plan.rank == 1);
  CHECK(plan.extent[0] == 24);
  for (const auto& stride : plan.stride) CHECK(stride[0] == 1);
}

TEST_CASE("a repeated row keeps two dimensions; the inner one is contiguous") {
  const std::array<Strides, 2> strides{Strides{3, 1}, Strides{0, 1}};
  const auto plan = make_plan<2>(Shape{5, 3}, strides);
  CHECK(plan.rank == 2);
  CHECK(plan.stride[0][0] == 3);
  CHECK(plan.stride[1][0] == 0);
  for (const auto& stride : plan.stride) CHECK(stride[1] == 1);
}

TEST_CASE("in memory order a plan visits the same places, along the last operand") {
  RandomLayouts random(5);
  int turned = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Shape shape = random.shape(500);
    const std::array<Strides, 3> strides{random.layout(shape, true).strides, random.layout(shape, true).strides,
                                         random.layout(shape, false, true).strides};
    const auto plan = make_plan<3>(shape, strides), by_memory = in_memory_order(plan);
    INFO("shape ", to_string(shape), " strides ", to_string(strides[0]), " ", to_string(strides[1]), " ",
         to_string(strides[2]));
    REQUIRE(by_memory.elements == plan.elements);
    if (plan.elements == 0) continue;
    const auto places = [&](const Plan<3>& of) {
      std::vector<std::array<std::int64_t, 3>> all;
      for (std::int64_t index = 0; index < of.elements; ++index)
        all.push_back({offset_in(of, 2, index), offset_in(of, 1, index), offset_in(of, 0, index)});
      std::sort(all.begin(), all.end());
      return all;
    };
    CHECK(places(by_memory) == places(plan));
    CHECK(is_merged(by_memory));
    if (plan.stride[2][plan.rank - 1] == 1) continue;
    for (int d = 1; d < by_memory.rank; ++d)
      CHECK(std::abs(by_memory.stride[2][d - 1]) >= std::abs(by_memory.stride[2][d]));
    turned += by_memory.stride[2][by_memory.rank - 1] != plan.stride[2][plan.rank - 1];
  }
  CHECK(turned > 50);
}

TEST_CASE("a scalar, and extents of one, are one element") {
  const std::array<Strides, 1> none{Strides{}};
  CHECK(make_plan<1>(Shape{}, none).elements == 1);
  CHECK(make_plan<1>(Shape{}, none).rank == 1);
  CHECK(make_plan<1>(Shape{}, none).extent[0] == 1);
  const std::array<Strides, 1> odd{Strides{7, 0, -3}};
  CHECK(make_plan<1>(Shape{1, 1, 1}, odd).rank == 1);
  CHECK(make_plan<1>(Shape{1, 1, 1}, odd).extent[0] == 1);
}

TEST_CASE("a reduction's plan pairs every output with its summands") {
  RandomLayouts random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const Shape shape = random.shape(300);
    if (elements(shape) == 0) continue;
    bool reduced[max_rank] = {};
    for (bool& axis : reduced) axis = random.below(2) == 0;
    const std::array<Strides, 2> inputs{random.layout(shape, true).strides, random.layout(shape, true).strides};
    // The result is dense; its strides at reduced dimensions are arbitrary.
    Strides output = Dims::filled(shape.rank(), 99);
    Shape kept, folded;
    std::int64_t size = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      (reduced[d] ? folded : kept).insert(0, shape[d]);
      if (reduced[d]) continue;
      output[d] = size;
      size *= shape[d];
    }
    const auto plan = locus_test::reduce_plan<2>(shape, inputs, output, reduced);
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

}  // namespace
