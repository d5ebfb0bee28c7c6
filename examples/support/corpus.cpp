#include "corpus.hpp"

#include <locus/text/train_bpe.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace locus;

namespace {
/// The beginning of Lewis Carroll, Alice's Adventures in Wonderland, 1865.
constexpr std::string_view alice =
    R"(Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or
twice she had peeped into the book her sister was reading, but it had no pictures or conversations in it, "and what is
the use of a book," thought Alice, "without pictures or conversations?"

So she was considering in her own mind (as well as she could, for the hot day made her feel very sleepy and stupid),
whether the pleasure of making a daisy-chain would be worth the trouble of getting up and picking the daisies, when
suddenly a White Rabbit with pink eyes ran close by her.

There was nothing so very remarkable in that; nor did Alice think it so very much out of the way to hear the Rabbit say
to itself, "Oh dear! Oh dear! I shall be late!" (when she thought it over afterwards, it occurred to her that she ought
to have wondered at this, but at the time it all seemed quite natural); but when the Rabbit actually took a watch out of
its waistcoat-pocket, and looked at it, and then hurried on, Alice started to her feet, for it flashed across her mind
that she had never before seen a rabbit with either a waistcoat-pocket, or a watch to take out of it, and burning with
curiosity, she ran across the field after it, and fortunately was just in time to see it pop down a large rabbit-hole
under the hedge.

In another moment down went Alice after it, never once considering how in the world she was to get out again.

The rabbit-hole went straight on like a tunnel for some way, and then dipped suddenly down, so suddenly that Alice had
not a moment to think about stopping herself before she found herself falling down a very deep well.
)";

std::string content_of(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed))
    fail<DataError>({"cannot read '", path, "': it is a folder, a pipe or a device; expected a file with a text"});
  std::ifstream file(path, std::ios::binary);
  if (!file) fail<DataError>({"cannot read '", path, "': ", std::strerror(errno), "; expected a file with a text"});
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) fail<DataError>({"cannot read '", path, "': ", std::strerror(errno), "; check the disk"});
  return text;
}
}  // namespace

std::string read_text(const std::string& path) { return path.empty() ? std::string(alice) : content_of(path); }

Alphabet::Alphabet(const TextOptions& options, std::string_view text) {
  if (options.train_tokenizer > 0) {
    tokenizer_ = std::make_shared<text::Tokenizer>(
        text::train_bpe(std::vector<std::string_view>{text}, {.vocab_size = options.train_tokenizer}));
    if (!options.tokenizer.empty()) tokenizer_->save(options.tokenizer);
  } else if (!options.tokenizer.empty()) {
    tokenizer_ = std::make_shared<text::Tokenizer>(text::Tokenizer::from_file(options.tokenizer));
  }
}

std::int64_t Alphabet::size() const { return tokenizer_ ? tokenizer_->vocab_size() : 256; }

Tokens Alphabet::encode(std::string_view text) const {
  if (tokenizer_) return tokenizer_->encode(text, {.add_special_tokens = false});
  Tokens bytes;
  for (const char each : text) bytes.push_back(static_cast<unsigned char>(each));
  return bytes;
}

void Alphabet::save(const std::string& folder) const {
  if (!tokenizer_)
    fail<ArgumentError>({"--save: a model of bytes has no tokenizer.json; give --tokenizer or --train-tokenizer"});
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail<ArgumentError>({"--save: cannot make the folder '", folder, "': ", error.message()});
  tokenizer_->save(folder + "/tokenizer.json");
}

std::string Alphabet::printable(const Tokens& tokens) const {
  std::string text;
  if (tokenizer_) text = tokenizer_->decode(tokens);
  else
    for (const std::int64_t each : tokens) text += static_cast<char>(each);
  for (char& each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if ((byte < ' ' && each != '\n' && each != '\t') || byte == 0x7f) each = '?';
  }
  return text;
}

void Windows::write(std::int64_t i, Span<std::int64_t> window, Span<std::int64_t> next) const {
  const auto places = static_cast<double>(tokens.size() - static_cast<std::size_t>(context));
  const double random = uniform_double(seed, static_cast<std::uint64_t>(i), epoch);
  const auto from = tokens.from(static_cast<std::size_t>(random * places));
  for (std::size_t at = 0; at < window.size(); ++at) {
    window[at] = from[at];
    next[at] = from[at + 1];
  }
}

Tokens tokens_of(std::string_view text, const Alphabet& alphabet, const TextOptions& options) {
  Tokens tokens = alphabet.encode(text);
  if (std::ssize(tokens) <= options.context)
    fail<DataError>({options.data.empty() ? "the built-in text" : "'" + options.data + "'", " has ", tokens.size(), " ",
                     alphabet.unit(), "; expected at least ", options.context + 1,
                     ", a window and the one after it: take a longer text or a smaller --context"});
  return tokens;
}

DividedTokens divided(const Tokens& tokens, std::int64_t context) {
  const Span<const std::int64_t> all(tokens);
  const std::size_t last = all.size() / 10, rest = all.size() - last, least = static_cast<std::size_t>(context) + 1;
  if (last < least || rest < least) return {all, all};
  return {all.first(rest), all.from(rest)};
}

std::string prompt_of(const std::string& text, const TextOptions& options) {
  if (!options.prompt.empty()) return options.prompt;
  return text.substr(0, std::max<std::size_t>(1, std::min<std::size_t>(text.find_first_of(" \n"), 32)));
}

Tokens last_of(const Tokens& tokens, std::int64_t count) {
  return {tokens.end() - std::min<std::ptrdiff_t>(std::ssize(tokens), count), tokens.end()};
}

std::int64_t fingerprint(const Tokens& tokens, const TextOptions& o) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto add = [&](std::uint64_t number) { hash = (hash ^ number) * 1099511628211u; };
  for (const std::int64_t token : tokens) add(static_cast<std::uint64_t>(token));
  for (const char each :
       join(" ", o.epochs, " ", o.batches, " ", o.batch, " ", o.context, " ", o.dropout, " ", o.lr, " ", o.seed))
    add(static_cast<unsigned char>(each));
  return static_cast<std::int64_t>(hash);
}

void require_same_run(const TextOptions& options, std::int64_t saved, std::int64_t here) {
  if (saved == here) return;
  fail<ArgumentError>(
      {"'", options.checkpoint,
       "' is of a run on another text or tokenizer, or with other --epochs, --batches, --batch, --context, "
       "--dropout, --lr or --seed; give those that it began with, or another --checkpoint"});
}
