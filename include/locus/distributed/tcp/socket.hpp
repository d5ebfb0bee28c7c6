#pragma once
// TCP connections with time-outs, thinly over POSIX.

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
  /// Both families have it behind the family.
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
  /// Whether only processes of the same machine reach it.
  [[nodiscard]] bool is_loopback() const {
    if (bytes.ss_family == AF_INET6) {
      const in6_addr& host = reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_addr;
      return IN6_IS_ADDR_LOOPBACK(&host) || (IN6_IS_ADDR_V4MAPPED(&host) && host.s6_addr[12] == 127);
    }
    return ntohl(reinterpret_cast<const sockaddr_in*>(&bytes)->sin_addr.s_addr) >> 24 == 127;
  }

  /// Empty where it resolves; else why it does not. Of several addresses, the first that this machine has a route to.
  /// It may wait for a name server; `until` says, in seconds on the watch, how long one is asked again that fails for
  /// now.
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
  /// Nothing is sent.
  [[nodiscard]] static bool has_route(const addrinfo& to) {
    const int probe = socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool has = probe >= 0 && connect(probe, to.ai_addr, to.ai_addrlen) == 0;
    if (probe >= 0) close(probe);
    return has;
  }
};

/// A socket, which does not block. Closed with this object.
class Socket {
 public:
  Socket() = default;
  /// One that others made, from now on this object's.
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

  /// One that listens at an address of this machine, or at all of them; at any free port for port 0. Nothing where that
  /// fails, with errno.
  [[nodiscard]] static Socket listening(const SocketAddress& at) {
    Socket result = made(at);
    if (!result) return {};
    const int yes = 1;
    setsockopt(result.number_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(result.number_, at.get(), at.size) != 0 || listen(result.number_, 128) != 0) return {};
    return result;
  }
  [[nodiscard]] static Socket listening(int family, int port) {
    SocketAddress any;
    any.size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    any.bytes.ss_family = static_cast<sa_family_t>(family);
    any.set_port(port);
    return listening(any);
  }
  /// Begins to connect: await(POLLOUT) says when that is over, and has_error() whether it failed. Nothing where it does
  /// not begin, with errno.
  [[nodiscard]] static Socket connecting(const SocketAddress& to) {
    Socket result = made(to);
    if (!result || (connect(result.number_, to.get(), to.size) != 0 && errno != EINPROGRESS)) return {};
    return result;
  }
  /// A connection to this one, which listens, and who began it; nothing: there is none, with errno.
  [[nodiscard]] Socket accepted(SocketAddress& from) const {
    from.size = sizeof from.bytes;
    return of(accept4(number_, from.get(), &from.size, kind));
  }

  /// Whether a call returned nothing since the process, or the system, may have no more sockets: by errno.
  [[nodiscard]] static bool is_scarce() {
    return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  }

  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  /// The caller closes it.
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
  /// Waits for POLLIN or POLLOUT, at most so long, and at most a day.
  [[nodiscard]] bool await(short events, double seconds) const {
    pollfd waited{number_, events, 0};
    return ::poll(&waited, 1, milliseconds(seconds)) > 0;
  }
  /// As poll() takes them, rounded up: a day at most, after which callers ask again.
  [[nodiscard]] static int milliseconds(double seconds) {
    constexpr double most = 86400;
    return seconds > 0 ? static_cast<int>((seconds < most ? seconds : most) * 1000) + 1 : 0;
  }

  /// Bytes that were read or written, or 0 where there is nothing to do now; -1: the connection has ended.
  [[nodiscard]] std::int64_t read_some(void* data, std::int64_t bytes) const {
    const ssize_t count = recv(number_, data, static_cast<std::size_t>(bytes), 0);
    return count > 0 ? count : count < 0 && is_busy() ? 0 : -1;
  }
  [[nodiscard]] std::int64_t write_some(const void* data, std::int64_t bytes) const {
    const ssize_t count = ::send(number_, data, static_cast<std::size_t>(bytes), MSG_NOSIGNAL);
    return count >= 0 ? count : is_busy() ? 0 : -1;
  }
  /// All of it, within so many seconds on the watch. Whether that was possible.
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
