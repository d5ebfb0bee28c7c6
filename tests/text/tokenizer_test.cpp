// Runs on: host.
#include <locus/text/train_bpe.hpp>

#include <golden/golden.hpp>
#include <support/fuzz.hpp>
#include <support/temporary_folder.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <random>

using namespace locus;
using locus_test::TemporaryFolder;

namespace {

using Tokens = std::vector<std::int64_t>;

[[nodiscard]] const std::string& golden_text() {
  static const std::string text = text::detail::content_of(golden::folder() + "tokenizers.json", "the golden file");
  return text;
}
[[nodiscard]] io::JsonNode golden_of(const char* name) {
  return io::JsonNode(golden_text(), "tokenizers.json").at(name);
}
[[nodiscard]] text::Tokenizer tokenizer_of(const char* name) {
  return text::Tokenizer::from_json(golden_of(name).at("file").text());
}
[[nodiscard]] Tokens tokens_of(const io::JsonNode& node) {
  Tokens tokens;
  node.array([&](const io::JsonNode& each) { tokens.push_back(each.integer()); });
  return tokens;
}
[[nodiscard]] std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}
[[nodiscard]] std::string streamed(const text::Tokenizer& tokenizer, const Tokens& tokens) {
  text::TokenStream stream(tokenizer, {.skip_special_tokens = true});
  std::string result;
  for (const std::int64_t token : tokens) {
    const std::string part = stream.push(token);
    CHECK(io::is_utf8(part));
    result += part;
  }
  return result + stream.finish();
}

/// A file tokenizer.json of a few tokens, with one text replaced by another.
[[nodiscard]] std::string file_with(const std::string& from, const std::string& to) {
  std::string file = R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [{"id": 4, "content": "<end>", "special": true}],
    "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "post_processor": null, "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "aba": 3}, "merges": ["a b", "ab a"]}})";
  const auto at = file.find(from);
  REQUIRE(at != std::string::npos);
  return file.replace(at, from.size(), to);
}
void check_refused(const std::string& from, const std::string& to, const char* message) {
  CHECK_THROWS_WITH_AS((void)text::Tokenizer::from_json(file_with(from, to)), doctest::Contains(message), DataError);
}

TEST_CASE("tokens are those of the package tokenizers, in many scripts and of broken UTF-8") {
  for (const char* const name : {"gpt2", "llama3", "qwen2", "roberta", "uncommon"}) {
    CAPTURE(name);
    const auto tokenizer = tokenizer_of(name);
    golden_of(name).at("cases").array([&](const io::JsonNode& each) {
      const std::string given = from_hex(each.at("bytes").string()), decoded = each.at("decoded").string();
      const Tokens expected = tokens_of(each.at("tokens"));
      CAPTURE(given);
      CHECK(tokenizer.encode(given) == expected);
      CHECK(tokenizer.encode(given, {.add_special_tokens = false}) == tokens_of(each.at("plain")));
      CHECK(io::utf8_with_replacements(tokenizer.decode(expected, {.skip_special_tokens = true})) == decoded);
      CHECK(streamed(tokenizer, expected) == decoded);
    });
  }
}

TEST_CASE("names of special tokens are ordinary text on request, and tokens are found by their bytes") {
  const auto tokenizer = tokenizer_of("gpt2");
  const std::string user = "say <|endoftext|> now";
  const Tokens found = tokenizer.encode(user), split = tokenizer.encode(user, {.split_special_tokens = true});
  const std::int64_t end = tokenizer.token_to_id("<|endoftext|>").value();
  CHECK(std::count(found.begin(), found.end(), end) == 1);
  CHECK(std::count(split.begin(), split.end(), end) == 0);
  CHECK(tokenizer.decode(split) == user);
  CHECK(tokenizer.is_special(end));
  CHECK(tokenizer.bytes_of(tokenizer.token_to_id(" the").value()) == " the");
  CHECK_FALSE(tokenizer.token_to_id("no such token"));
  CHECK(tokenizer.added_tokens().size() == 1);
  const Tokens beyond{0, tokenizer.vocab_size()}, below{-1};
  CHECK_THROWS_WITH_AS((void)tokenizer.decode(beyond), doctest::Contains("expected 0 to 419"), IndexError);
  CHECK_THROWS_AS((void)tokenizer.decode(below), IndexError);
}

TEST_CASE("training gives the vocabulary of the package tokenizers, which reads the file") {
  std::vector<std::string> sample;
  golden_of("sample").array([&](const io::JsonNode& each) { sample.push_back(each.string()); });
  const auto trained = text::train_bpe(sample, {.vocab_size = 420, .special_tokens = {"<|endoftext|>"}});
  const TemporaryFolder folder;
  trained.save(folder.path / "tokenizer.json");
  const auto expected = tokenizer_of("gpt2"), again = text::Tokenizer::from_file(folder.path);
  REQUIRE(trained.vocab_size() == expected.vocab_size());
  for (std::int64_t id = 0; id < expected.vocab_size(); ++id) {
    CHECK(trained.bytes_of(id) == expected.bytes_of(id));
    CHECK(again.bytes_of(id) == expected.bytes_of(id));
  }
  for (const std::string& each : sample) {
    CHECK(trained.encode(each) == expected.encode(each));
    CHECK(again.encode(each) == expected.encode(each));
  }
  CHECK_THROWS_WITH_AS((void)text::train_bpe(sample, {.vocab_size = 200}), doctest::Contains("expected at least 256"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)text::train_bpe(sample, {.pattern = "a(b"}), doctest::Contains("at byte 3"), DataError);
}

TEST_CASE("tokenizers are saved with their steps, templates and added tokens") {
  const TemporaryFolder folder;
  for (const char* const name : {"llama3", "qwen2", "roberta", "uncommon"}) {
    CAPTURE(name);
    const auto tokenizer = tokenizer_of(name);
    tokenizer.save(folder.path / "saved.json");
    const auto again = text::Tokenizer::from_file(folder.path / "saved.json");
    golden_of(name).at("cases").array([&](const io::JsonNode& each) {
      CHECK(again.encode(from_hex(each.at("bytes").string())) == tokens_of(each.at("tokens")));
    });
  }
}

TEST_CASE("the two files of GPT-2") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "vocab.json")
      << R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4, "<|endoftext|>": 5})";
  std::ofstream(folder.path / "merges.txt") << "#version: 0.2\na b\n\xC4\xA0 ab\n";
  const auto tokenizer = text::Tokenizer::from_file(folder.path);
  CHECK(tokenizer.encode("ab aba<|endoftext|>") == Tokens{2, 4, 0, 5});
  CHECK(tokenizer.is_special(5));
  CHECK_THROWS_WITH_AS((void)tokenizer.encode("abc"), doctest::Contains("no token of the byte 99"), DataError);
  std::ofstream(folder.path / "merges.txt") << "a b\na\n";
  CHECK_THROWS_WITH_AS((void)text::Tokenizer::from_file(folder.path), doctest::Contains("line 2 is 'a'"), DataError);
  CHECK_THROWS_WITH_AS((void)text::Tokenizer::from_file(folder.path / "none.json"), doctest::Contains("none.json"),
                       DataError);
}

TEST_CASE("files that ask for something that is not there are refused by its name") {
  const Tokens expected{3, 4};
  CHECK(text::Tokenizer::from_json(file_with("1.0", "2.0")).encode("aba<end>") == expected);
  check_refused("\"BPE\"", "\"WordPiece\"", "model.type is \"WordPiece\"; expected \"BPE\"");
  check_refused("\"normalizer\": null", "\"normalizer\": {\"type\": \"Lowercase\"}",
                "normalizer.type is \"Lowercase\"");
  check_refused("{\"type\": \"ByteLevel\", \"add", "{\"type\": \"Metaspace\", \"add",
                "pre_tokenizer.type is \"Metaspace\"");
  check_refused("\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": {\"type\": \"WordPiece\"}", "decoder.type");
  check_refused("\"truncation\": null", "\"truncation\": {\"max_length\": 8}", "truncation is {\"max_length\": 8}");
  check_refused("\"merges\"", "\"byte_fallback\": true, \"merges\"", "model.byte_fallback is true");
  check_refused("\"merges\"", "\"dropout\": 0.1, \"merges\"", "model.dropout is 0.1");
  check_refused("\"post_processor\": null", "\"post_processor\": {\"type\": \"BertProcessing\"}",
                "post_processor.type");
}

TEST_CASE("vocabularies and merges that contradict themselves are refused") {
  check_refused("\"b\": 1", "\"b\": 0", "id 0 belongs to 'a' and to 'b'");
  check_refused("\"b\": 1", "\"b\": 1000000000000", "the id 1000000000000");
  check_refused("\"b\": 1", "\"b\": -1", "the id -1");
  check_refused("\"b\": 1", "\"b\": 7777755", "the id 7777755; expected 0 to 262143");  // 300 MB for a small file
  check_refused("\"b\": 1", "\"b\": 1.5", "expected a whole number");
  check_refused("\"ab a\"", "\"ab b\"", "expected 'abb' in the vocabulary");
  check_refused("\"a b\"", "\"b c\"", "expected 'c' in the vocabulary");
  check_refused("\"a b\"", "\" ab\"", "merge 0");  // of nothing and ab: a cycle
  check_refused("\"a b\"", "\"ab\"", "model.merges[0] is \"ab\"; expected two tokens");
  check_refused("\"a b\"", "[\"a\"]", "expected two tokens");
  check_refused("\"id\": 4", "\"id\": 2", "the added token '<end>' has the id 2 of 'ab'");
  check_refused("\"id\": 4, ", "", "added_tokens[0].id is missing");
  check_refused("\"vocab\"", "\"vocabulary\"", "model.vocabulary");
}

TEST_CASE("long words, and texts of one letter") {
  const auto tokenizer = tokenizer_of("gpt2");
  for (const std::size_t length : {64u, 65u, 1000u, 100000u}) {
    const std::string word(length, 'e');
    CHECK(tokenizer.decode(tokenizer.encode(word)) == word);
  }
  // A word of random letters is merged alike by both ways, of which the longer is chosen by the length.
  std::mt19937 random(7);
  std::string longer;
  for (int i = 0; i < 60; ++i) longer += "etaoinsh"[random() % 8];
  const Tokens alone = tokenizer.encode(longer);
  const Tokens beside = tokenizer.encode(longer + "\xE5\xA4\xA9\xE5\xA4\xA9\xE5\xA4\xA9");
  CHECK(Tokens(beside.begin(), beside.begin() + static_cast<std::ptrdiff_t>(alone.size() - 1)) ==
        Tokens(alone.begin(), alone.end() - 1));
}

TEST_CASE("damaged files are read or refused, and never more") {
  const std::string file(golden_of("llama3").at("file").text());
  std::mt19937_64 random(locus_test::fuzz_seed(3));
  std::int64_t read = 0;
  const std::int64_t count = locus_test::fuzz_count(60);
  for (std::int64_t i = 0; i < count; ++i) {
    std::string damaged = file;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % damaged.size();
      if (random() % 3 == 0) damaged.erase(at, 1 + random() % 20);
      else if (random() % 2 == 0) damaged[at] = damaged[random() % damaged.size()];
      else damaged[at] = static_cast<char>(random());
    }
    try {
      const auto tokenizer = text::Tokenizer::from_json(damaged);
      (void)tokenizer.encode("The quick brown fox <|endoftext|> 123");
      ++read;
    } catch (const DataError&) {}
  }
  CHECK(read < count);
}

}  // namespace
