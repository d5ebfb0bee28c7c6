// Ranks that meet by an engine of the host: either NCCL moves their elements, over a stand-in for NCCL that copies
// between threads of this process, or the elements travel by way of the host.

#include <locus/distributed/distributed.hpp>

#include <doctest/doctest.h>

#include <support/collectives.hpp>
#include <support/skip.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#if LOCUS_NCCL

using namespace locus;
using namespace locus_test;

namespace {
/// The ranks of one id, and their messages that are sent but not received.
struct World {
  std::mutex mutex;
  int ranks = 0;    ///< that have come,
  int aborted = 0;  ///< and that have aborted
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> messages;
};
std::map<int, World> worlds;
std::mutex worlds_mutex;

/// The target of a handle of NCCL.
struct Member {
  World* world;
  int rank, size;
  bool is_aborted = false;
};

std::vector<std::unique_ptr<Member>> members;  ///< kept: streams may ask for them

struct Operation {
  bool sends;
  void* data;
  std::size_t bytes;
  int peer;
  Member* rank;
  cudaStream_t stream;
};
thread_local std::vector<Operation> grouped;
thread_local bool refuses_group = false;  ///< whether the next group of this thread fails
std::atomic<bool> starts{true};           ///< whether ranks come to an end of their start
std::atomic<bool> loses_messages{false};
std::atomic<ncclResult_t> state{ncclSuccess};
std::atomic<std::size_t> most_operations{2048};  ///< of a group; NCCL refuses more
std::atomic<std::size_t> largest_group{0};       ///< that came,
std::atomic<int> groups{0};                      ///< and the number of groups with operations
std::mutex streams_mutex;
std::set<cudaStream_t> streams;  ///< of all operations

/// Sends: the receiver has the message once the stream has come so far. Receives: the stream waits for the message,
/// unless the rank is aborted.
void queue(const Operation& o) {
  World& world = *o.rank->world;
  if (o.sends) {
    if (!loses_messages)
      simulated::enqueue(o.stream, [o, &world] {
        const auto* const bytes = static_cast<const char*>(o.data);
        const std::lock_guard lock(world.mutex);
        world.messages[{o.rank->rank, o.peer}].emplace_back(bytes, bytes + o.bytes);
      });
    return;
  }
  const std::pair from{o.peer, o.rank->rank};
  const auto receive = [o, &world, from] {
    const std::lock_guard lock(world.mutex);
    auto& mail = world.messages[from];
    if (mail.empty()) return;
    if (mail.front().size() != o.bytes) simulated::stop("NCCL: a receive of another size than its send");
    std::memcpy(o.data, mail.front().data(), o.bytes);
    mail.pop_front();
  };
  simulated::enqueue(o.stream, receive, [o, &world, from] {
    const std::lock_guard lock(world.mutex);
    return o.rank->is_aborted || !world.messages[from].empty();
  });
}
}  // namespace

extern "C" {
const char* ncclGetErrorString(ncclResult_t) { return "simulated"; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  const std::lock_guard lock(worlds_mutex);
  ++made;
  std::memcpy(id->internal, &made, sizeof made);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* rank, int size, ncclUniqueId id, int number, ncclConfig_t* config) {
  if (config->blocking != 0) simulated::stop("NCCL: a start that may block for ever");
  int made = 0;
  std::memcpy(&made, id.internal, sizeof made);
  const std::lock_guard lock(worlds_mutex);
  World& world = worlds[made];
  ++world.ranks;
  *rank = reinterpret_cast<ncclComm_t>(members.emplace_back(new Member{&world, number, size}).get());
  return made > 0 ? ncclInProgress : ncclInvalidArgument;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t rank, ncclResult_t* result) {
  const auto& member = *reinterpret_cast<Member*>(rank);
  const std::lock_guard lock(worlds_mutex);
  *result = member.world->ranks == member.size && starts ? state.load() : ncclInProgress;
  return ncclSuccess;
}
double longest_abort = 0;  ///< in seconds, of ranks of one world
/// Returns when all ranks that have come have aborted, too: as strict as NCCL says that it may be.
ncclResult_t ncclCommAbort(ncclComm_t rank) {
  auto& member = *reinterpret_cast<Member*>(rank);
  World& world = *member.world;
  {
    const std::lock_guard lock(world.mutex);
    member.is_aborted = true;
    ++world.aborted;
    for (auto& [way, mail] : world.messages)  // messages that nobody has received may be lost
      if (way.first == member.rank) mail.clear();
  }
  for (const Stopwatch watch;; std::this_thread::yield()) {
    const std::lock_guard lock(world.mutex);
    if (world.aborted < world.ranks) continue;
    longest_abort = std::max(longest_abort, watch.seconds());
    return ncclSuccess;
  }
}
ncclResult_t ncclGroupStart() {
  grouped.clear();
  return std::exchange(refuses_group, false) ? ncclSystemError : ncclSuccess;
}
ncclResult_t ncclSend(const void* data, size_t bytes, ncclDataType_t, int peer, ncclComm_t rank, cudaStream_t stream) {
  grouped.push_back({true, const_cast<void*>(data), bytes, peer, reinterpret_cast<Member*>(rank), stream});
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* data, size_t bytes, ncclDataType_t, int peer, ncclComm_t rank, cudaStream_t stream) {
  grouped.push_back({false, data, bytes, peer, reinterpret_cast<Member*>(rank), stream});
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  largest_group = std::max(largest_group.load(), grouped.size());
  groups += !grouped.empty();
  if (grouped.size() > most_operations) return ncclInvalidUsage;
  const std::lock_guard lock(streams_mutex);
  for (const Operation& o : grouped) streams.insert(o.stream);
  for (const bool sends : {true, false})
    for (const Operation& o : grouped)
      if (o.sends == sends) queue(o);
  return std::exchange(grouped, {}).empty() ? ncclSuccess : ncclInProgress;
}
}  // extern "C"

namespace {
/// f(rank) in a thread for each, over `Over`; returns the messages of their errors.
template <class Over, class F>
std::vector<std::string> in_ranks(int ranks, const F& f, dist::Options options = {}) {
  options = dist::detail::from_environment(options);
  const auto hosts = dist::LocalRanks<Cpu>::engines(ranks, options);
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        f(dist::Communicator<Cuda>(
            Shared<dist::Engine<Cuda>>(new Over(hosts[static_cast<std::size_t>(rank)], Cuda{rank % 2}))));
      } catch (const std::exception& error) {
        thrown[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return thrown;
}
}  // namespace

TEST_CASE_TEMPLATE("collectives over an engine of the host equal their references", Over, dist::NcclEngine,
                   dist::StagedEngine<Cuda>) {
  for (const int ranks : {1, 2, 3, 4}) {
    const auto thrown = in_ranks<Over>(ranks, [&](const dist::Communicator<Cuda>& comm) {
      for (const std::int64_t count : {0, 1, 17, 1000}) {
        check_reductions<float>(comm, count, dist::sum);
        check_moves<float>(comm, count);
      }
      check_reductions<half>(comm, 333, dist::mean);
      check_reductions<std::uint8_t>(comm, 100, dist::max);
      check_order_of_handles(comm);
    });
    for (const std::string& error : thrown) CHECK(error == "");
  }
}

TEST_CASE_TEMPLATE("a rank over an engine of the host that calls something else is named", Over, dist::NcclEngine,
                   dist::StagedEngine<Cuda>) {
  const auto thrown = in_ranks<Over>(3, [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    if (comm.rank() == 2) comm.broadcast(x);
    else comm.all_reduce(x);
  });
  for (const std::string& error : thrown)
    CHECK(error.find("rank 2 called broadcast(8 x float32, root 0)") != std::string::npos);
}

TEST_CASE("a rank whose part of a collective NCCL refuses has failed: the next call meets nothing of this one") {
  std::string refused;
  const auto thrown = in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(static_cast<float>(comm.rank()) + 1);
    try {
      refuses_group = comm.rank() == 1;
      comm.broadcast(x);
    } catch (const CudaError& error) {
      refused = error.what();
    }
    comm.broadcast(x);
  });
  CHECK(refused.find("ncclGroupStart") != std::string::npos);
  for (const std::string& error : thrown) CHECK(error.find("rank 1 threw: ncclGroupStart") != std::string::npos);
}

TEST_CASE("a rank that fails while others wait in NCCL for its elements ends their wait, and none waits to abort") {
  const auto begin = std::chrono::steady_clock::now();
  const auto thrown = in_ranks<dist::NcclEngine>(3, [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    refuses_group = comm.rank() == 1;
    comm.broadcast(x, 1);
  });
  CHECK(std::chrono::steady_clock::now() < begin + std::chrono::seconds(4));
  CHECK(thrown[1].find("ncclGroupStart") != std::string::npos);
  for (const int rank : {0, 2}) {
    const std::string& error = thrown[static_cast<std::size_t>(rank)];
    CAPTURE(error);
    CHECK(error.find("broadcast(8 x float32, root 1), call 1 of rank") != std::string::npos);
    CHECK(error.find("rank 1 threw: ncclGroupStart") != std::string::npos);
  }
}

TEST_CASE(
    "a rank that hears of a failure aborts NCCL at once, and not when it is let go: the one that failed waits for it") {
  longest_abort = 0;
  const auto thrown = in_ranks<dist::NcclEngine>(2, [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    comm.all_reduce(x);
    if (comm.rank() == 1) throw std::runtime_error("gone");
    CHECK_THROWS_AS(comm.all_reduce(x), CollectiveError);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  });
  CHECK(thrown[0] == "");
  CHECK(thrown[1] == "gone");
  CHECK(longest_abort < 0.7);
}

TEST_CASE("NCCL that does not start, moves nothing, or fails by itself, ends in an error") {
  const auto reduce = [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    loses_messages = true;
    comm.all_reduce(x);
  };
  const auto lost = in_ranks<dist::NcclEngine>(2, reduce, {.timeout = 0.3});
  for (const std::string& error : lost) CHECK(error.find("NCCL moved nothing for 0.3 seconds") != std::string::npos);
  loses_messages = false;
  starts = false;
  for (const std::string& error : in_ranks<dist::NcclEngine>(2, reduce, {.timeout = 0.3}))
    CHECK(error.find("NCCL moved nothing for 0.3 seconds") != std::string::npos);
  starts = true;
  for (const std::string& error : in_ranks<dist::NcclEngine>(2, [&](const dist::Communicator<Cuda>& comm) {
         comm.barrier();
         state = ncclRemoteError;
         reduce(comm);
       }))
    CHECK(error.find("ncclGroupEnd: simulated") != std::string::npos);
  state = ncclSuccess;
  loses_messages = false;
}

TEST_CASE("a GPU that is busy for longer than the time-out is no rank that stalls") {
  const auto thrown = in_ranks<dist::NcclEngine>(
      1,
      [](const dist::Communicator<Cuda>& comm) {
        const Tensor<float, Cuda> x({8}, comm.device());
        x.fill_(3);
        const auto begin = std::chrono::steady_clock::now();
        simulated::enqueue(
            cuda::Context::current(comm.device().ordinal).stream(), [] {},
            [begin] { return std::chrono::steady_clock::now() > begin + std::chrono::milliseconds(500); });
        comm.all_reduce(x);
        CHECK(x.to<Cpu>()(7) == 3);
      },
      {.timeout = 0.2});
  CHECK(thrown[0] == "");
}

TEST_CASE("the host looks at a collective in flight closely at first, and then rarely") {
  constexpr auto duration = std::chrono::milliseconds(20);
  const auto thrown = in_ranks<dist::NcclEngine>(1, [&](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(3);
    comm.all_reduce(x);
    const auto end = std::chrono::steady_clock::now() + duration;
    simulated::enqueue(
        cuda::Context::current(comm.device().ordinal).stream(), [] {},
        [end] { return std::chrono::steady_clock::now() > end; });
    simulated::queries = 0;
    comm.all_reduce(x);
    CHECK(std::chrono::steady_clock::now() >= end);
    CHECK(x.to<Cpu>()(7) == 3);
  });
  CHECK(thrown[0] == "");
  CHECK(simulated::queries < 1000);  // two in 100 us are 400
}

TEST_CASE("asynchronous collectives of a communicator are queued in one stream, whatever other streams there are") {
  {
    const std::lock_guard lock(streams_mutex);
    streams.clear();
  }
  const auto thrown = in_ranks<dist::NcclEngine>(2, [](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({8}, comm.device());
    x.fill_(1);
    std::deque<Stream<Cuda>> others;
    for (int i = 0; i < 4; ++i) {
      comm.all_reduce_async(x).wait();
      others.emplace_back(comm.device());
    }
    CHECK(x.to<Cpu>()(7) == 16);
  });
  for (const std::string& error : thrown) CHECK(error == "");
  CHECK(streams.size() == 2);
}

namespace {
/// NCCL as it were if a group could have four operations.
struct FewOperations : dist::detail::NcclLink {
  using dist::detail::NcclLink::NcclLink;
  static constexpr int most_distances = 2;
};
}  // namespace

TEST_CASE("groups have no more operations than NCCL takes, and none waits for a later group of another rank") {
  most_operations = 4;
  largest_group = 0;
  for (const int ranks : {4, 7}) {
    const auto thrown = in_ranks<dist::DeviceEngine<FewOperations>>(ranks, [&](const dist::Communicator<Cuda>& comm) {
      for (const std::int64_t count : {1, 17, 1000}) {
        check_reductions<float>(comm, count, dist::sum);
        check_moves<float>(comm, count);
      }
    });
    for (const std::string& error : thrown) CHECK(error == "");
  }
  CHECK(largest_group == 4);
  most_operations = 2048;
}

TEST_CASE("sums of more ranks than a launch combines are those of their order") {
  static_assert(PeerMemory::most_ranks < 66);
  const auto thrown = in_ranks<dist::NcclEngine>(66, [](const dist::Communicator<Cuda>& comm) {
    const auto x = of_rank<half, Cuda>(comm.rank(), {10}, comm.device());
    const auto y = comm.all_reduced(x, dist::mean);
    require_elements("all_reduced", y, [&](std::int64_t i) { return expected<half>(66, i, dist::mean); });
  });
  for (const std::string& error : thrown) CHECK(error == "");
}

namespace {
/// A rank of many, which meets no other.
struct Alone final : dist::Engine<Cpu> {
  Alone(int rank, int size) : dist::Engine<Cpu>(rank, size, Cpu{}, {}) {}
  void run(const dist::Collective<Cpu>&) override {}
  void meet(const dist::Fingerprint&, std::int64_t) override {}
  void send(const dist::Message&) override {}
  bool has_come(const dist::Message&, double) override { return true; }
  void take(const dist::Message&) override {}
  void leave(const char*) noexcept override {}
};
/// Notes the group, from 1 on, of each send and of each receive.
struct NotingLink {
  static constexpr int most_distances = dist::detail::NcclLink::most_distances;
  static constexpr int ranks = 1030;
  inline static std::vector<char> sent, received;  ///< at from * ranks + to
  inline static int largest = 0;

  NotingLink(const Shared<Alone>& host, Cuda) : rank(host->rank()) {}
  template <class F> void run(const dist::Collective<Cuda>&, const F& f) const { f(); }
  static void meet() {}
  template <class F>
  void together(const F& f) {
    operations = 0;
    ++group;
    f();
    largest = std::max(largest, operations);
  }
  void send(const void*, std::int64_t, int peer) { note(sent, rank * ranks + peer); }
  void receive(void*, std::int64_t, int peer) { note(received, peer * ranks + rank); }
  void note(std::vector<char>& groups, int at) {
    groups[static_cast<std::size_t>(at)] = group;
    ++operations;
  }
  int rank, operations = 0;
  char group = 0;
};
}  // namespace

TEST_CASE("of more ranks than fit into a group, each send is in the group of the same number as its receive") {
  constexpr int ranks = NotingLink::ranks;
  const Tensor<std::uint8_t, Cuda> x({ranks});
  for (const auto kind : {dist::Kind::all_gather, dist::Kind::broadcast}) {
    NotingLink::sent.assign(std::size_t{ranks} * ranks, 0);
    NotingLink::received = NotingLink::sent;
    for (int rank = 0; rank < ranks; ++rank) {
      dist::DeviceEngine<NotingLink> engine(Shared(new Alone(rank, ranks)), Cuda{});
      dist::Collective<Cuda> call;
      call.what = {kind, ElementType::uint8, {}, 3, 1};
      call.source = call.target = x.data();
      engine.run(call);
    }
    const auto unsent = std::count(NotingLink::sent.begin(), NotingLink::sent.end(), 0);
    CHECK(ranks * ranks - unsent == (kind == dist::Kind::broadcast ? ranks - 1 : ranks * (ranks - 1)));
    CHECK((NotingLink::sent == NotingLink::received));
    CHECK(NotingLink::largest <= 2048);
  }
}

TEST_CASE("a rank that cannot bring its elements to the host has failed: later calls are not taken for this one") {
  std::atomic<bool> has_failed{false};
  const auto thrown = in_ranks<dist::StagedEngine<Cuda>>(2, [&](const dist::Communicator<Cuda>& comm) {
    const Tensor<float, Cuda> x({3000000}, comm.device());
    x.fill_(1);
    comm.barrier();
    if (comm.rank() == 1) {
      simulated::calls_until_failure = 1;
      CHECK_THROWS_AS(comm.all_reduce(x), Error);
      simulated::calls_until_failure = 0;
      has_failed = true;
    }
    while (!has_failed) std::this_thread::yield();
    comm.all_reduce(x);
  });
  for (const std::string& error : thrown) CHECK(error.find("rank 1 threw: ") != std::string::npos);
}

#else
TEST_CASE("collectives by NCCL") { SKIP_TEST("no nccl.h beside the toolkit"); }
#endif
