#pragma once
// Where the sockets of a rank listen.

#include <locus/distributed/tcp/interface.hpp>
#include <locus/distributed/tcp/tcp_place.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

[[nodiscard]] inline std::string scarce_text(int error) {
  return join("the system grants no connection: ", std::strerror(error), "; a rank needs one for each other rank");
}

/// The interface of the place; else the loopback address, if ranks meet at one; else this machine's address towards
/// rank 0, or all, if a host name of this machine is known here as a loopback address alone. `meeting`: the address of
/// the place. Without a port. Empty on success; else the reason.
[[nodiscard]] inline std::string find_door_address(const TcpPlace& place, const SocketAddress& meeting,
                                                   SocketAddress& found) {
  const bool is_of_this_host =
      meeting.is_loopback() && (place.address == "localhost" || place.address == meeting.host());
  if (!place.interface.empty()) {
    if (std::string why = find_interface(place.interface, meeting.bytes.ss_family, found); !why.empty()) return why;
    if (!is_of_this_host || found.is_loopback() || found.is_any()) return {};
    return join("the interface is \"", locus::detail::printable(place.interface),
                "\", and ranks meet at a loopback address; set MASTER_ADDR to an address of it, or leave "
                "LOCUS_DIST_INTERFACE unset");
  }
  found = place.rank == 0 ? meeting : address_towards(meeting);
  if (found.size == 0)
    return Socket::is_scarce() ? scarce_text(errno) : join("this machine has no route to ", meeting.host());
  found.set_port(0);
  if (found.is_loopback() && !is_of_this_host) found = any_address(meeting.bytes.ss_family);
  return {};
}

/// Why rank 0 cannot listen there: `error` is errno.
[[nodiscard]] inline std::string no_door_text(const SocketAddress& at, int error) {
  if (error == EADDRINUSE) return "the port is in use by another program; set MASTER_PORT to a free one, on all ranks";
  if (error == EADDRNOTAVAIL)
    return join(at.host(),
                " is no address of this machine; start rank 0 on the machine of MASTER_ADDR, or set "
                "LOCUS_DIST_INTERFACE to the interface that ranks reach: ",
                interfaces_text());
  return join("cannot listen: ", std::strerror(error), "; set MASTER_PORT to another one, on all ranks");
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
