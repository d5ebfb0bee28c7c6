#pragma once
// What this process has of MPI: starting and ending it, and messages that fail instead of hanging.
//
// Used where <mpi.h> is found, as by mpicxx, unless LOCUS_MPI is defined as 0.

#include <locus/core/posix.hpp>
#include <locus/core/random.hpp>
#include <locus/dist/engine.hpp>

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
#include <sched.h>

#include <cstring>
#include <vector>

namespace locus::inline LOCUS_ABI::dist::detail {

[[noreturn]] LOCUS_COLD inline void refuse_mpi(const char* call, int status) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  fail<EngineUnavailable>({"dist: ", call, ": ", static_cast<const char*>(text)});
}
inline void check_mpi(int status, const char* call) {
  if (status != MPI_SUCCESS) refuse_mpi(call, status);
}

/// MPI, started at the first use unless the program has, and then ended with the program. One thread at a time calls
/// it.
class MpiSession {
 public:
  static MpiSession& instance() {
    static MpiSession session;
    return session;
  }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  Mutex& mutex() { return mutex_; }
  /// The number of this process among those of its machine.
  [[nodiscard]] int rank_on_machine() {
    const Lock lock(mutex_);
    MPI_Comm machine = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine),
              "MPI_Comm_split_type");
    int rank = 0;
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_free(&machine);
    return rank;
  }
  [[nodiscard]] static bool is_usable() {
    int ended = 0;
    MPI_Finalized(&ended);
    return !ended;
  }

 private:
  MpiSession() {
    int started = 0, level = 0;
    check_mpi(MPI_Initialized(&started), "MPI_Initialized");
    if (!started) {
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
  }
  ~MpiSession() {
    if (ends_it_ && is_usable()) MPI_Finalize();
  }
  Mutex mutex_;
  bool ends_it_ = false;
};

/// Several sends and receives under way.
class MpiTransfers {
 public:
  MpiTransfers(MPI_Comm communicator, int tag) : communicator_(communicator), tag_(tag) {}
  MpiTransfers(const MpiTransfers&) = delete;
  MpiTransfers& operator=(const MpiTransfers&) = delete;
  ~MpiTransfers() { abandon(); }

  void send(int peer, const void* data, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += most_bytes) {
      const Lock lock(MpiSession::instance().mutex());
      check_mpi(MPI_Isend(static_cast<const char*>(data) + at, size_at(at, bytes), MPI_BYTE, peer, tag_, communicator_,
                          add(peer, false)),
                "MPI_Isend");
    }
  }
  void receive(int peer, void* data, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += most_bytes) {
      const Lock lock(MpiSession::instance().mutex());
      check_mpi(MPI_Irecv(static_cast<char*>(data) + at, size_at(at, bytes), MPI_BYTE, peer, tag_, communicator_,
                          add(peer, true)),
                "MPI_Irecv");
    }
  }

  /// How many have been started. Those with lower numbers than this are complete when done(this) says so.
  [[nodiscard]] std::size_t mark() const { return requests_.size(); }
  /// Progresses. The peer of the first that is not complete; -1: none.
  [[nodiscard]] int first_open(std::size_t mark) {
    const Lock lock(MpiSession::instance().mutex());
    while (done_ < mark) {
      int is_done = 0;
      check_mpi(MPI_Test(&requests_[done_], &is_done, MPI_STATUS_IGNORE), "MPI_Test");
      if (!is_done) return peers_[done_];
      ++done_;
    }
    return -1;
  }
  /// What never completes is given up.
  void abandon() noexcept {
    if (done_ == requests_.size() || !MpiSession::is_usable()) return;
    const Lock lock(MpiSession::instance().mutex());
    for (std::size_t i = done_; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      if (receives_[i]) MPI_Cancel(&requests_[i]);
      int is_done = 0;
      for (int turn = 0; turn < 100 && !is_done; ++turn) MPI_Test(&requests_[i], &is_done, MPI_STATUS_IGNORE);
      if (!is_done) MPI_Request_free(&requests_[i]);
    }
    done_ = requests_.size();
  }

 private:
  static constexpr std::int64_t most_bytes = 1 << 30;  // MPI counts with int
  [[nodiscard]] static int size_at(std::int64_t at, std::int64_t bytes) {
    return static_cast<int>(bytes - at < most_bytes ? bytes - at : most_bytes);
  }
  [[nodiscard]] MPI_Request* add(int peer, bool receives) {
    requests_.push_back(MPI_REQUEST_NULL);
    peers_.push_back(peer);
    receives_.push_back(receives);
    return &requests_.back();
  }

  MPI_Comm communicator_;
  int tag_;
  std::size_t done_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;
  std::vector<char> receives_;
};

/// Where processes learn that another one failed or left: notices that nobody has to wait for.
class MpiNotices {
 public:
  struct Notice {
    int at_fault = -1;  ///< -1: the sender simply came to its end
    char reason[252] = {};
  };

  explicit MpiNotices(MPI_Comm communicator, int rank, int size)
      : communicator_(communicator), rank_(rank), left_(static_cast<std::size_t>(size)) {}

  [[nodiscard]] bool has_failed() const { return failure_.at_fault >= 0; }
  [[nodiscard]] const Notice& failure() const { return failure_; }
  [[nodiscard]] bool has_left(int peer) const { return left_[static_cast<std::size_t>(peer)] != 0; }

  /// Tells the others that a rank is at fault. The first failure stays.
  void fail(int at_fault, const std::string& reason) noexcept {
    if (has_failed()) return;
    failure_.at_fault = at_fault;
    std::strncpy(failure_.reason, reason.c_str(), sizeof failure_.reason - 1);
    tell(failure_);
  }
  void leave() noexcept { tell({}); }

  /// Reads the notices that have come.
  void read() {
    const Lock lock(MpiSession::instance().mutex());
    for (;;) {
      int has_come = 0;
      MPI_Status status;
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, communicator_, &has_come, &status), "MPI_Iprobe");
      if (!has_come) return;
      Notice notice;
      check_mpi(MPI_Recv(&notice, sizeof notice, MPI_BYTE, status.MPI_SOURCE, tag, communicator_, MPI_STATUS_IGNORE),
                "MPI_Recv");
      if (notice.at_fault < 0) left_[static_cast<std::size_t>(status.MPI_SOURCE)] = 1;
      else if (!has_failed()) failure_ = notice;
    }
  }

 private:
  static constexpr int tag = 1;
  /// Small messages are buffered by MPI; the memory is this object's all the same.
  void tell(const Notice& notice) noexcept {
    if (!MpiSession::is_usable()) return;
    Notice& sent = sent_[notice.at_fault >= 0 ? 0 : 1];
    sent = notice;
    const Lock lock(MpiSession::instance().mutex());
    for (int peer = 0; peer < static_cast<int>(left_.size()); ++peer) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (peer == rank_ || MPI_Isend(&sent, sizeof sent, MPI_BYTE, peer, tag, communicator_, &request)) continue;
      int is_done = 0;
      for (int turn = 0; turn < 100 && !is_done; ++turn) MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
      if (!is_done) MPI_Request_free(&request);
    }
  }

  MPI_Comm communicator_;
  int rank_;
  std::vector<char> left_;
  Notice failure_;
  Notice sent_[2];
};

}  // namespace locus::inline LOCUS_ABI::dist::detail
#endif
