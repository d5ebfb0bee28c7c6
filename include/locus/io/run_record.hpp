#pragma once
// The record of a run: program, command line, compiler, processor, GPU, library versions, seed.

#include <locus/core/generator.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/core/system/proc.hpp>
#include <locus/core/system/used_libraries.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/cuda/versions.hpp>
#include <locus/io/json.hpp>
#include <locus/io/json_reader.hpp>

#include <ctime>
#include <vector>

#include <unistd.h>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// Named texts that describe a run, in order. run_record() makes one of the calling process.
class RunRecord {
 public:
  struct Entry {
    std::string name, value;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// Adds an entry, or replaces the one of this name: record.set("data", "CIFAR-10").
  RunRecord& set(std::string_view name, std::string value) {
    for (Entry& entry : entries_)
      if (entry.name == name) return entry.value = std::move(value), *this;
    entries_.push_back({std::string(name), std::move(value)});
    return *this;
  }
  /// The value under a name; empty if there is none.
  [[nodiscard]] std::string_view get(std::string_view name) const {
    for (const Entry& entry : entries_)
      if (entry.name == name) return entry.value;
    return {};
  }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  /// A line for each entry: "processor  AMD EPYC 9354".
  [[nodiscard]] LOCUS_OUT_OF_LINE std::string text() const {
    std::size_t width = 0;
    for (const Entry& entry : entries_) width = entry.name.size() > width ? entry.name.size() : width;
    std::string lines;
    for (const Entry& entry : entries_)
      lines += join(entry.name, std::string(width + 2 - entry.name.size(), ' '), entry.value, "\n");
    return lines;
  }
  friend bool operator==(const RunRecord&, const RunRecord&) = default;

 private:
  std::vector<Entry> entries_;
};

/// A record, written as by text().
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const RunRecord& record) {
  return out << record.text();
}

struct RunRecordOptions {
  std::string commit = {};  ///< of the program's sources; empty: LOCUS_COMMIT of the environment, or the macro
  int gpu = 0;              ///< ordinal of the GPU that is named
};

namespace detail {
/// Arguments joined by spaces; those with other characters than letters, digits and -_./=:,+@% are quoted for a shell.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string command_line_of(std::string_view arguments) {
  std::string line;
  while (!arguments.empty()) {
    const std::size_t length = locus::detail::smaller(arguments.find('\0'), arguments.size());
    const std::string_view argument = arguments.substr(0, length);
    arguments.remove_prefix(locus::detail::smaller(length + 1, arguments.size()));
    if (!line.empty()) line += ' ';
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
    if (!argument.empty() && argument.find_first_not_of(plain) == std::string_view::npos) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}
[[nodiscard]] inline std::string compiler_text() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}
/// Macros that change the code of Locus: "LOCUS_CUDA=0 LOCUS_THREADS=1 ...".
[[nodiscard]] inline std::string build_text() {
#if defined(__OPTIMIZE__)
  constexpr const char* optimization = "optimized";
#else
  constexpr const char* optimization = "not optimized";
#endif
#if defined(NDEBUG)
  constexpr const char* asserts = ", NDEBUG";
#else
  constexpr const char* asserts = "";
#endif
  return join(optimization, asserts, ", for ", LOCUS_TEXT_OF(LOCUS_ISA), ", LOCUS_CUDA=", LOCUS_CUDA,
              " LOCUS_CUDNN=", LOCUS_CUDNN, " LOCUS_CBLAS=", LOCUS_CBLAS, " LOCUS_THREADS=", LOCUS_THREADS,
              " LOCUS_ZLIB=", LOCUS_ZLIB, " LOCUS_ADDRESS_SANITIZER=", LOCUS_ADDRESS_SANITIZER);
}
/// Variables of the environment named LOCUS_*, sorted, but no secret: LOCUS_DIST_SECRET is left out.
LOCUS_OUT_OF_LINE inline void add_variables(RunRecord& record) {
  std::vector<std::string_view> found;
  for (char** each = environ; each && *each; ++each) {
    const std::string_view variable = *each;
    if (!variable.starts_with("LOCUS_") || variable.find('=') == std::string_view::npos ||
        variable.find("SECRET") < variable.find('='))
      continue;
    std::size_t at = found.size();
    while (at > 0 && variable < found[at - 1]) --at;
    found.insert(found.begin() + static_cast<std::ptrdiff_t>(at), variable);
  }
  for (const std::string_view variable : found) {
    const std::size_t equals = variable.find('=');
    record.set(variable.substr(0, equals), std::string(variable.substr(equals + 1)));
  }
}
/// When the process started, in UTC: the same text at each call. source: proc(5), starttime and btime
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string start_time() {
  const std::string own = locus::detail::text_of_proc("/proc/self/stat"),
                    system = locus::detail::text_of_proc("/proc/stat");
  const std::size_t name = own.rfind(')'), boot = system.find("btime ");
  unsigned long long ticks = 0;
  long long booted = 0;
  if (name == std::string::npos || boot == std::string::npos ||
      std::sscanf(own.c_str() + name + 1, " %*c%*d%*d%*d%*d%*d%*u%*u%*u%*u%*u%*u%*u%*d%*d%*d%*d%*d%*d%llu", &ticks) !=
          1 ||
      std::sscanf(system.c_str() + boot, "btime %lld", &booted) != 1)
    return "unknown";
  const std::time_t start = booted + static_cast<long long>(ticks) / sysconf(_SC_CLK_TCK);
  std::tm time{};
  char text[32] = "";
  if (gmtime_r(&start, &time)) (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &time);
  return text;
}
/// Text of the macro LOCUS_COMMIT, of any file of the program that defines it.
inline std::string_view macro_commit = "";
#ifdef LOCUS_COMMIT
// Set by a variable of this file: inline functions are the same in files without the macro.
[[maybe_unused]] static const bool has_macro_commit = (macro_commit = LOCUS_TEXT_OF(LOCUS_COMMIT), true);
#endif
[[nodiscard]] inline std::string commit_of(const RunRecordOptions& options) {
  if (!options.commit.empty()) return options.commit;
  const std::string_view variable = locus::detail::environment("LOCUS_COMMIT");
  std::string_view text = variable.empty() ? macro_commit : variable;
  if (variable.empty() && text.size() > 1 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

/// The record as an object of strings.
inline void write_record(JsonWriter& json, const RunRecord& record) {
  json.begin_object();
  for (const auto& [name, value] : record.entries()) json.member(name, value);
  json.end_object();
}
/// Reads an object of strings, which may come from anywhere. throws DataError beginning with `what`, also for more than
/// 1,000 entries
[[nodiscard]] inline RunRecord record_of(std::string_view text, const std::string& what) {
  constexpr std::size_t most = 1000;
  RunRecord record;
  JsonReader json(text, what);
  json.object([&](const std::string& name) {
    if (record.entries().size() == most) fail<DataError>({what, ": it has more than ", most, " entries"});
    record.set(name, json.string());
  });
  json.expect_end();
  return record;
}
}  // namespace detail

/// Describes the calling process: its start in UTC, program, command line, host, commit, Locus's version, compiler,
/// macros of the build, processor, its instruction set in use, cores and threads, GPU and library versions, those of
/// NCCL and MPI once ranks have met over them, the seed of manual_seed(), of a rank its own, and the variables LOCUS_*
/// of the environment, but none whose name has SECRET. The command line is recorded as it is: pass secrets in files.
/// Starts no program and asks no network.
///
/// The commit is that of the options, of the variable LOCUS_COMMIT, or of the macro LOCUS_COMMIT, with or without
/// quotation marks, of any file of the program: -DLOCUS_COMMIT=$(git rev-parse --short HEAD).
///
///     std::cout << io::run_record({.commit = "4f2a91c"});
[[nodiscard]] LOCUS_OUT_OF_LINE inline RunRecord run_record(const RunRecordOptions& options = {}) {
  RunRecord record;
  char host[256] = "", program[4096] = "";
  (void)gethostname(host, sizeof host - 1);
  (void)!readlink("/proc/self/exe", program, sizeof program - 1);
  record.set("start", detail::start_time()).set("program", program);
  record.set("command", detail::command_line_of(locus::detail::text_of_proc("/proc/self/cmdline"))).set("host", host);
  if (const std::string commit = detail::commit_of(options); !commit.empty()) record.set("commit", commit);
  record.set("locus", LOCUS_VERSION).set("compiler", detail::compiler_text()).set("build", detail::build_text());
  const std::string processor = locus::detail::processor_in(locus::detail::text_of_proc("/proc/cpuinfo"));
  if (!processor.empty()) record.set("processor", processor);
  record.set("instructions", std::string(to_string(cpu::isa())));
  record.set("cores", join(sysconf(_SC_NPROCESSORS_ONLN))).set("threads", join(cpu::max_threads()));
  const std::string versions = cuda::versions(options.gpu);  // one line, or two
  const std::size_t line = locus::detail::smaller(versions.find('\n'), versions.size());
  record.set("gpu", versions.substr(0, line));
  if (line < versions.size()) record.set("libraries", versions.substr(line + 1));
  for (const auto& [name, version] : locus::detail::used_libraries()) record.set(name, version);
  record.set("seed", join(locus::detail::seed_now().seed));
  detail::add_variables(record);
  return record;
}

/// The entries in which two records differ, but not their starts: a line "NAME: A -> B" for each, "(none)" where a
/// record lacks it. Empty if there are none. Differences are no error: a run may go on on another host or with more
/// threads.
///
///     std::cout << io::difference(io::read_run_record("run.safetensors"), io::run_record());
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string difference(const RunRecord& before, const RunRecord& now) {
  std::string lines;
  const auto shown = [](std::string_view value) { return value.empty() ? std::string_view("(none)") : value; };
  const auto add = [&](const std::string& name) {
    const std::string_view a = before.get(name), b = now.get(name);
    if (a != b && name != "start") lines += join(name, ": ", shown(a), " -> ", shown(b), "\n");
  };
  for (const auto& entry : before.entries()) add(entry.name);
  for (const auto& entry : now.entries())
    if (before.get(entry.name).empty()) add(entry.name);
  return lines;
}

}}}  // namespace locus::LOCUS_ABI::io
