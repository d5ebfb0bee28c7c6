#pragma once
// An all_reduce of processes on several machines that sums within machines first. Some ranks of each machine sum a part
// of its elements each, add the sums of the same part on all machines by recursive halving, and send it to all of their
// machine.

#include <locus/distributed/message/machines.hpp>
#include <locus/distributed/message/message_peers.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

template <class D, class Link>
class SumByMachine {
  using Transfers = typename Link::Transfers;

 public:
  /// Bytes of a part that a rank sums at a time, while the next ones are in flight within the machine.
  static constexpr std::int64_t part_bytes = 1 << 20;

  SumByMachine(MessagePeers<Link>& peers, const Machines& machines, const Collective<D>& call, int tag)
      : peers_(peers),
        machines_(machines),
        call_(call),
        transfers_(peers.link, tag),
        locals_(machines.ranks_of(machines.place(peers.link.rank()).machine)),
        machine_(machines.place(peers.link.rank()).machine),
        index_(machines.place(peers.link.rank()).index),
        own_(static_cast<int>(locals_.size())) {}

  /// Bytes of temporary memory that run() needs.
  [[nodiscard]] std::int64_t room_bytes() const { return 2 * part_bytes * own_ + 2 * bytes_of_sums(); }
  void run(unsigned char* room) {
    rooms_ = room;
    sums_ = room + 2 * part_bytes * own_;
    const std::int64_t pieces = pieces_of(call_.what.count, piece_elements());
    Piece now = pieces > 0 ? begin(0) : Piece{};
    for (std::int64_t i = 0; i < pieces; ++i) {
      const Piece next = i + 1 < pieces ? begin(i + 1) : Piece{};
      peers_.wait(transfers_, now.mark, call_.what, call_.sequence);
      if (index_ < machines_.parts()) {
        fold(now);
        between_machines(now.mine);
      }
      give(now);
      now = next;
    }
    wait();
  }

 private:
  /// Some of the elements, of which a part for each of some ranks of this machine: `mine` is this rank's, without
  /// elements if it has none, and `room` receives it from the others of the machine by the transfers up to `mark`.
  struct Piece {
    Range all, mine;
    unsigned char* room;
    std::size_t mark;
  };

  [[nodiscard]] std::int64_t size() const { return call_.reducer->element_bytes; }
  [[nodiscard]] std::int64_t bytes_of_sums() const { return part_bytes / size() * call_.reducer->sum_bytes; }
  [[nodiscard]] std::int64_t piece_elements() const { return part_bytes / size() * machines_.parts(); }
  [[nodiscard]] Range part(Range all, int index) const {
    return index < machines_.parts() ? part_of(all, machines_.parts(), index) : Range{};
  }
  [[nodiscard]] const unsigned char* source(Range range) const {
    return static_cast<const unsigned char*>(call_.source) + range.begin * size();
  }
  [[nodiscard]] unsigned char* result(Range range) const {
    return static_cast<unsigned char*>(call_.target) + range.begin * size();
  }
  void wait() { peers_.wait(transfers_, call_.what, call_.sequence); }
  /// Calls f(rank, index) for the other ranks of this machine.
  template <class F>
  void for_locals(const F& f) const {
    for (int i = 1; i < own_; ++i) {
      const int other = (index_ + i) % own_;
      f(locals_[static_cast<std::size_t>(other)], other);
    }
  }

  /// Begins the transfers of piece i within the machine.
  [[nodiscard]] Piece begin(std::int64_t i) {
    Piece next{piece_of(call_.what.count, piece_elements(), i), {}, rooms_ + i % 2 * own_ * part_bytes, 0};
    next.mine = part(next.all, index_);
    for_locals([&](int peer, int other) {
      const Range theirs = part(next.all, other);
      transfers_.receive(peer, next.room + other * part_bytes, next.mine.size() * size());
      transfers_.send(peer, source(theirs), theirs.size() * size());
    });
    next.mark = transfers_.mark();
    return next;
  }
  /// Sums this rank's part over its machine.
  void fold(const Piece& piece) const {
    for (int other = 0; other < own_; ++other) {
      const auto* const from = other == index_ ? source(piece.mine) : piece.room + other * part_bytes;
      if (other == 0) call_.reducer->load(from, sums_, piece.mine.size());
      else call_.reducer->combine(sums_, from, sums_, piece.mine.size());
    }
  }
  /// Sends the results of this rank's part to its machine, and receives the others'.
  void give(const Piece& piece) {
    for_locals([&](int peer, int other) {
      const Range theirs = part(piece.all, other);
      transfers_.receive(peer, result(theirs), theirs.size() * size());
      transfers_.send(peer, result(piece.mine), piece.mine.size() * size());
    });
  }

  /// The rank with the same part on another machine.
  [[nodiscard]] int twin(int machine) const { return machines_.ranks_of(machine)[static_cast<std::size_t>(index_)]; }
  [[nodiscard]] unsigned char* sum_at(Range mine, Range range) const {
    return sums_ + (range.begin - mine.begin) * call_.reducer->sum_bytes;
  }
  /// Adds the sums of `range` that another machine sends.
  void add(int machine, Range mine, Range range) {
    unsigned char* const arrived = sums_ + bytes_of_sums();
    transfers_.receive(twin(machine), arrived, range.size() * call_.reducer->sum_bytes);
    wait();
    call_.reducer->combine_sums(sum_at(mine, range), arrived, sum_at(mine, range), range.size());
  }
  /// Adds the sums of `mine` on all machines, and stores the result.
  void between_machines(Range mine) {
    const int members = halving_members(machines_.count());
    const std::int64_t sum_bytes = call_.reducer->sum_bytes;
    if (machine_ >= members) {
      transfers_.send(twin(machine_ - members), sums_, mine.size() * sum_bytes);
      transfers_.receive(twin(machine_ - members), result(mine), mine.size() * size());
      return wait();
    }
    const bool has_guest = machine_ + members < machines_.count();
    if (has_guest) add(machine_ + members, mine, mine);
    std::vector<Range> given;
    Range kept = mine;
    for (int mask = members / 2; mask > 0; mask /= 2) {
      const Halves halves = halves_of(kept, machine_, mask);
      transfers_.send(twin(machine_ ^ mask), sum_at(mine, halves.given), halves.given.size() * sum_bytes);
      add(machine_ ^ mask, mine, kept = halves.kept);
      given.push_back(halves.given);
    }
    call_.reducer->store(sum_at(mine, kept), result(kept), kept.size(), peers_.link.size());
    for (int mask = 1; mask < members; mask *= 2) {
      const Range theirs = given.back();
      given.pop_back();
      transfers_.receive(twin(machine_ ^ mask), result(theirs), theirs.size() * size());
      transfers_.send(twin(machine_ ^ mask), result(kept), kept.size() * size());
      wait();
      kept = {kept.begin < theirs.begin ? kept.begin : theirs.begin, kept.end > theirs.end ? kept.end : theirs.end};
    }
    if (has_guest) transfers_.send(twin(machine_ + members), result(mine), mine.size() * size());
  }

  MessagePeers<Link>& peers_;
  const Machines& machines_;
  const Collective<D>& call_;
  Transfers transfers_;
  const std::vector<int>& locals_;  ///< the ranks of this machine
  int machine_, index_, own_;       ///< this machine, this rank's number there, and its ranks
  unsigned char *rooms_ = nullptr, *sums_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
