#pragma once
// Ranks that are processes, on one machine or several, and exchange messages.
//
// A link may make collectives itself, as MPI's does. Otherwise, and for sums in rank order, one rank computes each sum,
// in rank order, and sends it to the others. On several machines of several ranks, unless sums are to be in rank order,
// each machine sums first, and partial sums, in float for 16-bit floats, travel between machines.

#include <locus/device/place_queries.hpp>
#include <locus/distributed/engine/subgroup.hpp>
#include <locus/distributed/message/by_machine.hpp>
#include <locus/distributed/message/point_to_point.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// message_peers.hpp describes a Link.
template <HostAccessible D, class Link>
class MessageEngine : public Engine<D> {
  using Call = Collective<D>;
  using Transfers = typename Link::Transfers;
  using Peers = detail::MessagePeers<Link>;
  using Engine<D>::at;
  using Engine<D>::for_peers;

 public:
  /// Bytes that a rank sums at a time, while the next ones are in flight.
  static constexpr std::int64_t part_bytes = 1 << 20;
  /// On several machines, sums of more bytes, or of more ranks, are made within machines first.
  static constexpr std::int64_t one_shot_bytes = algorithm_limits(Links::messages).one_shot;
  static constexpr int one_shot_ranks = 32;

  MessageEngine(const Shared<Peers>& peers, D device, const Options& options)
      : Engine<D>(peers->link.rank(), peers->link.size(), device, options),
        peers_(peers),
        point_to_point_(peers->or_fail([&] { return detail::PointToPoint<Link>(peers); })),
        machines_(peers->or_fail(
            [&] { return detail::Machines(this->size(), [&](int rank) { return peers->link.machine_of(rank); }); })),
        scratch_(peers->or_fail([] { return new Scratch; })) {}

  [[nodiscard]] const char* name() const override {
    if constexpr (requires { Link::name; }) return Link::name;
    else return Engine<D>::name();
  }
  void run(const Call& call) override {
    collective(call, [&] { move(call); });
  }
  void meet(const Fingerprint& what, std::int64_t sequence) override {
    Call call;
    call.what = what;
    call.sequence = sequence;
    collective(call, [&] { barrier(call); });
  }
  [[nodiscard]] Shared<Engine<D>> split(GroupChoice choice, std::int64_t sequence) override {
    return Shared<Engine<D>>(new MessageEngine(peers_of_group(choice, sequence), this->device(), this->options()));
  }
  void note_call(const Fingerprint& what, std::int64_t sequence) override {
    peers_->require_sound_lately(what, sequence);
    completed_.store(sequence);
  }
  void require_others(const Fingerprint& what, std::int64_t sequence, double waited) override {
    peers_->require_sound(what, sequence);
    peers_->require_called(waited, what, sequence);
  }
  /// Runs f(), which implements the collective `call`.
  template <class F>
  void collective(const Call& call, const F& f) {
    guard(call.owner, [&] {
      peers_->require_sound_lately(call.what, call.sequence);
      if (this->options().debug) compare(call);
      f();
      completed_.store(call.sequence);
    });
  }
  [[nodiscard]] Peers& peers() const { return *peers_; }
  /// Transfers of different calls have different tags: they do not match, and time out instead of computing nonsense.
  /// Even tags are of collectives, odd ones of messages, 0 of comparisons.
  [[nodiscard]] int tag_of(const Call& call) const {
    std::uint64_t hash = static_cast<std::uint64_t>(call.sequence) * 0x9e3779b97f4a7c15u;
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value ^ hash >> 29) * 0xbf58476d1ce4e5b9u; };
    mix(static_cast<std::uint64_t>(call.what.sums) << 24 | static_cast<std::uint64_t>(call.what.purpose) << 16 |
        static_cast<std::uint64_t>(call.what.kind) << 8 | static_cast<std::uint64_t>(call.what.type));
    mix(static_cast<std::uint64_t>(call.what.count));
    for (const char character : call.what.op) mix(static_cast<std::uint64_t>(character));
    mix(static_cast<std::uint64_t>(call.what.root) + 1);
    return 2 + static_cast<int>((hash >> 20) % static_cast<std::uint64_t>(peers_->link.most_tag() / 2 - 1)) * 2;
  }
  void barrier(const Call& call) {
    if (is_made_by_link(call)) return;
    unsigned char* const signs = scratch(this->size());
    Transfers transfers(peers_->link, tag_of(call));
    for_peers([&](int peer) {
      transfers.receive(peer, signs + peer, 1);
      transfers.send(peer, signs + this->rank(), 1);
    });
    wait(transfers, call);
  }
  void send(const Message& message) override {
    peers_->require_sound(message.fingerprint(Kind::send), message.sequence);
    point_to_point_.send(message);
  }
  bool has_come(const Message& message, double waited) override { return point_to_point_.has_come(message, waited); }
  void rest(int turn) override {
    if constexpr (requires { peers_->link.rest(); }) {
      if (turn > 100) peers_->link.rest();
    } else {
      Engine<D>::rest(turn);
    }
  }
  void take(const Message& message) override {
    guard(message.owner, [&] { point_to_point_.take(message); });
  }
  void leave(const char* why) noexcept override {
    if (why) peers_->threw(why);
    peers_->end(completed_.load());
  }
  [[nodiscard]] bool keeps_memory() const override { return true; }

 protected:
  /// The peers of the group that this rank chose.
  [[nodiscard]] Shared<Peers> peers_of_group(GroupChoice choice, std::int64_t sequence) {
    const auto gather = [&](const auto& mine) { return gathered(mine, sequence); };
    const detail::Subgroup group(gather(choice), this->rank());
    const detail::RunRanks names(peers_->names, group.ranks(), choice.label);
    const double timeout = this->options().timeout;
    Shared<Peers> result;
    guard(nullptr, [&] {
      peers_->link.split(group, gather, timeout, [&](const auto&... how) {
        try {
          result = Shared(new Peers(timeout, how...));
        } catch (const RendezvousError& error) {  // numbers the ranks of the group
          throw RendezvousError(
              join(names.reason(error.rank, error.what()), "; this is ", names.text(group.rank(), group.size())),
              error.rank);
        }
      });
      result->names = names;
    });
    return result;
  }

 private:
  /// A collective: the values that all ranks give, by rank.
  template <class X>
  [[nodiscard]] std::vector<X> gathered(const X& mine, std::int64_t sequence) {
    static_assert(std::is_trivially_copyable_v<X>);
    std::vector<X> all(static_cast<std::size_t>(this->size()), mine);
    Call call;
    call.what = this->split_call;
    call.what.type = ElementType::uint8;
    call.what.count = sizeof(X);
    call.source = &mine;
    call.target = all.data();
    call.sequence = sequence;
    run(call);
    return all;
  }

  /// Temporary memory of collectives.
  struct Scratch final : Owner {
    std::vector<unsigned char> bytes;
  };

  /// Runs f(). If it throws, all ranks fail, and memory of open transfers is kept. throws OutOfMemory in place of
  /// std::bad_alloc
  template <class F>
  void guard(const Owner* owner, const F& f) {
    const auto keep = [&] {
      if (!peers_->link.has_open_transfers()) return;
      Link::keep(*scratch_);
      if (owner) Link::keep(*owner);
    };
    try {
      return f();
    } catch (const CollectiveError&) {
      keep();
      throw;
    } catch (const std::bad_alloc&) {
      peers_->threw("out of memory in a collective");
      keep();
    } catch (const std::exception& error) {
      peers_->threw(error.what());
      keep();
      throw;
    } catch (...) {
      peers_->threw(detail::no_exception_text);
      keep();
      throw;
    }
    locus::detail::fail_out_of_memory({"dist: no memory for a collective"});
  }

  void wait(Transfers& transfers, const Call& call) { peers_->wait(transfers, call.what, call.sequence); }

  /// Checks that all ranks make the same call; all fail if not.
  void compare(const Call& call) {
    static_assert(std::is_trivially_copyable_v<Fingerprint>);
    constexpr std::int64_t bytes = sizeof(Fingerprint);
    unsigned char* const all = scratch(bytes * this->size());
    const auto of = [&](int rank) { return all + rank * bytes; };
    std::memcpy(of(this->rank()), &call.what, sizeof(Fingerprint));
    Transfers transfers(peers_->link, 0);
    for_peers([&](int peer) {
      transfers.receive(peer, of(peer), bytes);
      transfers.send(peer, of(this->rank()), bytes);
    });
    wait(transfers, call);
    Fingerprint first, other;
    std::memcpy(&first, of(0), sizeof first);
    for (int peer = 1; peer < this->size(); ++peer) {
      std::memcpy(&other, of(peer), sizeof other);
      if (!(other == first))
        peers_->refuse(peer, join("rank ", peer, " called ", other, ", rank 0 ", first, detail::call_the_same),
                       call.what, call.sequence);
    }
  }

  // Collectives.

  static void copy(void* target, const void* source, std::int64_t bytes) {
    if (bytes > 0 && target != source) std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  [[nodiscard]] unsigned char* scratch(std::int64_t bytes) {
    auto& memory = scratch_->bytes;
    if (static_cast<std::int64_t>(memory.size()) < bytes) memory.resize(static_cast<std::size_t>(bytes));
    return memory.data();
  }

  /// Makes the call by the link's own collectives, if it has some for such a call, and no algorithm is asked for.
  [[nodiscard]] bool is_made_by_link(const Call& call) {
    if constexpr (requires { typename Link::template Collectives<D>; }) {
      using Collectives = typename Link::template Collectives<D>;
      if (this->options().algorithm != Algorithm::automatic || this->size() == 1 || !Collectives::makes(call.what))
        return false;
      Collectives(*peers_, call).run([&](std::int64_t bytes) { return scratch(bytes); });
      return true;
    } else {
      return false;
    }
  }
  void move(const Call& call) {
    if (is_made_by_link(call)) return;
    switch (call.what.kind) {
      case Kind::all_reduce: return all_reduce(call);
      case Kind::reduce: return two_shot(call, call.what.root);
      case Kind::reduce_scatter: return reduce_scatter(call);
      case Kind::broadcast: return broadcast(call);
      case Kind::barrier: return barrier(call);
      default: return exchange(call);
    }
  }

  [[nodiscard]] Algorithm algorithm_of(const Call& call) const {
    const Algorithm wanted = this->options().algorithm;
    const bool is_free = wanted == Algorithm::automatic && call.what.sums == Sums::fastest;
    if (is_free && machines_.are_worth_it() && (call.bytes() > one_shot_bytes || this->size() > one_shot_ranks))
      return Algorithm::by_machine;
    return choose_algorithm(Links::messages, call.bytes(), this->size(), wanted, call.what.sums);
  }
  void all_reduce(const Call& call) {
    switch (algorithm_of(call)) {
      case Algorithm::one_shot: return one_shot(call);
      case Algorithm::by_machine: {
        detail::SumByMachine<D, Link> way(*peers_, machines_, call, tag_of(call));
        return way.run(scratch(way.room_bytes()));
      }
      case Algorithm::ring:
        if (this->size() > 1) return ring(call);
        [[fallthrough]];
      default: return two_shot(call, -1);
    }
  }

  void one_shot(const Call& call) {
    unsigned char* const room = scratch(call.bytes() * this->size());
    Transfers transfers(peers_->link, tag_of(call));
    std::vector<const void*> sources(static_cast<std::size_t>(this->size()), call.source);
    for_peers([&](int peer) {
      sources[static_cast<std::size_t>(peer)] = room + peer * call.bytes();
      transfers.receive(peer, room + peer * call.bytes(), call.bytes());
      transfers.send(peer, call.source, call.bytes());
    });
    wait(transfers, call);
    void* const target = call.target;
    detail::fold_on_host(*call.reducer, sources.data(), this->size(), &target, 1, {0, call.what.count});
  }

  /// A piece of the elements, split into a part for each rank: `mine` is this rank's part, and `room` receives it from
  /// the other ranks by the transfers up to `mark`.
  struct Summed {
    Range piece, mine;
    unsigned char* room;
    std::size_t mark;
  };
  [[nodiscard]] Range part(Range piece, int rank) const { return part_of(piece, this->size(), rank); }

  /// Each rank sums its part of every piece and sends it to all ranks, or to `root` alone unless that is -1. Meanwhile
  /// the next piece is in flight.
  void two_shot(const Call& call, int root) {
    const std::int64_t size = call.reducer->element_bytes, per_part = part_bytes / size, n = this->size();
    const std::int64_t piece = per_part * n, pieces = pieces_of(call.what.count, piece);
    unsigned char* const rooms = scratch(2 * n * part_bytes);
    Transfers transfers(peers_->link, tag_of(call));
    const auto begin = [&](std::int64_t i) {
      Summed next{piece_of(call.what.count, piece, i), {}, rooms + i % 2 * n * part_bytes, 0};
      next.mine = part(next.piece, this->rank());
      for_peers([&](int peer) {
        const Range theirs = part(next.piece, peer);
        transfers.receive(peer, next.room + peer * part_bytes, next.mine.size() * size);
        transfers.send(peer, at(call.source, theirs.begin * size), theirs.size() * size);
      });
      next.mark = transfers.mark();
      return next;
    };
    Summed now = pieces > 0 ? begin(0) : Summed{};
    for (std::int64_t i = 0; i < pieces; ++i) {
      const Summed next = i + 1 < pieces ? begin(i + 1) : Summed{};
      peers_->wait(transfers, now.mark, call.what, call.sequence);
      fold(call, now);
      for_peers([&](int peer) {
        const Range theirs = part(now.piece, peer);
        if (root < 0 || root == this->rank())
          transfers.receive(peer, at(call.target, theirs.begin * size), theirs.size() * size);
        if (root < 0 || root == peer) transfers.send(peer, result(call, root, now), now.mine.size() * size);
      });
      if (root >= 0 && root != this->rank()) wait(transfers, call);  // the room is free again
      now = next;
    }
    wait(transfers, call);
  }
  /// The destination of this rank's sum: the target, or, in a reduce to another rank, its own slot of the room.
  [[nodiscard]] unsigned char* result(const Call& call, int root, const Summed& summed) const {
    if (root < 0 || root == this->rank()) return at(call.target, summed.mine.begin * call.reducer->element_bytes);
    return summed.room + this->rank() * part_bytes;
  }
  void fold(const Call& call, const Summed& summed) const {
    std::vector<const void*> sources;
    sources.reserve(static_cast<std::size_t>(this->size()));
    for (int peer = 0; peer < this->size(); ++peer)
      sources.push_back(peer == this->rank() ? at(call.source, summed.mine.begin * call.reducer->element_bytes)
                                             : summed.room + peer * part_bytes);
    void* const target = result(call, call.what.kind == Kind::reduce ? call.what.root : -1, summed);
    detail::fold_on_host(*call.reducer, sources.data(), this->size(), &target, 1, {0, summed.mine.size()});
  }

  /// Sends to and receives from neighbours alone. Partial sums travel in the reduction's type: 16-bit floats are
  /// rounded once.
  void ring(const Call& call) {
    const int n = this->size(), me = this->rank(), next = (me + 1) % n, before = (me + n - 1) % n;
    const std::int64_t size = call.reducer->element_bytes, per_part = part_bytes / 8, pass = per_part * n;
    unsigned char* const rooms = scratch(2 * part_bytes);
    for (std::int64_t i = 0; i < pieces_of(call.what.count, pass); ++i) {
      const Range piece = piece_of(call.what.count, pass, i);
      for (int step = 0; step < n; ++step) {  // the last step sends nothing
        Transfers transfers(peers_->link, tag_of(call));
        unsigned char *const taken = rooms + step % 2 * part_bytes, *const sent = rooms + (step + 1) % 2 * part_bytes;
        const Range mine = part(piece, ring_summed(me, n, step)), last = part(piece, ring_summed(me, n, step - 1));
        if (step == 0) call.reducer->load(at(call.source, part(piece, me).begin * size), sent, part(piece, me).size());
        if (step + 1 < n) {
          transfers.receive(before, taken, mine.size() * call.reducer->sum_bytes);
          transfers.send(next, sent, last.size() * call.reducer->sum_bytes);
          wait(transfers, call);
          call.reducer->combine(taken, at(call.source, mine.begin * size), taken, mine.size());
        } else {
          call.reducer->store(sent, at(call.target, last.begin * size), last.size(), n);
        }
      }
      for (int step = 0; step + 1 < n; ++step) {
        const Range taken = part(piece, ring_taken(me, n, step)), given = part(piece, ring_taken(next, n, step));
        Transfers transfers(peers_->link, tag_of(call));
        transfers.receive(before, at(call.target, taken.begin * size), taken.size() * size);
        transfers.send(next, at(call.target, given.begin * size), given.size() * size);
        wait(transfers, call);
      }
    }
  }

  void reduce_scatter(const Call& call) {
    const std::int64_t size = call.reducer->element_bytes, per_part = part_bytes / size;
    unsigned char* const room = scratch(this->size() * part_bytes);
    for (std::int64_t i = 0; i < pieces_of(call.what.count, per_part); ++i) {
      const Range piece = piece_of(call.what.count, per_part, i);
      Transfers transfers(peers_->link, tag_of(call));
      const auto row = [&](int rank) { return at(call.source, (rank * call.what.count + piece.begin) * size); };
      std::vector<const void*> sources(static_cast<std::size_t>(this->size()), row(this->rank()));
      for_peers([&](int peer) {
        sources[static_cast<std::size_t>(peer)] = room + peer * part_bytes;
        transfers.receive(peer, room + peer * part_bytes, piece.size() * size);
        transfers.send(peer, row(peer), piece.size() * size);
      });
      wait(transfers, call);
      void* const target = at(call.target, piece.begin * size);
      detail::fold_on_host(*call.reducer, sources.data(), this->size(), &target, 1, {0, piece.size()});
    }
  }

  /// all_gather and all_to_all.
  void exchange(const Call& call) {
    const std::int64_t bytes = call.bytes();
    const auto row = [&](int peer) { return at(call.source, call.what.kind == Kind::all_to_all ? peer * bytes : 0); };
    Transfers transfers(peers_->link, tag_of(call));
    for_peers([&](int peer) {
      transfers.receive(peer, at(call.target, peer * bytes), bytes);
      transfers.send(peer, row(peer), bytes);
    });
    copy(at(call.target, this->rank() * bytes), row(this->rank()), bytes);
    wait(transfers, call);
  }
  /// The root sends each rank a part, and each rank sends its part to all others.
  void broadcast(const Call& call) {
    const std::int64_t size = static_cast<std::int64_t>(size_of(call.what.type));
    const Range all{0, call.what.count};
    const bool is_root = call.what.root == this->rank();
    const auto data = [&](int rank) { return at(call.target, part(all, rank).begin * size); };
    const auto bytes = [&](int rank) { return part(all, rank).size() * size; };
    if (is_root) copy(call.target, call.source, call.bytes());
    Transfers transfers(peers_->link, tag_of(call));
    for_peers([&](int peer) {
      if (is_root) transfers.send(peer, data(peer), bytes(peer));
    });
    if (!is_root) transfers.receive(call.what.root, data(this->rank()), bytes(this->rank()));
    wait(transfers, call);
    for_peers([&](int peer) {
      if (!is_root) transfers.receive(peer, data(peer), bytes(peer));
      if (peer != call.what.root) transfers.send(peer, data(this->rank()), bytes(this->rank()));
    });
    wait(transfers, call);
  }
  Shared<Peers> peers_;
  detail::PointToPoint<Link> point_to_point_;
  detail::Machines machines_;
  Shared<Scratch> scratch_;
  Atomic<std::int64_t> completed_{0};  ///< collectives, those included that this rank made by other means
};

}}}  // namespace locus::LOCUS_ABI::dist
