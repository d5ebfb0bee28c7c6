#pragma once
// The file of LOCUS_TRACE=json: events in Chrome's JSON format, for Perfetto.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/device/trace/event_text.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

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
      (void)pthread_atfork([] { instance().mutex_.hold(); }, [] { instance().mutex_.let_go(); },
                           [] { instance().begin_in_fork(); });
      (void)std::atexit([] { instance().close(); });
      return made;
    }();
    return *file;
  }
  [[nodiscard]] bool is_open() const { return is_open_.load(Order::relaxed); }

  /// Returns 0, or an errno if the file cannot be written.
  [[nodiscard]] LOCUS_COLD int open(const char* path) {
    close();
    const Lock lock(mutex_);
    path_.cut(0);
    path_.add(path);
    process_ = getpid();
    size_ = 0;
    written_ = now();
    for (auto& each : bytes_) each = -1;
    file_ = path_.is_full() ? -1 : ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0666);
    if (file_ < 0) return path_.is_full() ? ENAMETOOLONG : errno;
    TraceText first;
    first.add("[\n").add(event_about("process_name", {process_, process_}, "locus").view());
    const int error = write(first.c_str(), first.view().size());
    number_.fetch_add(1);
    set_open(error == 0);
    return error;
  }
  /// Completes the file, unless a parent process opened it and this process is a fork.
  LOCUS_COLD void close() {
    if (is_open()) collect(true);
    const Lock lock(mutex_);
    if (is_open()) {
      write_buffer();
      if (is_open() && process_ == getpid()) (void)write("\n]\n", 3);
    }
    set_open(false);
    if (file_ >= 0) (void)::close(file_);
    file_ = -1;
  }
  /// Writes the events so far.
  LOCUS_COLD void flush() {
    collect(true);
    const Lock lock(mutex_);
    if (is_open()) write_buffer();
  }

  /// The one source of events that are known later than their work is queued, as a GPU's. It adds those that are known
  /// by now, or `waits` for the others.
  void collect_by(void (*source)(bool waits) noexcept) { source_.store(source); }
  void collect(bool waits) {
    if (auto* const source = source_.load()) source(waits);
  }

  /// Nanoseconds of a monotonic clock.
  [[nodiscard]] LOCUS_COLD static std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
  }

  /// Adds an event. If the file cannot be written, reports it on stderr once.
  LOCUS_COLD void add(const TraceText& event) {
    const std::size_t size = event.view().size();
    const Lock lock(mutex_);
    if (!is_open()) return;
    if (size_ + size + 2 > sizeof buffer_) write_buffer();
    std::memcpy(buffer_ + size_, ",\n", 2);
    std::memcpy(buffer_ + size_ + 2, event.c_str(), size);
    size_ += size + 2;
    if (now() - written_ > longest_delay) write_buffer();
  }

  /// The track of the calling thread.
  [[nodiscard]] TraceTrack here() { return mine().track; }
  /// A track beside the calling thread's, for its calls of other ranks.
  [[nodiscard]] LOCUS_COLD TraceTrack communication() {
    Identity& identity = mine();
    TraceTrack track = identity.track;
    track.thread += first_track;
    if (!identity.communicates) add(event_about("thread_name", track, "communication"));
    identity.communicates = true;
    return track;
  }
  /// A stream's track in a process of the trace.
  [[nodiscard]] static TraceTrack stream(std::int64_t process, int ordinal, std::int64_t number) {
    return {process, 2 * first_track + 4096 * std::int64_t{ordinal} + number};
  }
  /// Differs from file to file, and after a fork: metadata of tracks are written anew.
  [[nodiscard]] std::uint32_t number() const { return number_.load(Order::relaxed); }
  /// Adds the bytes that tensors hold on a device, unless they are unchanged since the last call. `slot`: 0 for the
  /// host, 1 + ordinal for a GPU.
  LOCUS_COLD void count_memory(int slot, std::string_view device, std::int64_t bytes) {
    if (slot < 0 || slot >= slots || !changes(bytes_[slot], bytes)) return;
    TraceText event;
    event.add("{\"name\":\"memory of ").add_plain(device).add("\",\"cat\":\"memory\",\"ph\":\"C\"");
    (event << TraceTrack{getpid(), 0}).add(",\"ts\":").add_microseconds(now());
    event.add(",\"args\":{\"allocated bytes\":").add(bytes).add("}}");
    add(event);
  }

 private:
  /// Process ids are below 2^22 on Linux, and tracks have ids of 32 bits: higher bits are the rank, or the kind.
  static constexpr std::int64_t first_track = std::int64_t{1} << 22;
  static constexpr int most_ranks = 1023, slots = 65;

  struct Identity {
    std::uint32_t file = 0;
    int rank = -1;
    bool communicates = false;
    TraceTrack track{};
  };

  TraceFile() = default;

  [[nodiscard]] LOCUS_COLD Identity& mine() {
    static thread_local Identity identity;
    const bool is_rank = traced_rank_of_thread >= 0 && traced_rank_of_thread < most_ranks;
    const int rank = is_rank ? traced_rank_of_thread : traced_rank_of_process.load(Order::relaxed);
    if (identity.file == number() && identity.rank == rank) [[likely]]
      return identity;
    const std::int64_t process = getpid(), group = is_rank ? 1 + std::int64_t{traced_rank_of_thread} : 0;
    identity = {number(), rank, false, {process + group * first_track, gettid()}};
    const TraceTrack track = identity.track;
    TraceText named;
    if (rank >= 0) named.add("rank ").add(std::int64_t{rank});
    else named.add("locus");
    add(event_about("process_name", track, named.view()));
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
    TraceText rank, path;
    for (const char* const each : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"})
      if (rank.view().empty() && whole_number(environment(each)) >= 0) rank.add(environment(each));
    if (rank.view().empty()) rank.add(std::int64_t{getpid()});
    for (std::size_t i = 5; i < told.size(); ++i) {
      const char next = told[i] == '%' && i + 1 < told.size() ? told[i + 1] : '\0';
      if (next == 'p') path.add(std::int64_t{getpid()});
      else if (next == 'r') path.add(rank.view());
      else path.add(told[i]);
      i += next == 'p' || next == 'r';
    }
    if (told.size() <= 5) path.add("locus-trace.json");
    const int error = open(path.c_str());
    if (error == 0) return;
    std::fprintf(stderr,
                 "locus: LOCUS_TRACE names the file '%s', which cannot be written: %s; expected json:FILE with a file "
                 "that you may write to; nothing is traced\n",
                 path.c_str(), std::strerror(error));
  }
  /// The parent writes the events before the fork; tracks of the child have its process id.
  void begin_in_fork() {
    size_ = 0;
    number_.fetch_add(1);
    mutex_.let_go();
  }
  [[nodiscard]] bool changes(std::int64_t& last, std::int64_t now_is) {
    const Lock lock(mutex_);
    const std::int64_t before = last;
    last = now_is;
    return before != now_is;
  }
  void write_buffer() {
    const int error = write(buffer_, size_);
    size_ = 0;
    written_ = now();
    if (error == 0) return;
    set_open(false);
    std::fprintf(stderr, "locus: cannot write the trace '%s': %s; training goes on, nothing more is traced\n",
                 path_.c_str(), std::strerror(error));
  }
  /// 0 or an errno. Beyond the limit of file sizes (ulimit -f), where the system would end the process: EFBIG.
  [[nodiscard]] LOCUS_COLD int write(const char* text, std::size_t size) const {
    if (size == 0) return 0;
    rlimit limit{};
    const off_t end = lseek(file_, 0, SEEK_END);
    if (end >= 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 && static_cast<rlim_t>(end) + size > limit.rlim_cur)
      return EFBIG;
    const auto written = ::write(file_, text, size);
    return written == static_cast<ssize_t>(size) ? 0 : written < 0 ? errno : ENOSPC;
  }

  Atomic<bool> is_open_{false};
  Atomic<void (*)(bool) noexcept> source_{nullptr};
  Atomic<std::uint32_t> number_{0};
  std::int64_t bytes_[slots] = {};  ///< by device: the last number in the file
  TraceText path_;
  pid_t process_ = 0;
  int file_ = -1;
  std::int64_t written_ = 0;
  std::size_t size_ = 0;
  char buffer_[1 << 16];
  Mutex mutex_;
};

}}}  // namespace locus::LOCUS_ABI::detail
