#pragma once
// Ranks as processes of this machine, without mpirun.

#include <locus/core/descriptor.hpp>
#include <locus/dist/tcp.hpp>

#include <sys/wait.h>

#include <csignal>
#include <cstdio>

namespace locus::inline LOCUS_ABI::dist {

namespace detail {

/// What a rank that ends by an exception tells the process that started it: written as a whole, or not at all.
struct LastWords {
  std::int32_t rank = -1;
  std::int32_t follows = 0;  ///< whether another rank failed first
  char text[1016] = {};
};

/// A process for each rank, and what they say.
class Processes {
 public:
  Processes() {
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0)
      fail<OutOfMemory>({"dist::spawn_processes: the system grants no pipe: ", std::strerror(errno)});
    read_ = io::detail::Descriptor(ends[0]);
    write_ = io::detail::Descriptor(ends[1]);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  /// None outlives this object.
  ~Processes() {
    for (const pid_t id : ids_) kill(id, SIGKILL);
    for (const pid_t id : ids_) waitpid(id, nullptr, 0);
  }

  template <class F>
  void start(int rank, const F& f) {
    const pid_t id = fork();
    if (id < 0)
      fail<OutOfMemory>({"dist::spawn_processes: the system grants no process for rank ", rank, ": ",
                         std::strerror(errno), "; spawn fewer"});
    if (id > 0) return ids_.push_back(id);
    (void)read_.close();
    _exit(run(rank, f));
  }
  /// Waits for all. throws RankError for the first that failed by itself, else for one that failed
  void finish() {
    (void)write_.close();
    LastWords failure, words;
    for (ssize_t size = 0; (size = read(read_.number(), &words, sizeof words)) != 0;) {
      if (size < 0 && errno != EINTR) break;
      if (size == sizeof words && (failure.rank < 0 || (failure.follows && !words.follows))) failure = words;
    }
    int silent = -1;
    std::string end;  // of one that failed without a word: it was killed, or called exit()
    while (!ids_.empty()) {
      int status = 0;
      if (waitpid(ids_.back(), &status, 0) < 0 && errno == EINTR) continue;
      if (WIFSIGNALED(status) || WEXITSTATUS(status) > 1) {
        silent = static_cast<int>(ids_.size()) - 1;
        end = WIFSIGNALED(status) ? join("by signal ", WTERMSIG(status)) : join("with status ", WEXITSTATUS(status));
      }
      ids_.pop_back();
    }
    if (silent >= 0 && (failure.rank < 0 || failure.follows))
      throw RankError(join("the process of rank ", silent, " ended ", end), silent);
    if (failure.rank >= 0)
      throw RankError(join("rank ", failure.rank, " threw: ", static_cast<const char*>(failure.text)), failure.rank);
  }

 private:
  /// In the process of the rank: its status.
  template <class F>
  int run(int rank, const F& f) noexcept {
    LastWords words{.rank = rank};
    try {
      f();
      TcpLink::finish_letters();
      std::fflush(nullptr);
      return 0;
    } catch (const std::exception& error) {
      const auto* const collective = dynamic_cast<const CollectiveError*>(&error);
      words.follows = collective && collective->rank != rank;
      std::snprintf(words.text, sizeof words.text, "%s", error.what());
    } catch (...) {
      std::snprintf(words.text, sizeof words.text, "%s", no_exception_text);
    }
    std::fflush(nullptr);
    [[maybe_unused]] const auto written = write(write_.number(), &words, sizeof words);
    return 1;
  }

  io::detail::Descriptor read_, write_;
  std::vector<pid_t> ids_;
};

}  // namespace detail

/// Calls f(Communicator<D>) for each of so many ranks, in a process of its own for each, which fork() makes: it sees
/// what this one has, and changes nothing of it. Returns when all have ended. Ranks reach each other by TCP.
///
/// Random numbers are those of spawn(). On Cuda, ranks use the GPUs in turn; this process must not have used one.
///
/// throws RankError: what the first rank threw that did, as a text, or how its process ended; ArgumentError for less
/// than one rank; OutOfMemory
///
///     dist::spawn_processes<Cpu>(4, [](dist::Communicator<Cpu> comm) { train(comm); });
template <class D, class F>
void spawn_processes(int ranks, const F& f, Options options = {}) {
  if (ranks < 1) fail<ArgumentError>({"dist::spawn_processes: ", ranks, " ranks; expected 1 or more"});
  options = detail::from_environment(options);
  const int port = detail::Socket::listening(AF_INET, 0).port();  // free a moment ago
  std::fflush(nullptr);                                           // or each would write what is in the buffers of now
  detail::Processes all;
  for (int rank = 0; rank < ranks; ++rank)
    all.start(rank, [&] { f(tcp<D>(TcpPlace{"127.0.0.1", port, rank, ranks, rank}, options)); });
  (void)locus::detail::draw_seed_of_ranks();  // as each of them did
  all.finish();
}

}  // namespace locus::inline LOCUS_ABI::dist
