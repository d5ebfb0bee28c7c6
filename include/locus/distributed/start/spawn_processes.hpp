#pragma once
// Ranks as processes of this machine, without mpirun.

#include <locus/core/system/descriptor.hpp>
#include <locus/core/system/out_of_memory.hpp>
#include <locus/distributed/tcp/tcp.hpp>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// The report of a rank, at the end of its function, to the process that started it: written as a whole, or not at all.
struct FinalStatus {
  enum Ending : std::int32_t { well, failed, failed_after_another };
  std::int32_t rank = -1;
  Ending ending = well;
  char text[1016] = {};  ///< of the exception
};

/// The state of a rank's process.
struct RankProcess {
  static constexpr int unknown = -1;  ///< the system does not say: this program ignores or reaps its children

  pid_t id = 0;
  bool is_running = true;
  bool is_killed = false;       ///< by Processes
  bool has_thrown = false;      ///< it reported an exception
  bool has_ended_well = false;  ///< it reported success
  int status = 0;               ///< from waitpid, or unknown

  [[nodiscard]] bool has_failed() const { return !is_running && status != 0 && !(status == unknown && has_ended_well); }
  /// It was still running when Processes killed it.
  [[nodiscard]] bool has_stalled() const {
    const bool ended_by_kill = status == unknown || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return has_failed() && is_killed && ended_by_kill && !has_thrown;
  }
  /// It ended without a report: by a signal of another process or its own, or by exit().
  [[nodiscard]] bool is_silent() const { return has_failed() && !has_thrown && !has_stalled(); }
  /// "ended by signal 9"
  [[nodiscard]] std::string ending() const {
    if (status == unknown)
      return "ended without a word; the system does not say how, as this program ignores SIGCHLD or reaps its children";
    if (WIFSIGNALED(status)) return join("ended by signal ", WTERMSIG(status));
    return join("ended with status ", WEXITSTATUS(status));
  }
};

/// The end of all processes of ranks.
struct ProcessesEnd {
  std::optional<RankError> failure{};  ///< of the first rank that failed by itself, else of any that failed
  int dead = 0;                        ///< processes that ended without a report, else processes that stalled

  void rethrow() const {
    if (failure) throw RankError(*failure);
  }
};

/// A process for each rank, and their reports.
class Processes {
 public:
  explicit Processes(int ranks) {
    locus::detail::or_out_of_memory({"dist::spawn_processes: no memory for ", ranks, " ranks; spawn fewer"},
                                    [&] { ranks_.reserve(static_cast<std::size_t>(ranks)); });
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
      fail<OutOfMemory>({"dist::spawn_processes: the system grants no pipe: ", std::strerror(errno)});
    read_ = io::detail::Descriptor(ends[0]);
    write_ = io::detail::Descriptor(ends[1]);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  /// No process of a rank outlives this object.
  ~Processes() {
    kill_running();
    for (const RankProcess& rank : ranks_)
      while (rank.is_running && waitpid(rank.id, nullptr, 0) < 0 && errno == EINTR) {}
  }

  /// Starts the process of a rank; called in rank order, as often as the constructor was told.
  template <class F>
  void start(int rank, const F& f) {
    const pid_t parent = getpid(), id = fork();
    if (id < 0)
      fail<OutOfMemory>({"dist::spawn_processes: the system grants no process for rank ", rank, ": ",
                         std::strerror(errno), "; spawn fewer"});
    if (id > 0) return ranks_.push_back({.id = id});
    end_with(parent);
    (void)read_.close();
    _exit(run(rank, f));
  }
  /// Waits for all ranks. Once one has failed, the others are killed after `timeout` seconds.
  [[nodiscard]] ProcessesEnd finish(double timeout) {
    (void)write_.close();
    Stopwatch since_failure;
    for (bool has_failed = false; reap();) {
      hear(50);
      if (!has_failed) since_failure = {};
      has_failed = has_failed || failure_.rank >= 0 || first(&RankProcess::has_failed) >= 0;
      if (has_failed && since_failure.seconds() > timeout) kill_running();
    }
    hear(0);
    const int silent = count(&RankProcess::is_silent);
    return {failure(timeout), silent > 0 ? silent : count(&RankProcess::has_stalled)};
  }

 private:
  /// In the process of a rank: kills it when the thread that started it ends, whatever the reason. That thread is in
  /// finish() until no rank runs any more, so it ends earlier only with its whole process.
  static void end_with(pid_t parent) noexcept {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    const pid_t now = getppid();  // another one: the parent ended before the call above; 0: it is in another container
    if (now != parent && now != 0) _exit(1);
  }
  /// The first rank for which is_so() holds; -1: none.
  [[nodiscard]] int first(bool (RankProcess::*is_so)() const) const {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if ((ranks_[i].*is_so)()) return static_cast<int>(i);
    return -1;
  }
  [[nodiscard]] int count(bool (RankProcess::*is_so)() const) const {
    int result = 0;
    for (const RankProcess& rank : ranks_) result += (rank.*is_so)();
    return result;
  }
  void kill_running() {
    for (RankProcess& rank : ranks_)
      if (rank.is_running) rank.is_killed = kill(rank.id, SIGKILL) == 0;
  }
  /// Notes which ranks have ended. Whether any still runs.
  [[nodiscard]] bool reap() {
    bool any = false;
    for (RankProcess& rank : ranks_) {
      if (!rank.is_running) continue;
      const pid_t ended = waitpid(rank.id, &rank.status, WNOHANG);
      rank.is_running = ended == 0 || (ended < 0 && errno == EINTR);
      if (ended < 0 && errno != EINTR) rank.status = RankProcess::unknown;
      any |= rank.is_running;
    }
    return any;
  }
  /// Reads the reports of ranks; waits at most `milliseconds`. A process that a rank has started may keep the pipe
  /// open.
  void hear(int milliseconds) {
    pollfd waited{read_.number(), POLLIN, 0};  // -1 once it is closed: poll() then only waits
    for (;; milliseconds = 0) {
      const int ready = ::poll(&waited, 1, read_ ? milliseconds : milliseconds > 0);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return;
      FinalStatus words;
      const ssize_t size = read(read_.number(), &words, sizeof words);
      if (size == 0) return (void)read_.close();
      if (size != sizeof words) return;
      RankProcess& rank = ranks_[static_cast<std::size_t>(words.rank)];
      const bool is_cause = words.ending == FinalStatus::failed;
      (words.ending == FinalStatus::well ? rank.has_ended_well : rank.has_thrown) = true;
      if (rank.has_thrown && (failure_.rank < 0 || (is_cause && failure_.ending != FinalStatus::failed)))
        failure_ = words;
    }
  }
  /// Of the first rank that failed by itself, else of any rank that failed.
  [[nodiscard]] std::optional<RankError> failure(double timeout) const {
    const bool is_cause = failure_.ending == FinalStatus::failed;
    const std::string text = failure_.rank < 0
                                 ? std::string()
                                 : join("rank ", failure_.rank, " threw: ", static_cast<const char*>(failure_.text));
    if (const int rank = first(&RankProcess::is_silent); rank >= 0 && !is_cause)
      return RankError(join("the process of rank ", rank, " ", ranks_[static_cast<std::size_t>(rank)].ending()), rank);
    if (const int rank = first(&RankProcess::has_stalled); rank >= 0 && !is_cause)
      return RankError(join("the process of rank ", rank, " stalled, and was killed ", timeout,
                            " seconds after the first failure: ", text),
                       rank);
    if (failure_.rank >= 0) return RankError(text, failure_.rank);
    return {};
  }

  /// Whether an error of one of the classes names another rank than this one, or none in particular.
  template <class... Errors>
  [[nodiscard]] static bool names_another(const std::exception& error, int rank) {
    const auto is_of = [&](const auto* known) { return known && known->rank != rank; };
    return (is_of(dynamic_cast<const Errors*>(&error)) || ...);
  }
  /// In the process of the rank: calls f, and returns the exit status.
  template <class F>
  int run(int rank, const F& f) noexcept {
    FinalStatus words{.rank = rank};
    try {
      f();
    } catch (const std::exception& error) {
      const bool follows = names_another<CollectiveError, RendezvousError, RankError>(error, rank);
      words.ending = follows ? FinalStatus::failed_after_another : FinalStatus::failed;
      std::snprintf(words.text, sizeof words.text, "%s", error.what());
    } catch (...) {
      words.ending = FinalStatus::failed;
      std::snprintf(words.text, sizeof words.text, "%s", no_exception_text);
    }
    const bool is_well = words.ending == FinalStatus::well;
    if (is_well) TcpLink::finish_sends();
    std::fflush(nullptr);
    if (phases_are_traced()) locus::detail::TraceFile::instance().flush();  // _exit() would lose the last events
    [[maybe_unused]] const auto written = write(write_.number(), &words, sizeof words);
    if (!is_well) TcpLink::finish_sends();
    return is_well ? 0 : 1;
  }

  io::detail::Descriptor read_, write_;
  std::vector<RankProcess> ranks_;
  FinalStatus failure_;
};

/// Calls f(comm) in a process for each rank, whose random numbers follow from the seed of this thread, which stays.
template <class D, class F>
[[nodiscard]] ProcessesEnd run_processes(int ranks, const F& f, Options options) {
  options = from_environment(options);
  Socket door = Socket::listening(loopback_address());  // rank 0's
  if (!door) fail<OutOfMemory>({"dist::spawn_processes: the system grants no port: ", std::strerror(errno)});
  const int port = door.port();
  const std::string secret = random_secret();
  std::fflush(nullptr);  // or each child would write buffered output again
  Processes all(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    all.start(rank, [&] {
      if (rank > 0) door = {};  // or the port would stay open after rank 0 has ended
      const TcpPlace place{"127.0.0.1", port, rank, ranks, rank, door.release(), secret};
      call_as_rank(tcp<D>(place, options), f);
    });
  door = {};
  return all.finish(options.timeout + 1);  // in which ranks that wait for the failed one give up
}

}  // namespace detail

/// Calls f(Communicator<D>) for each of `ranks` ranks, in a process of its own for each, made by fork(): it sees a copy
/// of this process's memory. Returns when all have ended. Ranks reach each other by TCP, at a loopback address and with
/// a random secret, so that no other program connects to them. If this process ends before, also by SIGKILL, the system
/// kills its ranks.
///
/// Random numbers are the same as with spawn(). On Cuda, ranks take the GPUs in turn; this process must not have used
/// one.
///
/// throws RankError with the text of the first rank that threw, or how its process ended. Once a rank has failed, the
/// others have the time-out and a second to end, and are killed then. ArgumentError for less than one rank, or more
/// than 2^20; OutOfMemory
///
///     dist::spawn_processes<Cpu>(4, [](dist::Communicator<Cpu> comm) { train(comm); });
template <class D, class F>
void spawn_processes(int ranks, const F& f, Options options = {}) {
  detail::require_ranks("dist::spawn_processes", ranks);
  const detail::ProcessesEnd end = detail::run_processes<D>(ranks, f, options);
  (void)locus::detail::draw_seed_of_ranks();  // as each rank did
  end.rethrow();
}

}}}  // namespace locus::LOCUS_ABI::dist
