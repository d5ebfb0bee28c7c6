#pragma once
// Ranks that are processes with one GPU each. NCCL or MPI moves elements from GPU to GPU.
//
// NCCL makes most collectives itself. Sums in rank order, and all sums over MPI, are made here: one rank computes each
// sum, as everywhere in dist; 16-bit floats are rounded once.

#include <locus/distributed/engine/staged_engine.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// A Link moves memory of GPUs. run(call, f) calls f() as a collective of all ranks. together(f) calls f(), and makes
/// its send(data, bytes, peer) and receive(data, bytes, peer) as one group, in the order of the current stream; a group
/// has at most `most_distances` of each. meet() is a barrier within run(). split(choice, sequence) is a Host for a
/// group. Messages of send and recv travel through the host. A link that only queues calls has `queues`, and leave(),
/// which waits for them. One with makes(call) makes some collectives itself, by collective(call).
template <class Link>
class DeviceEngine : public StagedEngine<Cuda> {
  using Call = Collective<Cuda>;

 public:
  /// Bytes that are summed at a time.
  static constexpr std::int64_t piece_bytes = 64 << 20;

  /// Ranks meet through `host`, which no other engine uses.
  template <class Host>
  DeviceEngine(const Shared<Host>& host, Cuda device)
      : StagedEngine<Cuda>(Shared<Engine<Cpu>>(host.get()), device), link_(host, device) {}

  [[nodiscard]] const char* name() const override {
    if constexpr (requires { Link::name; }) return Link::name;
    else return StagedEngine<Cuda>::name();
  }
  void run(const Call& call) override {
    link_.run(call, [&] {
      if constexpr (requires { link_.makes(call); })
        if (link_.makes(call)) return link_.collective(call);
      move(call);
    });
  }
  [[nodiscard]] Shared<Engine<Cuda>> split(GroupChoice choice, std::int64_t sequence) override {
    const auto host = link_.split(choice, sequence);
    return detail::or_leave(*host, [&] { return Shared<Engine<Cuda>>(new DeviceEngine(host, device())); });
  }
  [[nodiscard]] bool is_queued(Kind kind) const override {
    return requires { Link::queues; } && kind < Kind::barrier;
  }
  [[nodiscard]] bool runs_beside(const Call& call) const override {
    if constexpr (requires { link_.makes(call); }) return link_.makes(call);
    else return false;
  }
  void leave(const char* why) noexcept override {
    if constexpr (requires { Link::queues; })
      if (!why) link_.leave();
    StagedEngine<Cuda>::leave(why);
  }

 private:
  [[nodiscard]] Buffer<Cuda> room(std::int64_t bytes) const { return {device(), static_cast<std::size_t>(bytes)}; }

  /// Calls send_to(rank) and receive_from(rank) for all other ranks, in groups. At distance i, a rank sends to the rank
  /// i after it and receives from the rank i before it. So a send and its receive have the same distance, and are in
  /// groups of the same number: no group waits for a later one.
  template <class Send, class Receive>
  void exchange(const Send& send_to, const Receive& receive_from) {
    const int n = size();
    int next = 1;
    do {
      const int end = n - next < Link::most_distances ? n : next + Link::most_distances;
      link_.together([&] {
        for (; next < end; ++next) {
          send_to((rank() + next) % n);
          receive_from((rank() + n - next) % n);
        }
      });
    } while (next < n);
  }

  void move(const Call& call) {
    const std::int64_t bytes = call.bytes();
    switch (call.what.kind) {
      case Kind::barrier: return link_.meet();
      case Kind::all_reduce:
      case Kind::reduce: return reduce(call, call.what.root);
      case Kind::reduce_scatter: {
        const auto row = [&](int rank) { return at(call.source, rank * bytes); };
        return combine(
            call, row, [&](int) { return bytes; }, call.target);
      }
      case Kind::broadcast:
        return exchange(
            [&](int peer) {
              if (call.what.root == rank()) link_.send(call.source, bytes, peer);
            },
            [&](int peer) {
              if (call.what.root == peer) link_.receive(call.target, bytes, peer);
            });
      default: {
        const std::int64_t row = call.what.kind == Kind::all_to_all ? bytes : 0;
        exchange([&](int peer) { link_.send(at(call.source, peer * row), bytes, peer); },
                 [&](int peer) { link_.receive(at(call.target, peer * bytes), bytes, peer); });
        PeerMemory::copy(device(), at(call.target, rank() * bytes), device(), at(call.source, rank() * row), bytes);
      }
    }
  }

  /// Sends mine(r), of bytes_of(r) bytes, to each rank r, and combines the elements that all ranks send to this one in
  /// `target`.
  template <class F, class Bytes>
  void combine(const Call& call, const F& mine, const Bytes& bytes_of, void* target) {
    const std::int64_t bytes = bytes_of(rank());
    const Buffer<Cuda> arrived = room(bytes * size());
    std::vector<const void*> sources(static_cast<std::size_t>(size()), mine(rank()));
    exchange([&](int peer) { link_.send(mine(peer), bytes_of(peer), peer); },
             [&](int peer) {
               unsigned char* const theirs = at(arrived.data(), peer * bytes);
               sources[static_cast<std::size_t>(peer)] = theirs;
               link_.receive(theirs, bytes, peer);
             });
    if (bytes > 0) fold(*call.reducer, sources, target, bytes / call.reducer->element_bytes);
  }
  /// target = the elements of all sources, combined in their order: in one launch if it takes so many.
  void fold(const Reducer<Cuda>& reducer, const std::vector<const void*>& sources, void* target,
            std::int64_t count) const {
    const int n = size();
    if (n <= PeerMemory::most_ranks) return reducer.combine(device(), sources.data(), n, &target, 1, count, n);
    const Buffer<Cuda> partial = room(count * reducer.sum_bytes);
    const void* before = sources[0];
    for (int i = 1; i < n; ++i) {
      const bool is_last = i + 1 == n;
      reducer.combine_partial(device(), before, sources[static_cast<std::size_t>(i)], is_last ? target : partial.data(),
                              count, i == 1, is_last, n);
      before = partial.data();
    }
  }

  /// Each rank sums its part and sends it to all ranks; in a reduce, to the root alone.
  void reduce(const Call& call, int root) {
    const std::int64_t size = call.reducer->element_bytes, piece = piece_bytes / size;
    for (std::int64_t i = 0; i < pieces_of(call.what.count, piece); ++i) {
      const Range range = piece_of(call.what.count, piece, i);
      const auto part = [&](int rank) { return part_of(range, this->size(), rank); };
      const auto bytes_of = [&](int rank) { return part(rank).size() * size; };
      const bool keeps = root < 0 || root == rank();
      const Buffer<Cuda> own = room(keeps ? 0 : bytes_of(rank()));
      unsigned char* const own_sum = keeps ? at(call.target, part(rank()).begin * size) : at(own.data(), 0);
      combine(
          call, [&](int rank) { return at(call.source, part(rank).begin * size); }, bytes_of, own_sum);
      exchange(
          [&](int peer) {
            if (root < 0 || root == peer) link_.send(own_sum, bytes_of(rank()), peer);
          },
          [&](int peer) {
            if (keeps) link_.receive(at(call.target, part(peer).begin * size), bytes_of(peer), peer);
          });
    }
  }

  Link link_;
};

}}}  // namespace locus::LOCUS_ABI::dist
