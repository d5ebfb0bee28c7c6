#pragma once
// The rendezvous of threads that are ranks: counts of steps, posted calls, failures, and messages.

#include <locus/core/system/out_of_memory.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/distributed/engine/subgroup.hpp>
#include <locus/distributed/engine/told_call.hpp>

#include <exception>
#include <utility>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// All ranks make the same steps: each counts its own, and waits until others have made as many. A step orders memory:
/// writes of a rank before its step are visible to ranks that waited for the step.
class Rendezvous : public Counted {
 public:
  /// The call of a rank, visible to the others. Two are used in turn: no rank can be two collectives ahead.
  struct Posted {
    Fingerprint what{};
    const void* source = nullptr;
    void* target = nullptr;
  };

  /// The state of a rank that others see. On cache lines of its own: no false sharing.
  struct alignas(64) Slot {
    Signal progress{0};
    Atomic<bool> left{false}, visits{false};
    Posted posted[2];
    Fingerprint noted{};            ///< see note_call
    std::int64_t noted_calls = -1;  ///< its number; -1: none yet
  };

  /// `threads`: the number that run at the same time, in this group and others.
  Rendezvous(int ranks, double timeout, int threads)
      : slots_(static_cast<std::size_t>(ranks)), timeout_(timeout), threads_(threads) {
    if (ranks < 1) fail<ArgumentError>({"dist: ", ranks, " ranks; expected 1 or more"});
    is_crowded_ = threads > static_cast<int>(cpu::detail::available_cores());
  }

  virtual ~Rendezvous() = default;

  [[nodiscard]] int size() const { return static_cast<int>(slots_.size()); }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] Posted& posted(int rank, std::int64_t sequence) { return slot(rank).posted[sequence & 1]; }

  /// The rank makes a step. Returns its number.
  std::uint32_t arrive(int rank) {
    Slot& mine = slot(rank);
    const std::uint32_t step = mine.progress.load(Order::relaxed) + 1;
    mine.progress.store(step, Order::release);
    mine.progress.notify();
    return step;
  }
  [[nodiscard]] std::uint32_t steps(int rank) const { return slots_[static_cast<std::size_t>(rank)].progress.load(); }

  /// Waits until `peer` has made `step` steps: spins first, since ranks mostly come together. throws CollectiveError
  void await(int rank, int peer, std::uint32_t step, const Fingerprint& what, std::int64_t sequence) {
    const auto reached = [&] {
      return static_cast<std::int32_t>(slot(peer).progress.load(Order::acquire) - step) >= 0;
    };
    for (int turn = is_crowded_ ? spins : 0; turn < spins; ++turn)
      if (reached()) return;
    wait_until(reached, slot(peer).progress, rank, peer, what, sequence);
  }
  void await_all(int rank, std::uint32_t step, const Fingerprint& what, std::int64_t sequence) {
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank) await(rank, peer, step, what, sequence);
  }

  /// After a step: checks that all ranks make the same call.
  /// throws CollectiveError naming the first rank that differs from rank 0
  void require_same(int rank, const Fingerprint& what, std::int64_t sequence) {
    const Fingerprint& first = posted(0, sequence).what;
    for (int peer = 1; peer < size(); ++peer) {
      const Fingerprint& other = posted(peer, sequence).what;
      if (!(other == first)) {
        refuse(rank, peer, join("rank ", peer, " called ", other, ", rank 0 ", first, call_the_same), what, sequence);
      }
    }
  }

  /// Lives while a rank reads or writes memory of others: they do not leave a failed collective before the visit ends.
  /// throws CollectiveError if the group has failed
  class Visit {
   public:
    Visit(Rendezvous& group, int rank, const Fingerprint& what, std::int64_t sequence) : slot_(group.slot(rank)) {
      slot_.visits.store(true);
      if (group.failed_.load()) {
        slot_.visits.store(false);
        group.raise_collective(rank, what, sequence);
      }
    }
    ~Visit() { slot_.visits.store(false); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Slot& slot_;
  };

  /// A collective: the values that all ranks give, by rank. X: copies do not throw
  template <class X>
  [[nodiscard]] std::vector<X> gathered(int rank, const X& mine, const Fingerprint& what, std::int64_t sequence) {
    std::vector<X> all;
    all.reserve(slots_.size());
    const auto meet = [&] { await_all(rank, arrive(rank), what, sequence); };
    require_sound(rank, what, sequence);
    posted(rank, sequence) = {what, &mine, nullptr};
    meet();
    require_same(rank, what, sequence);
    {
      const Visit visit(*this, rank, what, sequence);
      for (int peer = 0; peer < size(); ++peer) all.push_back(*static_cast<const X*>(posted(peer, sequence).source));
    }
    meet();
    return all;
  }

  /// A collective: the rendezvous of the group that this rank chose, which make(group) makes on its first rank.
  template <class Made, class F>
  [[nodiscard]] std::pair<Shared<Made>, int> split(int rank, GroupChoice choice, const Fingerprint& what,
                                                   std::int64_t sequence, const F& make) {
    std::pair<Shared<Made>, int> result;
    guard(rank, [&] {
      const Subgroup group(gathered(rank, choice, what, sequence), rank);
      const Shared<Made> made = group.rank() == 0 ? make(group) : Shared<Made>();
      if (made) made->names_ = RunRanks(names_, group.ranks(), choice.label);
      result = {gathered(rank, made, what, sequence)[group.first()], group.rank()};
    });
    return result;
  }

  /// Makes the group fail, unless it has already, and throws.
  [[noreturn]] void refuse(int rank, int at_fault, const std::string& reason, const Fingerprint& what,
                           std::int64_t sequence) {
    note_failure(at_fault, reason.c_str());
    raise_collective(rank, what, sequence);
  }
  void require_sound(int rank, const Fingerprint& what, std::int64_t sequence) {
    if (failed_.load()) raise_collective(rank, what, sequence);
  }

  /// See Engine::note_call.
  void note_call(int rank, const Fingerprint& what, std::int64_t sequence) {
    const Lock lock(mutex_);
    slot(rank).noted = what;
    slot(rank).noted_calls = sequence;
  }
  /// See Engine::require_others.
  void require_called(int rank, const Fingerprint& what, std::int64_t sequence, double waited) {
    const auto told = [&](int peer) {
      const Lock lock(mutex_);
      return ToldCall{slot(peer).noted_calls, to_string(slot(peer).noted)};
    };
    for (int peer = 0; peer < size(); ++peer)
      if (slot(peer).left.load() && told(peer).sequence < sequence)
        refuse(rank, peer, join("rank ", peer, has_left_text), what, sequence);
    if (waited < timeout_) return;
    const Culprit culprit = culprit_of(size(), sequence, timeout_, told);
    if (culprit.rank >= 0) refuse(rank, culprit.rank, culprit.reason, what, sequence);
  }
  /// See Engine::leave.
  void leave(int rank, const char* why) noexcept {
    if (why) {
      char text[sizeof reason_] = {};
      std::snprintf(text, sizeof text, "rank %d threw: %s", rank, why);
      note_failure(rank, text);
    }
    slot(rank).left.store(true);
    slot(rank).progress.notify();
  }
  /// A rank that failed calls this before it throws: waits until no other rank uses its memory.
  virtual void end_visits(int rank) noexcept {
    slot(rank).visits.store(false);
    for (Slot& peer : slots_)
      while (peer.visits.load()) sched_yield();
  }

  /// Elements in flight from one rank to another, as the engine stores them.
  struct Content : Counted {
    virtual ~Content() = default;
  };
  struct PendingMessage {
    int from, to, tag;
    std::int64_t count;
    ElementType type;
    Shared<Content> content;
  };
  void post(PendingMessage&& pending) {
    const Lock lock(mutex_);
    mail_.push_back(std::move(pending));
  }
  /// See Engine::has_come.
  [[nodiscard]] bool has_pending(int rank, const Message& message, double waited) {
    const Fingerprint what = message.fingerprint(Kind::recv);
    require_receivable(rank, what, message.sequence);
    const bool has_left = slot(message.peer).left.load();  // read first: messages precede leave()
    {
      const Lock lock(mutex_);
      if (find(message.peer, rank, message.tag) < mail_.size()) return true;
    }
    if (has_left) refuse_receive(rank, message, join("rank ", message.peer, has_left_text));
    if (waited > timeout_)
      refuse_receive(rank, message, join("rank ", message.peer, " sent nothing within ", timeout_, wait_longer));
    return false;
  }
  /// Takes the first message of a pair and tag, which has come. throws CollectiveError if it has another size or type
  /// than expected
  [[nodiscard]] PendingMessage collect(int rank, const Message& message) {
    PendingMessage pending = take(message.peer, rank, message.tag);
    if (pending.count == message.count && pending.type == message.type) return pending;
    const Fingerprint sent{Kind::send, pending.type, {}, rank, pending.count};
    refuse_receive(rank, message, join("rank ", message.peer, " called ", sent));
  }
  /// Refuses a message after a failure. Does not end visits: collectives of this rank may still use memory of others.
  void require_receivable(int rank, const Fingerprint& what, std::int64_t sequence) {
    if (failed_.load()) raise(rank, what, sequence);
  }

  /// Calls f(), a collective. If it throws, the group fails, and no rank uses memory of this one any more. throws
  /// OutOfMemory in place of std::bad_alloc
  template <class F>
  void guard(int rank, const F& f) {
    try {
      return f();
    } catch (const CollectiveError&) {
      throw;  // memory is safe: see raise_collective
    } catch (const std::bad_alloc&) {
      leave(rank, "out of memory in a collective");
      end_visits(rank);
    } catch (const std::exception& error) {
      leave(rank, error.what());
      end_visits(rank);
      throw;
    } catch (...) {
      leave(rank, no_exception_text);
      end_visits(rank);
      throw;
    }
    locus::detail::fail_out_of_memory({"dist: no memory for a collective"});
  }

 private:
  [[nodiscard]] Slot& slot(int rank) { return slots_[static_cast<std::size_t>(rank)]; }

  /// Waits: first yields the core, then sleeps.
  template <class Reached>
  LOCUS_OUT_OF_LINE void wait_until(const Reached& reached, Signal& signal, int rank, int peer, const Fingerprint& what,
                                    std::int64_t sequence) {
    const Stopwatch watch;
    for (int turn = 0;; ++turn) {
      const std::uint32_t before = signal.load();
      if (reached()) return;
      if (failed_.load()) raise_collective(rank, what, sequence);
      if (slot(peer).left.load()) {
        if (reached()) return;  // it came before it left
        refuse(rank, peer, join("rank ", peer, has_left_text), what, sequence);
      }
      if (turn < 20) {
        sched_yield();
        continue;
      }
      if (watch.seconds() > timeout_)
        refuse(rank, peer, join("rank ", peer, did_not_come, timeout_, wait_longer), what, sequence);
      signal.wait_at_most(before, 10);
    }
  }
  static constexpr int spins = 2000;

  /// The index of a message in the mail, or the mail's size; the caller holds the mutex.
  [[nodiscard]] std::size_t find(int from, int to, int tag) const {
    std::size_t i = 0;
    while (i < mail_.size() && (mail_[i].from != from || mail_[i].to != to || mail_[i].tag != tag)) ++i;
    return i;
  }
  [[nodiscard]] PendingMessage take(int from, int to, int tag) {
    const Lock lock(mutex_);
    const std::size_t i = find(from, to, tag);
    PendingMessage pending = std::move(mail_[i]);
    mail_.erase(mail_.begin() + static_cast<std::ptrdiff_t>(i));
    return pending;
  }
  [[noreturn]] void refuse_receive(int rank, const Message& message, const std::string& reason) {
    note_failure(message.peer, reason.c_str());
    raise(rank, message.fingerprint(Kind::recv), message.sequence);
  }

  void note_failure(int at_fault, const char* reason) noexcept {
    const Lock lock(mutex_);
    if (failed_.load()) return;
    at_fault_ = at_fault;
    std::snprintf(reason_, sizeof reason_, "%s", reason);
    failed_.store(true);
  }
  [[noreturn]] void raise(int rank, const Fingerprint& what, std::int64_t sequence) {
    const Lock lock(mutex_);
    detail::raise(what, sequence, rank, size(), at_fault_, reason_, names_);
  }
  [[noreturn]] void raise_collective(int rank, const Fingerprint& what, std::int64_t sequence) {
    end_visits(rank);
    raise(rank, what, sequence);
  }

  std::vector<Slot> slots_;
  double timeout_;
  int threads_;
  bool is_crowded_ = false;
  RunRanks names_{};  ///< of a group
  Atomic<bool> failed_{false};
  Mutex mutex_;
  int at_fault_ = -1;
  char reason_[512] = {};
  std::vector<PendingMessage> mail_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
