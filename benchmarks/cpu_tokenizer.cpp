// Tokenizers in turns with the package tokenizers; started by tokenizer.py, which writes the files of the folder.
//
//     cpu_tokenizer FOLDER
//
// answers the lines of peers/package_tokenizers.py, and writes FOLDER/ours and FOLDER/ours.json.

#include "support/fastest.hpp"

#include <locus/text/train_bpe.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

using namespace locus;

namespace {

[[nodiscard]] std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The lines of a text, each with its end, divided as Python's splitlines(keepends=True) does at these ends.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text) {
  constexpr std::string_view ends[] = {"\r\n", "\n",   "\r",       "\v",           "\f",          "\x1c",
                                       "\x1d", "\x1e", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"};
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 0;
    for (const std::string_view end : ends)
      if (length == 0 && text.substr(i).starts_with(end)) length = end.size();
    i += length > 0 ? length : 1;
    if (length > 0 || i == text.size()) {
      lines.push_back(text.substr(begin, i - begin));
      begin = i;
    }
  }
  return lines;
}

/// The milliseconds of one run of `f`.
template <class F>
[[nodiscard]] double milliseconds(clockid_t clock, const F& f) {
  const double begin = bench::seconds(clock);
  f();
  return 1e3 * (bench::seconds(clock) - begin);
}

[[nodiscard]] double encode(const std::string& folder, clockid_t clock, const std::string& name,
                            const std::string& text) {
  const auto tokenizer = text::Tokenizer::from_file(folder + "/" + name + ".json");
  std::vector<std::int64_t> tokens;
  const double time = milliseconds(clock, [&] { tokens = tokenizer.encode(text); });
  std::ofstream(folder + "/ours", std::ios::binary)
      .write(reinterpret_cast<const char*>(tokens.data()),
             static_cast<std::streamsize>(tokens.size() * sizeof tokens[0]));
  return time;
}

[[nodiscard]] double train(const std::string& folder, clockid_t clock, const std::string& text) {
  const auto lines = lines_of(text);
  std::optional<text::Tokenizer> tokenizer;
  const double time = milliseconds(
      clock, [&] { tokenizer = text::train_bpe(lines, {.vocab_size = 20'000, .special_tokens = {"<|endoftext|>"}}); });
  tokenizer->save(folder + "/ours.json");
  return time;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: cpu_tokenizer FOLDER\n"), 2;
  const std::string folder = arguments[1];
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string action, clock, name, text_name;
    words >> action >> clock >> name >> text_name;
    const std::string text = content_of(folder + "/" + text_name + ".txt");
    const clockid_t of = bench::clock_called(clock);
    std::printf("%.3f\n", action == "encode" ? encode(folder, of, name, text) : train(folder, of, text));
    std::fflush(stdout);
  }
}
