#pragma once
// The interface of an engine, which moves and combines the bytes of a rank, and knows nothing of tensors. A
// communicator passes dense memory; the engine completes calls in order, or throws CollectiveError.

#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/distributed/engine/abort_on_throw.hpp>
#include <locus/distributed/engine/error.hpp>
#include <locus/distributed/engine/reduction_op.hpp>
#include <locus/distributed/engine/run_ranks.hpp>

#include <sched.h>
#include <unistd.h>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// Options of a communicator; the same on all ranks.
struct Options {
  /// Seconds that a rank waits for other ranks; 0: LOCUS_DIST_TIMEOUT in the environment, or 60.
  double timeout = 0;
  /// Ranks compare each call before they make it: different calls throw before they hang or compute nonsense. Threads
  /// always compare; processes, at the cost of a message from each to each, only with this option or LOCUS_DIST_DEBUG=1
  /// in the environment.
  bool debug = false;
  Algorithm algorithm = Algorithm::automatic;  ///< of all_reduce
  Sums sums = Sums::fastest;                   ///< or sums of the same bits on every engine
};

namespace detail {
/// The options; unset ones come from the environment. throws ArgumentError
[[nodiscard]] inline Options from_environment(Options options) {
  if (options.timeout == 0) options.timeout = locus::detail::seconds_from_environment("LOCUS_DIST_TIMEOUT", 60);
  if (!(options.timeout > 0))
    fail<ArgumentError>({"dist: a time-out of ", options.timeout, " seconds; expected more than 0"});
  options.debug |= locus::detail::switch_from_environment("LOCUS_DIST_DEBUG", false);
  return options;
}
/// throws ArgumentError unless `ranks` is 1 to 2^20
inline void require_ranks(const char* caller, int ranks) {
  constexpr int most = 1 << 20;
  if (ranks < 1 || ranks > most)
    fail<ArgumentError>({caller, ": ", ranks, " ranks; expected 1 or more, and ", most, " at most"});
}
}  // namespace detail

enum class Kind : std::uint8_t {
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  barrier,
  split,
  send,
  recv
};
[[nodiscard]] constexpr const char* name_of(Kind kind) {
  constexpr const char* names[] = {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter",
                                   "all_to_all", "barrier",   "split",  "send",       "recv"};
  return names[static_cast<int>(kind)];
}

/// The purpose of a collective, which tells collectives of equal sizes apart.
enum class Purpose : std::uint8_t { any, gradients, batch_norm };

/// The properties of a call that must be equal on all ranks.
struct Fingerprint {
  Kind kind = Kind::barrier;
  ElementType type = ElementType::uint8;
  char op[5] = {};         ///< sum, mean, ...; empty: none
  std::int32_t root = -1;  ///< -1: none
  std::int64_t count = 0;  ///< of one rank: elements of x for all_gather, of a row for reduce_scatter and all_to_all
  Purpose purpose = Purpose::any;
  Sums sums = Sums::fastest;
  std::int32_t unit = 0;  ///< tells calls of equal sizes apart: the unit of a sharded model, from 1 on

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
[[nodiscard]] inline std::string to_string(const Fingerprint& what) {
  if (what.kind == Kind::barrier || what.kind == Kind::split) return join(name_of(what.kind), "()");
  std::string text = join(name_of(what.kind), "(", what.count, " x ", dtype_name(what.type));
  if (*what.op) text += join(", ", static_cast<const char*>(what.op));
  if (what.root >= 0) text += join(", root ", what.root);
  if (what.sums == Sums::in_rank_order) text += ", in rank order";
  if (what.unit > 0) text += join(", unit ", what.unit, " of a sharded model");
  constexpr const char* purposes[] = {")", ") of gradients", ") of batch normalization"};
  return text + purposes[static_cast<int>(what.purpose)];
}

namespace detail {
[[noreturn]] LOCUS_COLD inline void raise(const Fingerprint& what, std::int64_t sequence, int rank, int size,
                                          int at_fault, const std::string& reason, const RunRanks& names = {}) {
  throw CollectiveError(
      join(what, ", call ", sequence, " of ", names.text(rank, size), ": ", names.reason(at_fault, reason)), at_fault,
      names.of_run(at_fault), name_of(what.kind), sequence);
}
inline constexpr const char* call_the_same =
    "; every rank must make the same calls in the same order, with the same sizes and types";
inline constexpr const char* did_not_come = " did not come within ";
inline constexpr const char* has_left_text = " has left: it let go of its communicator";
inline constexpr const char* wait_longer =
    " seconds; it stalls, or makes other calls than the rest (a longer time-out: Options::timeout, or "
    "LOCUS_DIST_TIMEOUT in the environment)";
}  // namespace detail

/// The owner of the memory of a call. If the call fails while transfers of this memory are in flight, the engine keeps
/// it.
struct Owner : Counted {
  virtual ~Owner() = default;
  mutable const Owner* next_kept = nullptr;  ///< see MpiSession::keep
};

/// One call on one rank. Memory is dense.
template <class D>
struct Collective {
  Fingerprint what;
  const void* source = nullptr;  ///< size() rows for reduce_scatter and all_to_all
  /// May be the source in all_reduce, broadcast and reduce. size() rows for all_gather and all_to_all.
  void* target = nullptr;
  const Reducer<D>* reducer = nullptr;
  std::int64_t sequence = 0;
  const Owner* owner = nullptr;  ///< null: the caller owns the memory, and the engine keeps none

  [[nodiscard]] std::int64_t bytes() const { return what.count * static_cast<std::int64_t>(size_of(what.type)); }
};

/// One message from one rank to another. Messages of one pair and one tag keep their order.
struct Message {
  void* data;
  std::int64_t count;
  ElementType type;
  int peer, tag;
  std::int64_t sequence = 0;
  const Owner* owner = nullptr;

  [[nodiscard]] std::int64_t bytes() const { return count * static_cast<std::int64_t>(size_of(type)); }
  [[nodiscard]] Fingerprint fingerprint(Kind kind) const { return {kind, type, {}, peer, count}; }
};

/// The group that a rank wants to be in, its place there, and the group's name: see Communicator::split.
struct GroupChoice {
  int color = 0, key = 0;
  char label[32] = {};
};

template <class D>
class Engine : public Counted {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] D device() const { return device_; }
  [[nodiscard]] const Options& options() const { return options_; }
  /// In traces: "threads", "tcp", "mpi" or "nccl"; of another engine, "dist".
  [[nodiscard]] virtual const char* name() const { return "dist"; }

  /// Returns when the target may be read and the source changed; on a device with streams, by work that the calling
  /// thread queues afterwards. throws CollectiveError
  virtual void run(const Collective<D>& call) = 0;
  /// Returns when all ranks have called it with equal arguments. throws CollectiveError
  virtual void meet(const Fingerprint& what, std::int64_t sequence) = 0;
  /// An engine of the group that this rank chose. All ranks call it. throws CollectiveError, and errors of the start of
  /// an engine
  [[nodiscard]] virtual Shared<Engine<D>> split(GroupChoice choice, std::int64_t sequence) = 0;
  /// Whether run() of such a call only queues work: it waits for no other rank, and can be part of a captured step.
  [[nodiscard]] virtual bool is_queued(Kind /*kind*/) const { return false; }

  /// Whether such a call allocates no memory: within a captured step, it may be captured beside the step's other work.
  [[nodiscard]] virtual bool runs_beside(const Collective<D>& /*call*/) const { return false; }

  // For an engine over this one whose ranks wait for each other by other means, as NCCL's. Other engines do nothing.

  /// This rank makes a call by those means. throws CollectiveError if another rank is known to have failed
  virtual void note_call(const Fingerprint& /*what*/, std::int64_t /*sequence*/) {}
  /// This rank has waited `waited` seconds for the call. throws CollectiveError that names the call if another rank
  /// failed, is gone, or left before the call; after the time-out, if a rank made no or another call. Any thread may
  /// call it, one at a time
  virtual void require_others(const Fingerprint& /*what*/, std::int64_t /*sequence*/, double /*waited*/) {}

  /// Does not wait for recv: the elements are copied. Any thread may call it, beside collectives and receives.
  virtual void send(const Message& message) = 0;
  /// Whether the message has arrived, for take() to receive. One thread at a time asks, also during collectives.
  /// throws CollectiveError if the message cannot come any more, or `waited` seconds exceed the time-out
  [[nodiscard]] virtual bool has_come(const Message& message, double waited) = 0;
  /// After call `turn` of has_come() in vain: returns when something may have come, at most a millisecond later.
  virtual void rest(int turn) {
    if (turn < 1000) sched_yield();
    else usleep(100);
  }
  /// throws CollectiveError if the message has another size or type than expected
  virtual void take(const Message& message) = 0;
  /// This rank makes no more calls; ranks that wait for it fail. `why` is null for a normal end; otherwise calls of
  /// this rank in flight fail, too. Any thread may call it.
  virtual void leave(const char* why) noexcept = 0;
  /// Whether calls need an Owner.
  [[nodiscard]] virtual bool keeps_memory() const { return false; }

 protected:
  Engine(int rank, int size, D device, const Options& options)
      : rank_(rank), size_(size), device_(device), options_(options) {}

  static constexpr Fingerprint split_call{.kind = Kind::split};

  /// Calls f(peer) for all other ranks, from rank() + 1 on, so that ranks begin with different peers.
  template <class F>
  void for_peers(const F& f) const {
    for (int i = 1; i < size_; ++i) f((rank_ + i) % size_);
  }
  /// `offset` bytes from data.
  [[nodiscard]] static unsigned char* at(void* data, std::int64_t offset) {
    return static_cast<unsigned char*>(data) + offset;
  }
  [[nodiscard]] static const unsigned char* at(const void* data, std::int64_t offset) {
    return static_cast<const unsigned char*>(data) + offset;
  }

 private:
  int rank_, size_;
  D device_;
  Options options_;
};

namespace detail {
/// Returns f(). If it throws, this rank leaves, so that waiting ranks fail.
template <class D, class F>
auto or_leave(Engine<D>& engine, const F& f) {
  return abort_on_throw(f, [&](const char* why) { engine.leave(why); });
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::dist
