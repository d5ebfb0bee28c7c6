// Runs on: host.
// Files of tokens, and their windows as a data set.
#include <locus/data/sets/token_windows.hpp>

#include <locus/data/files/save_tokens.hpp>
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/packed_tokens.hpp>
#include <locus/io/npy.hpp>
#include <locus/ops/document_mask.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>

#include <doctest/doctest.h>

#include <support/reference.hpp>
#include <support/temporary_folder.hpp>

#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

using namespace locus;
using namespace locus_test;

namespace {

std::string bytes_of(const auto& numbers) {
  std::string bytes(numbers.size() * sizeof numbers[0], '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}
template <class T = std::uint16_t>
std::string tokens_from(std::type_identity_t<T> first, std::size_t count) {
  std::vector<T> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return bytes_of(tokens);
}
std::string header(std::int32_t version, std::int32_t count, std::int32_t magic = 20240520) {
  std::vector<std::int32_t> numbers(256, 0);
  numbers[0] = magic, numbers[1] = version, numbers[2] = count;
  return bytes_of(numbers);
}

class Files {
 public:
  std::string write(const std::string& bytes) { return folder_.write(join("tokens", ++count_, ".bin"), bytes); }

 private:
  TemporaryFolder folder_;
  int count_ = 0;
};

/// The message of the exception E that f throws.
template <class E>
std::string complaint(const auto& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("tokens are read with llm.c's header and without it") {
  Files files;
  for (const std::string& before : {std::string(), header(1, 300)}) {
    const data::TokenFile file(files.write(before + tokens_from(40000, 300)));
    CHECK(file.size() == 300);
    CHECK(file[0] == 40000);
    CHECK(file[299] == 40299);
    CHECK(file.tokens().size() == 300);
    const data::TokenFile copy = file;
    CHECK(copy.tokens().data() == file.tokens().data());
  }
  CHECK(data::TokenFile(files.write(header(1, 0))).size() == 0);
  data::TokenFile given(files.write(tokens_from(7, 2)));
  const data::TokenFile moved = std::move(given);
  CHECK(moved[1] == 8);
  CHECK_THROWS_AS((void)given.tokens(), ArgumentError);
}

TEST_CASE("damaged files and files of another kind are refused by name") {
  Files files;
  const auto refused = [&](const std::string& bytes, const std::string& expected) {
    const std::string path = files.write(bytes);
    const std::string said = complaint<DataError>([&] { (void)data::TokenFile(path); });
    CAPTURE(said);
    CHECK(said.find("'" + path + "'") != std::string::npos);
    CHECK(said.find(expected) != std::string::npos);
  };
  refused("", "is empty; expected tokens");
  refused("abc", "has 3 bytes of tokens; expected a multiple of 2, the bytes of a token");
  refused(header(1, 3) + tokens_from(0, 3) + "x", "announces 3 tokens of 2 bytes and holds 7 bytes of tokens");
  refused(header(1, 4) + tokens_from(0, 3), "announces 4 tokens of 2 bytes and holds 6 bytes of tokens; was it trunc");
  refused(header(7, 3) + tokens_from(0, 3), "is a token file of version 7; expected version 1");
  refused(header(1, 3, 20240801) + tokens_from(0, 6), "is a token file of version 1; expected version 7, tokens of 32");
  refused(header(1, 3).substr(0, 100), "ends within its header; expected 1024 bytes");
  const std::string path = files.write("");
  const auto npy = [&](const auto& x) {
    io::save_npy(path, x);
    return content_of(path);
  };
  refused(npy(zeros<std::int64_t>({3})), "it holds int64 in shape (3,); expected one dimension of uint16 or uint32");
  refused(npy(zeros<std::uint16_t>({3, 1})), "it holds uint16 in shape (3, 1)");
  const std::string whole = npy(zeros<std::uint32_t>({300}));
  for (std::size_t length = 6; length < whole.size(); length += 1 + length / 16)
    CHECK_THROWS_AS((void)data::TokenFile(files.write(whole.substr(0, length))), DataError);
  std::uint64_t random = 1;
  for (int i = 0; i < 300; ++i) {  // damaged headers: refused, or of tokens within the file
    std::string damaged = whole;
    for (int k = 0; k < 3; ++k) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      damaged[6 + (random >> 33) % 122] = static_cast<char>(random >> 56);
    }
    try {
      const data::TokenFile file(files.write(damaged));
      CHECK(file.size() * file.bits() / 8 < static_cast<std::int64_t>(whole.size()));
      (void)file[file.size() - 1];
    } catch (const DataError&) {}
  }
  CHECK(complaint<ArgumentError>([&] { (void)data::TokenFile(files.write("abcd"), {.bits = 8}); }) ==
        "TokenFile: .bits = 8; expected 16 or 32");
  CHECK(complaint<ArgumentError>([] { (void)data::TokenFiles(std::vector<std::string>()); }) ==
        "TokenFiles: no files; expected one or more");
  CHECK(complaint<DataError>([] { (void)data::TokenFile("no/such/tokens.bin"); }).find("No such file") !=
        std::string::npos);
}

TEST_CASE("tokens of 32 bits, and arrays of NumPy, are read, and several files are one text") {
  Files files;
  const std::string wide = files.write(tokens_from<std::uint32_t>(100'000, 5));
  const data::TokenFile raw(wide, {.bits = 32});
  CHECK(raw.size() == 5);
  CHECK(raw.bits() == 32);
  CHECK(raw[4] == 100'004);
  CHECK(raw.tokens<std::uint32_t>()[1] == 100'001);
  CHECK(complaint<ArgumentError>([&] { (void)raw.tokens(); }) ==
        "'" + wide + "' has tokens of 32 bits; say tokens<std::uint32_t>()");
  const data::TokenFile behind(files.write(header(7, 4, 20240801) + tokens_from<std::uint32_t>(100'005, 4)));
  CHECK(behind.size() == 4);
  CHECK(behind[3] == 100'008);
  std::vector<std::string> paths{wide, files.write(header(7, 0, 20240801)), behind.path(), files.write("")};
  io::save_npy(paths[3], arange<std::int64_t>(100'009, 100'012, 1).as<std::uint32_t>());
  CHECK(data::TokenFile(paths[3])[2] == 100'011);
  const data::TokenFiles all(paths, {.bits = 32});
  CHECK(all.size() == 12);
  CHECK(all.files().size() == 4);
  CHECK(data::TokenFiles({behind.path()}).size() == 4);
  const data::TokenWindows windows{all, {.length = 4}};
  CHECK(windows.size() == 2);
  for (const std::int64_t i : {0, 1}) {
    const auto [tokens, next] = data::sample(windows, i);
    for (std::int64_t at = 0; at < 4; ++at) {
      CHECK(tokens(at) == 100'000 + 4 * i + at);
      CHECK(next(at) == tokens(at) + 1);
    }
  }
  const data::TokenWindows small{all, {.length = 4, .vocab_size = 100'007}};
  CHECK(complaint<DataError>([&] {
          (void)data::sample(small, 1);
        }).starts_with("'" + behind.path() + "': token 100007 at position 2"));
  const data::TokenFiles mixed({files.write(header(1, 3) + tokens_from(7, 3)), paths[3]});
  CHECK(data::sample(data::TokenWindows(mixed, {.length = 5}), 0).next(4) == 100'011);
}

TEST_CASE("packed documents have numbers, positions of their own, and no label beyond their end") {
  Files files;
  const std::vector<std::uint16_t> text{5, 6, 0, 7, 0, 0, 8, 9, 3, 0, 4, 4, 4};
  const data::PackedTokens packed{data::TokenFile(files.write(bytes_of(text))), {.length = 6, .end_token = 0}};
  static_assert(data::Dataset<data::PackedTokens>);
  CHECK(packed.size() == 2);
  const auto first = data::sample(packed, 0), second = data::sample(packed, 1);
  CHECK_CLOSE(first.tokens, {5, 6, 0, 7, 0, 0});
  CHECK_CLOSE(first.next, {6, 0, -100, 0, -100, -100});
  CHECK_CLOSE(first.documents, {0, 0, 0, 1, 1, 2});
  CHECK_CLOSE(first.positions, {0, 1, 2, 0, 1, 0});
  CHECK_CLOSE(second.documents, {0, 0, 0, 0, 1, 1});
  CHECK_CLOSE(second.next, {9, 3, 0, -100, 4, 4});
  for (const auto& batch : data::loader<Cpu>(packed, {.batch_size = 2})) {
    CHECK(batch.positions.shape() == Shape{2, 6});
    const auto mask = document_mask(batch.documents);
    CHECK(mask.shape() == Shape{2, 6, 6});
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = 0; j < 6; ++j) CHECK(mask(0, i, j) == (first.documents(i) == first.documents(j)));
  }
  CHECK_THROWS_WITH_AS((void)data::PackedTokens(packed.files(), {.length = 6, .end_token = 10, .vocab_size = 10}),
                       "PackedTokens: .end_token = 10; expected the token that ends each document, 0 to 9",
                       ArgumentError);
  CHECK_THROWS_AS((void)document_mask(zeros<std::int64_t>({})), ShapeError);
}

TEST_CASE("tokens are written for TokenFile, or refused before a file changes") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "tokens";
  const std::vector<std::int64_t> narrow{0, 65535, 7}, wide{65536, 4294967295, 1};
  data::save_tokens(path, narrow);
  CHECK(data::TokenFile(path).tokens()[1] == 65535);
  CHECK_THROWS_WITH_AS(data::save_tokens(path, wide),
                       "save_tokens: token 65536 at position 0; expected 0 to 65535, or .bits = 32", ArgumentError);
  CHECK_THROWS_AS(data::save_tokens(path, std::vector<std::int64_t>{-1}, {.bits = 32}), ArgumentError);
  CHECK_THROWS_AS(data::save_tokens(path, narrow, {.bits = 8}), ArgumentError);
  CHECK_THROWS_AS(data::save_tokens(path, std::vector<std::int64_t>{}), ArgumentError);
  CHECK(data::TokenFile(path).size() == 3);
  data::save_tokens(path, wide, {.bits = 32});
  const data::TokenFile file(path, {.bits = 32});
  for (std::int64_t i = 0; i < 3; ++i) CHECK(file[i] == wide[static_cast<std::size_t>(i)]);
}

TEST_CASE("attention within packed documents is that of each document alone") {
  const auto documents = from<std::int64_t>({0, 0, 0, 1, 1, 1, 1, 2});
  const Tensor<double> x = sin(arange<double>(0, 32, 1) * 1.3).eval().reshape({1, 1, 8, 4});
  const auto y = scaled_dot_product_attention(x, x, x, {.mask = document_mask(documents), .is_causal = true});
  for (const auto& [begin, end] : {std::pair{0, 3}, {3, 7}, {7, 8}}) {
    const auto part = x.slice(2, begin, end);
    CHECK_CLOSE(y.slice(2, begin, end), reference(scaled_dot_product_attention(part, part, part, {.is_causal = true})),
                1e-12);
  }
}

TEST_CASE("shuffled windows go on in mid-epoch where they were, by blocks or whole") {
  Files files;
  const data::TokenWindows windows{data::TokenFile(files.write(tokens_from(0, 101))), {.length = 2}};
  const auto firsts_of = [](auto& loader) {
    std::vector<std::int64_t> firsts;
    for (const auto& batch : loader) firsts.push_back(batch.tokens(0, 0));
    return firsts;
  };
  const auto check = [&](const auto& make) {
    auto whole = make(), resumed = make();
    (void)firsts_of(whole);
    const auto second = firsts_of(whole);  // of the second epoch
    resumed.set_position({1, 4});
    CHECK(firsts_of(resumed) == std::vector(second.begin() + 4, second.end()));
    CHECK(resumed.position() == data::LoaderPosition{2, 0});
  };
  check([&] { return data::loader<Cpu>(windows, {.batch_size = 5, .shuffle = true, .seed = 3}); });
  check([&] {
    return data::loader<Cpu>(windows, data::BlockSampler{.count = windows.size(), .block = 7, .together = 2, .seed = 3},
                             {.batch_size = 5});
  });
}

TEST_CASE("windows follow one another, each token with the next one") {
  Files files;
  const data::TokenFile file(files.write(tokens_from(100, 14)));
  const data::TokenWindows windows{file, {.length = 4, .vocab_size = 114}};
  static_assert(data::Dataset<data::TokenWindows>);
  CHECK(windows.size() == 3);
  const auto [tokens, next] = data::sample(windows, 2);
  CHECK(tokens.shape() == Shape{4});
  for (int i = 0; i < 4; ++i) {
    CHECK(tokens(i) == 108 + i);
    CHECK(next(i) == 109 + i);
  }
  CHECK(data::TokenWindows(file, {.length = 13}).size() == 1);
  std::int64_t batches = 0, sum = 0;
  for (const auto& batch : data::loader<Cpu>(windows, {.batch_size = 2, .shuffle = true, .seed = 3})) {
    CHECK(batch.tokens.size(1) == 4);
    for (std::int64_t i = 0; i < batch.tokens.elements(); ++i) {
      CHECK(batch.next.data()[i] == batch.tokens.data()[i] + 1);
      sum += batch.tokens.data()[i];
    }
    ++batches;
  }
  CHECK(batches == 2);
  CHECK(sum == 12 * 100 + 66);
}

TEST_CASE("tokens outside the files are refused") {
  Files files;
  const data::TokenFiles tokens(data::TokenFile(files.write(tokens_from(0, 10))));
  std::int64_t read[3] = {};
  tokens.read(7, read, 10);
  CHECK(read[2] == 9);
  tokens.read(10, {}, 10);
  for (const std::int64_t first : {std::int64_t{8}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()})
    CHECK_THROWS_WITH_AS(tokens.read(first, read, 10),
                         join("TokenFiles: 3 tokens from position ", first, "; the files have 10").c_str(), IndexError);
}

TEST_CASE("what does not fit the windows is said: options, short files, tokens beyond the vocabulary, truncation") {
  Files files;
  const std::string path = files.write(tokens_from(100, 14));
  const data::TokenFile file(path);
  const auto of = [&](const data::TokenWindowsOptions& options) {
    return [&file, options] { (void)data::TokenWindows(file, options); };
  };
  CHECK(complaint<ArgumentError>(of({.length = 0})) == "TokenWindows: length is 0; expected 1 or more tokens");
  CHECK(complaint<ArgumentError>(of({.vocab_size = 0})) == "TokenWindows: vocab_size is 0; expected 1 or more");
  CHECK(complaint<DataError>(of({.length = 14})) == "'" + path +
                                                        "' has 14 tokens; expected 14 or more, and a last one " +
                                                        "to predict: take shorter windows or another file");
  const data::TokenWindows small{file, {.length = 4, .vocab_size = 110}};
  (void)data::sample(small, 1);
  const std::string said = complaint<DataError>([&] {
    for (const auto& batch : data::loader<Cpu>(small, {.batch_size = 1})) (void)batch;
  });
  CHECK(said == "'" + path +
                    "': token 110 at position 10 is beyond the vocabulary; expected 0 to 109: is the file of " +
                    "another tokenizer?");
  CHECK_THROWS_AS((void)data::sample(small, 3), IndexError);
  std::filesystem::resize_file(path, 6);
  CHECK(complaint<DataError>([&] { (void)data::sample(small, 0); }).find("was truncated to 6 bytes") !=
        std::string::npos);
}
