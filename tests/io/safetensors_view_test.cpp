// Runs on: host.
#include <locus/io/safetensors_view.hpp>

#include <locus/io/safetensors.hpp>

#include <algorithm>
#include <cstring>
#include <golden/golden.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>

using namespace locus;
using namespace locus_test;

namespace {
const std::string view_golden = golden::folder() + "model.safetensors";
std::span<const std::byte> bytes_of_text(const std::string& text) { return std::as_bytes(std::span(text)); }
}  // namespace

TEST_CASE("views of a file are its names, types, shapes and bytes") {
  const io::SafetensorsFile file(view_golden);
  const auto state = io::load(view_golden);
  CHECK(file.size() == state.size());
  for (const io::SafetensorsView& view : file) {
    CAPTURE(view.name);
    const auto entry = std::find_if(state.begin(), state.end(), [&](const auto& e) { return e.name == view.name; });
    REQUIRE(entry != state.end());
    CHECK(view.shape.size() == static_cast<std::size_t>(entry->shape.rank()));
    CHECK(view.data.size() == static_cast<std::size_t>(entry->bytes.elements()));
    CHECK(std::equal(view.data.begin(), view.data.end(), reinterpret_cast<const std::byte*>(entry->bytes.data())));
  }
  const auto values = file["0.weight"].values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{0, 0.25, 0.5, 0.75, 1, 1.25});
  CHECK(file["brain"].dtype == "BF16");
  CHECK(file.contains("mask"));
  CHECK_THROWS_WITH_AS((void)file["none"], doctest::Contains("there is no tensor 'none'; there are"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)file["0.weight"].values<double>(), doctest::Contains("holds F32, not F64"), ArgumentError);
}

TEST_CASE("views are written, with types that Locus lacks and texts, and read from memory") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "x.safetensors";
  const std::vector<double> wide{1, 2};
  const std::string small = "abc";
  io::write_safetensors(path,
                        {{"small", "F8_E4M3", {3, 1, 1, 1, 1, 1, 1, 1, 1}, bytes_of_text(small)},
                         {"wide", "F64", {2}, std::as_bytes(std::span(wide))},
                         {"none", "I64", {0, 5}, {}}},
                        {{"author", "a \"b\""}, {"format", "pt"}});
  const std::string content = content_of(path);
  const auto views = io::parse_safetensors(bytes_of_text(content));
  REQUIRE(views.size() == 3);
  const io::SafetensorsFile file(path);
  CHECK(file["small"].shape.size() == 9);
  CHECK(std::memcmp(file["small"].data.data(), "abc", 3) == 0);
  CHECK(file["wide"].values<double>()[1] == 2);
  CHECK(file["none"].shape == std::vector<std::uint64_t>{0, 5});
  CHECK(file.metadata() == io::SafetensorsMetadata{{"format", "pt"}, {"author", "a \"b\""}});
  CHECK(io::load(path).get<double>("wide")(0) == 1);
  CHECK(io::load(path).unread().size() == 1);
}

TEST_CASE("what cannot be written as views is refused, and the old file stays") {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.safetensors", "old");
  const std::string four = "1234";
  const auto refused = [&](std::vector<io::SafetensorsView> views, const char* why,
                           const io::SafetensorsMetadata& metadata = {}) {
    CHECK_THROWS_WITH_AS(io::write_safetensors(path, views, metadata), doctest::Contains(why), ArgumentError);
    CHECK(content_of(path) == "old");
  };
  refused({{"a", "F32", {2}, bytes_of_text(four)}}, "'a' has 4 bytes; its type and shape have 8");
  refused({{"a", "F33", {1}, bytes_of_text(four)}}, "'a' has dtype 'F33'; expected a type of the format");
  refused({{"a", "F32", {1}, bytes_of_text(four)}, {"a", "F32", {1}, bytes_of_text(four)}}, "'a' is there twice");
  refused({{"\xff", "F32", {1}, bytes_of_text(four)}},
          "write_safetensors: the name of a tensor, '\\xff', is not UTF-8");
  refused({{"__metadata__", "F32", {1}, bytes_of_text(four)}}, "write_safetensors: no tensor can have the name");
  refused({{"a", "F64", {~std::uint64_t{0}, 2}, bytes_of_text(four)}}, "more than 2^63 bytes");
  refused({}, "the metadata 'a' is there twice", {{"a", "1"}, {"a", "2"}});
  refused({}, "the metadata '\\xff' is not UTF-8", {{"\xff", "1"}});
  refused({}, "the metadata 'a' is not UTF-8", {{"a", "\xff"}});
}

TEST_CASE("bytes of bool are checked where they are read as bool") {
  const std::string bools("\0\1\1\2", 4);
  const io::SafetensorsView view{"mask", "BOOL", {4}, bytes_of_text(bools)};
  CHECK_THROWS_WITH_AS((void)view.values<bool>(), "'mask' of bool holds other bytes than 0 and 1", DataError);
  const io::SafetensorsView right{"mask", "BOOL", {3}, bytes_of_text(bools).first(3)};
  const auto values = right.values<bool>();
  CHECK((values.size() == 3 && !values[0] && values[1] && values[2]));
}

TEST_CASE("a content in memory that is cut off anywhere is refused") {
  const std::string whole = content_of(view_golden);
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_THROWS_AS((void)io::parse_safetensors(bytes_of_text(whole).first(size)), DataError);
  CHECK_THROWS_WITH_AS((void)io::parse_safetensors(bytes_of_text("short"), "the network"),
                       doctest::Contains("cannot read 'the network' as safetensors: it has 5 bytes"), DataError);
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(io::SafetensorsFile(folder.write("empty", "")), doctest::Contains("it is empty"), DataError);
}
