// Runs on: host.
// Damaged inputs: files of GEMM plans, and arguments of --device.
//
// LOCUS_FUZZ_COUNT sets how many of each, LOCUS_FUZZ_SEED their seed.

#include <locus/core/rng.hpp>
#include <locus/cuda/plan_file.hpp>
#include <locus/select.hpp>

#include <doctest/doctest.h>

#include <support/fuzz.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {
using namespace locus;
using cuda::detail::GemmPlanLine;

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed, 0, 0) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_.bounded(static_cast<std::int64_t>(n))); }
  char byte() { return static_cast<char>(below(256)); }

  /// Changes, removes, inserts or duplicates bytes, one to four times.
  std::string damaged(std::string text) {
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const std::size_t at = below(text.size() + 1), size = below(std::min<std::size_t>(text.size() - at, 40) + 1);
      switch (below(5)) {
        case 0: text.erase(at, size); break;
        case 1: text.insert(at, 1, byte()); break;
        case 2: text.insert(at, text.substr(at, size)); break;
        case 3: text.insert(below(text.size() + 1), text.substr(at, size)); break;
        default:
          if (at < text.size()) text[at] = byte();
      }
    }
    return text;
  }

 private:
  Philox random_;
};

GemmPlanLine random_line(Random& random) {
  GemmPlanLine line;
  for (auto& value : line.form.values) value = static_cast<std::int64_t>(random.below(1u << 31)) - (1 << 30);
  for (auto& word : line.choice.algorithm) word = random.below(1u << 31) * (random.below(2) ? ~std::uint64_t{0} : 1);
  line.choice.fused = random.below(2) == 0;
  line.machine = "a GPU of " + std::to_string(random.below(9));
  return line;
}

TEST_CASE("of a damaged file of plans, every line that is believed is one that was written") {
  Random random(locus_test::fuzz_seed(1));
  std::size_t believed = 0, damaged = 0;
  for (std::int64_t count = locus_test::fuzz_count(20000); count > 0; --count) {
    std::vector<std::string> written;
    std::string text(cuda::detail::plan_file_head);
    text += "\n";
    for (std::size_t lines = random.below(4); lines > 0; --lines) {
      written.push_back(to_text(random_line(random)));
      text += written.back();
    }
    const std::string changed = random.damaged(text);
    const auto parsed = cuda::detail::parse_plans(changed);
    for (const GemmPlanLine& line : parsed.lines) {
      const std::string again = to_text(line);
      const bool known = std::find(written.begin(), written.end(), again) != written.end();
      if (!known) {
        CAPTURE(changed);
        CHECK(known);
      }
    }
    believed += parsed.lines.size();
    damaged += parsed.damaged;
  }
  CHECK(believed > 0);
  CHECK(damaged > 0);
}

TEST_CASE("a line of plans with a right checksum and any content is read whole or not at all") {
  Random random(locus_test::fuzz_seed(2));
  std::size_t read = 0, refused = 0;
  for (std::int64_t count = locus_test::fuzz_count(20000); count > 0; --count) {
    const std::string line = to_text(random_line(random));
    std::string words = random.damaged(line.substr(line.find(' ') + 1, line.size() - line.find(' ') - 2));
    std::string text;
    cuda::detail::append_word(text, cuda::detail::checksum(words));
    text += words;
    GemmPlanLine parsed;
    if (!parse(text, parsed)) {
      ++refused;
      continue;
    }
    ++read;
    GemmPlanLine again;
    const std::string rewritten = to_text(parsed);
    const bool is_read_again = parse(std::string_view(rewritten).substr(0, rewritten.size() - 1), again);
    if (!is_read_again || to_text(again) != rewritten) {
      CAPTURE(text);
      CHECK(is_read_again);
      CHECK(to_text(again) == rewritten);
    }
  }
  CHECK(read > 0);
  CHECK(refused > 0);
}

TEST_CASE("arguments are a device, or an ArgumentError that names --device and what it was given") {
  Random random(locus_test::fuzz_seed(3));
  const std::vector<std::string> pieces{
      "--device", "--device=", "=", "cpu", "cuda",        "cuda:",  "0",       "9",  "999",
      "-1",       "auto",      "",  " ",   "99999999999", "cuda:1", "--devic", "--", "\xff"};
  std::size_t chosen = 0, refused = 0;
  for (std::int64_t count = locus_test::fuzz_count(20000); count > 0; --count) {
    std::vector<std::string> arguments{"program"};
    for (std::size_t n = random.below(4); n > 0; --n) {
      std::string argument = pieces[random.below(pieces.size())];
      for (std::size_t more = random.below(3); more > 0; --more) argument += pieces[random.below(pieces.size())];
      arguments.push_back(random.below(8) == 0 ? random.damaged(argument) : argument);
    }
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    try {
      const AnyDevice device = device_from(static_cast<int>(pointers.size()), pointers.data());
      CHECK(device.ordinal >= 0);
      CHECK(device.ordinal <= 999);
      ++chosen;
    } catch (const ArgumentError& error) {
      CHECK(std::string_view(error.what()).starts_with("--device: "));
      ++refused;
    }
  }
  CHECK(chosen > 0);
  CHECK(refused > 0);
}

}  // namespace
