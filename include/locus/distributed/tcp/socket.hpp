#pragma once
// TCP sockets with time-outs, a thin layer over POSIX.

#include <locus/core/std/posix.hpp>
#include <locus/distributed/engine/error.hpp>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// An address of a host, with a port.
struct SocketAddress {
  sockaddr_storage bytes{};
  std::uint32_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
  /// IPv4 and IPv6 addresses both store it behind the family.
  [[nodiscard]] int port() const {
    std::uint16_t number = 0;
    std::memcpy(&number, reinterpret_cast<const char*>(&bytes) + 2, sizeof number);
    return ntohs(number);
  }
  void set_port(int port) {
    static_assert(offsetof(sockaddr_in, sin_port) == 2 && offsetof(sockaddr_in6, sin6_port) == 2);
    const std::uint16_t number = htons(static_cast<std::uint16_t>(port));
    std::memcpy(reinterpret_cast<char*>(&bytes) + 2, &number, sizeof number);
  }
  /// Bytes of an address of a family; 0: neither IPv4 nor IPv6.
  [[nodiscard]] static std::uint32_t size_of(int family) {
    return family == AF_INET ? sizeof(sockaddr_in) : family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
  }
  /// Whether an address that came from another process is one of IPv4 or IPv6.
  [[nodiscard]] bool is_sound() const { return size > 0 && size == size_of(bytes.ss_family); }
  /// The address in digits, without its port.
  [[nodiscard]] std::string host() const {
    char text[NI_MAXHOST] = {};
    (void)getnameinfo(get(), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    return text;
  }
  /// Whether only processes of the same machine reach it.
  [[nodiscard]] bool is_loopback() const {
    if (bytes.ss_family == AF_INET6) {
      const in6_addr& host = reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_addr;
      return IN6_IS_ADDR_LOOPBACK(&host) || (IN6_IS_ADDR_V4MAPPED(&host) && host.s6_addr[12] == 127);
    }
    return ntohl(reinterpret_cast<const sockaddr_in*>(&bytes)->sin_addr.s_addr) >> 24 == 127;
  }
  /// Whether it stands for all addresses of a machine.
  [[nodiscard]] bool is_any() const {
    if (bytes.ss_family == AF_INET6)
      return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_addr);
    return reinterpret_cast<const sockaddr_in*>(&bytes)->sin_addr.s_addr == INADDR_ANY;
  }

  /// Resolves a host. Empty on success; else the reason of the failure. Of several addresses, takes the first to which
  /// this machine has a route. It may wait for a name server; temporary failures are retried until `until` seconds on
  /// the watch.
  [[nodiscard]] static std::string resolve(const std::string& host, int port, SocketAddress& result,
                                           const Stopwatch& watch = {}, double until = 0) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV;
    addrinfo* all = nullptr;
    int status = 0;
    while ((status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &all)) == EAI_AGAIN &&
           watch.seconds() < until)
      usleep(50000);
    if (status != 0) return gai_strerror(status);
    const addrinfo* found = all;
    while (found && !has_route(*found)) found = found->ai_next;
    if (!found) found = all;
    std::memcpy(&result.bytes, found->ai_addr, found->ai_addrlen);
    result.size = found->ai_addrlen;
    freeaddrinfo(all);
    return {};
  }

 private:
  /// Connects a datagram socket, which sends nothing.
  [[nodiscard]] static bool has_route(const addrinfo& to) {
    const int probe = socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool has = probe >= 0 && connect(probe, to.ai_addr, to.ai_addrlen) == 0;
    if (probe >= 0) close(probe);
    return has;
  }
};

/// A non-blocking socket, closed with this object.
class Socket {
 public:
  Socket() = default;
  /// Takes ownership of an existing descriptor.
  explicit Socket(int number) : Socket(of(number)) {
    if (number_ < 0) return;
    fcntl(number_, F_SETFL, fcntl(number_, F_GETFL) | O_NONBLOCK);
    fcntl(number_, F_SETFD, FD_CLOEXEC);
  }
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Socket() {
    if (number_ >= 0) close(number_);
  }

  /// A socket that listens at an address of this machine, at any free port for port 0. Empty if that fails, with errno.
  [[nodiscard]] static Socket listening(const SocketAddress& at) {
    Socket result = made(at);
    if (!result) return {};
    const int yes = 1;
    setsockopt(result.number_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(result.number_, at.get(), at.size) != 0 || listen(result.number_, 128) != 0) return {};
    return result;
  }
  /// Begins to connect: await(POLLOUT) says when that is over, and has_error() whether it failed. Empty if it does not
  /// begin, with errno.
  [[nodiscard]] static Socket connecting(const SocketAddress& to) {
    Socket result = made(to);
    if (!result || (connect(result.number_, to.get(), to.size) != 0 && errno != EINPROGRESS)) return {};
    return result;
  }
  /// Accepts a connection to this listening socket; `from` is its peer. Empty if there is none, with errno.
  [[nodiscard]] Socket accepted(SocketAddress& from) const {
    from.size = sizeof from.bytes;
    return of(accept4(number_, from.get(), &from.size, kind));
  }

  /// Whether errno says that the process or the system has no more sockets.
  [[nodiscard]] static bool is_scarce() {
    return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  }

  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  /// Gives up ownership: the caller closes the descriptor.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  [[nodiscard]] int port() const {
    SocketAddress own;
    own.size = sizeof own.bytes;
    getsockname(number_, own.get(), &own.size);
    return own.port();
  }
  [[nodiscard]] bool has_error() const {
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(number_, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0;
  }
  /// Waits for POLLIN or POLLOUT, at most `seconds`, and at most a day.
  [[nodiscard]] bool await(short events, double seconds) const {
    pollfd waited{number_, events, 0};
    return ::poll(&waited, 1, milliseconds(seconds)) > 0;
  }
  /// Milliseconds for poll(), rounded up; a day at most, after which callers poll again.
  [[nodiscard]] static int milliseconds(double seconds) {
    constexpr double most = 86400;
    return seconds > 0 ? static_cast<int>((seconds < most ? seconds : most) * 1000) + 1 : 0;
  }

  /// The number of bytes read or written; 0: the socket would block; -1: the connection has ended.
  [[nodiscard]] std::int64_t read_some(void* data, std::int64_t bytes) const {
    const ssize_t count = recv(number_, data, static_cast<std::size_t>(bytes), 0);
    return count > 0 ? count : count < 0 && is_busy() ? 0 : -1;
  }
  [[nodiscard]] std::int64_t write_some(const void* data, std::int64_t bytes) const {
    const ssize_t count = ::send(number_, data, static_cast<std::size_t>(bytes), MSG_NOSIGNAL);
    return count >= 0 ? count : is_busy() ? 0 : -1;
  }
  /// Reads or writes all bytes, until `seconds` on the watch. Whether that succeeded.
  [[nodiscard]] bool read_all(void* data, std::int64_t bytes, const Stopwatch& watch, double seconds) const {
    return all(bytes, POLLIN, watch, seconds,
               [&](std::int64_t at) { return read_some(static_cast<char*>(data) + at, bytes - at); });
  }
  [[nodiscard]] bool write_all(const void* data, std::int64_t bytes, const Stopwatch& watch, double seconds) const {
    return all(bytes, POLLOUT, watch, seconds,
               [&](std::int64_t at) { return write_some(static_cast<const char*>(data) + at, bytes - at); });
  }

 private:
  static constexpr int kind = SOCK_NONBLOCK | SOCK_CLOEXEC;
  [[nodiscard]] static Socket made(const SocketAddress& address) {
    return of(socket(address.bytes.ss_family, SOCK_STREAM | kind, 0));
  }
  [[nodiscard]] static Socket of(int number) {
    Socket result;
    result.number_ = number;
    const int yes = 1;
    if (result) setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return result;
  }
  [[nodiscard]] static bool is_busy() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }
  template <class F>
  [[nodiscard]] bool all(std::int64_t bytes, short events, const Stopwatch& watch, double seconds,
                         const F& some) const {
    for (std::int64_t at = 0; at < bytes;) {
      const std::int64_t count = some(at);
      if (count < 0) return false;
      at += count;
      if (count == 0 && !await(events, seconds - watch.seconds()) && watch.seconds() >= seconds) return false;
    }
    return true;
  }
  int number_ = -1;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
