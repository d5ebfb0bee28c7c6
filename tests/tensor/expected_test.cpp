// Runs on: host.
// CHECK_CLOSE itself, by the difference that it reports.
#include <locus/locus.hpp>

#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

TEST_CASE("expected numbers have a shape") {
  const auto matrix = ones<float>({2, 2}, Cpu{});
  CHECK(difference(matrix, {1, 1, 1, 1}) == "shape (2, 2) where (4,) was expected");
  CHECK(difference(matrix, {{2, 2}, {1, 1, 1, 1}}) == "");
  CHECK(difference(matrix, {{4, 1}, {1, 1, 1, 1}}) == "shape (2, 2) where (4, 1) was expected");
  CHECK(difference(matrix, std::vector<double>(4, 1.)) == "");  // a vector leaves it open
  CHECK(difference(matrix, std::vector<double>(3, 1.)) == "4 elements where 3 were expected");
  CHECK(difference(sum(matrix), 4) == "");
  CHECK(difference(sum(matrix), {4}) == "shape () where (1,) was expected");
}

TEST_CASE("errors are relative to the largest expected number, at most to 1") {
  const auto small = from({1e-3f, 2e-3f});
  CHECK(difference(small, {1e-3, 2e-3}) == "");
  CHECK(difference(small, {0, 2e-3}, 1e-2) != "");
  CHECK(difference(from({1.f, 100.f}), {1.01, 100}, 1e-3) != "");
}
