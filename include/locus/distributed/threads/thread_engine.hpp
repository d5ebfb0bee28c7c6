#pragma once
// Ranks that are threads of one process, on the host: each reads and writes the memory of all.

#include <locus/device/place_queries.hpp>
#include <locus/distributed/threads/rendezvous.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// The memory of a group that all ranks read: copies of small elements, so that a collective takes one rendezvous, and
/// the partial sums of rings.
class HostGroup : public Rendezvous {
 public:
  static constexpr std::int64_t staged_bytes = algorithm_limits(Links::shared_memory).one_shot;
  static constexpr std::int64_t ring_elements = 16 << 10;  ///< of a chunk, at most

  HostGroup(int ranks, double timeout, int threads)
      : Rendezvous(ranks, timeout, threads), rooms_(static_cast<std::size_t>(ranks)) {}

  struct Room {
    alignas(64) unsigned char staged[2][staged_bytes];
    unsigned used = 0;                  ///< number of pieces that were staged
    std::vector<unsigned char> sums{};  ///< partial sums of a ring's pass
  };
  [[nodiscard]] Room& room(int rank) { return rooms_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<Room> rooms_;
};

}  // namespace detail

/// One rank of a group of threads.
///
/// Every collective but the one-shot posts pointers to its elements, waits for all ranks, reads and writes, and waits
/// for all again. One rank computes each result, in rank order (in a ring, from the chunk's number on), for all ranks
/// that need it. In the one-shot, every rank computes all results from copies of the elements.
template <HostAccessible D>
class ThreadEngine : public Engine<D> {
  using Call = Collective<D>;
  using Group = detail::HostGroup;

 public:
  ThreadEngine(Shared<Group> group, int rank, D device, const Options& options)
      : Engine<D>(rank, group->size(), device, options), group_(std::move(group)) {}

  [[nodiscard]] const char* name() const override { return "threads"; }
  void run(const Call& call) override {
    group_->guard(this->rank(), [&] { collective(call); });
  }

  void meet(const Fingerprint& what, std::int64_t sequence) override {
    Call call;
    call.what = what;
    call.sequence = sequence;
    group_->require_sound(this->rank(), what, sequence);
    group_->posted(this->rank(), sequence).what = what;
    arrive(call);
    group_->require_same(this->rank(), what, sequence);
    arrive(call);  // ranks may have made calls by other means in between: the next meeting may be of any number
  }
  [[nodiscard]] Shared<Engine<D>> split(GroupChoice choice, std::int64_t sequence) override {
    const auto make = [&](const detail::Subgroup& group) {
      return Shared(new Group(group.size(), this->options().timeout, group_->threads()));
    };
    const auto [group, rank] = group_->template split<Group>(this->rank(), choice, this->split_call, sequence, make);
    return Shared<Engine<D>>(new ThreadEngine(group, rank, this->device(), this->options()));
  }
  void note_call(const Fingerprint& what, std::int64_t sequence) override {
    group_->require_sound(this->rank(), what, sequence);
    group_->note_call(this->rank(), what, sequence);
  }
  void require_others(const Fingerprint& what, std::int64_t sequence, double waited) override {
    group_->require_sound(this->rank(), what, sequence);
    group_->require_called(this->rank(), what, sequence, waited);
  }
  void send(const Message& message) override {
    group_->require_receivable(this->rank(), message.fingerprint(Kind::send), message.sequence);
    const auto* const bytes = static_cast<const unsigned char*>(message.data);
    const Shared<detail::Rendezvous::Content> content(new Bytes(bytes, bytes + message.bytes()));
    group_->post({this->rank(), message.peer, message.tag, message.count, message.type, content});
  }
  bool has_come(const Message& message, double waited) override {
    return group_->has_pending(this->rank(), message, waited);
  }
  void take(const Message& message) override {
    const auto pending = group_->collect(this->rank(), message);
    copy(message.data, static_cast<const Bytes&>(*pending.content).bytes.data(), message.bytes());
  }
  void leave(const char* why) noexcept override { group_->leave(this->rank(), why); }

 private:
  void collective(const Call& call) {
    group_->require_sound(this->rank(), call.what, call.sequence);
    const Algorithm algorithm =
        choose_algorithm(Links::shared_memory, call.bytes(), this->size(), this->options().algorithm, call.what.sums);
    const bool sums = call.what.kind == Kind::all_reduce;
    group_->posted(this->rank(), call.sequence) = {call.what, call.source, call.target};
    if (sums && algorithm == Algorithm::one_shot && call.what.count > 0) return one_shot(call);
    arrive(call);
    group_->require_same(this->rank(), call.what, call.sequence);
    if (call.what.kind == Kind::barrier) return;
    {
      const detail::Rendezvous::Visit visit(*group_, this->rank(), call.what, call.sequence);
      if (sums && algorithm == Algorithm::ring) ring(call);
      else move(call);
    }
    arrive(call);
  }

  struct Bytes final : detail::Rendezvous::Content {
    Bytes(const unsigned char* begin, const unsigned char* end) : bytes(begin, end) {}
    std::vector<unsigned char> bytes;
  };
  static void copy(void* target, const void* source, std::int64_t bytes) {
    if (bytes > 0 && target != source) __builtin_memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  void arrive(const Call& call) {
    group_->await_all(this->rank(), group_->arrive(this->rank()), call.what, call.sequence);
  }
  [[nodiscard]] const unsigned char* source_of(int peer, const Call& call) const {
    return static_cast<const unsigned char*>(group_->posted(peer, call.sequence).source);
  }
  [[nodiscard]] unsigned char* target_of(int peer, const Call& call) const {
    return static_cast<unsigned char*>(group_->posted(peer, call.sequence).target);
  }

  /// All collectives but the one-shot and the ring all_reduce.
  void move(const Call& call) {
    const int n = this->size(), me = this->rank();
    const std::int64_t bytes = call.bytes();
    const auto sources = [&](std::int64_t offset) {
      std::vector<const void*> all;
      for (int peer = 0; peer < n; ++peer) all.push_back(source_of(peer, call) + offset);
      return all;
    };
    switch (call.what.kind) {
      case Kind::all_reduce: {
        std::vector<void*> targets{target_of(me, call)};
        this->for_peers([&](int peer) { targets.push_back(target_of(peer, call)); });
        detail::fold_on_host(*call.reducer, sources(0).data(), n, targets.data(), n, part_of(call.what.count, n, me));
        return;
      }
      case Kind::reduce: {
        void* const target = target_of(call.what.root, call);
        detail::fold_on_host(*call.reducer, sources(0).data(), n, &target, 1, part_of(call.what.count, n, me));
        return;
      }
      case Kind::reduce_scatter: {
        void* const target = call.target;
        detail::fold_on_host(*call.reducer, sources(bytes * me).data(), n, &target, 1, {0, call.what.count});
        return;
      }
      case Kind::broadcast: copy(call.target, source_of(call.what.root, call), bytes); return;
      default: {
        const std::int64_t from = call.what.kind == Kind::all_to_all ? bytes * me : 0;
        const auto take = [&](int peer) {
          copy(this->at(call.target, bytes * peer), source_of(peer, call) + from, bytes);
        };
        take(me);
        this->for_peers(take);
      }
    }
  }

  /// An all_reduce in pieces that fit a staging buffer. Two buffers are used in turn: a rank that waited for all at one
  /// buffer knows that all were done with the other, which may be overwritten.
  void one_shot(const Call& call) {
    const std::int64_t size = call.reducer->element_bytes, piece = Group::staged_bytes / size;
    Group::Room& mine = group_->room(this->rank());
    std::vector<const void*> sources(static_cast<std::size_t>(this->size()));
    for (std::int64_t i = 0; i < pieces_of(call.what.count, piece); ++i) {
      const Range range = piece_of(call.what.count, piece, i);
      const unsigned which = mine.used++ % 2;
      copy(mine.staged[which], this->at(call.source, range.begin * size), range.size() * size);
      arrive(call);
      if (i == 0) group_->require_same(this->rank(), call.what, call.sequence);
      for (int peer = 0; peer < this->size(); ++peer)
        sources[static_cast<std::size_t>(peer)] = group_->room(peer).staged[which];
      void* const target = this->at(call.target, range.begin * size);
      detail::fold_on_host(*call.reducer, sources.data(), this->size(), &target, 1, {0, range.size()});
    }
  }

  /// A ring in passes of a chunk for each rank. Partial sums are kept in the reduction's type: 16-bit floats are
  /// rounded once.
  void ring(const Call& call) {
    const std::int64_t pass = Group::ring_elements * this->size();
    auto& sums = group_->room(this->rank()).sums;
    sums.resize(static_cast<std::size_t>(pass * call.reducer->sum_bytes));
    for (std::int64_t i = 0; i < pieces_of(call.what.count, pass); ++i) {
      if (i > 0) arrive(call);  // the neighbours have read this rank's sums
      ring_pass(call, piece_of(call.what.count, pass, i));
    }
  }
  void ring_pass(const Call& call, Range range) {
    const int n = this->size(), me = this->rank(), before = (me + n - 1) % n;
    const std::int64_t size = call.reducer->element_bytes;
    const auto elements_of = [&](int chunk) { return part_of(range, n, chunk); };
    const auto sum_of = [&](int rank, int chunk) {
      return group_->room(rank).sums.data() + chunk * Group::ring_elements * call.reducer->sum_bytes;
    };
    for (int step = 0; step + 1 < n; ++step) {
      const int chunk = ring_summed(me, n, step);
      const Range part = elements_of(chunk);
      unsigned char* const mine = sum_of(me, chunk);
      if (step == 0) call.reducer->load(source_of(before, call) + part.begin * size, mine, part.size());
      call.reducer->combine(step == 0 ? mine : sum_of(before, chunk), source_of(me, call) + part.begin * size, mine,
                            part.size());
      if (step + 2 == n) call.reducer->store(mine, target_of(me, call) + part.begin * size, part.size(), n);
      pass_on(call, before);
    }
    for (int step = 0; step + 1 < n; ++step) {
      const Range part = elements_of(ring_taken(me, n, step));
      copy(target_of(me, call) + part.begin * size, target_of(before, call) + part.begin * size, part.size() * size);
      if (step + 2 < n) pass_on(call, before);
    }
    if (n == 1) copy(call.target, call.source, call.bytes());
  }
  /// Makes a step, and waits until the rank before has made as many.
  void pass_on(const Call& call, int before) {
    group_->await(this->rank(), before, group_->arrive(this->rank()), call.what, call.sequence);
  }

  Shared<Group> group_;
};

}}}  // namespace locus::LOCUS_ABI::dist
