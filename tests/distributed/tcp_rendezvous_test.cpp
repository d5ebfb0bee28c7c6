// Runs on: host.
// Processes that meet at an address: their contributions, and each way in which they do not find each other.

#include <locus/distributed/tcp/tcp_link.hpp>

#include <doctest/doctest.h>

#include <support/skip.hpp>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <climits>

using namespace locus;
using dist::TcpPlace;

namespace {

/// Calls of getaddrinfo() that name "late-host", which resolves from the third on.
int late_calls = 0;

/// A port that was free a moment ago.
int free_port() { return dist::detail::Socket::listening(AF_INET, 0).port(); }

/// The result of a process: "bytes bytes ..." of all ranks, or "rank: error". Without CHECK, which in another process
/// fails no test.
std::string met(const TcpPlace& place, double timeout) {
  try {
    std::string all;
    dist::detail::TcpRendezvous meeting(place, timeout);
    for (const auto& guest : meeting.meet(std::string(static_cast<std::size_t>(place.rank + 1), 'x'))) {
      if (guest.from.size == 0) return "a rank without an address";
      all += guest.bytes + " ";
    }
    return all;
  } catch (const RendezvousError& error) {
    return join(error.rank, ": ", error.what());
  }
}

/// Calls f(rank) in a process for each rank; results come through pipes. Fails if one takes longer than `seconds`.
template <class F>
std::vector<std::string> of_processes(int count, const F& f, double seconds) {
  std::vector<int> pipes;
  std::vector<pid_t> children;
  const Stopwatch watch;
  for (int rank = 0; rank < count; ++rank) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const std::string text = f(rank);
      const auto written = write(ends[1], text.data(), text.size());
      _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
    children.push_back(child);
  }
  std::vector<std::string> results;
  for (std::size_t i = 0; i < children.size(); ++i) {
    char text[4096];
    std::string result;
    for (ssize_t got; (got = read(pipes[i], text, sizeof text)) > 0;)
      result.append(text, static_cast<std::size_t>(got));
    close(pipes[i]);
    waitpid(children[i], nullptr, 0);
    results.push_back(result);
  }
  CHECK(watch.seconds() < seconds);
  return results;
}

/// An address of this machine that others can reach; empty: it has none.
std::string address_for_others() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* one = all; one && found.empty(); one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK)) continue;
    char text[INET_ADDRSTRLEN] = {};
    found = inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
  }
  freeifaddrs(all);
  return found;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

/// The system's getaddrinfo(), with two more host names for this test: late-host, and two-results, whose first address
/// is a broadcast address, to which nothing connects.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* wanted, addrinfo** found) {
  const auto system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view name = host ? host : "";
  if (name == "late-host") return ++late_calls < 3 ? EAI_AGAIN : system("127.0.0.1", service, wanted, found);
  if (name != "two-results") return system(host, service, wanted, found);
  const int status = system("255.255.255.255", service, wanted, found);
  return status != 0 ? status : system("127.0.0.1", service, wanted, &(*found)->ai_next);
}

TEST_CASE("a host name that is not known yet is asked for again; of its addresses, the first with a route counts") {
  CHECK(met({.address = "late-host", .port = free_port()}, 5) == "x ");
  CHECK(late_calls == 3);
  dist::detail::SocketAddress address;
  CHECK(dist::detail::SocketAddress::resolve("two-results", 1, address).empty());
  CHECK(address.is_loopback());
  CHECK(dist::detail::SocketAddress::resolve("255.255.255.255", 1, address).empty());  // the only one
  CHECK_FALSE(address.is_loopback());
  late_calls = -1000;
  const Stopwatch watch;
  CHECK(contains(met({.address = "late-host", .port = free_port()}, 0.3), "\"late-host\" does not resolve"));
  CHECK(watch.seconds() < 10);
}

TEST_CASE("each process gets what all have brought, whoever comes first, and strangers are turned away") {
  for (const int size : {1, 2, 3, 8}) {
    const int port = free_port();
    std::string expected;
    for (int rank = 0; rank < size; ++rank) expected += std::string(static_cast<std::size_t>(rank + 1), 'x') + " ";
    const auto results = of_processes(
        size + 1,
        [&](int rank) -> std::string {
          if (rank == size) {  // a stranger: it connects, sends other bytes, and stays a while
            usleep(50000);
            dist::detail::SocketAddress to;
            (void)dist::detail::SocketAddress::resolve("127.0.0.1", port, to);
            const auto stranger = dist::detail::Socket::connecting(to);
            if (stranger) (void)stranger.write_some("GET / HTTP/1.1\r\n\r\n and more", 27);
            usleep(100000);
            return "";
          }
          if (rank == 0) usleep(100000);
          return met({.port = port, .rank = rank, .size = size}, 20);
        },
        15);
    for (int rank = 0; rank < size; ++rank) CHECK(results[static_cast<std::size_t>(rank)] == expected);
  }
}

namespace {
/// `count` connections that say nothing, or begin to.
std::vector<dist::detail::Socket> silent_guests(int port, int count) {
  dist::detail::SocketAddress to;
  (void)dist::detail::SocketAddress::resolve("127.0.0.1", port, to);
  std::vector<dist::detail::Socket> guests;
  for (int i = 0; i < count; ++i) {
    guests.push_back(dist::detail::Socket::connecting(to));
    REQUIRE(guests.back().await(POLLOUT, 2));
    const dist::detail::Hello hello;
    if (i % 2) REQUIRE(guests.back().write_some(&hello, 8) == 8);
  }
  return guests;
}
}  // namespace

TEST_CASE("connections that say nothing keep no rank waiting") {
  auto door = dist::detail::Socket::listening(AF_INET, 0);
  const auto guests = silent_guests(door.port(), 40);
  const auto results = of_processes(
      2,
      [&](int rank) {
        return met({.port = door.port(), .rank = rank, .size = 2, .door = rank == 0 ? door.release() : -1}, 20);
      },
      10);
  for (const std::string& result : results) CHECK(result == "x xx ");

  const auto own_door = dist::detail::Socket::listening(AF_INET, 0);
  const auto others = silent_guests(own_door.port(), 40);
  dist::detail::SocketAddress here;
  (void)dist::detail::SocketAddress::resolve("127.0.0.1", own_door.port(), here);
  dist::detail::TcpRendezvous zero({.rank = 0, .size = 2}, 20), one({.rank = 1, .size = 2}, 20);
  const auto rank = one.reach(here, 0);
  const Stopwatch watch;
  CHECK(zero.accept(own_door).first == 1);
  CHECK(watch.seconds() < 10);
}

TEST_CASE("where sockets run out, connections that say nothing make room for ranks") {
  auto door = dist::detail::Socket::listening(AF_INET, 0);
  const auto guests = silent_guests(door.port(), 40);
  const auto results = of_processes(
      2,
      [&](int rank) {
        const rlimit few{70, 70};  // about 20 more than are open
        if (rank == 0) setrlimit(RLIMIT_NOFILE, &few);
        return met({.port = door.port(), .rank = rank, .size = 2, .door = rank == 0 ? door.release() : -1}, 20);
      },
      10);
  for (const std::string& result : results) CHECK(result == "x xx ");
}

TEST_CASE("a place where no process can be is refused at once") {
  const Stopwatch watch;
  const auto refused = [](const TcpPlace& place, const char* text) {
    CAPTURE(text);
    CHECK(contains(met(place, 20), text));
    CHECK_THROWS_WITH_AS(dist::detail::TcpLink(place, 20), doctest::Contains(text), RendezvousError);
  };
  refused({.size = 0}, "a TcpPlace of size 0; expected 1 to 1048576");
  refused({.size = -4}, "a TcpPlace of size -4; expected 1 to 1048576");
  refused({.size = INT_MAX}, "a TcpPlace of size 2147483647; expected 1 to 1048576");
  refused({.rank = 5, .size = 2}, "a TcpPlace of rank 5; expected 0 to 1");
  refused({.rank = -1, .size = 2}, "a TcpPlace of rank -1; expected 0 to 1");
  for (const int port : {0, -1, 99999})
    refused({.port = port, .size = 2}, join("a TcpPlace of port ", port, "; expected 1 to 65535").c_str());
  refused({.local_rank = -1}, "a TcpPlace of local_rank -1; expected 0 to 1048576");
  CHECK(watch.seconds() < 10);
}

TEST_CASE("a time-out may be longer than any") {
  CHECK(met({.port = free_port()}, 1e300) == "x ");
  const int port = free_port();
  const auto results = of_processes(
      2, [&](int rank) { return met({.port = port, .rank = rank, .size = 2}, rank == 0 ? 1e300 : 3e6); }, 10);
  for (const std::string& result : results) CHECK(result == "x xx ");
  CHECK(dist::detail::Socket::milliseconds(1e300) == 86400001);
}

TEST_CASE("rank 0 may bring the socket that listens, at one address alone") {
  dist::detail::SocketAddress here, bound;
  REQUIRE(dist::detail::SocketAddress::resolve("127.0.0.1", 0, here).empty());
  auto door = dist::detail::Socket::listening(here);
  bound.size = sizeof bound.bytes;
  REQUIRE(getsockname(door.number(), bound.get(), &bound.size) == 0);
  here.set_port(door.port());
  CHECK(std::memcmp(&bound.bytes, &here.bytes, bound.size) == 0);
  const int port = door.port();
  const auto results = of_processes(
      2,
      [&](int rank) {
        if (rank == 1) door = {};
        return met({.port = port, .rank = rank, .size = 2, .door = door.release()}, 5);
      },
      10);
  for (const std::string& result : results) CHECK(result == "x xx ");
}

TEST_CASE("ranks of rank 0's machine, which it knows by a loopback address, have its own address elsewhere") {
  const std::string others = address_for_others();
  if (others.empty()) SKIP_TEST("this machine has no address but loopback ones");
  const int port = free_port();
  const auto results = of_processes(
      3,
      [&](int rank) {
        dist::detail::TcpRendezvous meeting(
            {.address = rank == 2 ? others : "127.0.0.1", .port = port, .rank = rank, .size = 3}, 5);
        std::string all;
        for (const auto& guest : meeting.meet("")) {
          char text[INET_ADDRSTRLEN] = {};
          all += join(
              inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(guest.from.get())->sin_addr, text, sizeof text),
              " ");
        }
        return all;
      },
      10);
  CHECK(results[1] == join("127.0.0.1 127.0.0.1 ", others, " "));
  CHECK(results[2] == join(others, " ", others, " ", others, " "));
}

TEST_CASE("a port in use, an address that does not resolve, and a rank 0 that is not there") {
  const auto door = dist::detail::Socket::listening(AF_INET, 0);
  const std::string in_use = met({.port = door.port(), .rank = 0, .size = 2}, 1);
  CHECK(contains(in_use, "0: dist: rank 0 of 2, meeting at 127.0.0.1:"));
  CHECK(contains(in_use, "the port is in use by another program; set MASTER_PORT to a free one"));
  const std::string unknown = met({.address = "no-such-host.invalid", .rank = 1, .size = 2}, 1);
  CHECK(contains(unknown, "1: dist: rank 1 of 2"));
  CHECK(contains(unknown, "\"no-such-host.invalid\" does not resolve"));
  const Stopwatch watch;
  const std::string absent = met({.port = free_port(), .rank = 1, .size = 2}, 0.5);
  CHECK(contains(absent, "0: dist: rank 1 of 2"));
  CHECK(contains(absent, "rank 0 does not answer within 0.5 seconds; start it"));
  CHECK(watch.seconds() < 10);
}

TEST_CASE("another program at the port of rank 0 is an error of the other ranks within the time-out") {
  for (const bool closes : {false, true}) {
    const auto door = dist::detail::Socket::listening(AF_INET, 0);
    const auto results = of_processes(
        2,
        [&](int process) -> std::string {
          if (process == 0) {
            alarm(5);  // without the error, rank 1 never ends
            return met({.port = door.port(), .rank = 1, .size = 2}, 0.5);
          }
          const Stopwatch watch;
          std::vector<dist::detail::Socket> accepted;
          for (dist::detail::SocketAddress from; watch.seconds() < 1;) {
            if (!door.await(POLLIN, 0.05)) continue;
            accepted.push_back(door.accepted(from));
            if (closes) accepted.clear();
          }
          return "";
        },
        10);
    CHECK(contains(results[0], "0: dist: rank 1 of 2"));
    const bool is_named = contains(results[0], "what listens at this port did not answer as rank 0 within 0.5 seconds");
    CHECK((is_named || (closes && contains(results[0], "rank 0 does not answer within 0.5 seconds"))));
  }
}

TEST_CASE("ranks that do not come are named on all that came, within the time-out") {
  const int port = free_port();
  const auto results = of_processes(
      3, [&](int rank) { return rank == 2 ? std::string() : met({.port = port, .rank = rank, .size = 4}, 0.7); }, 10);
  for (const int rank : {0, 1}) CHECK(contains(results[static_cast<std::size_t>(rank)], "2: dist: rank "));
  CHECK(
      contains(results[1], "these ranks did not come within 0.7 seconds: 2 3; start as many processes as WORLD_SIZE"));
}

TEST_CASE("ranks of another count, or twice the same one, are refused on all sides") {
  const auto check = [](int ranks, const auto& place_of, const char* text) {
    const int port = free_port();
    const auto results = of_processes(
        ranks,
        [&](int process) {
          usleep(process == ranks - 1 ? 200000 : 0);
          TcpPlace place = place_of(process);
          place.port = port;
          return met(place, 20);
        },
        10);
    for (const std::string& result : results) CHECK(contains(result, text));
  };
  check(
      3, [](int process) { return TcpPlace{.rank = process, .size = process == 2 ? 3 : 4}; },
      "rank 2 is one of 3, rank 0 one of 4; start all with the same WORLD_SIZE");
  check(
      3, [](int process) { return TcpPlace{.rank = process == 2 ? 1 : process, .size = 4}; },
      "two processes are rank 1; give each a RANK of its own, 0 to 3");
}

TEST_CASE("a process that says it is a rank that cannot be is refused on all sides") {
  using dist::detail::Hello;
  const auto check = [](const Hello& hello, int at_fault, const std::string& text) {
    CAPTURE(text);
    const int port = free_port();
    const auto results = of_processes(
        3,
        [&](int process) -> std::string {
          if (process < 2) return met({.port = port, .rank = process, .size = 4}, 20);
          usleep(300000);
          dist::detail::SocketAddress here;
          (void)dist::detail::SocketAddress::resolve("127.0.0.1", port, here);
          const Stopwatch watch;
          auto connection = dist::detail::Socket::connecting(here);
          while (watch.seconds() < 5 && (!connection.await(POLLOUT, 1) || connection.has_error()))
            connection = dist::detail::Socket::connecting(here);
          const std::int64_t none = 0;
          std::string answer(200, '\0');
          (void)connection.write_all(&hello, sizeof hello, watch, 5);
          (void)connection.write_all(&none, sizeof none, watch, 5);
          (void)connection.read_all(answer.data(), 200, watch, 5);  // or fewer, until it is closed
          return answer;
        },
        10);
    for (const std::string& result : results) CHECK(contains(result, text.c_str()));
    for (const int rank : {0, 1}) {
      const std::string& result = results[static_cast<std::size_t>(rank)];
      CHECK(result.starts_with(join(at_fault, ": dist: rank ", rank, " of 4, meeting at ")));
    }
  };
  check({.rank = -3, .size = 4}, -1,
        "a process came as rank -3 of 4; expected a RANK of 1 to 3 for each beside rank 0");
  check({.rank = 4, .size = 4}, 4, "a process came as rank 4 of 4; expected a RANK of 1 to 3 for each beside rank 0");
  check({.rank = INT_MIN, .size = 4}, -1, "a process came as rank -2147483648 of 4; expected");
  check({.rank = 0, .size = 4}, 0, "two processes are rank 0; give each a RANK of its own, 0 to 3");
  check({.rank = -1, .size = 5}, -1, "rank -1 is one of 5, rank 0 one of 4; start all with the same WORLD_SIZE");
}

TEST_CASE("a rank that ends while others wait is named at once") {
  for (const int ends : {0, 1}) {
    const int port = free_port();
    const auto results = of_processes(
        3,
        [&](int rank) {
          if (rank == ends) alarm(1);  // kills it
          return rank == 2 ? met({.port = port, .rank = 2, .size = 4}, 20)
                           : met({.port = port, .rank = rank, .size = 4}, 20);
        },
        10);
    CHECK(contains(results[2], join(ends, ": dist: rank 2 of 4").c_str()));
    CHECK(contains(results[2], join("rank ", ends, " ended while ranks met").c_str()));
  }
}

TEST_CASE("a rank 0 that stalls after it let others in is named, after twice the time-out and 2 seconds at most") {
  auto door = dist::detail::Socket::listening(AF_INET, 0);
  const auto results = of_processes(
      2,
      [&](int rank) -> std::string {
        if (rank == 1) return met({.port = door.port(), .rank = 1, .size = 2}, 0.1);
        dist::detail::SocketAddress from;
        if (!door.await(POLLIN, 2)) return "nobody came";
        const auto guest = door.accepted(from);
        (void)guest.write_some("r", 1);  // as rank 0 does; then silence
        usleep(2500000);
        return "";
      },
      10);
  CHECK(contains(results[1], "0: dist: rank 1 of 2"));
  CHECK(contains(results[1], "rank 0 stalled while ranks met"));
}

TEST_CASE("what answers in place of rank 0 is refused, whatever sizes it claims") {
  using dist::detail::SocketAddress;
  std::vector<std::string> answers;  // the rank at fault and a size; of each rank an address and a size
  for (const std::int64_t bytes : {std::int64_t{-1}, std::int64_t{1} << 60, std::int64_t{8}}) {
    const std::int64_t head[] = {-1, bytes, 0};
    answers.emplace_back(reinterpret_cast<const char*>(head), sizeof head);
  }
  for (const std::int64_t at_fault : {std::int64_t{-3}, INT64_MIN, std::int64_t{1} << 40}) {
    const std::int64_t head[] = {at_fault, 8, 0};
    answers.emplace_back(reinterpret_cast<const char*>(head), sizeof head);
  }
  for (const std::int64_t size : {std::int64_t{-1}, INT64_MAX, std::int64_t{1}}) {
    const std::int64_t head[] = {-1, sizeof(SocketAddress) + sizeof size};
    std::string answer(reinterpret_cast<const char*>(head), sizeof head);
    answer.append(sizeof(SocketAddress), 0);
    answers.push_back(answer.append(reinterpret_cast<const char*>(&size), sizeof size));
  }
  for (const std::string& answer : answers) {
    const auto door = dist::detail::Socket::listening(AF_INET, 0);
    const auto results = of_processes(
        2,
        [&](int rank) -> std::string {
          if (rank == 1) return met({.port = door.port(), .rank = 1, .size = 2}, 2);
          SocketAddress from;
          if (!door.await(POLLIN, 2)) return "nobody came";
          const auto guest = door.accepted(from);
          (void)guest.write_some(("r" + answer).data(), static_cast<std::int64_t>(answer.size()) + 1);
          usleep(200000);
          return "";
        },
        10);
    CHECK(contains(results[1], "rank 0 answers something else; start the same program on all ranks"));
  }
}

TEST_CASE("a rank that comes twice is let in once") {
  const auto door = dist::detail::Socket::listening(AF_INET, 0);
  dist::detail::SocketAddress here;
  (void)dist::detail::SocketAddress::resolve("127.0.0.1", door.port(), here);
  dist::detail::TcpRendezvous zero({.rank = 0, .size = 3}, 5), one({.rank = 1, .size = 3}, 5),
      two({.rank = 2, .size = 3}, 5);
  const auto first = one.reach(here, 0), again = one.reach(here, 0), other = two.reach(here, 0);
  CHECK(zero.accept(door).first == 1);
  CHECK(zero.accept(door).first == 2);
}

TEST_CASE("where the system grants no more sockets, a rank says so at once") {
  for (const int rank : {0, 1}) {
    auto door = dist::detail::Socket::listening(AF_INET, 0);
    dist::detail::SocketAddress here;
    (void)dist::detail::SocketAddress::resolve("127.0.0.1", door.port(), here);
    const auto guest = dist::detail::Socket::connecting(here);
    const auto results = of_processes(
        1,
        [&](int) {
          const rlimit none{3, 3};  // sockets have higher numbers
          setrlimit(RLIMIT_NOFILE, &none);
          return met({.port = door.port(), .rank = rank, .size = 2, .door = rank == 0 ? door.release() : -1}, 20);
        },
        10);
    CHECK(contains(results[0], join(rank, ": dist: rank ", rank, " of 2").c_str()));
    CHECK(contains(results[0], "the system grants no connection: Too many open files"));
  }
}

TEST_CASE("what a launcher sets in the environment") {
  const auto set = [](const char* rank, const char* size, const char* port) {
    for (const auto& [name, value] : {std::pair{"RANK", rank}, {"WORLD_SIZE", size}, {"MASTER_PORT", port}})
      value ? setenv(name, value, 1) : unsetenv(name);
  };
  set("3", "8", "1234");
  setenv("MASTER_ADDR", "10.0.0.1", 1);
  setenv("LOCAL_RANK", "1", 1);
  const TcpPlace place = TcpPlace::from_environment();
  CHECK(place.rank == 3);
  CHECK(place.size == 8);
  CHECK(place.port == 1234);
  CHECK(place.local_rank == 1);
  CHECK(place.address == "10.0.0.1");
  unsetenv("LOCAL_RANK");
  unsetenv("MASTER_ADDR");
  set("3", "8", nullptr);
  CHECK(TcpPlace::from_environment().port == 29500);
  CHECK(TcpPlace::from_environment().local_rank == 3);
  CHECK(TcpPlace::from_environment().address == "127.0.0.1");
  const auto error = [] {
    try {
      (void)TcpPlace::from_environment();
    } catch (const RendezvousError& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  set(nullptr, "8", "1234");
  CHECK(contains(error(), "RANK is not set in the environment"));
  set("8", "8", "1234");
  CHECK(contains(error(), "RANK is 8, WORLD_SIZE 8; expected RANK 0 to 7"));
  set("0", "many", "1234");
  CHECK(contains(error(), "WORLD_SIZE is \"many\"; expected a number"));
  set("0", "1", "99999");
  CHECK(contains(error(), "MASTER_PORT is \"99999\"; expected a number, 1 to 65535"));
  set(nullptr, nullptr, nullptr);
}

namespace {
/// Descriptors that this process has open.
rlim_t open_now() {
  rlim_t count = 0;
  for (int number = 0; number < 1024; ++number) count += fcntl(number, F_GETFD) >= 0;
  return count;
}
/// The result of a rank whose process may open `soft` more descriptors, and up to `hard` more if it asks for them.
std::string linked(const TcpPlace& place, rlim_t soft, rlim_t hard) {
  const rlim_t open = open_now();
  const rlimit limit{open + soft, open + hard};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return "no such limit";
  try {
    dist::detail::TcpLink link(place, 20);
    return join(link.size(), " ranks");
  } catch (const RendezvousError& error) {
    return join(error.rank, ": ", error.what());
  }
}
}  // namespace

TEST_CASE("ranks raise the soft limit of descriptors, and rank 0 needs no more than the others") {
  constexpr int ranks = 12;
  auto door = dist::detail::Socket::listening(AF_INET, 0);
  const auto results = of_processes(
      ranks,
      [&](int rank) {
        const TcpPlace place{.port = door.port(), .rank = rank, .size = ranks, .door = rank == 0 ? door.number() : -1};
        if (rank == 0) (void)door.release();
        return linked(place, 6, ranks - 1 + 8);
      },
      15);
  for (const std::string& result : results) CHECK(result == "12 ranks");
}

TEST_CASE("a hard limit that is too low is an error before ranks connect, which names the need and the remedy") {
  const rlim_t open = open_now() + 1;  // and the pipe of the result
  const auto results = of_processes(
      1, [&](int) { return linked({.port = free_port(), .rank = 1, .size = 1000}, 50, 60); }, 5);
  CHECK(contains(results[0], "1: dist: rank 1 of 1000"));
  CHECK(contains(results[0], "a rank needs "));
  CHECK(contains(results[0], "one for each other rank"));
  CHECK(contains(results[0], "and the limit is "));
  CHECK(contains(results[0], "ulimit -n 1"));
  CAPTURE(results[0]);
  const rlim_t named = std::strtoul(results[0].c_str() + results[0].find("a rank needs ") + 13, nullptr, 10);
  CHECK(named >= open + 999);
  CHECK(named < open + 999 + 32);
}
