// Runs on: host.
// How a rank treats peers that end, and messages that are not sent: over a link on which bytes, control messages and
// ends come when a test says so.

#include <locus/distributed/message/point_to_point.hpp>
#include <locus/distributed/start/spawn_processes.hpp>

#include <doctest/doctest.h>

#include <support/no_threads.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace locus;
using dist::detail::ControlMessage;

namespace {

/// The link of rank 0. Peers never come unless a test says so.
class ScriptedLink {
 public:
  class Transfers {
   public:
    Transfers(ScriptedLink& link, int) : link_(link) {}
    explicit Transfers(ScriptedLink& link) : link_(link) {}

    void reserve(std::size_t) {}
    void send(int peer, const void* data, std::int64_t bytes) {
      if (link_.sends-- == 0) throw std::bad_alloc();
      if (bytes != sizeof(ControlMessage)) sent_to_ = peer;
      else link_.told.push_back(*static_cast<const ControlMessage*>(data));
    }
    void abandon() { link_.abandoned += sent_to_ >= 0; }
    void receive(int peer, void*, std::int64_t) { peers_.push_back(peer); }
    [[nodiscard]] std::size_t mark() const { return peers_.size(); }
    [[nodiscard]] int first_open(std::size_t mark) const {
      for (std::size_t i = 0; i < mark; ++i)
        if (!link_.of(peers_[i]).has_sent) return peers_[i];
      return -1;
    }
    [[nodiscard]] int first_open() const {
      if (link_.has_no_memory) throw std::bad_alloc();
      return sent_to_ >= 0 && !link_.takes_letters ? sent_to_ : first_open(mark());
    }

   private:
    ScriptedLink& link_;
    int sent_to_ = -1;  ///< peer of a send other than of control messages
    std::vector<int> peers_{};
  };
  struct Peer {
    bool has_sent = false, is_dead = false;
  };

  explicit ScriptedLink(int size) : peers_(static_cast<std::size_t>(size)) {}

  [[nodiscard]] static int rank() { return 0; }
  [[nodiscard]] int size() const { return static_cast<int>(peers_.size()); }
  [[nodiscard]] static int most_tag() { return 100; }
  [[nodiscard]] static std::uint64_t group() { return 0; }
  [[nodiscard]] static int ranks_on_machine() { return 1; }
  [[nodiscard]] static bool has_open_transfers() { return false; }
  static void keep(const dist::Owner&) noexcept {}
  static void note_failure(double) noexcept {}
  [[nodiscard]] bool is_dead(int peer) const { return peers_.at(static_cast<std::size_t>(peer)).is_dead; }
  [[nodiscard]] bool poll(ControlMessage& control) {
    if (const auto next = std::exchange(on_poll, nullptr)) next();
    if (controls.empty()) return false;
    control = controls.front();
    controls.erase(controls.begin());
    return true;
  }

  Peer& of(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  /// A peer completes its transfers and `collectives` collectives, ends normally, and its process is gone.
  void end(int peer, std::int64_t collectives) {
    of(peer) = {.has_sent = true, .is_dead = true};
    controls.push_back({.what = ControlMessage::What::end, .from = peer, .count = collectives});
  }
  std::function<void()> on_poll{};          ///< called by the next poll()
  std::vector<ControlMessage> controls{};   ///< still to be read
  std::vector<ControlMessage> told{};       ///< by this rank
  std::atomic<bool> takes_letters = true;   ///< sends to peers complete
  std::atomic<bool> has_no_memory = false;  ///< for arriving bytes
  std::atomic<int> abandoned = 0;           ///< messages
  int sends = -1;                           ///< this many succeed, then one fails; -1: all succeed

 private:
  std::vector<Peer> peers_;
};

using Peers = dist::detail::MessagePeers<ScriptedLink>;

constexpr dist::Fingerprint reduces{.kind = dist::Kind::all_reduce, .count = 4};

/// Longer than a wait lasts before it checks for dead processes.
constexpr unsigned a_while = 150000;

/// Calls f(), which is to throw; returns the rank that the error names, and its text. -1: it threw nothing.
template <class F>
std::pair<int, std::string> thrown(const F& f) {
  try {
    f();
  } catch (const CollectiveError& error) {
    return {error.rank, error.what()};
  }
  return {-1, ""};
}

/// A static object older than the thread of background jobs: exit() destroys it later.
struct Oldest {
  ~Oldest() {
    if (at_exit) at_exit();
  }
  void (*at_exit)() = nullptr;
} oldest;

/// Takes a while, as final control messages do.
class SlowErrand final : public dist::detail::BackgroundJob {
  bool run() override {
    usleep(10000);
    return --turns_ == 0;
  }
  int turns_ = 5;
};

}  // namespace

TEST_CASE("a peer whose last bytes come with its end has not died") {
  const Shared peers(new Peers(5, 2));
  ScriptedLink::Transfers transfers(peers->link, 2);
  transfers.receive(1, nullptr, 16);
  peers->link.on_poll = [&] {
    usleep(a_while);
    peers->link.end(1, 1);
  };
  CHECK(thrown([&] { peers->wait(transfers, reduces, 1); }).second == "");
}

TEST_CASE("a peer that ends after its part is not at fault where another is still awaited") {
  const Shared peers(new Peers(0.5, 3));
  ScriptedLink::Transfers transfers(peers->link, 2);
  for (const int peer : {1, 2}) transfers.receive(peer, nullptr, 16);
  peers->link.on_poll = [&] {
    usleep(a_while);
    peers->link.end(1, 1);
  };
  const auto [rank, text] = thrown([&] { peers->wait(transfers, reduces, 1); });
  CHECK(rank == 2);
  CHECK(text.find("rank 2 did not come within 0.5 seconds") != std::string::npos);
}

TEST_CASE("a peer that is gone, whose bytes do not come, has died") {
  const Shared peers(new Peers(5, 2));
  ScriptedLink::Transfers transfers(peers->link, 2);
  transfers.receive(1, nullptr, 16);
  peers->link.of(1).is_dead = true;
  const auto [rank, text] = thrown([&] { peers->wait(transfers, reduces, 1); });
  CHECK(rank == 1);
  CHECK(text.find("rank 1 has died: its process is gone") != std::string::npos);
}

TEST_CASE("a message that is announced with its sender's end comes, and one that is not names who has left") {
  for (const bool is_announced : {true, false}) {
    const Shared peers(new Peers(5, 2));
    dist::detail::PointToPoint<ScriptedLink> letters(peers);
    dist::Message wanted{nullptr, 4, ElementType::float32, 1, 7};
    peers->link.on_poll = [&] {  // after this poll, before the next
      peers->link.of(1).is_dead = true;
      peers->link.on_poll = [&] {
        if (is_announced)
          peers->link.controls.push_back({.what = ControlMessage::What::message, .from = 1, .tag = 7, .count = 4});
        peers->link.end(1, 0);
      };
    };
    bool has_come = false;
    const auto [rank, text] = thrown([&] {
      for (int turn = 0; turn < 3 && !has_come; ++turn) has_come = letters.has_come(wanted, 0);
    });
    CHECK(has_come == is_announced);
    CHECK(rank == (is_announced ? -1 : 1));
    if (!is_announced) CHECK(text.find("rank 1 has left: it let go of its communicator") != std::string::npos);
  }
}

TEST_CASE("where a message cannot be sent to its end, all ranks fail: its receiver has seen a part") {
  const Shared peers(new Peers(5, 2));
  dist::detail::PointToPoint<ScriptedLink> letters(peers);
  std::vector<float> elements(4, 1.f);
  const dist::Message message{elements.data(), 4, ElementType::float32, 1, 7};
  peers->link.sends = 1;  // its announcement
  CHECK_THROWS_AS(letters.send(message), OutOfMemory);
  REQUIRE(peers->link.told.size() == 2);
  CHECK(peers->link.told[0].what == ControlMessage::What::message);
  CHECK(peers->link.told[1].what == ControlMessage::What::failure);
  const auto [rank, text] = thrown([&] { peers->require_sound(reduces, 1); });
  CHECK(rank == 0);
  CHECK(text.find("rank 0 threw: ") != std::string::npos);
}

TEST_CASE("a failure may be nobody's in particular, whether it is heard of or found here") {
  for (const int at_fault : {-1, 2, INT32_MIN, INT32_MAX}) {
    CAPTURE(at_fault);
    const Shared peers(new Peers(5, 2));
    ControlMessage control{.what = ControlMessage::What::failure, .from = 1, .at_fault = at_fault};
    for (char& c : control.reason) c = 'x';  // without an end
    peers->link.controls.push_back(control);
    const auto [rank, text] = thrown([&] { peers->require_sound(reduces, 1); });
    CHECK(rank == -1);
    CHECK(text.ends_with(": " + std::string(sizeof control.reason - 1, 'x')));

    const Shared others(new Peers(5, 2));
    CHECK(thrown([&] { others->refuse(at_fault, "no more", reduces, 1); }).first == -1);
    REQUIRE(others->link.told.size() == 1);
    CHECK(others->link.told[0].at_fault == -1);
  }
  const Shared peers(new Peers(0.1, 2));
  const auto waits = [] { return true; };
  const auto [rank, text] = thrown([&] { peers->require_alive(-1, 0.2, waits, reduces, 1); });
  CHECK(rank == -1);
  CHECK(text.find(": not all ranks came within 0.1 seconds") != std::string::npos);
}

TEST_CASE("others hear of whatever a rank throws while it makes an engine") {
  const auto told = [](auto thrown) {
    const Shared peers(new Peers(5, 2));
    CHECK_THROWS_AS(peers->or_fail([&] { throw thrown; }), decltype(thrown));
    return peers->link.told.empty() ? "" : std::string(peers->link.told[0].reason);
  };
  CHECK(told(std::runtime_error("no more")) == "rank 0 threw: no more");
  CHECK(told(3) == "rank 0 threw: something that is no std::exception");
}

TEST_CASE("a rank that gets no thread for what outlives its communicator fails before it meets others") {
  std::string text;
  try {
    const locus_test::NoThreads refused;
    dist::spawn_processes<Cpu>(1, [](const dist::Communicator<Cpu>&) {});
  } catch (const RankError& error) {
    text = error.what();
  }
  CHECK(text.find("rank 0 threw: dist: the system grants no thread") != std::string::npos);
}

TEST_CASE("a process that ends without leaving waits for the receivers of its messages as long as a time-out") {
  const Shared peers(new Peers(0.3, 2));
  dist::detail::PointToPoint<ScriptedLink> letters(peers);
  peers->link.takes_letters = false;
  std::vector<float> elements(4, 1.f);
  letters.send({elements.data(), 4, ElementType::float32, 1, 7});
  usleep(400000);  // without end: it is there
  const Stopwatch watch;
  dist::detail::BackgroundThread::finish();
  CHECK(watch.seconds() > 0.25);
  CHECK(watch.seconds() < 5);
}

TEST_CASE("a message on its way is not given up where there is no memory for what comes meanwhile") {
  const Shared peers(new Peers(20, 2));
  dist::detail::PointToPoint<ScriptedLink> letters(peers);
  peers->link.takes_letters = false;
  std::vector<float> elements(4, 1.f);
  letters.send({elements.data(), 4, ElementType::float32, 1, 7});
  peers->link.has_no_memory = true;
  usleep(20000);  // some looks of the background thread
  peers->link.takes_letters = true;
  peers->link.has_no_memory = false;
  dist::detail::BackgroundThread::finish();
  CHECK(peers->link.abandoned.load() == 0);
}

TEST_CASE("what an older static object delivers while the process ends is done before it ends") {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    oldest.at_exit = [] {
      const Shared job(new SlowErrand);
      dist::detail::BackgroundThread::start();
      dist::detail::BackgroundThread::deliver(Shared<dist::detail::BackgroundJob>(job.get()));
      _exit(job->done() ? 0 : 3);
    };
    dist::detail::BackgroundThread::start();
    std::exit(4);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
