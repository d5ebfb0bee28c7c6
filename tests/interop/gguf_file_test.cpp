// Runs on: host.
#include <locus/interop/gguf_file.hpp>

#include <golden/golden.hpp>
#include <support/fuzz.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>

#include <cstring>
#include <random>

using namespace locus;
using namespace locus_test;

namespace {

const std::string gguf_golden = golden::folder() + "model.gguf";

/// Writes a GGUF file from front to back.
class GgufText {
 public:
  explicit GgufText(std::uint32_t version, std::uint64_t tensors, std::uint64_t items) {
    text_ = "GGUF";
    number(version, 4).number(tensors, 8).number(items, 8);
  }
  GgufText& number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> 8 * i & 0xff);
    return *this;
  }
  GgufText& string(const std::string& value) {
    number(value.size(), 8);
    text_ += value;
    return *this;
  }
  GgufText& tensor(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                   std::uint64_t offset) {
    string(name).number(shape.size(), 4);
    for (const std::uint64_t extent : shape) number(extent, 8);
    return number(type, 4).number(offset, 8);
  }
  [[nodiscard]] std::string with_data(std::size_t bytes, std::size_t alignment = 32) const {
    std::string whole = text_;
    while (whole.size() % alignment != 0) whole += '\0';
    return whole + std::string(bytes, '\1');
  }

 private:
  std::string text_;
};

}  // namespace

TEST_CASE("metadata and tensors of the package gguf are read, and blocks give the package's numbers") {
  const io::GgufFile file(gguf_golden);
  const io::Value& metadata = file.metadata();
  CHECK(metadata["general.architecture"].text() == "llama");
  CHECK(metadata["llama.block_count"].integer() == 2);
  CHECK(metadata["text"].text() == "h\xc3\xa4user");
  CHECK(metadata["tokens"].size() == 3);
  CHECK(metadata["tokens"][2].text() == "b");
  CHECK(metadata["scores"][1].number() == -2.5);
  CHECK(metadata["yes"].boolean());
  CHECK(metadata["large"].natural() == (std::uint64_t{1} << 63) + 1);
  CHECK(metadata["below"].integer() == -3);
  CHECK(metadata["tenth"].number() == 0.1);
  CHECK_CLOSE(file.get<float>("floats"), Reference({2, 3}, {0, 0.25, 0.5, 0.75, 1, 1.25}));
  CHECK_CLOSE(file.get<half>("halves"), Reference({2, 3}, {0, 0.25, 0.5, 0.75, 1, 1.25}));
  CHECK_CLOSE(file.get_float("halves"), Reference({2, 3}, {0, 0.25, 0.5, 0.75, 1, 1.25}));
  CHECK_CLOSE(file.get<std::int32_t>("integers"), {-2, -1, 0, 1, 2});
  for (const std::string name : {"BF16", "Q8_0", "Q4_0"}) {
    CAPTURE(name);
    const auto values = file.get_float(name), expected = file.get<float>(name + ".expected");
    CHECK(values.shape() == Shape{3, 64});
    CHECK(std::memcmp(values.data(), expected.data(), 3 * 64 * sizeof(float)) == 0);
  }
  CHECK_THROWS_WITH_AS((void)file.get_float("Q5_0"), doctest::Contains("'Q5_0' is Q5_0; expected F32"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)file.get_float("integers"), doctest::Contains("'integers' is I32"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)file.get<float>("Q8_0"), doctest::Contains("is Q8_0, not float32; say .get_float"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)file.get_float("none"), doctest::Contains("no tensor 'none'; there are 'floats'"),
                       ArgumentError);
}

TEST_CASE("a GGUF file is a state, whose plain tensors share the mapping and outlive the file") {
  Tensor<float> floats;
  {
    const auto state = io::load_gguf(gguf_golden);
    CHECK(state.size() == 9);
    REQUIRE(state.unread().size() == 1);
    CHECK(state.unread()[0].type == "Q5_0 of shape (3, 64)");
    CHECK(state.get<bfloat16>("BF16").shape() == Shape{3, 64});
    CHECK_CLOSE(state.get<float>("Q4_0"), reference(state.get<float>("Q4_0.expected")));
    floats = state.get<float>("floats");
    CHECK(reinterpret_cast<std::uintptr_t>(floats.buffer().whole()) % 4096 == 0);
  }
  CHECK_CLOSE(floats, Reference({2, 3}, {0, 0.25, 0.5, 0.75, 1, 1.25}));
}

TEST_CASE("a GGUF file that was truncated since it was mapped is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.gguf", content_of(gguf_golden));
  const io::GgufFile file(path);
  std::filesystem::resize_file(path, 1);
  CHECK_THROWS_WITH_AS((void)file.get_float("Q8_0"), doctest::Contains("was truncated to 1 bytes"), DataError);
  CHECK_THROWS_WITH_AS((void)file.state_dict(), doctest::Contains("was truncated to 1 bytes"), DataError);
}

TEST_CASE("what is wrong with a GGUF file is said") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content, const char* why) {
    CAPTURE(why);
    CHECK_THROWS_WITH_AS((void)io::GgufFile(folder.write("x.gguf", content)), doctest::Contains(why), DataError);
  };
  const auto of_tensor = [](const std::vector<std::uint64_t>& shape, std::uint32_t type, std::uint64_t offset,
                            std::size_t data) {
    return GgufText(3, 1, 0).tensor("w", shape, type, offset).with_data(data);
  };
  CHECK(io::GgufFile(folder.write("x.gguf", of_tensor({2, 4}, 0, 0, 32))).get<float>("w").shape() == Shape{4, 2});
  CHECK(io::GgufFile(folder.write("x.gguf", of_tensor({0, 4}, 0, 0, 0))).get<float>("w").shape() == Shape{4, 0});
  const std::string blocks = GgufText(3, 2, 0).tensor("a", {256}, 9, 0).tensor("b", {8}, 0, 288).with_data(320);
  CHECK(io::GgufFile(folder.write("x.gguf", blocks)).tensors()[0].bytes == 288);  // Q8_1: 36 bytes for 32 elements
  refused("", "it is empty");
  refused("PK and more", "it begins with 'PK a'; expected 'GGUF'");
  refused(GgufText(1, 0, 0).with_data(0), "it has version 1 of the format; expected 2 or 3");
  refused(GgufText(3u << 24, 0, 0).with_data(0), "it is big-endian");
  refused(GgufText(3, 1, 0).with_data(0).substr(0, 24), "it is cut off");
  refused(GgufText(3, ~std::uint64_t{0}, 0).with_data(0), "it is cut off");
  refused(GgufText(3, 0, ~std::uint64_t{0}).with_data(0), "it is cut off");
  refused(GgufText(3, 0, 1).number(~std::uint64_t{0}, 8).with_data(0), "promises 18446744073709551615 bytes");
  refused(GgufText(3, 0, 2).string("a").number(0, 4).number(1, 1).string("a").number(0, 4).number(1, 1).with_data(0),
          "the key 'a' is there twice");
  refused(GgufText(3, 0, 1).string("a").number(99, 4).with_data(8), "a value of the type 99, which is unknown");
  refused(GgufText(3, 0, 1).string("a").number(7, 4).number(2, 1).with_data(0), "a boolean of 2");
  refused(GgufText(3, 0, 1).string("a").number(9, 4).number(0, 4).number(std::uint64_t{1} << 40, 8).with_data(0),
          "promises an array of 1099511627776 values");
  GgufText deep(3, 0, 1);
  deep.string("a").number(9, 4);
  for (int i = 0; i < 1000; ++i) deep.number(9, 4).number(1, 8);
  refused(deep.with_data(0), "arrays in arrays, more than 4 deep");
  refused(GgufText(3, 0, 1).string("general.alignment").number(4, 4).number(0, 4).with_data(0),
          "expected a multiple of 8");
  refused(GgufText(3, 0, 1).string("general.alignment").number(8, 4).string("32").with_data(0), "no number of 32 bits");
  refused(GgufText(3, 2, 0).tensor("w", {1}, 0, 0).tensor("w", {1}, 0, 32).with_data(64), "'w' is there twice");
  refused(of_tensor({2, 4}, 0, 0, 31), "'w' of 32 bytes begins at byte 0 of the data, which has 31");
  refused(of_tensor({8}, 0, 64, 64), "begins at byte 64");
  refused(of_tensor({8}, 0, ~std::uint64_t{31}, 64), "begins at byte 18446744073709551584");
  refused(of_tensor({8}, 0, 4, 64), "expected a multiple of 32");
  refused(of_tensor({31}, 8, 0, 64), "rows of 31 elements; expected a multiple of 32, as it is Q8_0");
  refused(of_tensor({1}, 77, 0, 64), "is of the type 77, which is unknown");
  refused(of_tensor({std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0, 0, 64), "more than 2^60 elements");
  refused(of_tensor(std::vector<std::uint64_t>(9, 1), 0, 0, 64), "has 9 dimensions; expected at most 8");
  refused(GgufText(3, 2, 0).tensor("a", {16}, 0, 0).tensor("b", {8}, 0, 32).with_data(64), "'b' begins within 'a'");
}

TEST_CASE("a damaged GGUF file gives an error or other numbers, and never reads beyond its memory") {
  const TemporaryFolder folder;
  const std::string whole = content_of(gguf_golden);
  std::mt19937_64 random(fuzz_seed(2));
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::size_t refused = 0, read = 0;
  for (std::int64_t count = fuzz_count(1500); count > 0; --count) {
    std::string content = whole;
    for (std::size_t changes = 1 + below(2); changes > 0; --changes) content[below(800)] = static_cast<char>(random());
    if (below(4) == 0) content.resize(below(content.size()));
    try {
      for (const auto& entry : io::load_gguf(folder.write("x.gguf", content)))
        CHECK(entry.bytes.elements() == elements(entry.shape) * static_cast<std::int64_t>(size_of(entry.type)));
      ++read;
    } catch (const DataError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(read > 0);
}
