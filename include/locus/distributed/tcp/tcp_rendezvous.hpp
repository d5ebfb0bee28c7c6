#pragma once
// A rendezvous of processes that know no more than an address: each contributes some bytes, and gets the bytes of all.
// It knows nothing of engines.

#include <locus/distributed/tcp/door_address.hpp>
#include <locus/distributed/tcp/tcp_reception.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// A process that came to the meeting.
struct TcpGuest {
  detail::SocketAddress from{};  ///< address at which this rank reaches it, without its port; of rank 0: where all meet
  std::string bytes{};           ///< its contribution
};

namespace detail {

/// One meeting. All ranks make one at the same time.
class TcpRendezvous {
 public:
  /// throws RendezvousError for an invalid place, an address that does not resolve, an interface that this machine does
  /// not have, and a missing secret
  TcpRendezvous(const TcpPlace& place, double timeout)
      : place_(place.checked()), timeout_(timeout), at_own_door_(place.secret) {
    if (const std::string why = SocketAddress::resolve(place.address, place.port, address_, watch_, timeout);
        !why.empty())
      fail(place.rank, join("the address \"", place.address, "\" does not resolve: ", why,
                            "; set MASTER_ADDR to the host name or number of rank 0's machine"));
    if (const std::string why = find_door_address(place_, address_, door_address_); !why.empty()) fail(place.rank, why);
    if (place.secret.empty() && !door_address_.is_loopback())
      fail(place.rank, join("without a secret, any program of the network could be a rank: ", how_to_set_secret));
  }

  /// Contributes `bytes`, and returns the contributions of all ranks, by rank. throws RendezvousError, on all ranks
  /// that came, within the time-out after rank 0 came
  [[nodiscard]] std::vector<TcpGuest> meet(const std::string& bytes) {
    return place_.rank == 0 ? receive_guests(bytes) : visit(bytes);
  }

  /// Where sockets of this rank listen, without a port.
  [[nodiscard]] const SocketAddress& door_address() const { return door_address_; }

  /// Connects to another rank, which listens at `address` and calls accept(), and announces `bytes`. throws
  /// RendezvousError
  [[nodiscard]] Socket reach(const SocketAddress& address, int rank, std::int64_t bytes = 0) const {
    for (Welcome welcome = Welcome::admitted;; usleep(20000)) {
      Socket connection = Socket::connecting(address);
      if (!connection && Socket::is_scarce()) fail(place_.rank, scarce_text(errno));
      if (connection && connection.await(POLLOUT, left()) && !connection.has_error()) {
        welcome = introduce(connection, place_.secret, {place_.rank, place_.size, bytes}, watch_, timeout_);
        if (welcome == Welcome::admitted) return connection;
        if (welcome != Welcome::silent) refuse_secret(rank, welcome);
      }
      require_no_end();
      if (left() > 0) continue;
      if (rank == 0 && welcome == Welcome::silent) fail(0, no_rank_zero());
      if (rank == 0)
        fail(0, join("rank 0 does not answer within ", timeout_,
                     " seconds; start it, and set MASTER_ADDR and MASTER_PORT to where it listens"));
      fail(rank, join("rank ", rank, " does not answer within ", timeout_, " seconds at port ", address.port(),
                      " of its machine; let ranks reach each other's ports, or see whether it ended"));
    }
  }
  /// Accepts a connection from a rank of a higher number, each rank once. throws RendezvousError
  [[nodiscard]] std::pair<int, Socket> accept(const Socket& door) {
    is_in_.resize(static_cast<std::size_t>(place_.size));
    for (;;) {
      if (left() <= 0)
        fail(-1, join("not all ranks connected within ", timeout_,
                      " seconds; see whether one ended, and let ranks reach each other's ports",
                      at_own_door_.strangers_text()));
      Visitor visitor = at_own_door_.next(door, left() < 0.1 ? left() : 0.1);
      if (at_own_door_.scarce_error()) fail(place_.rank, scarce_text(at_own_door_.scarce_error()));
      const Hello& hello = visitor.hello;
      if (!visitor.connection) require_no_end();
      if (!visitor.connection || hello.size != place_.size || hello.rank <= place_.rank || hello.rank >= place_.size)
        continue;
      auto is_in = is_in_[static_cast<std::size_t>(hello.rank)];
      if (is_in) continue;
      is_in = true;
      return {hello.rank, std::move(visitor.connection)};
    }
  }
  [[noreturn]] void fail(int at_fault, const std::string& reason) const {
    throw RendezvousError(join("dist: rank ", place_.rank, " of ", place_.size, ", meeting at ", place_.address, ":",
                               place_.port, ": ", reason),
                          at_fault);
  }

 private:
  static constexpr std::int64_t most_bytes = Reception::most_bytes;
  static constexpr const char* another_answer = "rank 0 answers something else; start the same program on all ranks";
  static constexpr char received = 'r';  ///< rank 0's first reply

  [[nodiscard]] static std::string ended_text(int rank) {
    return join("rank ", rank, " ended while ranks met; see its own output, and start all again");
  }
  [[nodiscard]] double left() const { return timeout_ - watch_.seconds(); }
  [[nodiscard]] int seen_to_end() const { return place_.witness ? place_.witness->ended_rank() : -1; }
  void require_no_end() const {
    if (const int rank = seen_to_end(); rank >= 0) fail(rank, ended_text(rank));
  }
  [[nodiscard]] std::string no_rank_zero() const {
    return join("what listens at this port did not answer as rank 0 within ", timeout_,
                " seconds; set MASTER_PORT to a free port, on all ranks, or see whether rank 0 stalls");
  }
  [[noreturn]] void refuse_secret(int rank, Welcome welcome) const {
    const std::string mine = place_.secret.empty() ? "empty" : join("of ", place_.secret.size(), " characters");
    if (welcome == Welcome::refused)
      fail(place_.rank,
           join("rank ", rank, " has another secret; the one of this rank is ", mine, ": ", how_to_set_secret));
    fail(rank, join("what listens in place of rank ", rank, " does not know the secret, which is ", mine, " here; ",
                    how_to_set_secret, ", and MASTER_PORT to a free port"));
  }

  // Rank 0.

  [[nodiscard]] std::vector<TcpGuest> receive_guests(const std::string& bytes) {
    SocketAddress at = door_address_;
    at.set_port(place_.port);
    const Socket door = place_.door >= 0 ? Socket(place_.door) : Socket::listening(at);
    if (!door) fail(0, no_door_text(at, errno));
    guests_.resize(static_cast<std::size_t>(place_.size));
    connections_.resize(guests_.size());
    guests_[0] = {address_, bytes};
    Reception reception(place_.secret, most_bytes);
    for (int missing = place_.size - 1; missing > 0;) {
      if (left() <= 0) refuse(first_missing(), missing_text() + reception.strangers_text());
      Visitor visitor = reception.next(door, left() < 0.1 ? left() : 0.1);
      if (reception.scarce_error()) refuse(0, scarce_text(reception.scarce_error()));
      if (visitor.connection) missing -= welcome(std::move(visitor));
      else look_for_ended();
    }
    for (int rank = 1; rank < place_.size; ++rank)
      if (!answer(rank)) refuse(rank, ended_text(rank));
    connections_.clear();  // or rank 0 would have two for each rank while ranks connect
    return std::move(guests_);
  }
  /// Admits a visitor. Whether it is still there.
  [[nodiscard]] bool welcome(Visitor visitor) {
    const Hello& hello = visitor.hello;
    Socket& connection = visitor.connection;
    if (!connection.write_all(&received, 1, watch_, watch_.seconds() + 2)) return false;
    const auto turn_away = [&](const std::string& reason) {
      extra_ = std::move(connection);
      refuse(hello.rank < 0 ? -1 : hello.rank, reason);
    };
    if (hello.size != place_.size)
      turn_away(join("rank ", hello.rank, " is one of ", hello.size, ", rank 0 one of ", place_.size,
                     "; start all with the same WORLD_SIZE"));
    if (hello.rank < 0 || hello.rank >= place_.size)
      turn_away(join("a process came as rank ", hello.rank, " of ", place_.size, "; expected a RANK of 1 to ",
                     place_.size - 1, " for each beside rank 0"));
    const auto at = static_cast<std::size_t>(hello.rank);
    if (at == 0 || connections_[at])
      turn_away(join("two processes are rank ", hello.rank, "; give each a RANK of its own, 0 to ", place_.size - 1));
    connections_[at] = std::move(connection);
    guests_[at] = {visitor.from, std::move(visitor.bytes)};
    return true;
  }
  void look_for_ended() {
    for (int rank = 1; rank < place_.size; ++rank) {
      const Socket& connection = connections_[static_cast<std::size_t>(rank)];
      char none = 0;
      if (connection && connection.read_some(&none, 1) < 0) refuse(rank, ended_text(rank));
    }
    if (const int rank = seen_to_end(); rank >= 0) refuse(rank, ended_text(rank));
  }
  [[nodiscard]] int first_missing() const {
    int rank = 1;
    while (connections_[static_cast<std::size_t>(rank)]) ++rank;
    return rank;
  }
  [[nodiscard]] std::string missing_text() const {
    std::string text = "these ranks did not come within " + join(timeout_, " seconds:");
    for (int rank = 1; rank < place_.size; ++rank)
      if (!connections_[static_cast<std::size_t>(rank)]) text += join(" ", rank);
    return text + "; start as many processes as WORLD_SIZE says, all with this MASTER_ADDR and MASTER_PORT";
  }
  /// An answer begins with the rank at fault, or one of these numbers, and the number of bytes that follow.
  static constexpr std::int64_t all_met = -1, no_rank_at_fault = -2;
  struct Head {
    std::int64_t at_fault = all_met, bytes = 0;
  };
  [[nodiscard]] bool answer(int rank) const {
    std::string table;
    for (const TcpGuest& guest : guests_) {
      const auto size = static_cast<std::int64_t>(guest.bytes.size());
      table.append(reinterpret_cast<const char*>(&guest.from), sizeof guest.from);
      table.append(reinterpret_cast<const char*>(&size), sizeof size);
      table += guest.bytes;
    }
    return say(connections_[static_cast<std::size_t>(rank)], {all_met, static_cast<std::int64_t>(table.size())}, table);
  }
  [[nodiscard]] bool say(const Socket& to, const Head& head, const std::string& text) const {
    const double until = timeout_ + 1;  // also after the time-out, to report it
    return to.write_all(&head, sizeof head, watch_, until) &&
           to.write_all(text.data(), static_cast<std::int64_t>(text.size()), watch_, until);
  }
  /// Tells all processes that came, and throws. at_fault: a rank; -1: none
  [[noreturn]] void refuse(int at_fault, const std::string& reason) {
    const Head head{at_fault < 0 ? no_rank_at_fault : at_fault, static_cast<std::int64_t>(reason.size())};
    for (const Socket& connection : connections_)
      if (connection) (void)say(connection, head, reason);
    if (extra_) (void)say(extra_, head, reason);
    fail(at_fault, reason);
  }

  // Other ranks.

  [[nodiscard]] std::vector<TcpGuest> visit(const std::string& bytes) {
    const Socket connection = enter(bytes);
    Head head;
    std::string text;
    // Rank 0 comes within a time-out of this rank, and reports missing ranks a time-out later.
    const double until = 2 * timeout_ + 2;
    const bool has_answer = connection.read_all(&head, sizeof head, watch_, until);
    constexpr std::int64_t most_of_guest = sizeof(SocketAddress) + sizeof(std::int64_t) + most_bytes;
    if (has_answer && (head.bytes < 0 || head.bytes > place_.size * most_of_guest || head.at_fault < no_rank_at_fault ||
                       head.at_fault > INT32_MAX))
      fail(0, another_answer);
    if (!has_answer || !read_text(connection, head.bytes, text, until))
      fail(0, join("rank 0 ", watch_.seconds() < until ? "ended" : "stalled",
                   " while ranks met; see its own output, and start all again"));
    if (head.at_fault != all_met) fail(head.at_fault == no_rank_at_fault ? -1 : static_cast<int>(head.at_fault), text);
    std::size_t at = 0;
    const auto take = [&](void* to, std::size_t count) {
      if (text.size() - at < count) fail(0, another_answer);
      std::memcpy(to, text.data() + at, count);
      at += count;
    };
    guests_.resize(static_cast<std::size_t>(place_.size));
    for (TcpGuest& guest : guests_) {
      std::int64_t length = 0;
      take(&guest.from, sizeof guest.from);
      if (!guest.from.is_sound()) fail(0, another_answer);
      take(&length, sizeof length);
      if (length < 0 || length > most_bytes) fail(0, another_answer);
      guest.bytes.resize(static_cast<std::size_t>(length));
      take(guest.bytes.data(), guest.bytes.size());
      // Rank 0's machine may resolve its own host name to a loopback address: its ranks are where rank 0 is.
      if (guest.from.is_loopback() && !address_.is_loopback()) guest.from = address_;
    }
    guests_[0].from = address_;
    return std::move(guests_);
  }
  /// Allocates as bytes arrive, not by the announced number. Whether all came.
  [[nodiscard]] bool read_text(const Socket& from, std::int64_t bytes, std::string& text, double until) const {
    for (std::int64_t at = 0; at < bytes;) {
      const std::int64_t part = bytes - at < most_bytes ? bytes - at : most_bytes;
      text.resize(static_cast<std::size_t>(at + part));
      if (!from.read_all(text.data() + at, part, watch_, until)) return false;
      at += part;
    }
    return true;
  }
  /// Connects to rank 0 until it has received `bytes`. A connection that closes before belonged to the door of an
  /// earlier meeting.
  [[nodiscard]] Socket enter(const std::string& bytes) const {
    const auto size = static_cast<std::int64_t>(bytes.size());
    for (;; usleep(10000)) {
      Socket connection = reach(address_, 0, size);
      char answer = 0;
      if (connection.write_all(bytes.data(), size, watch_, timeout_) &&
          connection.read_all(&answer, 1, watch_, timeout_) && answer == received)
        return connection;
      if (left() <= 0) fail(0, no_rank_zero());
    }
  }

  TcpPlace place_;
  double timeout_;
  Stopwatch watch_{};
  SocketAddress address_{}, door_address_{};
  std::vector<TcpGuest> guests_{};
  std::vector<Socket> connections_{};
  Socket extra_{};  ///< of a refused process
  Reception at_own_door_;
  std::vector<bool> is_in_{};  ///< by rank: whether accept() has returned it
};

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::dist
