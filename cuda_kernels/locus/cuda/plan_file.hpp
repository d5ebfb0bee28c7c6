#pragma once
// The file in which plans of matrix products, and of convolutions by cuDNN, outlive a process. Anyone may delete,
// damage or write it at any time, so every line is checked by itself. Needs no toolkit.
//
//   locus gemm plans 1
//   CHECKSUM WORD ... WORD MACHINE      18 words of the form, 1 for fused or not, 8 of the algorithm; all hexadecimal.
//                                       MACHINE names library and GPU: forms of two libraries never meet

#include <locus/core/std/posix.hpp>
#include <locus/core/system/file.hpp>
#include <locus/cuda/gemm_plan_table.hpp>

#include <ctime>

#include <fcntl.h>
#include <sys/file.h>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::detail {

/// How a product or a convolution is computed: an algorithm in the library's own encoding, which other versions do not
/// understand.
struct GemmPlanChoice {
  std::array<std::uint64_t, 8> algorithm{};
  bool fused = true;  ///< false: the product alone, and its epilogue in a second launch
};

/// One line of the file.
struct GemmPlanLine {
  std::string machine;  ///< library and GPU: the choice holds for these alone
  GemmPlanKey form{};
  GemmPlanChoice choice;
};

/// FNV-1a. A change of one byte always changes it.
[[nodiscard]] inline std::uint64_t checksum(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return sum;
}

inline void append_word(std::string& text, std::uint64_t word) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "%llx ", static_cast<unsigned long long>(word));
  text += digits;
}
/// Takes a word off the front of the text; false where there is none.
[[nodiscard]] inline bool take_word(std::string_view& text, std::uint64_t& word) {
  word = 0;
  for (std::size_t i = 0; i < text.size() && i <= 16; ++i) {
    const char c = text[i];
    if (c == ' ' && i > 0) {
      text.remove_prefix(i + 1);
      return true;
    }
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    word = word * 16 + static_cast<std::uint64_t>(digit);
  }
  return false;
}

/// The line's text, with its newline.
[[nodiscard]] inline std::string to_text(const GemmPlanLine& line) {
  std::string words;
  for (const std::int64_t value : line.form.values) append_word(words, static_cast<std::uint64_t>(value));
  append_word(words, line.choice.fused);
  for (const std::uint64_t word : line.choice.algorithm) append_word(words, word);
  words += line.machine;
  std::string text;
  append_word(text, checksum(words));
  return text + words + "\n";
}
/// False if the text, without its newline, is not output of to_text.
[[nodiscard]] inline bool parse(std::string_view text, GemmPlanLine& line) {
  std::uint64_t word = 0;
  if (!take_word(text, word) || word != checksum(text)) return false;
  for (std::int64_t& value : line.form.values) {
    if (!take_word(text, word)) return false;
    value = static_cast<std::int64_t>(word);
  }
  if (!take_word(text, word) || word > 1) return false;
  line.choice.fused = word == 1;
  for (std::uint64_t& value : line.choice.algorithm)
    if (!take_word(text, value)) return false;
  line.machine = text;
  return !text.empty();
}

inline constexpr std::string_view plan_file_head = "locus gemm plans 1";

/// The parsed text of a plan file.
struct GemmPlanText {
  std::vector<GemmPlanLine> lines;
  std::size_t damaged = 0;  ///< unreadable lines
  bool is_ours = false;     ///< false: some other file, which must not be replaced
};
[[nodiscard]] inline GemmPlanText parse_plans(std::string_view text) {
  GemmPlanText answer;
  answer.is_ours = plan_file_head.substr(0, text.size()) == text;  // empty, or cut off early
  GemmPlanLine line;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::size_t end = text.find('\n') < text.size() ? text.find('\n') : text.size();
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end < text.size() ? end + 1 : end);
    if (is_first && one == plan_file_head) answer.is_ours = true;
    else if (parse(one, line)) answer.lines.push_back(line);
    else ++answer.damaged;
  }
  answer.is_ours |= !answer.lines.empty();
  return answer;
}

/// An advisory lock on a folder: waits for a second at most, and then goes on without it.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : folder_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const timespec pause{0, 10'000'000};
    for (int i = 0; folder_ >= 0 && i < 100 && flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++i)
      (void)nanosleep(&pause, nullptr);
  }
  ~FolderLock() {
    if (folder_ >= 0) (void)close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

/// A plan file by name. Problems with the file are reported on stderr, once, and never thrown.
class GemmPlanFile {
 public:
  /// An empty name: no file.
  explicit GemmPlanFile(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] bool is_named() const { return !path_.empty(); }

  /// The intact lines; none where there is no file.
  [[nodiscard]] std::vector<GemmPlanLine> read() {
    const Lock lock(mutex_);
    return content().lines;
  }

  /// Writes the lines into the file and keeps its other lines, except those for which is_replaced(line) is true.
  template <class IsReplaced>
  void update(const std::vector<GemmPlanLine>& lines, const IsReplaced& is_replaced) noexcept {
    if (!is_named()) return;
    try {
      const Lock lock(mutex_);
      const FolderLock alone(io::detail::folder_of(io::detail::behind_links(path_)));
      const GemmPlanText before = content();
      if (!before.is_ours) return;
      std::string text(plan_file_head);
      text += "\n";
      for (const GemmPlanLine& line : before.lines)
        if (!is_replaced(line)) text += to_text(line);
      for (const GemmPlanLine& line : lines) text += to_text(line);
      io::write_file_atomically(path_, text);
    } catch (const std::exception& error) {
      if (!std::exchange(write_is_reported_, true))
        std::fprintf(stderr, "locus: plans of matrix products are not kept: %s\n", error.what());
    }
  }

 private:
  static constexpr off_t most_bytes = off_t{64} << 20;

  /// The file's present content. A missing file can be written, like an empty one.
  [[nodiscard]] GemmPlanText content() {
    if (!is_named()) return {};
    std::string text;
    const int error = read_whole(text);
    if (error == ENOENT) return {{}, 0, true};
    if (error == EINVAL) report("is no file of plans: it is left as it is; name another file");
    else if (error) report(join("cannot be read (", std::strerror(error), "): it is left as it is"));
    if (error) return {};
    GemmPlanText content = parse_plans(text);
    if (!content.is_ours) {
      report("holds no plans that this version of Locus wrote: it is left as it is; name another file, or delete it");
    } else if (content.damaged > 0) {
      report(join("has ", content.damaged, " damaged lines: they are ignored, and gone when it is written next"));
    }
    return content;
  }

  /// 0 or an errno; EINVAL if the path is no regular file, or holds more than plans can be. (Without O_NONBLOCK,
  /// opening a pipe that has no writer would block.)
  [[nodiscard]] int read_whole(std::string& text) const {
    const int file = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return errno;
    struct stat info {};
    int error = fstat(file, &info) != 0 ? errno : 0;
    if (!error && (!S_ISREG(info.st_mode) || info.st_size > most_bytes)) error = EINVAL;
    char block[16384];
    for (ssize_t bytes = 1; !error && bytes > 0;) {
      bytes = ::read(file, block, sizeof block);
      if (bytes > 0) text.append(block, static_cast<std::size_t>(bytes));
      else if (bytes < 0 && errno != EINTR) error = errno;
      else if (bytes < 0) bytes = 1;
    }
    (void)close(file);
    return error;
  }

  void report(const std::string& problem) {
    if (!std::exchange(read_is_reported_, true))
      std::fprintf(stderr, "locus: LOCUS_PLANS=%s %s\n", path_.c_str(), problem.c_str());
  }

  std::string path_;
  Mutex mutex_;
  bool read_is_reported_ = false, write_is_reported_ = false;
};

}}}  // namespace locus::LOCUS_ABI::cuda::detail
