#pragma once
// LOCUS_TRACE=json: a timeline of the phases of training, as a file for Perfetto (https://ui.perfetto.dev) and
// io::write_report.

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/core/system/descriptor.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/device/replay.hpp>
#include <locus/device/verbs.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// Events in Chrome's JSON format, each appended by one write, so that a killed process leaves complete events.
/// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
class PhaseFile {
 public:
  [[nodiscard]] LOCUS_OUT_OF_LINE static PhaseFile& instance() {
    static auto* const file = [] {  // never destroyed: threads may still add events
      const std::string_view told = trace_from_environment();
      auto* const made = new PhaseFile;
      if (told.starts_with("json")) made->open_as_told(told);
      wait_at_fork<&mutex_of_instance>();
      (void)std::atexit([] { instance().close(); });
      return made;
    }();
    return *file;
  }
  [[nodiscard]] bool is_open() const { return is_open_.load(Order::relaxed); }

  /// throws DataError
  LOCUS_COLD void open(const std::string& path) {
    const int error = try_to_open(path);
    if (error)
      fail<DataError>({"cannot write the trace '", printable(path, 200), "': ", std::strerror(error),
                       "; expected a file that you may write to"});
  }
  /// Completes the file, unless a parent process opened it and this process is a fork.
  LOCUS_COLD void close() {
    const Lock lock(mutex_);
    if (is_open() && process_ == getpid()) (void)write("\n]\n");
    is_open_.store(false, Order::relaxed);
    file_ = io::detail::Descriptor();
  }
  /// Microseconds of a monotonic clock.
  [[nodiscard]] static double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
  }
  /// Adds an event of the calling thread from `start` until now. If the file cannot be written, reports it on stderr
  /// once.
  LOCUS_COLD void add(const char* name, double start) {
    const double end = now();
    char plain[64], event[256];
    std::size_t length = 0;
    for (; name[length] != '\0' && length + 1 < sizeof plain; ++length) {
      const auto c = static_cast<unsigned char>(name[length]);
      plain[length] = c < 0x20 || c > 0x7e || c == '"' || c == '\\' ? '_' : name[length];
    }
    plain[length] = '\0';
    std::snprintf(event, sizeof event,
                  ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}", plain,
                  static_cast<int>(getpid()), static_cast<int>(gettid()), start, end - start);
    const Lock lock(mutex_);
    const int error = is_open() ? write(event) : 0;
    if (error == 0) return;
    is_open_.store(false, Order::relaxed);
    std::fprintf(stderr, "locus: cannot write the trace '%s': %s; training goes on, nothing more is traced\n",
                 path_.c_str(), std::strerror(error));
  }

 private:
  PhaseFile() = default;
  [[nodiscard]] static Mutex& mutex_of_instance() { return instance().mutex_; }
  /// `told`: json, or json:FILE. If the file cannot be written, reports it on stderr.
  LOCUS_COLD void open_as_told(std::string_view told) {
    std::string path(told.size() > 5 ? told.substr(5) : "locus-trace.json");
    if (const std::size_t at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
    if (const int error = try_to_open(path))
      std::fprintf(
          stderr,
          "locus: LOCUS_TRACE names the file '%s', which cannot be written: %s; expected json:FILE with a file "
          "that you may write to; nothing is traced\n",
          path.c_str(), std::strerror(error));
  }
  /// 0 or an errno.
  [[nodiscard]] LOCUS_COLD int try_to_open(const std::string& path) {
    close();
    const Lock lock(mutex_);
    path_ = path;
    process_ = getpid();
    file_ = io::detail::Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0666));
    if (!file_) return errno;
    const int error = write(
        "[\n" + join("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":", process_, ",\"args\":{\"name\":\"locus\"}}"));
    is_open_.store(error == 0, Order::relaxed);
    return error;
  }
  /// 0 or an errno.
  [[nodiscard]] int write(std::string_view text) const {
    const io::detail::WithoutSizeSignal quiet;
    const auto written = ::write(file_.number(), text.data(), text.size());
    return written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
  }

  Atomic<bool> is_open_{false};
  std::string path_;
  pid_t process_ = 0;
  io::detail::Descriptor file_;
  Mutex mutex_;
};

}  // namespace detail

/// Writes the phases of training from now on to a file, a JSON array of events: data, forward, backward, step,
/// communication and validation of fit, and each Phase of the program. An empty path ends the trace. LOCUS_TRACE in the
/// environment starts it: json writes locus-trace.json; json:FILE writes FILE, with %p replaced by the process id.
///
/// On a GPU, each phase of a training step then waits for its queued work, and fit replays no step, so that the parts
/// of a step are separated; the step takes longer. A Phase of the program does not wait. throws DataError if the file
/// cannot be written; ArgumentError for another text in LOCUS_TRACE
inline void trace_phases(const std::string& path) {
  auto& file = detail::PhaseFile::instance();
  if (path.empty()) file.close();
  else file.open(path);
}
[[nodiscard]] inline bool phases_are_traced() { return detail::PhaseFile::instance().is_open(); }

/// A named phase of the calling thread in the trace, for the life of this object. Phases nest. Without a trace it does
/// nothing. The name has to live as long as the object.
///
///     const Phase phase("augmentation");
class Phase {
 public:
  explicit Phase(const char* name) : name_(phases_are_traced() ? name : nullptr) {
    if (name_) start_ = detail::PhaseFile::now();
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  ~Phase() {
    if (name_) detail::PhaseFile::instance().add(name_, start_);
  }

 private:
  const char* name_;
  double start_ = 0;
};

namespace detail {
/// Consecutive phases of work on a device; each ends with a synchronization.
template <class D>
class DevicePhases {
 public:
  explicit DevicePhases(D device) : device_(device) {}
  DevicePhases(const DevicePhases&) = delete;
  DevicePhases& operator=(const DevicePhases&) = delete;
  ~DevicePhases() { end(); }

  /// Ends the current phase and begins the next.
  void next(const char* name) {
    end();
    if (!phases_are_traced()) return;
    name_ = name;
    start_ = PhaseFile::now();
  }

 private:
  void end() noexcept {
    if (!name_) [[likely]]
      return;
    try {
      if (!is_capturing()) Backend<D>::synchronize(device_);
    } catch (const Error&) {  // the next use of the result throws it
    }
    PhaseFile::instance().add(name_, start_);
    name_ = nullptr;
  }

  D device_;
  const char* name_ = nullptr;
  double start_ = 0;
};
}  // namespace detail

}}  // namespace locus::LOCUS_ABI
