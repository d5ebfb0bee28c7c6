#pragma once
// The file of LOCUS_TRACE=json: events in Chrome's JSON format, for Perfetto.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/core/system/descriptor.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/device/trace/event_text.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// How launches are traced: bits.
enum Tracing : unsigned {
  trace_lines = 1,   ///< lines on stderr
  trace_events = 2,  ///< events in the file
};
/// Initially LOCUS_TRACE in the environment. throws ArgumentError
[[nodiscard]] LOCUS_OUT_OF_LINE inline Atomic<unsigned>& tracing() {
  static Atomic<unsigned> traces{[] {
    const std::string_view told = trace_from_environment();
    return told == "1" ? unsigned{trace_lines} : told.starts_with("json") ? unsigned{trace_events} : 0u;
  }()};
  return traces;
}
LOCUS_COLD inline void set_tracing(unsigned bit, bool on) {
  auto& traces = tracing();
  for (unsigned before = traces.load(); !traces.replace(before, on ? before | bit : before & ~bit);)
    before = traces.load();
}

/// The rank of the calling thread, if ranks are threads, and of this process, if ranks are processes; -1: none.
inline thread_local int traced_rank_of_thread = -1;
inline Atomic<int> traced_rank_of_process{-1};

/// Makes the calling thread one of a rank's in traces, during its lifetime.
class TracedRank {
 public:
  explicit TracedRank(int rank) : before_(traced_rank_of_thread) { traced_rank_of_thread = rank; }
  TracedRank(const TracedRank&) = delete;
  TracedRank& operator=(const TracedRank&) = delete;
  ~TracedRank() { traced_rank_of_thread = before_; }

 private:
  int before_;
};

/// A buffer of whole events in front of the file, so that a killed process leaves whole events. Events are written when
/// the buffer is full, and when an event is added more than `longest_delay` after the last write.
class TraceFile {
 public:
  static constexpr std::int64_t longest_delay = 100'000'000;  // ns

  [[nodiscard]] LOCUS_OUT_OF_LINE static TraceFile& instance() {
    static auto* const file = [] {  // never destroyed: threads may still add events
      const std::string_view told = trace_from_environment();
      auto* const made = new TraceFile;
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
    if (is_open()) {
      write_buffer();
      if (is_open() && process_ == getpid()) (void)write("\n]\n");
    }
    set_open(false);
    file_ = io::detail::Descriptor();
  }
  /// Writes the events so far.
  LOCUS_COLD void flush() {
    const Lock lock(mutex_);
    if (is_open()) write_buffer();
  }

  /// Nanoseconds of a monotonic clock.
  [[nodiscard]] static std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
  }

  /// Adds one or more whole events, separated by commas. If the file cannot be written, reports it on stderr once.
  LOCUS_COLD void add(std::string_view events) {
    const Lock lock(mutex_);
    if (!is_open()) return;
    drop_of_parent();
    if (size_ + events.size() + 2 > sizeof buffer_) write_buffer();
    std::memcpy(buffer_ + size_, ",\n", 2);
    std::memcpy(buffer_ + size_ + 2, events.data(), events.size());
    size_ += events.size() + 2;
    if (now() - written_ > longest_delay) write_buffer();
  }
  void add(const EventText& event) { add(event.view()); }

  /// The track of the calling thread.
  [[nodiscard]] LOCUS_COLD TraceTrack here() { return mine().track; }
  /// A track beside the calling thread's, for its calls of other ranks.
  [[nodiscard]] LOCUS_COLD TraceTrack communication() {
    Identity& identity = mine();
    TraceTrack track = identity.track;
    track.thread += first_track;
    if (!std::exchange(identity.communicates, true)) add(event_about("thread_name", track, "communication"));
    return track;
  }
  /// Adds the bytes that tensors hold on a device, unless they are unchanged since the last call. `slot`: 0 for the
  /// host, 1 + ordinal for a GPU.
  LOCUS_COLD void count_memory(int slot, std::string_view device, std::int64_t bytes) {
    if (slot < 0 || slot >= slots || !changes(bytes_[slot], bytes)) return;
    EventText event;
    event.add("{\"name\":\"memory of ").add_plain(device).add("\",\"cat\":\"memory\",\"ph\":\"C\"");
    (event << TraceTrack{getpid(), 0}).add(",\"ts\":").add_microseconds(now());
    add(event.add(",\"args\":{\"allocated bytes\":").add(bytes).add("}}"));
  }

 private:
  /// Process ids are below 2^22 on Linux, and tracks have ids of 32 bits: higher bits are the rank, or the kind.
  static constexpr std::int64_t first_track = std::int64_t{1} << 22;
  static constexpr int most_ranks = 1023, slots = 65;

  struct Identity {
    std::uint32_t forks = 0, file = 0;
    int rank = -1;
    bool communicates = false;
    TraceTrack track{};
  };

  TraceFile() = default;
  [[nodiscard]] static Mutex& mutex_of_instance() { return instance().mutex_; }

  [[nodiscard]] LOCUS_COLD Identity& mine() {
    static thread_local Identity identity;
    const bool is_rank = traced_rank_of_thread >= 0 && traced_rank_of_thread < most_ranks;
    const int rank = is_rank ? traced_rank_of_thread : traced_rank_of_process.load(Order::relaxed);
    if (identity.file == number_.load(Order::relaxed) && identity.forks == fork_count() && identity.rank == rank)
        [[likely]]
      return identity;
    const std::int64_t process = getpid(), group = is_rank ? 1 + std::int64_t{traced_rank_of_thread} : 0;
    identity = {fork_count(), number_.load(Order::relaxed), rank, false, {process + group * first_track, gettid()}};
    const TraceTrack track = identity.track;
    add(event_about("process_name", track, rank >= 0 ? join("rank ", rank) : "locus"));
    add(event_about("process_sort_index", track, std::int64_t{rank}));
    char name[16] = {};
    if (pthread_getname_np(pthread_self(), name, sizeof name) == 0) add(event_about("thread_name", track, name));
    return identity;
  }

  void set_open(bool open) {
    is_open_.store(open, Order::relaxed);
    set_tracing(trace_events, open);
  }
  /// `told`: json, or json:FILE. If the file cannot be written, reports it on stderr.
  LOCUS_COLD void open_as_told(std::string_view told) {
    std::string path(told.size() > 5 ? told.substr(5) : "locus-trace.json");
    const std::string id = std::to_string(getpid());
    std::string rank = id;
    for (const char* const each : {"SLURM_PROCID", "MV2_COMM_WORLD_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "RANK"})
      if (const std::string_view text = environment(each); whole_number(text) >= 0) rank = text;
    if (const std::size_t at = path.find("%p"); at != std::string::npos) path.replace(at, 2, id);
    if (const std::size_t at = path.find("%r"); at != std::string::npos) path.replace(at, 2, rank);
    const int error = try_to_open(path);
    if (error == 0) return;
    std::fprintf(stderr,
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
    forks_ = fork_count();
    size_ = 0;
    written_ = now();
    for (auto& each : bytes_) each = -1;
    file_ = io::detail::Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0666));
    if (!file_) return errno;
    EventText first;
    first.add("[\n").add(event_about("process_name", {process_, process_}, "locus").view());
    const int error = write(first.view());
    number_.fetch_add(1);
    set_open(error == 0);
    return error;
  }
  /// Of a fork: the parent writes the events before it.
  void drop_of_parent() {
    const std::uint32_t forks = fork_count();
    if (std::exchange(forks_, forks) != forks) size_ = 0;
  }
  [[nodiscard]] bool changes(std::int64_t& last, std::int64_t now_is) {
    const Lock lock(mutex_);
    return std::exchange(last, now_is) != now_is;
  }
  void write_buffer() {
    drop_of_parent();
    const int error = write({buffer_, size_});
    size_ = 0;
    written_ = now();
    if (error == 0) return;
    set_open(false);
    std::fprintf(stderr, "locus: cannot write the trace '%s': %s; training goes on, nothing more is traced\n",
                 path_.c_str(), std::strerror(error));
  }
  /// 0 or an errno.
  [[nodiscard]] int write(std::string_view text) const {
    if (text.empty()) return 0;
    const io::detail::WithoutSizeSignal quiet;
    const auto written = ::write(file_.number(), text.data(), text.size());
    return written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
  }

  Atomic<bool> is_open_{false};
  Atomic<std::uint32_t> number_{0};  ///< of files opened: metadata of an earlier one are not in this one
  std::int64_t bytes_[slots] = {};   ///< by device: the last number in the file
  std::string path_;
  pid_t process_ = 0;
  std::uint32_t forks_ = 0;  ///< of the process whose events are in the buffer
  io::detail::Descriptor file_;
  std::int64_t written_ = 0;
  std::size_t size_ = 0;
  char buffer_[1 << 16];
  Mutex mutex_;
};

}}}  // namespace locus::LOCUS_ABI::detail
