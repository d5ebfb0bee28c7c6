// Runs on: host.
#include <locus/io/json_reader.hpp>
#include <locus/io/safetensors_header.hpp>

#include <locus/core/rng.hpp>

#include <doctest/doctest.h>

#include <support/skip.hpp>

#include <algorithm>
#include <ctime>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define LOCUS_TEST_JSON 1
#endif

using namespace locus;
using io::detail::JsonReader;

namespace {
/// Whether a text is JSON; or why it is not.
std::string verdict(std::string_view text) {
  try {
    JsonReader json(text, "text");
    (void)json.value();
    json.expect_end();
  } catch (const DataError& error) {
    return error.what();
  }
  return "JSON";
}
}  // namespace

TEST_CASE("values of every kind are gone over as wholes") {
  for (const char* text :
       {"0", "-0", "12", "-1.5e+10", "1E5", "0.25", "true", "false", "null", "\"\"", "[]", "{}", " [ 1 , [ ] , { } ] ",
        R"({"a":[1,{"b":null}],"c":"}]"})", "\"\\u00e4\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\xc3\xa4\""})
    CHECK_MESSAGE(verdict(text) == "JSON", text);
  JsonReader json(R"( {"a" : [1, 2] , "b":-3e2} rest)", "text");
  std::string members;
  json.object([&](const std::string& key) { members += join(key, "=", json.value(), ";"); });
  CHECK(members == "a=[1, 2];b=-3e2;");
  CHECK_THROWS_WITH_AS(json.expect_end(), "text: at byte 27 is 'rest'; expected the end", DataError);
}

TEST_CASE("what is no JSON is refused, with the place and what was expected") {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "at byte 0 is its end; expected a value"},
      {"[1,]", "at byte 3 is ']'; expected a value"},
      {"[1 2]", "at byte 3 is '2]'; expected ',' or ']'"},
      {"{\"a\" 1}", "expected ':'"},
      {"{a:1}", "expected a string"},
      {"{\"a\":1,}", "expected a string"},
      {"{\"a\":1 \"b\":2}", "expected ',' or '}'"},
      {"[1}", "expected ',' or ']'"},
      {"01", "expected the end"},
      {"-", "expected a digit"},
      {"1.", "expected a digit"},
      {".5", "expected a value"},
      {"1e", "expected a digit"},
      {"+1", "expected a value"},
      {"nul", "expected a value"},
      {"NaN", "expected a value"},
      {"'a'", "expected a value"},
      {"\"a", "expected '\"'"},
      {"\"\\x\"", "expected an escape"},
      {"\"\\", "expected an escape"},
      {"\"\\u12g4\"", "expected four hexadecimal digits"},
      {"\"\\ud800\"", "expected a low surrogate"},
      {"\"\\ud800\\u0041\"", "expected a low surrogate"},
      {"\"\\udc00\"", "expected a high surrogate"},
      {"\"\n\"", "expected a character of UTF-8"},
      {"\"\xff\"", "at byte 1 is '\\xff\"'; expected a character of UTF-8"},
      {"\"\xed\xa0\x80\"", "expected a character of UTF-8"},
      {"1 2", "expected the end"},
      {"// 1", "expected a value"}};
  for (const auto& each : wrong) {
    const std::string said = verdict(each.first);
    CHECK_MESSAGE(said.find(each.second) != std::string::npos, said);
  }
  CHECK(verdict(std::string_view("1\0", 2)).find("'\\x00'; expected the end") != std::string::npos);
  CHECK(verdict(std::string_view("\"\0\"", 3)).find("expected a character") != std::string::npos);
}

TEST_CASE("strings are decoded") {
  const auto decoded = [](std::string_view text) { return JsonReader(text, "text").string(); };
  CHECK(decoded(R"("a\"\\\/\b\f\n\r\t")") == "a\"\\/\b\f\n\r\t");
  CHECK(decoded(R"("\u0041\u00e4\u20AC\uD83D\ude00")") == "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(decoded(R"("\ud800\udc00\udbff\udfff")") == "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
  CHECK(decoded(R"("\u0000")") == std::string(1, '\0'));
}

TEST_CASE("numbers are digits alone, below 2^64") {
  std::uint64_t number = 0;
  CHECK((io::detail::natural_number("18446744073709551615", number) && number == UINT64_MAX));
  CHECK((io::detail::natural_number("0", number) && number == 0));
  for (const char* text : {"", "18446744073709551616", "99999999999999999999999", "-1", "1.0", "1e3", " 1"})
    CHECK_FALSE(io::detail::natural_number(text, number));
}

TEST_CASE("no depth of nesting overflows the stack, and the time that it takes grows with the text alone") {
  const auto seconds = [](std::size_t depth) {
    const std::string text = std::string(depth, '[') + std::string(depth, ']');
    const std::clock_t begin = std::clock();
    CHECK(verdict(text) == "JSON");
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  constexpr std::size_t depth = 1'000'000;
  const double small = std::min(seconds(depth / 8), seconds(depth / 8));
  CHECK(seconds(depth) < 32 * small + 0.01);  // 8 times as long; with its square, 64 times
  CHECK(verdict(std::string(depth, '[')).find("is its end; expected a value") != std::string::npos);
}

TEST_CASE("it accepts what another reader of JSON accepts, and decodes the same") {
#if LOCUS_TEST_JSON
  constexpr std::string_view seed =
      R"({"__metadata__":{"format":"pt"},"a\u00e4\n":{"dtype":"F32","shape":[2,30,-1.5e+3],"x":[[],{}],)"
      "\"data_offsets\":[0,24]},\"\xc3\xa4 \xe2\x82\xac\":[true,false,null,\"\\ud83d\\ude00\"]}";
  constexpr std::string_view bytes =
      "\"\\/{}[]:,0123456789-+.eEtrufalsn \n\t\xc3\xa4\xff\x7f\x01\xed\xa0\x80"
      "bd8DcU";
  Philox random(1, 2);
  int accepted = 0;
  for (int run = 0; run < 20'000; ++run) {
    std::string text(seed);
    const auto changes = 1 + random.bounded(3);
    for (std::int64_t i = 0; i < changes; ++i) {
      const auto at = static_cast<std::size_t>(random.bounded(static_cast<std::int64_t>(text.size())));
      const char byte = bytes[static_cast<std::size_t>(random.bounded(static_cast<std::int64_t>(bytes.size())))];
      const auto kind = random.bounded(4);
      if (kind == 0) text[at] = byte;
      else if (kind == 1) text.insert(at, 1, byte);
      else if (kind == 2) text.erase(at, 1);
      else text.insert(at, text.substr(at, static_cast<std::size_t>(random.bounded(9))));
    }
    CAPTURE(text);
    const bool is_json = nlohmann::json::accept(text);
    accepted += is_json;
    CHECK((verdict(text) == "JSON") == is_json);
    if (!is_json || text[0] != '{') continue;
    JsonReader json(text, "text");
    const auto other = nlohmann::json::parse(text);
    json.object([&](const std::string& key) {
      CHECK(other.contains(key));
      (void)json.value();
    });
  }
  CHECK(accepted > 1000);
  CHECK(accepted < 19'000);
#else
  SKIP_TEST("there is no nlohmann/json.hpp to compare with");
#endif
}

TEST_CASE("headers of weights are JSON for another reader, too") {
  io::detail::HeaderWriter header("save", Span<const io::detail::SafetensorsText>{});
  header.add("a \"\\\n\x01 \xc3\xa4", "F32", Shape{2, 3}, 24);
  header.add("", "BOOL", Shape{}, 1);
  const std::string text = header.text();
  CHECK(text.size() % 8 == 0);
  CHECK(text.substr(8, 34) == R"({"__metadata__":{"format":"pt"},"a)");
#if LOCUS_TEST_JSON
  const auto json = nlohmann::json::parse(text.substr(8));
  CHECK(json.size() == 3);
  const auto& first = json.at("a \"\\\n\x01 \xc3\xa4");
  CHECK(first.at("dtype") == "F32");
  CHECK(first.at("shape") == std::vector<int>{2, 3});
  CHECK(first.at("data_offsets") == std::vector<int>{0, 24});
  CHECK(json.at("").at("data_offsets") == std::vector<int>{24, 25});
#else
  SKIP_TEST("there is no nlohmann/json.hpp to compare with");
#endif
}
