#pragma once
// Connections at a door until they have said who they are, all heard at once.

#include <locus/distributed/tcp/socket.hpp>

#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// What a process says first.
struct Hello {
  std::uint64_t magic = 0x6c6f637573303031;  // not of another program
  std::int32_t rank = 0, size = 0;
};

/// A connection that has said all that is expected.
struct Visitor {
  Socket connection{};
  SocketAddress from{};
  Hello hello{};
  std::string bytes{};  ///< what it brought
};

/// Hears all connections at a door together, so that one that says nothing keeps no other waiting. Each has two seconds
/// to say a Hello and, where it brings bytes, their number and the bytes. Others are turned away.
class Reception {
 public:
  static constexpr std::int64_t most_bytes = 1 << 20;  ///< that a visitor brings

  explicit Reception(bool brings_bytes) : begin_(sizeof(Hello) + (brings_bytes ? sizeof(std::int64_t) : 0)) {}

  /// The next visitor, within so many seconds; one without a connection: nobody came, or someone without saying all.
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
  /// Of the last call: why the system granted no connection, while nobody waits that could be turned away; else 0.
  [[nodiscard]] int scarce_error() const { return scarce_error_; }

 private:
  struct Guest {
    Socket connection{};
    SocketAddress from{};
    std::string said{};
    double until = 0;  ///< on the watch
  };
  enum class State { waits, has_said_all, is_turned_away };

  void await(const Socket& door, double seconds) {
    std::vector<pollfd> waited{{door.number(), POLLIN, 0}};
    for (const Guest& guest : guests_) waited.push_back({guest.connection.number(), POLLIN, 0});
    (void)::poll(waited.data(), waited.size(), Socket::milliseconds(seconds));
  }
  /// Where the system grants no more, the one that has waited longest makes room.
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
  /// Reads what has come.
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
  /// Of one that has said how many.
  [[nodiscard]] std::int64_t bytes_of(const Guest& guest) const {
    std::int64_t bytes = 0;
    if (begin_ > sizeof(Hello)) std::memcpy(&bytes, guest.said.data() + sizeof(Hello), sizeof bytes);
    return bytes;
  }
  [[nodiscard]] Visitor visitor_of(Guest guest) const {
    return {std::move(guest.connection), guest.from, hello_of(guest), guest.said.substr(begin_)};
  }

  std::size_t begin_;  ///< bytes before those that a visitor brings
  Stopwatch watch_{};
  std::vector<Guest> guests_{};
  int scarce_error_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
