// Runs on: host.
// Contents of the plan file of matrix products, and reading it when it is damaged.
#include <locus/cuda/plan_file.hpp>

#include <doctest/doctest.h>

#include <support/temporary_folder.hpp>

#include <algorithm>

#include <sys/stat.h>
#include <sys/wait.h>

namespace {
using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;
using cuda::detail::GemmPlanFile;
using cuda::detail::GemmPlanLine;

GemmPlanLine line_of(const std::string& machine, std::int64_t number) {
  GemmPlanLine line{machine, {}, {}};
  for (std::size_t i = 0; i < line.form.values.size(); ++i)
    line.form.values[i] = number * 1000 - static_cast<std::int64_t>(i * i);
  for (std::size_t i = 0; i < 8; ++i)
    line.choice.algorithm[i] = ~std::uint64_t{0} / (i + 1) + static_cast<unsigned>(number);
  line.choice.fused = number % 2 == 0;
  return line;
}
bool equal(const GemmPlanLine& a, const GemmPlanLine& b) {
  return a.machine == b.machine && a.form == b.form && a.choice.fused == b.choice.fused &&
         a.choice.algorithm == b.choice.algorithm;
}
bool replaces_nothing(const GemmPlanLine&) { return false; }

/// Three lines as one process writes them.
std::vector<GemmPlanLine> three() { return {line_of("one GPU", 1), line_of("one GPU", 2), line_of("other GPU", 1)}; }
std::string text_of_three() {
  std::string text(cuda::detail::plan_file_head);
  text += "\n";
  for (const auto& line : three()) text += to_text(line);
  return text;
}
/// How many of the three lines a text still has; every line in it must be one of the three.
int survivors(const std::string& text) {
  int count = 0;
  for (const auto& line : cuda::detail::parse_plans(text).lines) {
    bool known = false;
    for (const auto& written : three()) known |= equal(line, written);
    if (!known) return -1;
    ++count;
  }
  return count;
}

/// Collects stderr during its lifetime.
class Told {
 public:
  Told() : before_(dup(2)) {
    std::fflush(stderr);
    (void)!freopen(file().c_str(), "wb", stderr);
  }
  ~Told() { end(); }
  std::string end() {
    if (before_ < 0) return "";
    std::fflush(stderr);
    dup2(before_, 2);
    close(before_);
    before_ = -1;
    return content_of(file());
  }

 private:
  [[nodiscard]] std::string file() const { return folder_.path / "stderr"; }
  TemporaryFolder folder_;
  int before_;
};

TEST_CASE("lines are read as they were written") {
  const auto parsed = cuda::detail::parse_plans(text_of_three());
  CHECK(parsed.damaged == 0);
  CHECK(parsed.is_ours);
  REQUIRE(parsed.lines.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(equal(parsed.lines[i], three()[i]));
}

TEST_CASE("a text cut off anywhere says what it says whole, and nothing else") {
  const std::string text = text_of_three();
  bool correct = true;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    const auto parsed = cuda::detail::parse_plans(cut);
    const int whole = static_cast<int>(std::count(cut.begin(), cut.end(), '\n')) - 1;
    const bool ends_with_line = size > 20 && text[size] == '\n';  // only the end of the line is missing
    correct &= survivors(cut) == std::max(whole, 0) + (ends_with_line ? 1 : 0) && parsed.is_ours;
  }
  CHECK(correct);
}

TEST_CASE("any changed byte takes away its own line alone") {
  const std::string text = text_of_three();
  const std::size_t head = cuda::detail::plan_file_head.size() + 1;
  bool correct = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const auto parsed = cuda::detail::parse_plans(changed);
      const int left = survivors(changed);
      const bool joins_lines = text[at] == '\n';
      correct &= parsed.is_ours && parsed.damaged > 0 && left >= (joins_lines ? 1 : 2) && left <= (at < head ? 3 : 2);
    }
  }
  CHECK(correct);
}

TEST_CASE("other files are not taken for plans") {
  for (const std::string text :
       {"A thesis.\n", "locus gemm plans 2\n1 2 3\n", "\n", "\xff\xfe\0", "0 0 0 0\n", "locus gemm plans 10"}) {
    const auto parsed = cuda::detail::parse_plans(text);
    CHECK(parsed.lines.empty());
    CHECK_FALSE(parsed.is_ours);
  }
  std::string endless(100'000, '1');
  CHECK(cuda::detail::parse_plans(endless).damaged == 1);
}

TEST_CASE("what is written is found by others, beside what they wrote") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "plans";
  GemmPlanFile a(path), b(path);
  CHECK(a.read().empty());
  a.update({line_of("one GPU", 1)}, replaces_nothing);
  b.update({line_of("other GPU", 1)}, replaces_nothing);
  a.update({line_of("one GPU", 2)}, replaces_nothing);
  CHECK(survivors(content_of(path)) == 3);
  b.update({line_of("one GPU", 2)}, [](const GemmPlanLine& line) { return line.machine == "one GPU"; });
  CHECK(survivors(content_of(path)) == 2);
  fs::remove(path);
  b.update({line_of("one GPU", 1)}, replaces_nothing);
  CHECK(survivors(content_of(path)) == 1);
  CHECK(folder.entries() == 1);
}

TEST_CASE("processes that write at the same time lose nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "plans";
  constexpr int processes = 4, lines = 10;
  for (int process = 0; process < processes; ++process) {
    if (fork() != 0) continue;
    GemmPlanFile file(path);
    for (int i = 0; i < lines; ++i) file.update({line_of("GPU", process * lines + i)}, replaces_nothing);
    _exit(0);
  }
  for (int process = 0; process < processes; ++process) wait(nullptr);
  CHECK(GemmPlanFile(path).read().size() == processes * lines);
}

TEST_CASE("a damaged file is told of once, and whole when it is written next") {
  const TemporaryFolder folder;
  std::string text = text_of_three();
  text[text.size() - 5] = '#';
  const std::string path = folder.write("plans", text);
  GemmPlanFile file(path);
  Told told;
  CHECK(file.read().size() == 2);
  CHECK(file.read().size() == 2);
  file.update({line_of("other GPU", 1)}, replaces_nothing);
  CHECK(told.end() ==
        "locus: LOCUS_PLANS=" + path + " has 1 damaged lines: they are ignored, and gone when it is written next\n");
  CHECK(content_of(path) == text_of_three());
}

TEST_CASE("what is no plan file, or cannot be read or written, is left as it is and told of once") {
  const TemporaryFolder folder;
  const std::string thesis = folder.write("thesis", "A thesis.\n"), pipe = folder.path / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto complaint = [&](const std::string& path) {
    GemmPlanFile file(path);
    Told told;
    for (int i = 0; i < 2; ++i) {
      CHECK(file.read().empty());
      file.update(three(), replaces_nothing);
    }
    return told.end();
  };
  CHECK(complaint(thesis) == "locus: LOCUS_PLANS=" + thesis +
                                 " holds no plans that this version of Locus wrote: it is left as it is; name another "
                                 "file, or delete it\n");
  CHECK(content_of(thesis) == "A thesis.\n");
  CHECK(complaint(pipe) ==
        "locus: LOCUS_PLANS=" + pipe + " is no file of plans: it is left as it is; name another file\n");
  CHECK(complaint(folder.path).find("is no file of plans") != std::string::npos);
  CHECK(complaint("/dev/zero").find("is no file of plans") != std::string::npos);
  CHECK(complaint(thesis + "/plans").find("cannot be read (Not a directory)") != std::string::npos);
  CHECK(complaint(folder.path / "none" / "plans") == "locus: plans of matrix products are not kept: cannot write '" +
                                                         std::string(folder.path / "none" / "plans") +
                                                         "': there is no folder '" + std::string(folder.path / "none") +
                                                         "'; create it (mkdir -p) or choose another\n");
  CHECK(complaint("") == "");
}

}  // namespace
