#pragma once
// The contract of an engine: what moves and combines the bytes of a rank. It knows nothing of tensors. A communicator
// hands it dense memory; the engine answers in the order of calls, or throws CollectiveError.

#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/distributed/engine/abort_on_throw.hpp>
#include <locus/distributed/engine/error.hpp>
#include <locus/distributed/engine/reduction_op.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// What a communicator may be told; the same on all ranks.
struct Options {
  /// Seconds that a rank waits for others; 0: what LOCUS_DIST_TIMEOUT in the environment says, or 60.
  double timeout = 0;
  /// Ranks compare what they are about to do, which shows calls that differ before they hang or compute nonsense.
  /// Threads always do; processes, whom it costs a message to each other, with this or LOCUS_DIST_DEBUG=1 in the
  /// environment.
  bool debug = false;
  Algorithm algorithm = Algorithm::automatic;  ///< of all_reduce
};

namespace detail {
/// The options, where those that are left open are what the environment says. throws ArgumentError
[[nodiscard]] inline Options from_environment(Options options) {
  if (options.timeout == 0) options.timeout = locus::detail::seconds_from_environment("LOCUS_DIST_TIMEOUT", 60);
  if (!(options.timeout > 0))
    fail<ArgumentError>({"dist: a time-out of ", options.timeout, " seconds; expected more than 0"});
  options.debug |= locus::detail::switch_from_environment("LOCUS_DIST_DEBUG", false);
  return options;
}
/// throws ArgumentError unless a program may ask for so many ranks
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
  send,
  recv
};
[[nodiscard]] constexpr const char* name_of(Kind kind) {
  constexpr const char* names[] = {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter",
                                   "all_to_all", "barrier",   "send",   "recv"};
  return names[static_cast<int>(kind)];
}

/// What a collective is for, so that those of equal sizes are told apart.
enum class Purpose : std::uint8_t { any, gradients, batch_norm };

/// What all ranks must agree on.
struct Fingerprint {
  Kind kind = Kind::barrier;
  ElementType type = ElementType::uint8;
  char op[5] = {};         ///< sum, mean, ...; empty: none
  std::int32_t root = -1;  ///< -1: none
  std::int64_t count = 0;  ///< elements of one rank: of all_gather given, of reduce_scatter and all_to_all one row
  Purpose purpose = Purpose::any;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
[[nodiscard]] inline std::string to_string(const Fingerprint& what) {
  if (what.kind == Kind::barrier) return "barrier()";
  std::string text = join(name_of(what.kind), "(", what.count, " x ", dtype_name(what.type));
  if (*what.op) text += join(", ", static_cast<const char*>(what.op));
  if (what.root >= 0) text += join(", root ", what.root);
  constexpr const char* purposes[] = {")", ") of gradients", ") of batch normalization"};
  return text + purposes[static_cast<int>(what.purpose)];
}

namespace detail {
[[noreturn]] LOCUS_COLD inline void raise(const Fingerprint& what, std::int64_t sequence, int rank, int size,
                                          int at_fault, const std::string& reason) {
  throw CollectiveError(join(what, ", call ", sequence, " of rank ", rank, " of ", size, ": ", reason), at_fault,
                        name_of(what.kind), sequence);
}
inline constexpr const char* call_the_same =
    "; every rank must make the same calls in the same order, with the same sizes and types";
inline constexpr const char* has_left_text = " has left: it let go of its communicator";
inline constexpr const char* wait_longer =
    " seconds; it stalls, or makes other calls than the rest (a longer time-out: Options::timeout, or "
    "LOCUS_DIST_TIMEOUT in the environment)";
}  // namespace detail

/// Who owns the memory of a call. An engine keeps it where a call fails while transfers of its memory are in flight.
struct Owner : Counted {
  virtual ~Owner() = default;
  mutable const Owner* next_kept = nullptr;  ///< see MpiSession::keep
};

/// One call on one rank. Memory is dense.
template <class D>
struct Collective {
  Fingerprint what;
  const void* source = nullptr;  ///< of reduce_scatter and all_to_all, size() rows
  /// May be the source in all_reduce, broadcast and reduce. Of all_gather and all_to_all, size() rows.
  void* target = nullptr;
  const Reducer<D>* reducer = nullptr;
  std::int64_t sequence = 0;
  const Owner* owner = nullptr;  ///< null: the caller is, and the engine keeps no memory

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

template <class D>
class Engine : public Counted {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] D device() const { return device_; }
  [[nodiscard]] const Options& options() const { return options_; }

  /// Returns when the target may be read and the source changed: on a device with streams, by what the calling thread
  /// queues afterwards. throws CollectiveError
  virtual void run(const Collective<D>& call) = 0;
  /// Returns when all ranks called it with the same. throws CollectiveError
  virtual void meet(const Fingerprint& what, std::int64_t sequence) = 0;
  /// throws CollectiveError, for that call, where another rank has failed or is gone. For ranks that meet by this
  /// engine and then wait for something else; engines by which nobody meets see nothing.
  virtual void require_others(const Fingerprint& /*what*/, std::int64_t /*sequence*/) {}
  /// Does not wait for recv: the elements are copied. Any thread may call it, beside collectives and receives.
  virtual void send(const Message& message) = 0;
  /// Whether a message has come that take() then receives. One thread at a time asks for messages, beside collectives.
  /// throws CollectiveError where it cannot come any more, or `waited` seconds are more than the time-out
  [[nodiscard]] virtual bool has_come(const Message& message, double waited) = 0;
  /// throws CollectiveError where it is of another size or type than is wanted
  virtual void take(const Message& message) = 0;
  /// This rank makes no more calls; whoever waits for it fails. `why` is null where it simply came to its end. Any
  /// thread may call it; calls of this rank that are in flight fail if there is a reason.
  virtual void leave(const char* why) noexcept = 0;
  /// Whether calls need an Owner.
  [[nodiscard]] virtual bool keeps_memory() const { return false; }

 protected:
  Engine(int rank, int size, D device, const Options& options)
      : rank_(rank), size_(size), device_(device), options_(options) {}

  /// f(peer) for all others, beginning after this rank, so that not all begin with the same one.
  template <class F>
  void for_peers(const F& f) const {
    for (int i = 1; i < size_; ++i) f((rank_ + i) % size_);
  }
  /// So many bytes on.
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
/// f(), while others wait for this rank: where it throws anything, this rank leaves.
template <class D, class F>
auto or_leave(Engine<D>& engine, const F& f) {
  return abort_on_throw(f, [&](const char* why) { engine.leave(why); });
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::dist
