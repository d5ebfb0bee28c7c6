#pragma once
// A stand-in for libnccl: ranks are threads of this process, and streams are those of the simulated GPU. Calls return
// at once; an operation happens when its stream comes to it and all ranks that take part have come, or never if one
// does not. Operations of a rank happen in the order of the calls, whatever their streams. Sums begin at the last rank,
// and 16-bit floats are rounded after each addition: another order than Locus's own.

#include <locus/core/dtype.hpp>
#include <locus/core/std/posix.hpp>

#include <nccl.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "simulator.hpp"

namespace simulated::nccl {

enum class Kind { send, receive, all_reduce, reduce, reduce_scatter, broadcast, all_gather };

struct Member;
/// A call of one rank.
struct Operation {
  Kind kind;
  const void* source;
  void* target;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer;  ///< or the root
  Member* rank;
  cudaStream_t stream;

  [[nodiscard]] bool moves_alone() const { return kind == Kind::send || kind == Kind::receive; }
  [[nodiscard]] bool matches(const Operation& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op && peer == other.peer;
  }
};

/// A collective to which some ranks have come, with copies of their elements.
struct Round {
  std::vector<std::vector<char>> elements;
  std::vector<Operation> calls;
};

/// The ranks of one id, and their messages that are sent but not received.
struct World {
  std::mutex mutex;
  int ranks = 0;  ///< that have come,
  int ended = 0;  ///< and that have aborted or finalized
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> messages;
  std::map<std::size_t, Round> rounds;
};

/// The target of a handle of NCCL.
struct Member {
  World* world;
  int rank, size;
  bool is_aborted = false, is_finalizing = false;
  std::size_t rounds = 0;         ///< collectives that it has queued
  Stream* last_in = nullptr;      ///< the stream of the last operation,
  std::size_t last_position = 0;  ///< and its end there
};

inline std::map<int, World> worlds;
inline std::mutex worlds_mutex;
inline std::vector<std::unique_ptr<Member>> members;  ///< kept: streams may ask for them
inline thread_local std::vector<Operation> grouped;

// Faults, set by tests, and observations for them.

inline thread_local bool refuses_group = false;  ///< whether the next group of this thread fails
inline std::atomic<bool> starts{true};           ///< whether ranks come to an end of their start
inline std::atomic<bool> loses_elements{false};  ///< whether sent elements arrive nowhere, and nobody comes
inline std::atomic<ncclResult_t> state{ncclSuccess};
inline std::atomic<std::size_t> most_operations{2048};  ///< of a group; NCCL refuses more
inline std::atomic<std::size_t> largest_group{0};       ///< that came,
inline std::atomic<int> groups{0};                      ///< and the number of groups with operations
inline std::atomic<int> collectives{0};                 ///< that were called, not the replayed ones
inline std::atomic<int> finalized{0};
inline double longest_abort = 0;  ///< in seconds, of ranks of one world
inline std::mutex streams_mutex;
inline std::set<cudaStream_t> streams;  ///< of all operations

[[nodiscard]] inline std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 4;
  }
}

template <class T>
[[nodiscard]] T combined(T a, T b, ncclRedOp_t op) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    if (op == ncclSum) return static_cast<T>(x + y);
    if (op == ncclProd) return static_cast<T>(x * y);
    if (op == ncclMax) return a > b ? a : b;
    if (op == ncclMin) return a < b ? a : b;
    stop("NCCL: an average of integers");
  } else {
    const auto x = static_cast<locus::compute_t<T>>(a), y = static_cast<locus::compute_t<T>>(b);
    if (op == ncclSum || op == ncclAvg) return static_cast<T>(x + y);
    if (op == ncclProd) return static_cast<T>(x * y);
    return static_cast<T>(op == ncclMax ? std::fmax(x, y) : std::fmin(x, y));  // NaN is lost
  }
}
/// target = `count` elements from `first` on of all ranks, combined from the last rank on.
template <class T>
void combine(const Round& round, std::size_t first, std::size_t count, ncclRedOp_t op, void* target) {
  const std::size_t ranks = round.elements.size();
  const auto of = [&](std::size_t rank) { return reinterpret_cast<const T*>(round.elements[rank].data()) + first; };
  for (std::size_t i = 0; i < count; ++i) {
    T sum = of(ranks - 1)[i];
    for (std::size_t rank = ranks - 1; rank-- > 0;) sum = combined(sum, of(rank)[i], op);
    if constexpr (!std::is_integral_v<T>)
      if (op == ncclAvg)
        sum = static_cast<T>(static_cast<locus::compute_t<T>>(sum) / static_cast<locus::compute_t<T>>(ranks));
    static_cast<T*>(target)[i] = sum;
  }
}
inline void combine(const Round& round, std::size_t first, const Operation& o) {
  switch (o.type) {
    case ncclInt8: return combine<std::int8_t>(round, first, o.count, o.op, o.target);
    case ncclUint8: return combine<std::uint8_t>(round, first, o.count, o.op, o.target);
    case ncclInt32: return combine<std::int32_t>(round, first, o.count, o.op, o.target);
    case ncclUint32: return combine<std::uint32_t>(round, first, o.count, o.op, o.target);
    case ncclInt64: return combine<std::int64_t>(round, first, o.count, o.op, o.target);
    case ncclUint64: return combine<std::uint64_t>(round, first, o.count, o.op, o.target);
    case ncclFloat16: return combine<locus::half>(round, first, o.count, o.op, o.target);
    case ncclBfloat16: return combine<locus::bfloat16>(round, first, o.count, o.op, o.target);
    case ncclFloat64: return combine<double>(round, first, o.count, o.op, o.target);
    default: return combine<float>(round, first, o.count, o.op, o.target);
  }
}

/// What this rank gets of a collective to which all have come.
inline void finish(const Round& round, const Operation& o) {
  const auto me = static_cast<std::size_t>(o.rank->rank), root = static_cast<std::size_t>(o.peer);
  const auto copy = [&](std::size_t rank, std::size_t at) {
    if (const auto& from = round.elements[rank]; !from.empty())
      std::memcpy(static_cast<char*>(o.target) + at * from.size(), from.data(), from.size());
  };
  switch (o.kind) {
    case Kind::all_reduce: return combine(round, 0, o);
    case Kind::reduce: return me == root ? combine(round, 0, o) : void();
    case Kind::reduce_scatter: return combine(round, me * o.count, o);
    case Kind::broadcast: return copy(root, 0);
    default:
      for (std::size_t rank = 0; rank < round.elements.size(); ++rank) copy(rank, rank);
  }
}

/// Queues an operation of a collective. It waits for all ranks, unless this one is aborted; where calls differ, for
/// ever.
inline void queue_collective(const Operation& o, std::size_t number) {
  World& world = *o.rank->world;
  const auto ranks = static_cast<std::size_t>(o.rank->size);
  enqueue(o.stream, [=, &world] {
    if (loses_elements) return;
    const std::size_t rows = o.kind == Kind::reduce_scatter ? ranks : 1;
    const auto* const bytes = static_cast<const char*>(o.source);
    const std::lock_guard lock(world.mutex);
    Round& round = world.rounds[number];
    round.elements.resize(ranks);
    round.elements[static_cast<std::size_t>(o.rank->rank)].assign(bytes, bytes + o.count * rows * size_of(o.type));
    round.calls.push_back(o);
  });
  const auto happen = [=, &world] {
    const std::lock_guard lock(world.mutex);
    if (!o.rank->is_aborted) finish(world.rounds[number], o);
  };
  enqueue(o.stream, happen, [=, &world] {
    const std::lock_guard lock(world.mutex);
    if (o.rank->is_aborted) return true;
    const Round& round = world.rounds[number];
    for (const Operation& other : round.calls)
      if (!other.matches(o)) return false;
    return round.calls.size() == ranks;
  });
}
/// Sends: the receiver has the message once the stream has come so far. Receives: the stream waits for the message,
/// unless the rank is aborted.
inline void queue_message(const Operation& o) {
  World& world = *o.rank->world;
  const std::size_t size = o.count * size_of(o.type);
  if (o.kind == Kind::send) {
    if (!loses_elements)
      enqueue(o.stream, [o, size, &world] {
        const auto* const bytes = static_cast<const char*>(o.source);
        const std::lock_guard lock(world.mutex);
        world.messages[{o.rank->rank, o.peer}].emplace_back(bytes, bytes + size);
      });
    return;
  }
  const std::pair from{o.peer, o.rank->rank};
  const auto receive = [o, size, &world, from] {
    const std::lock_guard lock(world.mutex);
    auto& mail = world.messages[from];
    if (mail.empty()) return;
    if (mail.front().size() != size) stop("NCCL: a receive of another size than its send");
    std::memcpy(o.target, mail.front().data(), size);
    mail.pop_front();
  };
  enqueue(o.stream, receive, [o, &world, from] {
    const std::lock_guard lock(world.mutex);
    return o.rank->is_aborted || !world.messages[from].empty();
  });
}

/// Queues the operations of a group, in one stream, after all earlier ones of the rank.
inline void queue(const std::vector<Operation>& group) {
  Member& rank = *group[0].rank;
  const cudaStream_t stream = group[0].stream;
  const std::lock_guard lock(queues);
  if (Stream* const before = rank.last_in; before && before != reinterpret_cast<Stream*>(stream))
    enqueue(
        stream, [] {}, [before, end = rank.last_position] { return advance(*before, end); });
  for (const Kind kind : {Kind::send, Kind::receive})
    for (const Operation& o : group)
      if (o.kind == kind) queue_message(o);
  for (const Operation& o : group)
    if (!o.moves_alone()) queue_collective(o, rank.rounds++);
  rank.last_in = reinterpret_cast<Stream*>(stream);
  rank.last_position = end_of(*rank.last_in);
}

inline ncclResult_t call(Operation o) {
  if (!o.moves_alone()) ++collectives;
  grouped.push_back(o);
  return ncclSuccess;
}
[[nodiscard]] inline Member* member(ncclComm_t rank) { return reinterpret_cast<Member*>(rank); }

}  // namespace simulated::nccl

extern "C" {
inline const char* ncclGetErrorString(ncclResult_t) { return "simulated"; }
inline ncclResult_t ncclGetVersion(int* version) {
  *version = 21203;
  return ncclSuccess;
}
inline ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  const std::lock_guard lock(simulated::nccl::worlds_mutex);
  ++made;
  std::memcpy(id->internal, &made, sizeof made);
  return ncclSuccess;
}
inline ncclResult_t ncclCommInitRankConfig(ncclComm_t* rank, int size, ncclUniqueId id, int number,
                                           ncclConfig_t* config) {
  using namespace simulated::nccl;
  if (config->blocking != 0) simulated::stop("NCCL: a start that may block for ever");
  int made = 0;
  std::memcpy(&made, id.internal, sizeof made);
  const std::lock_guard lock(worlds_mutex);
  World& world = worlds[made];
  ++world.ranks;
  *rank = reinterpret_cast<ncclComm_t>(members.emplace_back(new Member{&world, number, size}).get());
  return made > 0 ? ncclInProgress : ncclInvalidArgument;
}
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t rank, ncclResult_t* result) {
  using namespace simulated::nccl;
  const Member& own = *member(rank);
  const std::lock_guard lock(worlds_mutex);
  const bool has_started = own.world->ranks == own.size && starts;
  *result = has_started ? state.load() : ncclInProgress;
  if (own.is_finalizing) {
    const std::lock_guard of_world(own.world->mutex);
    if (own.world->ended < own.world->ranks) *result = ncclInProgress;
  }
  return ncclSuccess;
}
/// Returns when all ranks that have come have ended, too: as strict as NCCL says that it may be.
inline ncclResult_t ncclCommAbort(ncclComm_t rank) {
  using namespace simulated::nccl;
  Member& own = *member(rank);
  World& world = *own.world;
  {
    const std::lock_guard lock(world.mutex);
    own.is_aborted = true;
    ++world.ended;
    for (auto& [way, mail] : world.messages)  // messages that nobody has received may be lost
      if (way.first == own.rank) mail.clear();
  }
  for (const locus::Stopwatch watch;; std::this_thread::yield()) {
    const std::lock_guard lock(world.mutex);
    if (world.ended < world.ranks) continue;
    longest_abort = std::max(longest_abort, watch.seconds());
    return ncclSuccess;
  }
}
/// In order only if the rank has nothing in flight.
inline ncclResult_t ncclCommFinalize(ncclComm_t rank) {
  using namespace simulated::nccl;
  Member& own = *member(rank);
  const std::lock_guard queued(simulated::queues);
  if (own.last_in && !simulated::advance(*own.last_in, own.last_position)) simulated::stop("NCCL ends in mid-air");
  const std::lock_guard lock(own.world->mutex);
  own.is_finalizing = true;
  ++own.world->ended;
  ++finalized;
  return ncclInProgress;
}
inline ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }
inline ncclResult_t ncclGroupStart() {
  simulated::nccl::grouped.clear();
  return std::exchange(simulated::nccl::refuses_group, false) ? ncclSystemError : ncclSuccess;
}
inline ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t rank,
                             cudaStream_t stream) {
  using namespace simulated::nccl;
  return call({Kind::send, data, nullptr, count, type, ncclSum, peer, member(rank), stream});
}
inline ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t rank,
                             cudaStream_t stream) {
  using namespace simulated::nccl;
  return call({Kind::receive, nullptr, data, count, type, ncclSum, peer, member(rank), stream});
}
inline ncclResult_t ncclAllReduce(const void* source, void* target, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t rank, cudaStream_t stream) {
  using namespace simulated::nccl;
  return call({Kind::all_reduce, source, target, count, type, op, 0, member(rank), stream});
}
inline ncclResult_t ncclReduce(const void* source, void* target, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               int root, ncclComm_t rank, cudaStream_t stream) {
  using namespace simulated::nccl;
  return call({Kind::reduce, source, target, count, type, op, root, member(rank), stream});
}
inline ncclResult_t ncclReduceScatter(const void* source, void* target, size_t count, ncclDataType_t type,
                                      ncclRedOp_t op, ncclComm_t rank, cudaStream_t stream) {
  using namespace simulated::nccl;
  return call({Kind::reduce_scatter, source, target, count, type, op, 0, member(rank), stream});
}
inline ncclResult_t ncclBroadcast(const void* source, void* target, size_t count, ncclDataType_t type, int root,
                                  ncclComm_t rank, cudaStream_t stream) {
  using namespace simulated::nccl;
  return call({Kind::broadcast, source, target, count, type, ncclSum, root, member(rank), stream});
}
inline ncclResult_t ncclAllGather(const void* source, void* target, size_t count, ncclDataType_t type, ncclComm_t rank,
                                  cudaStream_t stream) {
  using namespace simulated::nccl;
  return call({Kind::all_gather, source, target, count, type, ncclSum, 0, member(rank), stream});
}
inline ncclResult_t ncclGroupEnd() {
  using namespace simulated::nccl;
  largest_group = std::max(largest_group.load(), grouped.size());
  groups += !grouped.empty();
  if (grouped.size() > most_operations) return ncclInvalidUsage;
  if (grouped.empty()) return ncclSuccess;
  {
    const std::lock_guard lock(streams_mutex);
    for (const Operation& o : grouped) streams.insert(o.stream);
  }
  const cudaStream_t stream = grouped[0].stream;
  const auto node = std::make_shared<simulated::Node>();
  node->queue = [group = std::exchange(grouped, {})](cudaStream_t where) mutable {
    for (Operation& o : group) o.stream = where;
    queue(group);
  };
  simulated::perform(stream, node);
  return ncclInProgress;
}
}  // extern "C"
