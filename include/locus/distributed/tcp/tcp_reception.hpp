#pragma once
// New connections to a listening socket, the door, until they have introduced themselves; all are read at once.

#include <locus/core/std/atomic.hpp>
#include <locus/distributed/tcp/handshake.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A connection with a complete introduction.
struct Visitor {
  Socket connection{};
  SocketAddress from{};
  Hello hello{};
  std::string bytes{};  ///< its payload
};

/// Reads all connections at a door together, so that a silent one delays no other. Each has two seconds to prove that
/// it knows the secret, and to send the bytes that it then announces. Others are turned away, and counted; the first of
/// a process is reported to stderr.
class Reception {
 public:
  static constexpr std::int64_t most_bytes = 4096;  ///< largest payload of a visitor

  /// `most`: bytes that a visitor may bring
  explicit Reception(std::string secret, std::int64_t most = 0) : secret_(std::move(secret)), most_(most) {}

  /// The next visitor, within `seconds`. Without a connection: none came, or none completed its introduction. throws
  /// RendezvousError if the system has no random bytes
  [[nodiscard]] Visitor next(const Socket& door, double seconds) {
    await(door, seconds);
    accept(door);
    for (std::size_t i = 0; i < guests_.size();) {
      const State state = hear(guests_[i]);
      if (state == State::waits && watch_.seconds() < guests_[i].until) {
        ++i;
        continue;
      }
      Guest guest = std::move(guests_[i]);
      guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
      if (state == State::has_said_all)
        return {std::move(guest.connection), guest.from, guest.introduction.hello, std::move(guest.payload)};
      note_stranger(guest.from);
    }
    return {};
  }
  /// After next(): errno if the system granted no connection, and no waiting one could be turned away; else 0.
  [[nodiscard]] int scarce_error() const { return scarce_error_; }
  /// For errors; empty if no connection was turned away.
  [[nodiscard]] std::string strangers_text() const {
    if (strangers_ == 0) return {};
    return join("; connections that were turned away, as they did not prove to know this run's secret: ", strangers_);
  }
  [[nodiscard]] std::int64_t strangers() const { return strangers_; }

 private:
  struct Guest {
    Socket connection{};
    SocketAddress from{};
    Nonce nonce{};
    Introduction introduction{};
    std::size_t at = 0;  ///< bytes of the introduction that have arrived
    bool is_proven = false;
    std::string payload{};
    double until = 0;  ///< deadline on the watch
  };
  enum class State { waits, has_said_all, is_turned_away };

  void await(const Socket& door, double seconds) {
    std::vector<pollfd> waited{{door.number(), POLLIN, 0}};
    for (const Guest& guest : guests_) waited.push_back({guest.connection.number(), POLLIN, 0});
    (void)::poll(waited.data(), waited.size(), Socket::milliseconds(seconds));
  }
  /// If the system grants no more, turns away the connection that has waited longest.
  void accept(const Socket& door) {
    constexpr int most_at_once = 128;
    scarce_error_ = 0;
    for (int i = 0; i < most_at_once; ++i) {
      Guest guest;
      guest.connection = door.accepted(guest.from);
      if (guest.connection) {
        guest.until = watch_.seconds() + 2;
        const Challenge challenge{.nonce = guest.nonce = random_nonce()};
        if (guest.connection.write_some(&challenge, sizeof challenge) == sizeof challenge)
          guests_.push_back(std::move(guest));
        else note_stranger(guest.from);
        continue;
      }
      if (!Socket::is_scarce()) return;
      scarce_error_ = guests_.empty() ? errno : 0;
      if (!guests_.empty()) {
        note_stranger(guests_.front().from);
        guests_.erase(guests_.begin());
      }
      return;
    }
  }
  /// Reads the bytes that have arrived.
  [[nodiscard]] State hear(Guest& guest) const {
    auto* const introduction = reinterpret_cast<unsigned char*>(&guest.introduction);
    while (guest.at < sizeof guest.introduction) {
      const auto left = static_cast<std::int64_t>(sizeof guest.introduction - guest.at);
      const std::int64_t count = guest.connection.read_some(introduction + guest.at, left);
      if (count <= 0) return count < 0 ? State::is_turned_away : State::waits;
      guest.at += static_cast<std::size_t>(count);
    }
    if (!guest.is_proven && !admit(guest)) return State::is_turned_away;
    return hear_payload(guest);
  }
  /// Compares the proof, and answers. Whether the guest may go on.
  [[nodiscard]] bool admit(Guest& guest) const {
    const Introduction& said = guest.introduction;
    guest.is_proven = are_equal(said.proof, proof_of("visitor", secret_, guest.nonce, said));
    const Proof answer = guest.is_proven ? proof_of("door", secret_, guest.nonce, said) : Proof{};
    const bool has_answer = guest.connection.write_some(answer.data(), sizeof answer) == sizeof answer;
    return has_answer && guest.is_proven && said.hello.bytes >= 0 && said.hello.bytes <= most_;
  }
  [[nodiscard]] static State hear_payload(Guest& guest) {
    const auto wanted = static_cast<std::size_t>(guest.introduction.hello.bytes);
    while (guest.payload.size() < wanted) {
      char part[most_bytes];
      const auto left = static_cast<std::int64_t>(wanted - guest.payload.size());
      const std::int64_t count = guest.connection.read_some(part, left < most_bytes ? left : most_bytes);
      if (count <= 0) return count < 0 ? State::is_turned_away : State::waits;
      guest.payload.append(part, static_cast<std::size_t>(count));
    }
    return State::has_said_all;
  }
  void note_stranger(const SocketAddress& from) {
    static Atomic<int> reported{0};
    ++strangers_;
    if (reported.fetch_add(1) > 0) return;
    std::fprintf(
        stderr,
        "dist: turned away a connection from %s: it did not prove to know the secret of this run. It is another "
        "program, or a rank with another LOCUS_DIST_SECRET. Further ones are not reported.\n",
        from.host().c_str());
  }

  std::string secret_;
  std::int64_t most_;
  Stopwatch watch_{};
  std::vector<Guest> guests_{};
  int scarce_error_ = 0;
  std::int64_t strangers_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
