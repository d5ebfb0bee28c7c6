#pragma once
// Addresses of this machine at which a socket may listen.

#include <locus/core/printable.hpp>
#include <locus/distributed/tcp/socket.hpp>

#include <ifaddrs.h>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// All addresses of a family, AF_INET or AF_INET6.
[[nodiscard]] inline SocketAddress any_address(int family) {
  SocketAddress any;
  any.size = SocketAddress::size_of(family);
  any.bytes.ss_family = static_cast<sa_family_t>(family);
  return any;
}

/// 127.0.0.1, which only processes of this machine reach, without a port.
[[nodiscard]] inline SocketAddress loopback_address() {
  SocketAddress result = any_address(AF_INET);
  reinterpret_cast<sockaddr_in*>(&result.bytes)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return result;
}

/// Calls f(name, address) for each address of each interface, until it returns true.
template <class F>
void for_interfaces(const F& f) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || SocketAddress::size_of(one->ifa_addr->sa_family) == 0) continue;
    SocketAddress address;
    address.size = SocketAddress::size_of(one->ifa_addr->sa_family);
    std::memcpy(&address.bytes, one->ifa_addr, address.size);
    if (f(std::string_view(one->ifa_name), address)) break;
  }
  freeifaddrs(all);
}

/// "lo 127.0.0.1, eth0 10.0.0.2"
[[nodiscard]] inline std::string interfaces_text() {
  std::string text;
  for_interfaces([&](std::string_view name, const SocketAddress& address) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + address.host();
    return false;
  });
  return text.empty() ? "none" : text;
}

/// The address of an interface, `wanted` by its name or by an address of it; 0.0.0.0 and :: are all interfaces. Of an
/// interface with several addresses, the first of this family, if it has one. Empty on success; else the reason.
[[nodiscard]] inline std::string find_interface(const std::string& wanted, int family, SocketAddress& found) {
  if (wanted == "0.0.0.0" || wanted == "::") {
    found = any_address(wanted == "::" ? AF_INET6 : AF_INET);
    return {};
  }
  found = {};
  for_interfaces([&](std::string_view name, const SocketAddress& address) {
    const bool is_better = found.size == 0 || (found.bytes.ss_family != family && address.bytes.ss_family == family);
    if (is_better && (name == wanted || address.host() == wanted)) found = address;
    return false;
  });
  if (found.size > 0) return {};
  return join("the interface is \"", locus::detail::printable(wanted),
              "\"; set LOCUS_DIST_INTERFACE to the name of one of this machine, or its address: ", interfaces_text());
}

/// The address of this machine from which packets to `peer` leave. Empty if there is no route.
[[nodiscard]] inline SocketAddress address_towards(const SocketAddress& peer) {
  const Socket probe(socket(peer.bytes.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));  // sends nothing
  SocketAddress own;
  own.size = sizeof own.bytes;
  if (!probe || connect(probe.number(), peer.get(), peer.size) != 0 ||
      getsockname(probe.number(), own.get(), &own.size) != 0)
    return {};
  own.set_port(0);
  return own;
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
