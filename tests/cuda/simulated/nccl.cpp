// Ranks that meet by an engine of the host: those whose elements NCCL moves, over a stand-in for NCCL that copies
// between threads of this process, and those whose elements travel by way of the host.

#include <locus/dist/dist.hpp>

#include <doctest/doctest.h>

#include <support/collectives.hpp>
#include <support/skip.hpp>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#if LOCUS_NCCL

using namespace locus;
using namespace locus_test;

namespace {
/// What ranks of one id have sent and nobody has received.
struct World {
  std::mutex mutex;
  std::condition_variable sent;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> messages;
};
std::map<int, World> worlds;
std::mutex worlds_mutex;

/// What a handle of NCCL points to.
struct Member {
  World* world;
  int rank;
};

struct Operation {
  bool sends;
  void* data;
  std::size_t bytes;
  int peer;
  const Member* rank;
  cudaStream_t stream;
};
thread_local std::vector<Operation> grouped;
thread_local bool refuses_group = false;  ///< whether the next group of this thread fails
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
ncclResult_t ncclCommInitRank(ncclComm_t* rank, int, ncclUniqueId id, int number) {
  int made = 0;
  std::memcpy(&made, id.internal, sizeof made);
  const std::lock_guard lock(worlds_mutex);
  *rank = reinterpret_cast<ncclComm_t>(new Member{&worlds[made], number});
  return made > 0 ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclCommAbort(ncclComm_t rank) {
  delete reinterpret_cast<Member*>(rank);
  return ncclSuccess;
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
  for (const Operation& o : grouped) {
    if (!o.sends) continue;
    simulated::reach_end(o.stream);
    const auto* const bytes = static_cast<const char*>(o.data);
    const std::lock_guard lock(o.rank->world->mutex);
    o.rank->world->messages[{o.rank->rank, o.peer}].emplace_back(bytes, bytes + o.bytes);
    o.rank->world->sent.notify_all();
  }
  for (const Operation& o : grouped) {
    if (o.sends) continue;
    simulated::reach_end(o.stream);
    std::unique_lock lock(o.rank->world->mutex);
    auto& mail = o.rank->world->messages[{o.peer, o.rank->rank}];
    o.rank->world->sent.wait(lock, [&] { return !mail.empty(); });
    if (mail.front().size() != o.bytes) simulated::stop("NCCL: a receive of another size than its send");
    std::memcpy(o.data, mail.front().data(), o.bytes);
    mail.pop_front();
  }
  return ncclSuccess;
}
}  // extern "C"

namespace {
/// f(rank) in a thread for each, over `Over`; returns what they threw.
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
