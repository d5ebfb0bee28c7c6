#pragma once
// New connections to a listening socket, the door, until they have introduced themselves; all are read at once.

#include <locus/distributed/tcp/socket.hpp>

#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// The first bytes that a process sends.
struct Hello {
  std::uint64_t magic = 0x6c6f637573303031;  // tells Locus from other programs
  std::int32_t rank = 0, size = 0;
};

/// A connection with a complete introduction.
struct Visitor {
  Socket connection{};
  SocketAddress from{};
  Hello hello{};
  std::string bytes{};  ///< its payload
};

/// Reads all connections at a door together, so that a silent one delays no other. Each has two seconds to send a Hello
/// and, if it brings bytes, their number and the bytes. Other connections are turned away.
class Reception {
 public:
  static constexpr std::int64_t most_bytes = 1 << 20;  ///< largest payload of a visitor

  explicit Reception(bool brings_bytes) : begin_(sizeof(Hello) + (brings_bytes ? sizeof(std::int64_t) : 0)) {}

  /// The next visitor, within `seconds`. Without a connection: none came, or none completed its introduction.
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
      if (state == State::has_said_all) return visitor_of(std::move(guest));
    }
    return {};
  }
  /// After next(): errno if the system granted no connection, and no waiting one could be turned away; else 0.
  [[nodiscard]] int scarce_error() const { return scarce_error_; }

 private:
  struct Guest {
    Socket connection{};
    SocketAddress from{};
    std::string said{};
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
        guests_.push_back(std::move(guest));
        continue;
      }
      if (!Socket::is_scarce()) return;
      scarce_error_ = guests_.empty() ? errno : 0;
      if (!guests_.empty()) guests_.erase(guests_.begin());
      return;
    }
  }
  /// Reads the bytes that have arrived.
  [[nodiscard]] State hear(Guest& guest) const {
    for (std::size_t wanted = wanted_of(guest); guest.said.size() < wanted; wanted = wanted_of(guest)) {
      char part[4096];
      const std::size_t left = wanted - guest.said.size();
      const std::int64_t count =
          guest.connection.read_some(part, static_cast<std::int64_t>(left < sizeof part ? left : sizeof part));
      if (count < 0) return State::is_turned_away;
      if (count == 0) return State::waits;
      guest.said.append(part, static_cast<std::size_t>(count));
      if (!is_sound(guest)) return State::is_turned_away;
    }
    return State::has_said_all;
  }
  [[nodiscard]] std::size_t wanted_of(const Guest& guest) const {
    return begin_ + (guest.said.size() < begin_ ? 0 : static_cast<std::size_t>(bytes_of(guest)));
  }
  [[nodiscard]] bool is_sound(const Guest& guest) const {
    if (guest.said.size() >= sizeof(Hello) && hello_of(guest).magic != Hello{}.magic) return false;
    return guest.said.size() < begin_ || (bytes_of(guest) >= 0 && bytes_of(guest) <= most_bytes);
  }
  [[nodiscard]] static Hello hello_of(const Guest& guest) {
    Hello hello;
    std::memcpy(&hello, guest.said.data(), sizeof hello);
    return hello;
  }
  /// The size of the payload, once it has been read.
  [[nodiscard]] std::int64_t bytes_of(const Guest& guest) const {
    std::int64_t bytes = 0;
    if (begin_ > sizeof(Hello)) std::memcpy(&bytes, guest.said.data() + sizeof(Hello), sizeof bytes);
    return bytes;
  }
  [[nodiscard]] Visitor visitor_of(Guest guest) const {
    return {std::move(guest.connection), guest.from, hello_of(guest), guest.said.substr(begin_)};
  }

  std::size_t begin_;  ///< bytes before the payload
  Stopwatch watch_{};
  std::vector<Guest> guests_{};
  int scarce_error_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
