#pragma once
// TcpPlace: a process among those that meet at an address, as launchers describe it.

#include <locus/distributed/tcp/run_secret.hpp>

#include <cstdlib>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// Sees the ranks of a meeting by other means, such as the connections of a larger group.
class Witness {
 public:
  /// The first rank of the meeting that has ended; -1: none.
  [[nodiscard]] virtual int ended_rank() = 0;

 protected:
  ~Witness() = default;
};
}  // namespace detail

/// The rank of a process in its group, and the address where the group meets.
struct TcpPlace {
  std::string address = "127.0.0.1";  ///< of rank 0's machine
  int port = 29500;                   ///< where rank 0 listens
  int rank = 0, size = 1;
  int local_rank = 0;  ///< the index among the processes of a machine
  int door = -1;       ///< of rank 0: a listening socket, which the meeting closes; -1: it opens one
  /// The same on all ranks, which prove to each other that they know it. May be empty if `address` is a loopback
  /// address: then each program of the machine may be a rank.
  std::string secret{};
  /// The interface where sockets listen: a name as eth0, or an address. Empty: the one that reaches `address`.
  std::string interface {};
  detail::Witness* witness = nullptr;  ///< null: an end is seen only by connections of the meeting, and time-outs

  /// Reads the variables that launchers set: MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK; and
  /// LOCUS_DIST_SECRET (without it, torchrun's id of the run, if that is a UUID) and
  /// LOCUS_DIST_INTERFACE. Under torchrun, which listens at MASTER_PORT, ranks meet at the port after it.
  /// throws RendezvousError that names the missing or invalid variable
  [[nodiscard]] static TcpPlace from_environment() {
    TcpPlace place;
    place.rank = number("RANK", nullptr, 0, most_ranks);
    place.size = number("WORLD_SIZE", nullptr, 1, most_ranks);
    if (place.rank >= place.size)
      throw RendezvousError(
          join("dist: RANK is ", place.rank, ", WORLD_SIZE ", place.size, "; expected RANK 0 to ", place.size - 1),
          place.rank);
    const char* const address = std::getenv("MASTER_ADDR");
    if (address && *address) place.address = address;
    place.port = number("MASTER_PORT", "29500", 1, 65535);
    const char* const agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");  // torchrun itself listens at that port
    if (agent && std::string_view(agent) == "True") place.port = place.port < 65535 ? place.port + 1 : 1024;
    place.local_rank = number("LOCAL_RANK", std::getenv("RANK"), 0, most_ranks);
    place.secret = detail::secret_from_environment();
    place.interface = locus::detail::environment("LOCUS_DIST_INTERFACE");
    return place;
  }

  /// Returns itself. throws RendezvousError unless all members are within their ranges
  [[nodiscard]] const TcpPlace& checked() const {
    const auto refuse = [&](const char* member, int given, int least, int most) {
      if (given < least || given > most)
        throw RendezvousError(
            join("dist: a TcpPlace of ", member, " ", given, "; expected ", least, " to ", most,
                 ": size is the number of processes, rank that of this one, and rank 0 listens at the port"),
            rank);
    };
    refuse("size", size, 1, most_ranks);
    refuse("rank", rank, 0, size - 1);
    refuse("port", port, 1, 65535);
    refuse("local_rank", local_rank, 0, most_ranks);
    return *this;
  }

 private:
  static constexpr int most_ranks = 1 << 20;
  [[nodiscard]] static int number(const char* name, const char* otherwise, long least, long most) {
    const char* text = std::getenv(name);
    if (!text || !*text) text = otherwise;
    if (!text)
      throw RendezvousError(join("dist: ", name,
                                 " is not set in the environment; a launcher sets RANK, WORLD_SIZE, "
                                 "LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as torchrun does"),
                            -1);
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end == text || *end || value < least || value > most)
      throw RendezvousError(join("dist: ", name, " is \"", text, "\"; expected a number, ", least, " to ", most), -1);
    return static_cast<int>(value);
  }
};

}}}  // namespace locus::LOCUS_ABI::dist
