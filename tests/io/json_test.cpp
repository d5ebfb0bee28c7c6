// Runs on: host.
#include <locus/io/json.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace locus;

namespace {

template <class V>
std::string written(const V& v) {
  io::JsonWriter json;
  json.value(v);
  return json.text();
}

}  // namespace

TEST_CASE("JSON values") {
  CHECK(written(true) == "true\n");
  CHECK(written(nullptr) == "null\n");
  CHECK(written(-3) == "-3\n");
  CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808\n");
  CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615\n");
  CHECK(written("text") == "\"text\"\n");
  CHECK(written(std::string("text")) == "\"text\"\n");
}

TEST_CASE("JSON numbers are the shortest that read back") {
  CHECK(written(0.1f) == "0.1\n");
  CHECK(written(0.1) == "0.1\n");
  CHECK(written(1. / 3) == "0.3333333333333333\n");
  CHECK(written(1e300) == "1e+300\n");
  CHECK(written(-0.) == "-0\n");
}

TEST_CASE("JSON has no NaN and no infinity: null") {
  CHECK(written(std::numeric_limits<double>::quiet_NaN()) == "null\n");
  CHECK(written(std::numeric_limits<float>::infinity()) == "null\n");
  CHECK(written(-std::numeric_limits<double>::infinity()) == "null\n");
}

TEST_CASE("JSON strings are escaped") {
  CHECK(written("a\"b\\c\nd\te") == "\"a\\\"b\\\\c\\nd\\te\"\n");
  CHECK(written(std::string_view("\x01\x1f\0", 3)) == "\"\\u0001\\u001f\\u0000\"\n");
  CHECK(written("größer, 数, 😀") == "\"größer, 数, 😀\"\n");
}

TEST_CASE("JSON strings are valid UTF-8 whatever they are given") {
  const std::string replaced = "\"\xEF\xBF\xBD\"\n";
  CHECK(written("\xff") == replaced);
  CHECK(written("\xc3") == replaced);
  CHECK(written("\xc0\x80") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"\n");                  // overlong
  CHECK(written("\xed\xa0\x80") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n");  // surrogate
  CHECK(written("\xf0\x9f\x98") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n");  // cut short
}

TEST_CASE("JSON objects and arrays nest") {
  io::JsonWriter json;
  json.begin_array();
  json.begin_object().member("epoch", 1).member("loss", 0.25).end_object();
  json.begin_object().key("sizes").begin_array().value(1).value(2).end_array().member("ok", true).end_object();
  json.begin_array().end_array().begin_object().end_object();
  json.end_array();
  CHECK(json.text() == R"([
  {
    "epoch": 1,
    "loss": 0.25
  },
  {
    "sizes": [
      1,
      2
    ],
    "ok": true
  },
  [],
  {}
]
)");
}

TEST_CASE("JSON calls out of order are refused") {
  io::JsonWriter json;
  CHECK_THROWS_AS((void)json.text(), ArgumentError);
  CHECK_THROWS_AS(json.key("a"), ArgumentError);
  CHECK_THROWS_AS(json.end_array(), ArgumentError);
  json.begin_object();
  CHECK_THROWS_AS(json.value(1), ArgumentError);
  CHECK_THROWS_AS(json.end_array(), ArgumentError);
  CHECK_THROWS_AS((void)json.text(), ArgumentError);
  json.key("a");
  CHECK_THROWS_AS(json.key("b"), ArgumentError);
  CHECK_THROWS_AS(json.end_object(), ArgumentError);
  json.value(1).end_object();
  CHECK_THROWS_AS(json.value(2), ArgumentError);
  CHECK(json.text() == "{\n  \"a\": 1\n}\n");
}
