#pragma once
// The state of the peers of a rank that is a process: failures, ends, and messages that have arrived. Several threads
// use it.
//
// A Link moves bytes: rank(), size(), most_tag(), ranks_on_machine(), machine_of(rank), group(); Transfers of bytes, by
// tag or of control messages; poll(control message); is_dead(rank); keep(owner), note_failure(seconds). If it has
// retire(), this is called once nothing but the final control messages of other ranks is still to come. Its constructor
// starts the background thread. rest(), if it has that, returns when bytes may be moved, or after a millisecond.
// split(group, gather, timeout, make) is a collective. It calls make(arguments...) with arguments for the constructor
// of the group's link, and may call gather(value) for the values of all ranks. A link may have Collectives<D>, which
// make some calls by other means than transfers, as mpi_collectives.hpp.

#include <locus/distributed/engine/abort_on_throw.hpp>
#include <locus/distributed/engine/background_thread.hpp>
#include <locus/distributed/engine/told_call.hpp>
#include <locus/distributed/message/control_message.hpp>

#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

template <class Link>
class MessagePeers : public Owner {
  using Transfers = typename Link::Transfers;

 public:
  /// An announced message; `own`: the bytes of a message from this rank to itself.
  struct PendingMessage {
    ControlMessage control{};
    std::vector<unsigned char> own{};
  };

  /// Constructs the link from `arguments`.
  template <class... Arguments>
  explicit MessagePeers(double timeout, const Arguments&... arguments)
      : link(arguments...),
        timeout_(timeout),
        ended_(static_cast<std::size_t>(link.size()), -1),
        told_(static_cast<std::size_t>(link.size())),
        failure_transfers_(link),
        end_transfers_(link),
        failure_controls_(new PendingControlMessages(failure_transfers_)),
        end_controls_(new PendingControlMessages(end_transfers_)) {
    failure_transfers_.reserve(ended_.size());
    end_transfers_.reserve(ended_.size());
  }

  Link link;
  RunRanks names{};  ///< of a group

  ~MessagePeers() override {
    if constexpr (requires { link.retire(); })
      if (is_here() && !has_failed_.load() && inbox_.empty()) link.retire();
  }

  /// Records a failure and tells all ranks. The first failure stays. `at_fault`: a rank; outside 0..size()-1: none in
  /// particular.
  void fail(int at_fault, const char* reason) noexcept {
    if (!is_here()) return;
    const Lock lock(mutex_);
    if (has_failed_.load()) return;
    failure_.what = ControlMessage::What::failure;
    failure_.at_fault = rank_or_nobody(at_fault);
    std::snprintf(failure_.reason, sizeof failure_.reason, "%s", reason);
    has_failed_.store(true);
    Link::note_failure(timeout_);
    tell(failure_, *failure_controls_);
  }
  void threw(const char* why) noexcept {
    char reason[sizeof failure_.reason] = {};
    std::snprintf(reason, sizeof reason, "rank %d threw: %s", link.rank(), why);
    fail(link.rank(), reason);
  }
  /// Returns f(). If it throws, all ranks fail, as they wait for this one.
  template <class F> auto or_fail(const F& f) { return abort_on_throw(f, [&](const char* why) { threw(why); }); }
  /// This rank makes no more calls; it completed `collectives` collectives. After a failure of another rank, it passes
  /// the failure on instead: others may hear of this rank's end first.
  void end(std::int64_t collectives) noexcept {
    if (!is_here()) return;
    const Lock lock(mutex_);
    if (end_.count >= 0) return;
    end_.count = collectives;
    if (!has_failed_.load()) tell(end_, *end_controls_);
    else if (failure_.from >= 0) tell(failure_, *end_controls_);
  }

  [[nodiscard]] bool has_left() {
    const Lock lock(mutex_);
    return end_.count >= 0;
  }

  /// Reads the control messages that have arrived. Whether no rank has failed.
  [[nodiscard]] bool is_sound() {
    const Lock lock(mutex_);
    while (!has_failed_.load()) {
      if (inbox_.size() == inbox_.capacity())
        inbox_.reserve(2 * inbox_.size() + 4);  // before a control message leaves the link
      ControlMessage control;
      if (!link.poll(control)) return true;
      if (control.what == ControlMessage::What::message) inbox_.push_back({control, {}});
      else if (control.what == ControlMessage::What::end)
        ended_[static_cast<std::size_t>(control.from)] = control.count;
      else if (control.what == ControlMessage::What::call)
        told_[static_cast<std::size_t>(control.from)] = {control.count, terminated(control.reason)};
      else {
        failure_ = control;
        failure_.at_fault = rank_or_nobody(control.at_fault);
        (void)terminated(failure_.reason);
        has_failed_.store(true);
        Link::note_failure(timeout_);
        if (failure_.at_fault >= 0) (void)link.is_dead(failure_.at_fault);  // notes a death, for the end of MPI
      }
    }
    return false;
  }
  void require_sound(const Fingerprint& what, std::int64_t sequence) {
    if (!is_sound()) raise(what, sequence);
  }
  /// The same before a collective, which waits for other ranks anyway: reads control messages once per millisecond,
  /// since polling takes longer than a small collective.
  void require_sound_lately(const Fingerprint& what, std::int64_t sequence) {
    const double now = watch_.seconds();
    if (!has_failed_.load() && now < read_at_ + 1e-3) return;
    read_at_ = now;
    require_sound(what, sequence);
  }
  [[noreturn]] void raise(const Fingerprint& what, std::int64_t sequence) {
    ControlMessage failure;
    {
      const Lock lock(mutex_);
      failure = failure_;
    }
    detail::raise(what, sequence, link.rank(), link.size(), failure.at_fault, failure.reason, names);
  }
  [[noreturn]] void refuse(int at_fault, const std::string& reason, const Fingerprint& what, std::int64_t sequence) {
    fail(at_fault, reason.c_str());
    raise(what, sequence);
  }

  [[nodiscard]] bool has_ended(int peer) {
    const Lock lock(mutex_);
    return ended_[static_cast<std::size_t>(peer)] >= 0;
  }
  /// Whether `peer` ended before it completed collective number `collective`.
  [[nodiscard]] bool has_ended_before(int peer, std::int64_t collective) {
    const Lock lock(mutex_);
    const std::int64_t completed = ended_[static_cast<std::size_t>(peer)];
    return completed >= 0 && completed < collective;
  }
  /// `peer`: the rank that this one waits for; -1: none in particular. `waits()`: whether it still waits. A process may
  /// end once it has sent all its bytes, so waits() is asked after the process was seen to be gone. throws
  /// CollectiveError if a process is gone without a normal end, or after the time-out
  template <class F>
  void require_alive(int peer, double waited, const F& waits, const Fingerprint& what, std::int64_t sequence) {
    for (int other = 0; other < link.size(); ++other)
      if ((other == peer || !has_ended(other)) && link.is_dead(other)) {
        require_sound(what, sequence);  // it may have said why
        if (!waits()) return;
        if (other == peer || !has_ended(other))
          refuse(other, join("rank ", other, " has died: its process is gone"), what, sequence);
      }
    if (waited > timeout_ && waits())
      refuse(peer,
             join(peer < 0 ? std::string("not all ranks came") : join("rank ", peer, " did not come"), " within ",
                  timeout_, wait_longer),
             what, sequence);
  }

  /// This rank has waited `waited` seconds for a call that ranks make by other means than transfers. In a long wait, it
  /// tells the others, so that after the time-out each knows which ranks do not wait. throws CollectiveError
  void require_called(double waited, const Fingerprint& what, std::int64_t sequence) {
    for (int peer = 0; peer < link.size(); ++peer)
      if (has_ended_before(peer, sequence)) refuse(peer, join("rank ", peer, has_left_text), what, sequence);
    require_alive(
        -1, 0, [] { return true; }, what, sequence);
    if (waited > (timeout_ < 4 ? timeout_ / 4 : 1)) tell_call(what, sequence);
    if (waited < timeout_) return;
    const Culprit culprit = culprit_of(link.size(), sequence, timeout_, [&](int peer) {
      const Lock lock(mutex_);
      return told_[static_cast<std::size_t>(peer)];
    });
    if (culprit.rank >= 0) refuse(culprit.rank, culprit.reason, what, sequence);
  }

  /// Waits for transfers of a call. Transfers of a message may arrive after its sender has left.
  void wait(Transfers& transfers, std::size_t mark, const Fingerprint& what, std::int64_t sequence) {
    int peer = transfers.first_open(mark);
    if (peer < 0) return;
    const Stopwatch watch;
    double looked = 0;
    for (std::uint32_t turn = 1; (peer = transfers.first_open(mark)) >= 0; ++turn) {
      if (!is_time_to_look(turn)) continue;
      require_sound(what, sequence);
      if (what.kind != Kind::recv && has_ended_before(peer, sequence))
        refuse(peer, join("rank ", peer, has_left_text), what, sequence);
      if (watch.seconds() < looked + 0.1) continue;
      looked = watch.seconds();
      require_alive(
          peer, looked, [&] { return transfers.first_open(mark) == peer; }, what, sequence);
    }
  }
  void wait(Transfers& transfers, const Fingerprint& what, std::int64_t sequence) {
    wait(transfers, transfers.mark(), what, sequence);
  }

  /// Waits until is_done() for a call in which each rank waits for all others.
  template <class F>
  void wait_for_all(const F& is_done, const Fingerprint& what, std::int64_t sequence) {
    const Stopwatch watch;
    double looked = 0;
    for (std::uint32_t turn = 1; !is_done(); ++turn) {
      if (!is_time_to_look(turn)) continue;
      require_sound(what, sequence);
      if (watch.seconds() < looked + 0.1) continue;
      looked = watch.seconds();
      require_called(looked, what, sequence);
      if (looked > 2 * timeout_) refuse(-1, join("the call did not end within ", looked, wait_longer), what, sequence);
    }
  }

  /// Adds a message from this rank to itself.
  void keep_own(PendingMessage&& pending) {
    const Lock lock(mutex_);
    inbox_.push_back(std::move(pending));
  }
  [[nodiscard]] bool has_pending(int from, int tag) {
    const Lock lock(mutex_);
    return find(from, tag) < inbox_.size();
  }
  [[nodiscard]] PendingMessage take_pending(int from, int tag) {
    const Lock lock(mutex_);
    const std::size_t i = find(from, tag);
    PendingMessage pending = std::move(inbox_[i]);
    inbox_.erase(inbox_.begin() + static_cast<std::ptrdiff_t>(i));
    return pending;
  }
  [[nodiscard]] double timeout() const { return timeout_; }

 private:
  /// Between two looks at what a rank waits for: spins first, since ranks mostly come together, and then rests. Whether
  /// it is time to look for failures.
  [[nodiscard]] bool is_time_to_look(std::uint32_t turn) {
    constexpr bool rests = requires { link.rest(); };
    constexpr std::uint32_t spins = rests ? 200 : 1000;
    const bool waits = is_crowded_ || turn > spins;
    if constexpr (rests) {
      if (waits) link.rest();
    } else if (waits) {
      sched_yield();
    }
    return turn % (waits ? 16 : 256) == 0;
  }
  /// False in a child of fork(): the parent talks to the other ranks, and a thread of the parent may hold the mutex.
  [[nodiscard]] bool is_here() const { return forks_ == locus::detail::fork_count(); }
  /// `rank`, also one received from another process; -1 if invalid.
  [[nodiscard]] int rank_or_nobody(int rank) const { return rank >= 0 && rank < link.size() ? rank : -1; }
  [[nodiscard]] std::size_t find(int from, int tag) const {
    std::size_t i = 0;
    while (i < inbox_.size() && (inbox_[i].control.from != from || inbox_[i].control.tag != tag)) ++i;
    return i;
  }
  /// Control messages in flight. If a receiver has not read them yet, they wait in the background, without allocating
  /// memory.
  class PendingControlMessages final : public BackgroundJob {
   public:
    explicit PendingControlMessages(Transfers& transfers) : transfers_(transfers) {}
    /// The transport may already have copied some of them.
    [[nodiscard]] Transfers& transfers() const { return transfers_; }
    void go_on(MessagePeers& peers) noexcept {
      peers_ = Shared<MessagePeers>(&peers);
      watch_ = {};
      BackgroundThread::deliver(Shared<BackgroundJob>(this));
    }

   private:
    bool run() override {
      bool is_done = false;
      try {
        const int peer = transfers_.first_open();
        is_done = peer < 0;
        if (!is_done && watch_.seconds() < peers_->timeout_ && !peers_->link.is_dead(peer)) return false;
      } catch (const std::bad_alloc&) {  // no memory for arriving bytes
        if (watch_.seconds() < peers_->timeout_) return false;
      } catch (const std::exception&) {}
      const Shared<MessagePeers> peers = std::move(peers_);
      if (!is_done) Link::keep(*peers);
      return true;
    }
    Shared<MessagePeers> peers_{};  ///< while the job runs
    Transfers& transfers_;
    Stopwatch watch_{};
  };
  /// A control message to all peers that says where this rank waits.
  class Report final : public BackgroundJob {
   public:
    explicit Report(MessagePeers& peers) : peers_(&peers), transfers_(peers.link) {}
    ControlMessage control{};
    void send() {
      for (int peer = 0; peer < peers_->link.size(); ++peer)
        if (peer != peers_->link.rank()) transfers_.send(peer, &control, sizeof control);
    }

   private:
    bool run() override {
      const int peer = transfers_.first_open();
      if (peer < 0) return true;
      if (watch_.seconds() < peers_->timeout_ && !peers_->link.is_dead(peer)) return false;
      Link::keep(*this);
      return true;
    }
    Shared<MessagePeers> peers_;
    Transfers transfers_;
    Stopwatch watch_{};
  };
  /// Once for each call. Without memory for the message, other ranks may take this one for the one at fault.
  void tell_call(const Fingerprint& what, std::int64_t sequence) noexcept {
    try {
      const Lock lock(mutex_);
      ToldCall& own = told_[static_cast<std::size_t>(link.rank())];
      if (own.sequence >= sequence || end_.count >= 0) return;
      own = {sequence, to_string(what)};
      const Shared report(new Report(*this));
      report->control.what = ControlMessage::What::call;
      report->control.group = link.group();
      report->control.from = link.rank();
      report->control.count = sequence;
      std::snprintf(report->control.reason, sizeof report->control.reason, "%s", own.text.c_str());
      report->send();
      BackgroundThread::deliver(Shared<BackgroundJob>(report.get()));
    } catch (const std::exception&) {}
  }
  /// The text, of a message that may come from a faulty process.
  [[nodiscard]] static const char* terminated(char (&text)[sizeof ControlMessage::reason]) {
    text[sizeof text - 1] = 0;
    return text;
  }

  /// Sends a control message to all peers. It is small, and the transport mostly copies it at once. Without memory for
  /// it, the other ranks time out.
  void tell(ControlMessage& control, PendingControlMessages& pending) noexcept {
    control.group = link.group();
    Transfers& transfers = pending.transfers();
    try {
      for (int peer = 0; peer < link.size(); ++peer)
        if (peer != link.rank()) transfers.send(peer, &control, sizeof control);
      for (int turn = 0; turn < 100; ++turn, sched_yield())
        if (transfers.first_open() < 0) return;
    } catch (const std::exception&) {}
    pending.go_on(*this);
  }

  double timeout_;
  std::uint32_t forks_ = locus::detail::fork_count();
  /// Whether this machine has more ranks than processors.
  bool is_crowded_ = link.ranks_on_machine() > static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  Stopwatch watch_{};
  double read_at_ = 0;  ///< when a collective last read control messages
  Mutex mutex_;
  Atomic<bool> has_failed_{false};
  ControlMessage failure_, end_{.count = -1};
  std::vector<std::int64_t> ended_;  ///< collectives that a rank completed before it ended; -1: it has not ended
  std::vector<ToldCall> told_;       ///< by rank
  std::vector<PendingMessage> inbox_;
  Transfers failure_transfers_, end_transfers_;
  Shared<PendingControlMessages> failure_controls_, end_controls_;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
