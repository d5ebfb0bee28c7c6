// Runs on: host.
// Files of tokens, and their windows as a data set.
#include <locus/data/sets/token_windows.hpp>

#include <locus/data/loading/loader.hpp>

#include <doctest/doctest.h>

#include <support/temporary_folder.hpp>

#include <cstring>
#include <filesystem>
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
std::string tokens_from(std::uint16_t first, std::size_t count) {
  std::vector<std::uint16_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return bytes_of(tokens);
}
std::string header(std::int32_t version, std::int32_t count) {
  std::vector<std::int32_t> numbers(256, 0);
  numbers[0] = 20240520, numbers[1] = version, numbers[2] = count;
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
  refused("abc", "has 3 bytes of tokens; expected an even number");
  refused(header(1, 3) + tokens_from(0, 3) + "x", "has 7 bytes of tokens");
  refused(header(1, 4) + tokens_from(0, 3), "announces 4 tokens and holds 3; was it truncated?");
  refused(header(7, 3) + tokens_from(0, 3), "is a token file of version 7; expected version 1");
  refused(header(1, 3).substr(0, 100), "ends within its header; expected 1024 bytes");
  CHECK(complaint<DataError>([] { (void)data::TokenFile("no/such/tokens.bin"); }).find("No such file") !=
        std::string::npos);
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
