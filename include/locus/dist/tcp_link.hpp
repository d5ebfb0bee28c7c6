#pragma once
// How processes reach each other by TCP: a connection for each pair. See message_peers.hpp for what a link is.

#include <locus/dist/courier.hpp>
#include <locus/dist/message_note.hpp>
#include <locus/dist/tcp_rendezvous.hpp>

namespace locus::inline LOCUS_ABI::dist::detail {

class TcpLink {
 public:
  class Transfers;

  /// All ranks make one at the same time. throws RendezvousError; OutOfMemory without a thread, before they meet
  TcpLink(const TcpPlace& place, double timeout)
      : rank_(place.rank), size_(place.size), peers_(static_cast<std::size_t>(place.size)) {
    Courier::start();  // which ends after this object, if that is static
    TcpRendezvous rendezvous(place, timeout);
    const Socket door = Socket::listening(rendezvous.family(), 0);
    if (!door) rendezvous.fail(rank_, join("cannot listen: ", std::strerror(errno)));
    Card mine{door.port(), {}};
    gethostname(mine.host, sizeof mine.host - 1);
    const auto guests = rendezvous.meet({reinterpret_cast<const char*>(&mine), sizeof mine});
    for (int peer = 0; peer < size_; ++peer) {
      const TcpGuest& guest = guests[static_cast<std::size_t>(peer)];
      Card card{};
      if (guest.bytes.size() != sizeof card) rendezvous.fail(peer, "ranks run different programs");
      std::memcpy(&card, guest.bytes.data(), sizeof card);
      on_machine_ += std::strcmp(card.host, mine.host) == 0;
      if (peer >= rank_) continue;
      SocketAddress address = guest.from;
      address.set_port(card.port);
      at(peer).socket = rendezvous.reach(address, peer);
    }
    for (int missing = size_ - 1 - rank_; missing > 0; --missing) {
      auto [peer, socket] = rendezvous.let_in(door);
      at(peer).socket = std::move(socket);
    }
  }
  TcpLink(const TcpLink&) = delete;
  TcpLink& operator=(const TcpLink&) = delete;
  /// Gives what is still to be written a moment. Connections then close beside the program.
  ~TcpLink() {
    const Stopwatch watch;
    const Lock lock(mutex_);
    try {
      while (has_unwritten() && watch.seconds() < 1) {
        progress();
        sched_yield();
      }
      Courier::deliver(Shared<Errand>(new Closing(std::move(peers_))));
    } catch (const std::exception&) {  // without memory, they close at once
    }
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] static int most_tag() { return INT32_MAX; }
  [[nodiscard]] static std::uint64_t group() { return 0; }
  [[nodiscard]] int ranks_on_machine() const { return on_machine_; }
  [[nodiscard]] static bool has_open_transfers() { return false; }  // what is abandoned touches no memory
  static void keep(const Owner&) noexcept {}
  static void note_failure(double) noexcept {}
  /// Returns when all letters are on their way: for a process that ends without its static objects.
  static void finish_letters() noexcept { Courier::finish(); }
  /// Whether the connection has ended.
  [[nodiscard]] bool is_dead(int peer) {
    const Lock lock(mutex_);
    return at(peer).has_ended;
  }
  [[nodiscard]] bool poll(Note& note) {
    const Lock lock(mutex_);
    progress();
    if (notes_.empty()) return false;
    note = notes_.front();
    notes_.erase(notes_.begin());
    return true;
  }

 private:
  /// What each brings to the rendezvous: where it listens, and on which machine.
  struct Card {
    std::int32_t port;
    char host[256];
  };
  static constexpr std::int32_t note_tag = -1;
  struct Frame {
    std::int64_t bytes = 0, tag = 0;
  };
  /// A message that is sent, or received: `at` counts its bytes, of a send those of its frame, too.
  struct Request : Counted {
    Frame frame{};
    int peer = -1;
    bool receives = false, is_done = false;
    unsigned char* data = nullptr;  ///< null: nobody wants it any more
    std::int64_t at = 0;
    std::vector<unsigned char> own{};  ///< of a message that came before it was asked for, or whose sender gave up
    Shared<Request> waiter{};          ///< who asked then
  };
  struct Peer {
    Socket socket{};
    bool has_ended = false;
    Frame frame{};
    std::int64_t frame_bytes = 0;  ///< of the frame that have come
    Shared<Request> arriving{};
    std::vector<Shared<Request>> wanted{}, unasked{}, sending{};
  };

  /// Reads what peers still say until they close, too: closing at once would make them lose what they have not read.
  class Closing final : public Errand {
   public:
    explicit Closing(std::vector<Peer>&& peers) : peers_(std::move(peers)) {
      for (const Peer& peer : peers_)
        if (peer.socket) shutdown(peer.socket.number(), SHUT_WR);
    }

   private:
    bool run() override {
      bool all_ended = true;
      for (Peer& peer : peers_) {
        char sink[4096];
        while (peer.socket && !peer.has_ended) {
          const std::int64_t count = peer.socket.read_some(sink, sizeof sink);
          if (count < 0) peer.has_ended = true;
          if (count <= 0) break;
        }
        all_ended &= !peer.socket || peer.has_ended;
      }
      return all_ended || watch_.seconds() > 2;
    }
    std::vector<Peer> peers_;
    Stopwatch watch_{};
  };
  [[nodiscard]] Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] bool has_unwritten() const {
    for (const Peer& peer : peers_)
      if (!peer.has_ended && !peer.sending.empty()) return true;
    return false;
  }

  // The mutex is held in all that follows.

  /// Reads first: a peer that ended may have said something before.
  void progress() {
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      if (!at(peer).has_ended) {
        read(at(peer), peer);
        write(at(peer));
      }
      if (at(peer).has_ended) drop_notes(at(peer));
    }
  }
  /// Nobody reads them any more.
  static void drop_notes(Peer& peer) {
    std::erase_if(peer.sending, [](const Shared<Request>& request) {
      if (request->frame.tag == note_tag) request->is_done = true;
      return request->is_done;
    });
  }
  void write(Peer& peer) {
    std::size_t done = 0;
    for (; done < peer.sending.size() && !peer.has_ended; ++done) {
      Request& request = *peer.sending[done];
      constexpr std::int64_t head = sizeof(Frame);
      while (request.at < head + request.frame.bytes) {
        const bool in_frame = request.at < head;
        const void* const from = in_frame ? reinterpret_cast<const unsigned char*>(&request.frame) + request.at
                                          : request.data + (request.at - head);
        const std::int64_t count =
            peer.socket.write_some(from, in_frame ? head - request.at : head + request.frame.bytes - request.at);
        if (count < 0) peer.has_ended = true;
        if (count <= 0) break;
        request.at += count;
      }
      if (request.at < head + request.frame.bytes) break;
      request.is_done = true;
    }
    peer.sending.erase(peer.sending.begin(), peer.sending.begin() + static_cast<std::ptrdiff_t>(done));
  }
  void read(Peer& peer, int number) {
    for (;;) {
      if (!peer.arriving) {
        auto* const frame = reinterpret_cast<unsigned char*>(&peer.frame);
        constexpr std::int64_t head = sizeof(Frame);
        if (!read(peer, frame + peer.frame_bytes, head - peer.frame_bytes, peer.frame_bytes)) return;
        if (peer.frame_bytes < head) continue;
        peer.arriving = find_wanted(peer, number);
        peer.frame_bytes = 0;
      }
      Request& request = *peer.arriving;
      if (request.at < request.frame.bytes) {
        unsigned char sink[4096];
        const std::int64_t left = request.frame.bytes - request.at;
        const bool is_wanted = request.data != nullptr;
        if (!read(peer, is_wanted ? request.data + request.at : sink, is_wanted || left < 4096 ? left : 4096,
                  request.at))
          return;
      }
      if (request.at == request.frame.bytes) {
        has_arrived(request);
        peer.arriving = {};
      }
    }
  }
  /// Whether some bytes came.
  [[nodiscard]] static bool read(Peer& peer, void* data, std::int64_t bytes, std::int64_t& at) {
    const std::int64_t count = peer.socket.read_some(data, bytes);
    if (count < 0) peer.has_ended = true;
    if (count > 0) at += count;
    return count > 0;
  }
  /// Where a message goes whose frame has come.
  [[nodiscard]] Shared<Request> find_wanted(Peer& peer, int number) {
    for (std::size_t i = 0; i < peer.wanted.size(); ++i) {
      if (peer.wanted[i]->frame.tag != peer.frame.tag || peer.wanted[i]->frame.bytes != peer.frame.bytes) continue;
      Shared<Request> found = std::move(peer.wanted[i]);
      peer.wanted.erase(peer.wanted.begin() + static_cast<std::ptrdiff_t>(i));
      return found;
    }
    Shared unasked(new Request);
    unasked->frame = peer.frame;
    unasked->peer = number;
    unasked->own.resize(static_cast<std::size_t>(peer.frame.bytes));
    unasked->data = unasked->own.data();
    if (peer.frame.tag != note_tag) peer.unasked.push_back(unasked);
    return unasked;
  }
  void has_arrived(Request& request) {
    request.is_done = true;
    if (request.frame.tag == note_tag && request.frame.bytes == sizeof(Note)) {
      Note note;
      std::memcpy(&note, request.own.data(), sizeof note);
      note.from = request.peer;
      notes_.push_back(note);
    }
    if (request.waiter) hand_over(request, *request.waiter);
  }
  static void hand_over(const Request& from, Request& to) {
    if (to.data && to.frame.bytes > 0) std::memcpy(to.data, from.own.data(), from.own.size());
    to.is_done = true;
  }

  void begin_receive(const Shared<Request>& request) {
    Peer& peer = at(request->peer);
    for (std::size_t i = 0; i < peer.unasked.size(); ++i) {
      const Shared<Request> found = peer.unasked[i];
      if (found->frame.tag != request->frame.tag || found->frame.bytes != request->frame.bytes) continue;
      peer.unasked.erase(peer.unasked.begin() + static_cast<std::ptrdiff_t>(i));
      if (found->is_done) hand_over(*found, *request);
      else found->waiter = request;
      return;
    }
    peer.wanted.push_back(request);
  }
  void begin_send(const Shared<Request>& request) {
    at(request->peer).sending.push_back(request);
    write(at(request->peer));
  }
  /// A note to a process that has ended is not waited for; elements to it are an error of their collective.
  [[nodiscard]] bool is_over(const Request& request) {
    return request.is_done || (request.frame.tag == note_tag && at(request.peer).has_ended);
  }
  /// From now on, the memory of a request is nobody's.
  void abandon(Request& request) noexcept {
    Peer& peer = at(request.peer);
    auto& list = request.receives ? peer.wanted : peer.sending;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].get() != &request || (!request.receives && request.at > 0)) continue;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (request.receives) request.data = nullptr;
    else keep_rest(peer, request);
  }
  /// A message that was begun has to be written to its end.
  static void keep_rest(Peer& peer, Request& request) noexcept {
    try {
      request.own.assign(request.data, request.data + request.frame.bytes);
      request.data = request.own.data();
    } catch (const std::bad_alloc&) {
      peer.socket = {};
      peer.has_ended = true;
    }
  }

  int rank_, size_, on_machine_ = 0;
  Mutex mutex_;
  std::vector<Peer> peers_;
  std::vector<Note> notes_;
};

/// Several sends and receives under way. Messages of a pair of ranks and a tag keep their order.
class TcpLink::Transfers {
 public:
  Transfers(TcpLink& link, int tag) : link_(link), tag_(tag) {}
  /// Of notes.
  explicit Transfers(TcpLink& link) : link_(link), tag_(note_tag) {}
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers() { abandon(); }

  void reserve(std::size_t count) { requests_.reserve(count); }
  void send(int peer, const void* data, std::int64_t bytes) {
    if (bytes == 0) return;
    const Shared<Request> request = make(peer, const_cast<void*>(data), bytes, false);
    const Lock lock(link_.mutex_);
    link_.begin_send(request);
  }
  void receive(int peer, void* data, std::int64_t bytes) {
    if (bytes == 0) return;
    const Shared<Request> request = make(peer, data, bytes, true);
    const Lock lock(link_.mutex_);
    link_.begin_receive(request);
  }
  [[nodiscard]] std::size_t mark() const { return requests_.size(); }
  [[nodiscard]] int first_open(std::size_t mark) {
    if (done_ >= mark) return -1;
    const Lock lock(link_.mutex_);
    for (bool has_progressed = false; done_ < mark;) {
      if (link_.is_over(*requests_[done_])) ++done_;
      else if (has_progressed) return requests_[done_]->peer;
      else link_.progress(), has_progressed = true;
    }
    return -1;
  }
  [[nodiscard]] int first_open() { return first_open(mark()); }
  void abandon() noexcept {
    if (done_ == requests_.size()) return;
    const Lock lock(link_.mutex_);
    for (; done_ < requests_.size(); ++done_)
      if (!requests_[done_]->is_done) link_.abandon(*requests_[done_]);
  }

 private:
  [[nodiscard]] Shared<Request> make(int peer, void* data, std::int64_t bytes, bool receives) {
    Shared request(new Request);
    request->frame = {bytes, tag_};
    request->peer = peer;
    request->receives = receives;
    request->data = static_cast<unsigned char*>(data);
    requests_.push_back(request);
    return request;
  }
  TcpLink& link_;
  int tag_;
  std::size_t done_ = 0;
  std::vector<Shared<Request>> requests_;
};

}  // namespace locus::inline LOCUS_ABI::dist::detail
