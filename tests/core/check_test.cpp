// Runs on: host.
#include <doctest/doctest.h>

#include <cstdint>
#include <locus/core/check.hpp>
#include <locus/core/shape.hpp>
#include <string>

using namespace locus;

TEST_CASE("join writes numbers, texts and whatever has a to_string") {
  CHECK(join("rows ", 3, ' ', std::int64_t{-4}, ", ", 0.5, " ", true, std::string("!")) == "rows 3 -4, 0.5 true!");
  CHECK(join("shape ", Shape{2, 3}) == "shape (2, 3)");
}

TEST_CASE("join keeps characters and narrow integers apart") {
  CHECK(join('7') == "7");
  CHECK(join(std::uint8_t{7}) == "7");
}

TEST_CASE("fail throws the type it is given, with the joined parts as message") {
  CHECK_THROWS_WITH_AS((fail<ShapeError>({"matmul: ", Shape{2, 3}, " and ", Shape{4, 5}})), "matmul: (2, 3) and (4, 5)",
                       ShapeError);
  CHECK_THROWS_AS(fail<DataError>({"truncated"}), DataError);
}

TEST_CASE("every exception is a locus::Error and a std::runtime_error, and none is another") {
  CHECK_THROWS_AS(fail<IndexError>({"index"}), Error);
  CHECK_THROWS_AS(fail<OutOfMemory>({"memory"}), std::runtime_error);
  bool caught_as_shape_error = false;
  try {
    fail<IndexError>({"index"});
  } catch (const ShapeError&) {
    caught_as_shape_error = true;
  } catch (const Error&) {}
  CHECK_FALSE(caught_as_shape_error);
}
