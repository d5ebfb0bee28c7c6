#pragma once
// MPI in this process: starting and ending it, and memory that outlives the objects that passed it to MPI.
//
// Used where <mpi.h> is found, as by mpicxx, unless LOCUS_MPI is defined as 0.

#include <locus/core/generator.hpp>
#include <locus/core/system/used_libraries.hpp>
#include <locus/device/trace/trace_file.hpp>
#include <locus/distributed/engine/background_thread.hpp>

#include <cstdio>

#ifndef LOCUS_MPI
#if __has_include(<mpi.h>)
#define LOCUS_MPI 1
#else
#define LOCUS_MPI 0
#endif
#endif

#if LOCUS_MPI
// Without MPI's C++ classes, which would need another library.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

[[noreturn]] LOCUS_COLD inline void refuse_mpi(const char* call, int status) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  fail<EngineUnavailable>({"dist: ", call, ": ", static_cast<const char*>(text)});
}
inline void check_mpi(int status, const char* call) {
  if (status != MPI_SUCCESS) refuse_mpi(call, status);
}

/// Ends the process unless MPI has started within `timeout` seconds. MPI waits for ever for a process that ended before
/// it joined, and cannot be interrupted.
class MpiStart {
 public:
  explicit MpiStart(double timeout) : timeout_(timeout) {
    has_thread_ = pthread_create(
                      &thread_, nullptr,
                      [](void* start) -> void* {
                        static_cast<MpiStart*>(start)->watch();
                        return nullptr;
                      },
                      this) == 0;
  }
  MpiStart(const MpiStart&) = delete;
  MpiStart& operator=(const MpiStart&) = delete;
  ~MpiStart() {
    has_started_.store(true);
    if (has_thread_) pthread_join(thread_, nullptr);
  }

 private:
  void watch() const {
    const Stopwatch since;
    while (!has_started_.load()) {
      if (since.seconds() > timeout_) {
        std::fprintf(stderr,
                     "dist::mpi: MPI has not started within %g seconds: a process that mpirun started ended before it "
                     "called dist::mpi, or never calls it; every one must, as often as the others (a longer time-out: "
                     "Options::timeout, or LOCUS_DIST_TIMEOUT in the environment)\n",
                     timeout_);
        _exit(1);
      }
      usleep(5000);
    }
  }
  double timeout_;
  Atomic<bool> has_started_{false};
  bool has_thread_ = false;
  pthread_t thread_{};
};

/// MPI, started at the first use unless the program has, and then ended with the program. Only a thread that holds the
/// mutex calls MPI.
class MpiSession {
 public:
  /// `timeout`: seconds in which MPI has to start, where this is the first use.
  static MpiSession& instance(double timeout = 60) {
    static MpiSession session(timeout);
    return session;
  }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  Mutex& mutex() { return mutex_; }
  [[nodiscard]] static bool is_usable() {
    int ended = 0;
    MPI_Finalized(&ended);
    return !ended;
  }

  /// Keeps memory that MPI may still read or write, to the end of the process.
  void keep(const Owner& owner) noexcept {
    const Lock lock(mutex_);
    if (owner.next_kept) return;
    owner.retain();
    owner.next_kept = kept_ ? kept_ : &owner;
    kept_ = &owner;
  }
  /// A communicator failed. MPI_Finalize, which waits for other processes, may now take at most `timeout` seconds.
  void note_failure(double timeout) noexcept {
    patience_.store(timeout < 1e9 ? static_cast<int>(timeout) + 1 : 1'000'000'000);
  }
  /// A process died: MPI cannot end.
  void note_death() noexcept { has_died_.store(true); }

 private:
  explicit MpiSession(double timeout) {
    BackgroundThread::start();  // destroyed after this object
    int started = 0, level = 0;
    check_mpi(MPI_Initialized(&started), "MPI_Initialized");
    if (!started) {
      const MpiStart start(timeout);
      check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
      ends_it_ = true;
    }
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_SERIALIZED)
      fail<EngineUnavailable>(
          {"dist::mpi: the program started MPI for one thread; asynchronous collectives have one of "
           "their own: start it with MPI_Init_thread(..., MPI_THREAD_SERIALIZED, ...), or leave "
           "that to dist::mpi"});
    int rank = 0;
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    locus::detail::become_rank(rank);
    locus::detail::traced_rank_of_process.store(rank);
    note_version();
  }
  ~MpiSession() {
    BackgroundThread::finish();
    if (!ends_it_ || !is_usable() || has_died_.load()) return;
    if (const int seconds = patience_.load()) end_in(seconds);
    MPI_Finalize();
  }
  /// For records of runs: "Open MPI v4.1.4", the beginning of a text of several lines.
  static void note_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return;
    const std::string_view all = text;
    std::string line(all.substr(0, all.find_first_of(",\n")));
    for (char& c : line)
      if (c == '\t') c = ' ';
    locus::detail::note_library("MPI", line);
  }
  /// Ends the process after `seconds`, even if it waits for others.
  static void end_in(int seconds) {
    static int patience;
    patience = seconds;
    pthread_t thread;
    const auto wait = [](void*) -> void* {
      sleep(static_cast<unsigned>(patience));
      static constexpr char text[] = "dist: MPI does not end after a failure; the process ends without it\n";
      [[maybe_unused]] const auto written = write(2, text, sizeof text - 1);
      _exit(1);
    };
    if (pthread_create(&thread, nullptr, wait, nullptr) == 0) pthread_detach(thread);
  }

  Mutex mutex_;
  bool ends_it_ = false;
  Atomic<int> patience_{0};
  Atomic<bool> has_died_{false};
  const Owner* kept_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
#endif
