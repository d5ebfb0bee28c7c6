#pragma once
// Links between processes by MPI: transfers of bytes, and checks for dead processes. message_peers.hpp describes a
// link.

#include <locus/distributed/engine/subgroup.hpp>
#include <locus/distributed/mpi/mpi_pending_frees.hpp>

#if LOCUS_MPI
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

template <class D>
class MpiCollectives;

/// Has two MPI communicators of its own, which separate elements from control messages, and both from messages of the
/// program.
class MpiLink {
 public:
  static constexpr const char* name = "mpi";
  class Transfers;
  class InFlight;
  template <class D>
  using Collectives = MpiCollectives<D>;

  /// All ranks of `parent` make one at the same time. `most_bytes`: the largest message, which MPI counts with int.
  /// throws EngineUnavailable, also if not all ranks came within `timeout` seconds
  MpiLink(MPI_Comm parent, double timeout, std::int64_t most_bytes = 1 << 30) : most_bytes_(most_bytes) {
    await_all(parent, timeout);
    const Lock lock(MpiSession::instance().mutex());
    if (parent == MPI_COMM_WORLD) {
      static std::int64_t made = 0;
      number_ = made++;
      MpiPendingFrees::free_together();
    }
    check_mpi(MPI_Comm_dup(parent, &data_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_dup(parent, &controls_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(controls_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(data_, &rank_);
    MPI_Comm_size(data_, &size_);
    int has_bound = 0;
    int* bound = nullptr;
    MPI_Comm_get_attr(data_, MPI_TAG_UB, &bound, &has_bound);
    if (has_bound) most_tag_ = *bound;
    meet_processes();
  }
  MpiLink(const MpiLink&) = delete;
  MpiLink& operator=(const MpiLink&) = delete;
  ~MpiLink() = default;
  /// Called when nothing but the final control messages of some ranks is still to come: the communicators may be freed.
  /// Otherwise they are kept.
  void retire() noexcept {
    if (number_ < 0 || has_failed_ || has_open_transfers() || !MpiSession::is_usable()) return;
    const Lock lock(MpiSession::instance().mutex());
    try {
      MpiPendingFrees::add({number_, data_, controls_, ends_});
    } catch (const std::bad_alloc&) {}  // kept
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// The largest tag; the least is 0.
  [[nodiscard]] int most_tag() const { return most_tag_; }
  /// The index of this process among the processes of its machine.
  [[nodiscard]] int rank_on_machine() const { return rank_on_machine_; }
  /// The number of ranks on this machine, including this one.
  [[nodiscard]] int ranks_on_machine() const { return on_machine_; }
  /// The first rank on the machine of a rank.
  [[nodiscard]] int machine_of(int peer) const {
    int first = 0;
    while (processes_[static_cast<std::size_t>(first)].machine != processes_[static_cast<std::size_t>(peer)].machine)
      ++first;
    return first;
  }
  /// Whether a transfer could be neither completed nor cancelled: its memory has to be kept.
  [[nodiscard]] bool has_open_transfers() const { return has_open_transfers_.load(); }

  /// See message_peers.hpp. MPI keeps the communicators of a group until it ends.
  template <class Gather, class Make>
  void split(const Subgroup& group, const Gather&, double timeout, const Make& make) {
    MPI_Comm members = MPI_COMM_NULL;
    await_all(data_, timeout);
    {
      const Lock lock(MpiSession::instance().mutex());
      check_mpi(MPI_Comm_split(data_, group.ranks()[0], group.rank(), &members), "MPI_Comm_split");
    }
    make(members, timeout, most_bytes_);
    const Lock lock(MpiSession::instance().mutex());
    MPI_Comm_free(&members);
  }

  static void keep(const Owner& owner) noexcept { MpiSession::instance().keep(owner); }
  static void note_failure(double timeout) noexcept { MpiSession::instance().note_failure(timeout); }

  /// Takes an arrived control message, of any rank. Whether there was one.
  [[nodiscard]] bool poll(ControlMessage& control) {
    const Lock lock(MpiSession::instance().mutex());
    for (;;) {
      int has_come = 0;
      MPI_Status status;
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, controls_, &has_come, &status), "MPI_Iprobe");
      if (!has_come) return false;
      check_mpi(MPI_Recv(&control, sizeof control, MPI_BYTE, status.MPI_SOURCE, 0, controls_, MPI_STATUS_IGNORE),
                "MPI_Recv");
      if (control.group != group_) continue;  // of an earlier communicator, whose id MPI reuses
      control.from = status.MPI_SOURCE;
      ends_ += control.what == ControlMessage::What::end;
      has_failed_ |= control.what == ControlMessage::What::failure;
      return true;
    }
  }
  [[nodiscard]] std::uint64_t group() const { return group_; }

  /// Whether `peer` is a process of this machine that is gone.
  [[nodiscard]] bool is_dead(int peer) const {
    const Process& process = processes_[static_cast<std::size_t>(peer)];
    if (!process.is_visible || kill(static_cast<pid_t>(process.id), 0) == 0 || errno != ESRCH) return false;
    MpiSession::instance().note_death();
    return true;
  }

 private:
  struct Process {
    std::int64_t id;
    std::uint64_t machine;
    std::uint64_t is_visible;
  };

  static void await_all(MPI_Comm parent, double timeout) {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const Lock lock(MpiSession::instance().mutex());
      check_mpi(MPI_Ibarrier(parent, &request), "MPI_Ibarrier");
    }
    const Stopwatch watch;
    for (int is_done = 0;; sched_yield()) {
      {
        const Lock lock(MpiSession::instance().mutex());
        check_mpi(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
      }
      if (is_done) return;
      if (watch.seconds() < timeout) continue;
      MpiSession::instance().note_failure(timeout);
      int size = 0;
      MPI_Comm_size(parent, &size);
      fail<EngineUnavailable>({"dist::mpi: not all of ", size, " ranks called it within ", timeout,
                               " seconds; every process that mpirun started must, as often as the others"});
    }
  }
  void meet_processes() {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    struct stat space {};
    stat("/proc/self/ns/pid", &space);
    std::uint64_t machine = static_cast<std::uint64_t>(space.st_ino);
    for (const char c : host)
      machine = (machine ^ static_cast<std::uint64_t>(static_cast<unsigned char>(c))) * 0x100000001b3u;
    const Process mine{getpid(), machine, 0};
    processes_.resize(static_cast<std::size_t>(size_));
    check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, processes_.data(), sizeof mine, MPI_BYTE, data_),
              "MPI_Allgather");
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    group_ = machine ^ (static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec));
    check_mpi(MPI_Bcast(&group_, sizeof group_, MPI_BYTE, 0, data_), "MPI_Bcast");
    for (int peer = 0; peer < size_; ++peer) {
      Process& process = processes_[static_cast<std::size_t>(peer)];
      if (process.machine != machine) continue;
      process.is_visible = kill(static_cast<pid_t>(process.id), 0) == 0;
      ++on_machine_;
      if (peer < rank_) ++rank_on_machine_;
    }
  }

  std::int64_t most_bytes_;
  MPI_Comm data_ = MPI_COMM_NULL, controls_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, on_machine_ = 0, rank_on_machine_ = 0, most_tag_ = 32767;
  int ends_ = 0;  ///< final control messages of other ranks that were read
  bool has_failed_ = false;
  std::int64_t number_ = -1;  ///< among the links that all processes make
  std::uint64_t group_ = 0;
  std::vector<Process> processes_;
  Atomic<bool> has_open_transfers_{false};
};

/// Several sends and receives in flight. Transfers of a pair of ranks and a tag keep their order.
class MpiLink::Transfers {
 public:
  Transfers(MpiLink& link, int tag) : link_(link), communicator_(link.data_), tag_(tag) {}
  /// Transfers of control messages.
  explicit Transfers(MpiLink& link) : link_(link), communicator_(link.controls_), tag_(0) {}
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers() { abandon(); }

  /// The next `count` transfers allocate no memory.
  void reserve(std::size_t count) { requests_.reserve(count); }
  void send(int peer, const void* data, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += link_.most_bytes_) {
      const Lock lock(MpiSession::instance().mutex());
      requests_.push_back({MPI_REQUEST_NULL, peer, false});
      check_mpi(MPI_Isend(static_cast<const char*>(data) + at, size_at(at, bytes), MPI_BYTE, peer, tag_, communicator_,
                          &requests_.back().handle),
                "MPI_Isend");
    }
  }
  void receive(int peer, void* data, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += link_.most_bytes_) {
      const Lock lock(MpiSession::instance().mutex());
      requests_.push_back({MPI_REQUEST_NULL, peer, true});
      check_mpi(MPI_Irecv(static_cast<char*>(data) + at, size_at(at, bytes), MPI_BYTE, peer, tag_, communicator_,
                          &requests_.back().handle),
                "MPI_Irecv");
    }
  }

  /// The number of transfers that have begun. They are complete when first_open(mark) is -1.
  [[nodiscard]] std::size_t mark() const { return requests_.size(); }
  /// Makes progress. The peer of the first incomplete transfer below `mark`; -1: none.
  [[nodiscard]] int first_open(std::size_t mark) {
    if (done_ >= mark) return -1;
    const Lock lock(MpiSession::instance().mutex());
    for (; done_ < mark; ++done_) {
      int is_done = 0;
      check_mpi(MPI_Test(&requests_[done_].handle, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
      if (!is_done) return requests_[done_].peer;
    }
    return -1;
  }
  [[nodiscard]] int first_open() { return first_open(mark()); }
  /// Cancels receives that have not begun, and waits a moment for the other transfers. If one does not end, the link
  /// has open transfers, whose memory has to be kept.
  void abandon() noexcept {
    if (done_ == requests_.size() || !MpiSession::is_usable()) return;
    const Lock lock(MpiSession::instance().mutex());
    for (std::size_t i = done_; i < requests_.size(); ++i)
      if (requests_[i].receives && requests_[i].handle != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i].handle);
    const Stopwatch watch;
    for (std::size_t i = done_; i < requests_.size(); ++i) {
      MPI_Request& handle = requests_[i].handle;
      int is_done = handle == MPI_REQUEST_NULL;
      do {
        if (!is_done) MPI_Test(&handle, &is_done, MPI_STATUS_IGNORE);
      } while (!is_done && watch.seconds() < a_moment);
      if (is_done) continue;
      link_.has_open_transfers_.store(true);
      MPI_Request_free(&handle);
    }
    done_ = requests_.size();
  }

 private:
  static constexpr double a_moment = 0.05;  ///< seconds
  struct Request {
    MPI_Request handle;
    int peer;
    bool receives;
  };
  [[nodiscard]] int size_at(std::int64_t at, std::int64_t bytes) const {
    return static_cast<int>(bytes - at < link_.most_bytes_ ? bytes - at : link_.most_bytes_);
  }

  MpiLink& link_;
  MPI_Comm communicator_;
  int tag_;
  std::size_t done_ = 0;
  std::vector<Request> requests_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
#endif
