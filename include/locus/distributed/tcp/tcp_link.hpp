#pragma once
// Links between processes by TCP: one connection for each pair. message_peers.hpp describes a link.

#include <locus/distributed/engine/background_thread.hpp>
#include <locus/distributed/engine/subgroup.hpp>
#include <locus/distributed/tcp/descriptor_limit.hpp>
#include <locus/distributed/tcp/tcp_rendezvous.hpp>
#include <locus/distributed/tcp/tcp_stream.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

class TcpLink {
 public:
  static constexpr const char* name = "tcp";
  class Transfers;
  /// A rank's contribution to the rendezvous: where it listens, and its machine. Others reach an address that stands
  /// for all, or a loopback address, where rank 0 has seen the rank.
  struct Card {
    SocketAddress address;
    std::int32_t port;
    char host[256];
  };

  /// All ranks make one at the same time. throws RendezvousError; OutOfMemory without a thread, before they meet
  TcpLink(const TcpPlace& place, double timeout)
      : rank_(place.checked().rank), size_(place.size), streams_(static_cast<std::size_t>(place.size)) {
    BackgroundThread::start();  // destroyed after this object, if that is static
    TcpRendezvous rendezvous(place, timeout);
    constexpr int besides = 8;  // doors, and connections that introduce themselves
    if (const std::string why = make_room_for_descriptors(size_ - 1 + besides); !why.empty())
      rendezvous.fail(rank_, why);
    door_address_ = rendezvous.door_address();
    const Socket door = Socket::listening(door_address_);
    if (!door) rendezvous.fail(rank_, join("cannot listen: ", std::strerror(errno)));
    Card mine{door_address_, door.port(), {}};
    gethostname(mine.host, sizeof mine.host - 1);
    std::vector<std::string> hosts;
    secret_ = place.secret;
    const auto guests = rendezvous.meet({reinterpret_cast<const char*>(&mine), sizeof mine});
    for (int peer = 0; peer < size_; ++peer) {
      const TcpGuest& guest = guests[static_cast<std::size_t>(peer)];
      Card card{};
      if (guest.bytes.size() != sizeof card) rendezvous.fail(peer, "ranks run different programs");
      std::memcpy(&card, guest.bytes.data(), sizeof card);
      if (!card.address.is_sound() || card.port < 1 || card.port > 65535)
        rendezvous.fail(peer, "ranks run different programs");
      on_machine_ += std::strncmp(card.host, mine.host, sizeof mine.host) == 0;  // maybe unterminated
      hosts.emplace_back(card.host, strnlen(card.host, sizeof card.host));
      int first = 0;
      while (hosts[static_cast<std::size_t>(first)] != hosts.back()) ++first;
      machines_.push_back(first);
      hosts_.push_back(card.address.is_any() || card.address.is_loopback() ? guest.from : card.address);
      if (peer >= rank_) continue;
      SocketAddress address = hosts_.back();
      address.set_port(card.port);
      to(peer) = TcpStream(rendezvous.reach(address, peer));
    }
    for (int missing = size_ - 1 - rank_; missing > 0; --missing) {
      auto [peer, socket] = rendezvous.accept(door);
      to(peer) = TcpStream(std::move(socket));
    }
  }
  TcpLink(const TcpLink&) = delete;
  TcpLink& operator=(const TcpLink&) = delete;
  /// Writes pending bytes for at most a second. Connections then close in the background. A child of fork() closes only
  /// its descriptors: the connections stay its parent's.
  ~TcpLink() {
    if (!is_here()) return;
    const Stopwatch watch;
    const Lock lock(mutex_);
    try {
      for (; has_unwritten() && watch.seconds() < 1; sched_yield()) progress();
    } catch (const std::exception&) {}  // no memory for arriving bytes
    try {
      BackgroundThread::deliver(Shared<BackgroundJob>(new Closing(std::move(streams_))));
    } catch (const std::exception&) {}  // they close at once
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] static int most_tag() { return INT32_MAX; }
  [[nodiscard]] static std::uint64_t group() { return 0; }
  [[nodiscard]] int ranks_on_machine() const { return on_machine_; }
  /// The first rank on the machine of a rank.
  [[nodiscard]] int machine_of(int peer) const { return machines_[static_cast<std::size_t>(peer)]; }
  /// See message_peers.hpp. The group has connections of its own, and meets at its first rank.
  template <class Gather, class Make>
  void split(const Subgroup& group, const Gather& gather, double timeout, const Make& make) {
    Socket door;
    if (group.rank() == 0) door = Socket::listening(door_address_);
    const std::vector<int> ports = gather(door ? door.port() : 0);
    TcpPlace place;
    place.address = hosts_[group.first()].host();
    place.port = ports[group.first()];
    place.rank = group.rank();
    place.size = group.size();
    if (place.port == 0)
      throw RendezvousError(join("dist: split: the system grants rank ", group.first(),
                                 " no port to listen at; the ranks of its group meet there"),
                            group.ranks()[0]);
    place.door = door.release();
    GroupWitness witness(*this, group);
    place.witness = &witness;
    place.secret = secret_;
    if (!door_address_.is_loopback()) place.interface = door_address_.host();
    make(place, timeout);
  }
  [[nodiscard]] static bool has_open_transfers() { return false; }  // abandoned transfers touch no memory
  static void keep(const Owner&) noexcept {}
  static void note_failure(double) noexcept {}
  /// Returns when all messages are sent: for a process that ends without destroying static objects.
  static void finish_sends() noexcept { BackgroundThread::finish(); }
  /// Whether the connection has ended.
  [[nodiscard]] bool is_dead(int peer) {
    const Lock lock(mutex_);
    return to(peer).has_ended();
  }
  /// Sleeps until a connection has bytes, or takes some, for at most a millisecond: a waiting rank leaves its core to
  /// the others, and is woken.
  void rest() {
    std::vector<pollfd> waited;
    {
      const Lock lock(mutex_);
      for (const TcpStream& stream : streams_)
        if (stream.descriptor() >= 0)
          waited.push_back(
              {stream.descriptor(), static_cast<short>(stream.has_unwritten() ? POLLIN | POLLOUT : POLLIN), 0});
    }
    (void)::poll(waited.data(), waited.size(), 1);
  }
  [[nodiscard]] bool poll(ControlMessage& control) {
    const Lock lock(mutex_);
    progress();
    if (controls_.empty()) return false;
    control = controls_.front();
    controls_.erase(controls_.begin());
    return true;
  }

 private:
  /// Drains the connections until the peers close them, too: closing at once would make peers lose bytes that they have
  /// not read.
  class Closing final : public BackgroundJob {
   public:
    explicit Closing(std::vector<TcpStream>&& streams) : streams_(std::move(streams)) {
      for (const TcpStream& stream : streams_) stream.finish_writing();
    }

   private:
    bool run() override {
      bool all_ended = true;
      for (TcpStream& stream : streams_) all_ended &= stream.drain();
      return all_ended || watch_.seconds() > 2;
    }
    std::vector<TcpStream> streams_;
    Stopwatch watch_{};
  };

  /// Sees a rank of a group end by its connection to this rank.
  class GroupWitness final : public Witness {
   public:
    GroupWitness(TcpLink& link, const Subgroup& group) : link_(link), group_(group) {}
    [[nodiscard]] int ended_rank() override {
      const Lock lock(link_.mutex_);
      link_.progress();
      for (int member = 0; member < group_.size(); ++member) {
        const int rank = group_.ranks()[static_cast<std::size_t>(member)];
        if (rank != link_.rank_ && link_.to(rank).has_ended()) return member;
      }
      return -1;
    }

   private:
    TcpLink& link_;
    const Subgroup& group_;
  };

  [[nodiscard]] bool is_here() const { return forks_ == locus::detail::fork_count(); }

  // The caller of all functions that follow holds the mutex.

  [[nodiscard]] TcpStream& to(int peer) { return streams_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] bool has_unwritten() const {
    for (const TcpStream& stream : streams_)
      if (stream.has_unwritten()) return true;
    return false;
  }
  void progress() {
    for (int peer = 0; peer < size_; ++peer)
      if (peer != rank_) to(peer).progress(controls_, peer);
  }

  int rank_, size_, on_machine_ = 0;
  std::uint32_t forks_ = locus::detail::fork_count();
  Mutex mutex_;
  SocketAddress door_address_{};        ///< where this rank listens
  std::string secret_{};                ///< of the run
  std::vector<int> machines_{};         ///< by rank
  std::vector<SocketAddress> hosts_{};  ///< by rank, without ports
  std::vector<TcpStream> streams_;      ///< by rank
  std::vector<ControlMessage> controls_;
};

/// Several sends and receives in flight. Transfers of a pair of ranks and a tag keep their order.
class TcpLink::Transfers {
 public:
  Transfers(TcpLink& link, int tag) : link_(link), tag_(tag) {}
  /// Transfers of control messages.
  explicit Transfers(TcpLink& link) : link_(link), tag_(TcpStream::control_tag) {}
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers() { abandon(); }

  void reserve(std::size_t count) { transfers_.reserve(count); }
  void send(int peer, const void* data, std::int64_t bytes) {
    if (bytes == 0) return;
    const auto transfer = make(peer, const_cast<void*>(data), bytes, false);
    const Lock lock(link_.mutex_);
    link_.to(peer).send(transfer);
  }
  void receive(int peer, void* data, std::int64_t bytes) {
    if (bytes == 0) return;
    const auto transfer = make(peer, data, bytes, true);
    const Lock lock(link_.mutex_);
    link_.to(peer).receive(transfer);
  }
  [[nodiscard]] std::size_t mark() const { return transfers_.size(); }
  [[nodiscard]] int first_open(std::size_t mark) {
    if (done_ >= mark) return -1;
    const Lock lock(link_.mutex_);
    for (bool has_progressed = false; done_ < mark;) {
      const Transfer& transfer = *transfers_[done_];
      if (link_.to(transfer.peer).is_over(transfer)) ++done_;
      else if (has_progressed) return transfer.peer;
      else link_.progress(), has_progressed = true;
    }
    return -1;
  }
  [[nodiscard]] int first_open() { return first_open(mark()); }
  void abandon() noexcept {
    if (done_ == transfers_.size() || !link_.is_here()) return;
    const Lock lock(link_.mutex_);
    for (; done_ < transfers_.size(); ++done_) {
      Transfer& transfer = *transfers_[done_];
      if (!transfer.is_done) link_.to(transfer.peer).abandon(transfer);
    }
  }

 private:
  using Transfer = TcpStream::Transfer;

  [[nodiscard]] Shared<Transfer> make(int peer, void* data, std::int64_t bytes, bool receives) {
    Shared transfer(new Transfer);
    transfer->frame = {bytes, tag_};
    transfer->peer = peer;
    transfer->receives = receives;
    transfer->data = static_cast<unsigned char*>(data);
    transfers_.push_back(transfer);
    return transfer;
  }
  TcpLink& link_;
  int tag_;
  std::size_t done_ = 0;
  std::vector<Shared<Transfer>> transfers_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
