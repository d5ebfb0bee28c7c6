// Runs on: host.
// Processes that meet at an address: their contributions, and each way in which they do not find each other.

#include <locus/distributed/tcp/tcp_link.hpp>

#include <doctest/doctest.h>

#include <support/free_port.hpp>
#include <support/skip.hpp>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <climits>
#include <random>
#include <thread>

using namespace locus;
using dist::TcpPlace;
using locus_test::free_port;

namespace {

/// A secret that is long enough.
const std::string secret = "0123456789abcdef";

/// Calls of getaddrinfo() that name "late-host", which resolves from the third on.
int late_calls = 0;

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

/// A rank that comes to a door, without a secret, within some seconds.
dist::detail::Visitor visitor_at(const dist::detail::Socket& door) {
  dist::detail::Reception reception("", dist::detail::Reception::most_bytes);
  const Stopwatch watch;
  for (;;) {
    auto visitor = reception.next(door, 0.1);
    if (visitor.connection || watch.seconds() > 3) return visitor;
  }
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

/// The system's getaddrinfo(), with more host names for this test: late-host; own-name, which this machine knows by a
/// loopback address alone; and two-results, whose first address is a broadcast address, to which nothing connects.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* wanted, addrinfo** found) {
  const auto system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view name = host ? host : "";
  if (name == "own-name") return system("127.0.0.1", service, wanted, found);
  if (name == "late-host") return ++late_calls < 3 ? EAI_AGAIN : system("127.0.0.1", service, wanted, found);
  if (name != "two-results") return system(host, service, wanted, found);
  const int status = system("255.255.255.255", service, wanted, found);
  return status != 0 ? status : system("127.0.0.1", service, wanted, &(*found)->ai_next);
}

TEST_CASE("a host name that is not known yet is asked for again; of its addresses, the first with a route counts") {
  CHECK(met({.address = "late-host", .port = free_port(), .secret = secret}, 5) == "x ");
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
    if (i % 2) REQUIRE(guests.back().write_some("12345678", 8) == 8);
  }
  return guests;
}
}  // namespace

TEST_CASE("connections that say nothing keep no rank waiting") {
  auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
  const auto guests = silent_guests(door.port(), 40);
  const auto results = of_processes(
      2,
      [&](int rank) {
        return met({.port = door.port(), .rank = rank, .size = 2, .door = rank == 0 ? door.release() : -1}, 20);
      },
      10);
  for (const std::string& result : results) CHECK(result == "x xx ");

  const auto own_door = dist::detail::Socket::listening(dist::detail::loopback_address());
  const auto others = silent_guests(own_door.port(), 40);
  dist::detail::SocketAddress here;
  (void)dist::detail::SocketAddress::resolve("127.0.0.1", own_door.port(), here);
  dist::detail::TcpRendezvous zero({.rank = 0, .size = 2}, 20), one({.rank = 1, .size = 2}, 20);
  const Stopwatch watch;
  std::thread rank([&] { (void)one.reach(here, 0); });
  CHECK(zero.accept(own_door).first == 1);
  rank.join();
  CHECK(watch.seconds() < 10);
}

TEST_CASE("where sockets run out, connections that say nothing make room for ranks") {
  auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
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

namespace {
std::string hex(const dist::detail::Sha256::Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}
}  // namespace

TEST_CASE("SHA-256 and HMAC-SHA256 of the standards' examples") {
  const auto sha = [](std::string_view text) {
    dist::detail::Sha256 hash;
    for (const char c : text) hash.add(&c, 1);
    return hex(hash.finish());
  };
  // FIPS 180-4, NIST's examples
  CHECK(sha("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  const auto hmac = [](std::string_view key, std::string_view text) {
    return hex(dist::detail::Hmac(key).add(text.data(), text.size()).finish());
  };
  // RFC 4231, cases 1, 2 and 6
  CHECK(hmac(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("a rank with another secret is refused at once, and ends no run") {
  const int port = free_port();
  const auto results = of_processes(
      3,
      [&](int process) {
        const std::string other = process == 2 ? "another secret of the run" : secret;
        if (process == 0) usleep(100000);
        if (process == 1) usleep(500000);
        return met({.port = port, .rank = process == 0 ? 0 : 1, .size = 2, .secret = other}, 20);
      },
      10);
  CHECK(results[0] == "x xx ");
  CHECK(results[1] == "x xx ");
  CHECK(contains(results[2], "1: dist: rank 1 of 2, meeting at 127.0.0.1:"));
  CHECK(contains(results[2],
                 "rank 0 has another secret; the one of this rank is of 25 characters: set LOCUS_DIST_SECRET"));
}

TEST_CASE("rank 0 says how many connections it turned away, if ranks are missing") {
  const int port = free_port();
  const auto results = of_processes(
      2, [&](int rank) { return met({.port = port, .rank = rank, .size = 2, .secret = rank == 0 ? secret : ""}, 0.7); },
      10);
  CHECK(contains(results[0], "these ranks did not come within 0.7 seconds: 1"));
  CHECK(
      contains(results[0], "; connections that were turned away, as they did not prove to know this run's secret: 1"));
  CHECK(contains(results[1], "rank 0 has another secret; the one of this rank is empty"));
}

TEST_CASE("what lets ranks in without the secret is no rank") {
  const auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
  const auto results = of_processes(
      2,
      [&](int process) -> std::string {
        if (process == 1) return met({.port = door.port(), .rank = 1, .size = 2, .secret = secret}, 5);
        dist::detail::SocketAddress from;
        if (!door.await(POLLIN, 2)) return "nobody came";
        const auto guest = door.accepted(from);
        const dist::detail::Challenge challenge;
        dist::detail::Introduction said;
        dist::detail::Proof wrong{1};
        const Stopwatch watch;
        (void)guest.write_all(&challenge, sizeof challenge, watch, 2);
        (void)guest.read_all(&said, sizeof said, watch, 2);
        (void)guest.write_all(&wrong, sizeof wrong, watch, 2);
        usleep(200000);
        return "";
      },
      10);
  CHECK(contains(results[1], "0: dist: rank 1 of 2"));
  CHECK(contains(results[1], "what listens in place of rank 0 does not know the secret"));
}

TEST_CASE("connections that cannot prove to be ranks are turned away and counted, however they begin") {
  using namespace dist::detail;
  const auto door = Socket::listening(loopback_address());
  SocketAddress here = loopback_address();
  here.set_port(door.port());
  Reception reception(secret, 100);
  const Stopwatch watch;
  const auto meet = [&](const auto& say) {
    const Socket guest = Socket::connecting(here);
    REQUIRE(guest.await(POLLOUT, 2));
    CHECK(!reception.next(door, 1).connection);  // accepts
    Challenge challenge;
    REQUIRE(guest.read_all(&challenge, sizeof challenge, watch, 5));
    const std::string said = say(challenge);
    REQUIRE(guest.write_all(said.data(), static_cast<std::int64_t>(said.size()), watch, 5));
    return reception.next(door, 1);
  };
  const auto text_of = [](const Introduction& said) {
    return std::string(reinterpret_cast<const char*>(&said), sizeof said);
  };
  const auto introduction = [&](const Challenge& challenge, const Hello& hello, std::string_view key) {
    Introduction said{.nonce = random_nonce(), .hello = hello};
    said.proof = proof_of("visitor", key, challenge.nonce, said);
    return text_of(said);
  };
  std::mt19937 random(5);
  std::int64_t strangers = 0;
  const auto refused = [&](const auto& say) {
    CHECK(!meet(say).connection);
    CHECK(reception.strangers() == ++strangers);
  };
  for (int run = 0; run < 50; ++run)  // bytes at random
    refused([&](const Challenge&) {
      std::string bytes(sizeof(Introduction) + random() % 200, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      return bytes;
    });
  std::string recorded;
  const Visitor rank = meet([&](const Challenge& challenge) {
    return recorded = introduction(challenge, {.rank = 1, .size = 2, .bytes = 0}, secret);
  });
  CHECK(rank.connection);
  CHECK(rank.hello.rank == 1);
  refused([&](const Challenge&) { return recorded; });
  refused([&](const Challenge& challenge) { return introduction(challenge, {.rank = 1, .size = 2}, "another"); });
  for (const std::int64_t bytes : {std::int64_t{-1}, std::int64_t{101}, INT64_MAX, INT64_MIN})
    refused([&](const Challenge& challenge) { return introduction(challenge, {1, 2, bytes}, secret); });
  for (std::size_t at = 0; at < sizeof(Introduction); ++at)  // each byte counts
    refused([&](const Challenge& challenge) {
      std::string said = introduction(challenge, {.rank = 1, .size = 2}, secret);
      said[at] = static_cast<char>(said[at] ^ 1);
      return said;
    });
  // A request of HTTP is shorter than an introduction: it is turned away after two seconds, as are silent connections.
  const Socket web = Socket::connecting(here), silent = Socket::connecting(here);
  REQUIRE(web.await(POLLOUT, 2));
  (void)web.write_some("GET / HTTP/1.1\r\n\r\n", 18);
  for (const double begin = watch.seconds(); reception.strangers() < strangers + 2 && watch.seconds() < begin + 5;)
    CHECK(!reception.next(door, 0.05).connection);
  CHECK(reception.strangers() == strangers + 2);
  CHECK(watch.seconds() < 8);
}

TEST_CASE("a connection that sends byte after byte keeps no rank waiting") {
  auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
  const int port = door.port();
  std::atomic<bool> ends{false};
  std::thread slow([&] {
    dist::detail::SocketAddress here = dist::detail::loopback_address();
    here.set_port(port);
    const auto guest = dist::detail::Socket::connecting(here);
    for (; !ends; usleep(20000)) (void)guest.write_some("x", 1);
  });
  const auto results = of_processes(
      2,
      [&](int rank) {
        if (rank == 1) usleep(100000);
        return met({.port = port, .rank = rank, .size = 2, .door = rank == 0 ? door.release() : -1, .secret = secret},
                   20);
      },
      5);
  ends = true;
  slow.join();
  for (const std::string& result : results) CHECK(result == "x xx ");
}

TEST_CASE("ranks of several machines need a secret, and sockets listen where they are told") {
  using namespace dist::detail;
  CHECK(contains(met({.address = "own-name", .port = free_port(), .size = 2}, 5),
                 "without a secret, any program of the network could be a rank: set LOCUS_DIST_SECRET"));
  CHECK(contains(met({.port = free_port(), .size = 2, .interface = "0.0.0.0"}, 5), "without a secret"));
  const auto door_of = [](const TcpPlace& place) { return TcpRendezvous(place, 5).door_address().host(); };
  CHECK(door_of({.rank = 0, .size = 2}) == "127.0.0.1");
  CHECK(door_of({.rank = 1, .size = 2}) == "127.0.0.1");
  CHECK(door_of({.address = "localhost", .rank = 1, .size = 2, .secret = secret}).ends_with("1"));
  CHECK(door_of({.address = "own-name", .rank = 1, .size = 2, .secret = secret}) == "0.0.0.0");
  CHECK(door_of({.rank = 1, .size = 2, .interface = "lo"}) == "127.0.0.1");
  const std::string unknown = met({.port = free_port(), .size = 2, .interface = "eth99\n"}, 5);
  CHECK(
      contains(unknown, "the interface is \"eth99\\n\"; set LOCUS_DIST_INTERFACE to the name of one of this machine"));
  CHECK(contains(unknown, "lo 127.0.0.1"));
  const std::string others = address_for_others();
  if (others.empty()) SKIP_TEST("this machine has no address but loopback ones");
  CHECK(door_of({.address = others, .rank = 0, .size = 2, .secret = secret}) == others);
  CHECK(door_of({.address = others, .rank = 1, .size = 2, .secret = secret}) == others);
  CHECK(door_of({.address = "own-name", .rank = 1, .size = 2, .secret = secret, .interface = others}) == others);
  CHECK(contains(met({.port = free_port(), .size = 2, .secret = secret, .interface = others}, 5),
                 "and ranks meet at a loopback address"));
  CHECK(contains(met({.address = "192.0.2.1", .port = free_port(), .size = 2, .secret = secret}, 5),
                 "192.0.2.1 is no address of this machine"));
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
            {.address = rank == 2 ? others : "own-name", .port = port, .rank = rank, .size = 3, .secret = secret}, 5);
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
  const auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
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
    const auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
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
          std::string answer(200, '\0');
          if (introduce(connection, "", hello, watch, 5) != dist::detail::Welcome::admitted) return "not admitted";
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
  auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
  const auto results = of_processes(
      2,
      [&](int rank) -> std::string {
        if (rank == 1) return met({.port = door.port(), .rank = 1, .size = 2}, 0.1);
        const auto guest = visitor_at(door);
        if (!guest.connection) return "nobody came";
        (void)guest.connection.write_some("r", 1);  // as rank 0 does; then silence
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
    const SocketAddress address = size == INT64_MAX ? SocketAddress{} : dist::detail::loopback_address();
    answer.append(reinterpret_cast<const char*>(&address), sizeof address);
    answers.push_back(answer.append(reinterpret_cast<const char*>(&size), sizeof size));
  }
  for (const std::string& answer : answers) {
    const auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
    const auto results = of_processes(
        2,
        [&](int rank) -> std::string {
          if (rank == 1) return met({.port = door.port(), .rank = 1, .size = 2}, 2);
          const auto guest = visitor_at(door);
          if (!guest.connection) return "nobody came";
          (void)guest.connection.write_some(("r" + answer).data(), static_cast<std::int64_t>(answer.size()) + 1);
          usleep(200000);
          return "";
        },
        10);
    CHECK(contains(results[1], "rank 0 answers something else; start the same program on all ranks"));
  }
}

TEST_CASE("a rank that comes twice is let in once") {
  const auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
  dist::detail::SocketAddress here;
  (void)dist::detail::SocketAddress::resolve("127.0.0.1", door.port(), here);
  dist::detail::TcpRendezvous zero({.rank = 0, .size = 3}, 5), one({.rank = 1, .size = 3}, 5),
      two({.rank = 2, .size = 3}, 5);
  std::thread ranks(
      [&] { const auto first = one.reach(here, 0), again = one.reach(here, 0), other = two.reach(here, 0); });
  CHECK(zero.accept(door).first == 1);
  CHECK(zero.accept(door).first == 2);
  ranks.join();
}

TEST_CASE("where the system grants no more sockets, a rank says so at once") {
  for (const int rank : {0, 1}) {
    auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
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
  set("0", "2", "1234");
  CHECK(TcpPlace::from_environment().secret.empty());
  setenv("TORCHELASTIC_RUN_ID", "none", 1);  // torchrun's, unless it is told another one
  CHECK(TcpPlace::from_environment().secret.empty());
  setenv("TORCHELASTIC_RUN_ID", "d7cbc93e-6a33-4a5a-8d0c-0b4a6a6a1b2c", 1);
  CHECK(TcpPlace::from_environment().secret == "d7cbc93e-6a33-4a5a-8d0c-0b4a6a6a1b2c");
  setenv("LOCUS_DIST_SECRET", secret.c_str(), 1);
  setenv("LOCUS_DIST_INTERFACE", "eth0", 1);
  CHECK(TcpPlace::from_environment().secret == secret);
  CHECK(TcpPlace::from_environment().interface == "eth0");
  setenv("LOCUS_DIST_SECRET", "short", 1);
  CHECK(contains(error(), "LOCUS_DIST_SECRET has 5 characters; expected 16 or more"));
  for (const char* const name : {"TORCHELASTIC_RUN_ID", "LOCUS_DIST_SECRET", "LOCUS_DIST_INTERFACE"}) unsetenv(name);
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
  auto door = dist::detail::Socket::listening(dist::detail::loopback_address());
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
