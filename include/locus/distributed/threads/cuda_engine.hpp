#pragma once
// Ranks that are threads of one process, on GPUs; several may share one. Threads meet on the host, and events order
// their work on GPUs, so that the host waits for other threads, never for a GPU.

#include <locus/cuda/peers.hpp>
#include <locus/device/buffer.hpp>
#include <locus/distributed/threads/rendezvous.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// The events and memory that ranks on GPUs show each other, beside their elements.
class CudaGroup : public Rendezvous {
 public:
  struct Room {
    Cuda device;
    Event<Cuda> ready{};                      ///< after work queued before the collective
    Event<Cuda> done{};                       ///< after the rank's uses of other ranks' memory
    std::vector<Event<Cuda>> steps{};         ///< one for each step of a ring
    unsigned char* sums = nullptr;            ///< partial sums of a ring's pass
    const Stream<Cuda>* visits_in = nullptr;  ///< the stream that uses other ranks' memory; null: none
  };

  /// devices: by rank. throws CudaUnavailable, CudaError
  CudaGroup(const std::vector<Cuda>& devices, double timeout, int threads)
      : Rendezvous(static_cast<int>(devices.size()), timeout, threads) {
    if (size() > PeerMemory::most_ranks)
      fail<ArgumentError>(
          {"dist: ", size(), " ranks on GPUs of one process; expected at most ", PeerMemory::most_ranks});
    for (const Cuda device : devices) rooms_.push_back({device});
    for (int owner = 0; owner < size(); ++owner)
      for (int reader = 0; reader < size() && is_first_on_its_gpu(owner); ++reader)
        if (is_first_on_its_gpu(reader)) are_connected_ &= PeerMemory::open(device_of(owner), device_of(reader));
  }

  [[nodiscard]] Room& room(int rank) { return rooms_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Cuda device_of(int rank) const { return rooms_[static_cast<std::size_t>(rank)].device; }
  /// Whether kernels of each rank reach the memory of all.
  [[nodiscard]] bool are_connected() const { return are_connected_; }

  /// Queued work of other ranks may still read this rank's memory: the host waits for it, too.
  void end_visits(int rank) noexcept override {
    end_queue(room(rank));
    Rendezvous::end_visits(rank);
    for (const Room& room : rooms_) room.done.settle();
  }
  /// Records `done` after all work that the rank has queued.
  static void end_queue(Room& room) noexcept {
    if (!room.visits_in) return;
    try {
      room.done = room.visits_in->record();
    } catch (const Error&) {  // the GPU does not answer
    }
    room.visits_in = nullptr;
  }

 private:
  [[nodiscard]] bool is_first_on_its_gpu(int rank) const {
    int first = 0;
    while (!(device_of(first) == device_of(rank))) ++first;
    return first == rank;
  }
  std::vector<Room> rooms_;
  bool are_connected_ = true;
};

}  // namespace detail

class CudaEngine : public Engine<Cuda> {
  using Call = Collective<Cuda>;
  using Group = detail::CudaGroup;

 public:
  CudaEngine(Shared<Group> group, int rank, const Options& options)
      : Engine<Cuda>(rank, group->size(), group->room(rank).device, options), group_(std::move(group)) {}

  [[nodiscard]] const char* name() const override { return "threads"; }
  void run(const Call& call) override {
    Result result;  // others may read it until guard() has waited for them
    group_->guard(rank(), [&] { collective(call, result); });
  }

  void meet(const Fingerprint& what, std::int64_t sequence) override {
    Call call;
    call.what = what;
    call.sequence = sequence;
    group_->require_sound(rank(), what, sequence);
    group_->posted(rank(), sequence) = {what, nullptr, nullptr};
    arrive(call);
    group_->require_same(rank(), what, sequence);
  }
  [[nodiscard]] Shared<Engine<Cuda>> split(GroupChoice choice, std::int64_t sequence) override {
    const auto make = [&](const detail::Subgroup& group) {
      std::vector<Cuda> devices;
      for (const int each : group.ranks()) devices.push_back(group_->device_of(each));
      return Shared(new Group(devices, options().timeout, group_->threads()));
    };
    const auto [group, rank] = group_->split<Group>(this->rank(), choice, split_call, sequence, make);
    return Shared<Engine<Cuda>>(new CudaEngine(group, rank, options()));
  }
  void send(const Message& message) override {
    group_->require_receivable(rank(), message.fingerprint(Kind::send), message.sequence);
    auto* const content = new Elements(room_for(message.bytes()));
    const Shared<detail::Rendezvous::Content> shared(content);
    copy(content->memory.data(), message.data, rank(), message.bytes());
    content->written = Stream<Cuda>::current(device()).record();
    group_->post({rank(), message.peer, message.tag, message.count, message.type, shared});
  }
  bool has_come(const Message& message, double waited) override { return group_->has_pending(rank(), message, waited); }
  void take(const Message& message) override {
    const auto pending = group_->collect(rank(), message);
    const auto& content = static_cast<const Elements&>(*pending.content);
    const Stream<Cuda> stream = Stream<Cuda>::current(device());
    stream.wait(content.written);
    copy(message.data, content.memory.data(), message.peer, message.bytes());
    if (!(content.memory.device() == device())) stream.record().wait();  // its memory is given back to another GPU
  }
  void leave(const char* why) noexcept override { group_->leave(rank(), why); }

 private:
  struct Elements final : detail::Rendezvous::Content {
    explicit Elements(Buffer<Cuda> room) : memory(std::move(room)) {}
    Buffer<Cuda> memory;
    Event<Cuda> written{};
  };
  /// Memory that has to be kept until all ranks are done.
  struct Result {
    Buffer<Cuda> kept{};                  ///< the result, if the target is a source of other ranks
    std::vector<Buffer<Cuda>> fetched{};  ///< elements of ranks that this GPU does not reach; sums of a ring
  };
  static constexpr std::int64_t ring_elements = 1 << 18;  ///< of a chunk, at most

  [[nodiscard]] Group::Room& mine() const { return group_->room(rank()); }
  void arrive(const Call& call) { group_->await_all(rank(), group_->arrive(rank()), call.what, call.sequence); }
  [[nodiscard]] Buffer<Cuda> room_for(std::int64_t bytes) const { return {device(), static_cast<std::size_t>(bytes)}; }
  /// Copies memory of rank `from` to this rank's memory.
  void copy(void* target, const void* source, int from, std::int64_t bytes) const {
    if (bytes > 0 && target != source) PeerMemory::copy(device(), target, group_->room(from).device, source, bytes);
  }
  [[nodiscard]] const unsigned char* source_of(int peer, const Call& call) const {
    return static_cast<const unsigned char*>(group_->posted(peer, call.sequence).source);
  }
  [[nodiscard]] unsigned char* target_of(int peer, const Call& call) const {
    return static_cast<unsigned char*>(group_->posted(peer, call.sequence).target);
  }

  /// Calls f(), which queues uses of other ranks' memory. These ranks learn of the queued work, also if f throws.
  template <class F>
  void visit(const Call& call, const Stream<Cuda>& stream, const F& f) {
    const detail::Rendezvous::Visit visiting(*group_, rank(), call.what, call.sequence);
    struct Queue {
      Group::Room& room;
      ~Queue() { Group::end_queue(room); }
    };
    mine().visits_in = &stream;
    const Queue queue{mine()};
    f();
  }

  void collective(const Call& call, Result& result) {
    group_->require_sound(rank(), call.what, call.sequence);
    const Stream<Cuda> stream = Stream<Cuda>::current(device());
    group_->posted(rank(), call.sequence) = {call.what, call.source, call.target};
    mine().ready = stream.record();
    arrive(call);
    group_->require_same(rank(), call.what, call.sequence);
    if (call.what.kind == Kind::barrier) return;
    visit(call, stream, [&] {
      for_peers([&](int peer) { stream.wait(group_->room(peer).ready); });
      move(call, stream, result);
    });
    arrive(call);
    for_peers([&](int peer) { stream.wait(group_->room(peer).done); });
    if (result.kept) copy(call.target, result.kept.data(), rank(), call.bytes());
  }

  void move(const Call& call, const Stream<Cuda>& stream, Result& result) {
    const std::int64_t bytes = call.bytes();
    switch (call.what.kind) {
      case Kind::all_reduce: return all_reduce(call, stream, result);
      case Kind::reduce: {
        if (rank() != call.what.root) return;
        result.kept = room_for(bytes);
        void* const target = result.kept.data();
        return fold(call, {0, call.what.count}, 0, &target, 1, result);
      }
      case Kind::reduce_scatter: {
        void* const target = call.target;
        return fold(call, {0, call.what.count}, bytes * rank(), &target, 1, result);
      }
      case Kind::broadcast: return copy(call.target, source_of(call.what.root, call), call.what.root, bytes);
      default: {
        const std::int64_t from = call.what.kind == Kind::all_to_all ? bytes * rank() : 0;
        const auto take = [&](int peer) {
          copy(at(call.target, bytes * peer), source_of(peer, call) + from, peer, bytes);
        };
        take(rank());
        for_peers(take);
      }
    }
  }

  /// Combines the elements `range` of all ranks, from `offset` bytes of their sources on, to the same elements of the
  /// targets. Sources that this GPU does not reach are copied first.
  void fold(const Call& call, Range range, std::int64_t offset, void* const* targets, int target_count,
            Result& result) {
    const std::int64_t size = call.reducer->element_bytes, bytes = range.size() * size;
    if (bytes == 0) return;
    std::vector<const void*> sources;
    for (int peer = 0; peer < this->size(); ++peer) {
      const unsigned char* const source = source_of(peer, call) + offset + range.begin * size;
      if (group_->are_connected() || group_->room(peer).device == device()) {
        sources.push_back(source);
        continue;
      }
      result.fetched.push_back(room_for(bytes));
      sources.push_back(result.fetched.back().data());
      copy(result.fetched.back().data(), source, peer, bytes);
    }
    std::vector<void*> parts;
    parts.reserve(static_cast<std::size_t>(target_count));
    for (int i = 0; i < target_count; ++i) parts.push_back(at(targets[i], range.begin * size));
    call.reducer->combine(device(), sources.data(), this->size(), parts.data(), target_count, range.size(),
                          this->size());
  }

  void all_reduce(const Call& call, const Stream<Cuda>& stream, Result& result) {
    const Links links = group_->are_connected() ? Links::peer_memory : Links::copies;
    const Algorithm algorithm = choose_algorithm(links, call.bytes(), size(), options().algorithm, call.what.sums);
    if (algorithm == Algorithm::one_shot || size() == 1) {
      if (call.source == call.target) result.kept = room_for(call.bytes());
      void* const target = result.kept ? result.kept.data() : call.target;
      return fold(call, {0, call.what.count}, 0, &target, 1, result);
    }
    if (algorithm == Algorithm::ring) return ring(call, stream, result);
    const Range part = part_of(call.what.count, size(), rank());
    if (links == Links::copies) {
      void* const target = call.target;
      fold(call, part, 0, &target, 1, result);
      return gather(call, stream);
    }
    std::vector<void*> targets{target_of(rank(), call)};
    for_peers([&](int peer) { targets.push_back(target_of(peer, call)); });
    fold(call, part, 0, targets.data(), size(), result);
  }
  /// Each rank has its part in its target; copies the parts of the others.
  void gather(const Call& call, const Stream<Cuda>& stream) {
    const std::int64_t size = call.reducer->element_bytes;
    step(stream, 0);
    for_peers([&](int peer) { group_->await(rank(), peer, group_->steps(rank()), call.what, call.sequence); });
    for_peers([&](int peer) {
      stream.wait(group_->room(peer).steps[0]);
      const Range part = part_of(call.what.count, this->size(), peer);
      copy(target_of(rank(), call) + part.begin * size, target_of(peer, call) + part.begin * size, peer,
           part.size() * size);
    });
  }

  /// A ring in passes of a chunk for each rank, by copies from the rank before. Partial sums are kept in the
  /// reduction's type.
  void ring(const Call& call, const Stream<Cuda>& stream, Result& result) {
    const std::int64_t pass = ring_elements * size(), sum_bytes = call.reducer->sum_bytes;
    result.fetched.push_back(room_for(pass * sum_bytes));
    mine().sums = static_cast<unsigned char*>(result.fetched.back().data());
    result.fetched.push_back(room_for(ring_elements * sum_bytes));
    unsigned char* const arrived = static_cast<unsigned char*>(result.fetched.back().data());
    for (std::int64_t i = 0; i < pieces_of(call.what.count, pass); ++i) {
      if (i > 0) wait_for_pass(call, stream);
      ring_pass(call, stream, piece_of(call.what.count, pass, i), arrived);
    }
  }
  /// Waits until all ranks have queued their last step, after which their sums are overwritten.
  void wait_for_pass(const Call& call, const Stream<Cuda>& stream) {
    step(stream, 2 * size() - 2);
    group_->await_all(rank(), group_->steps(rank()), call.what, call.sequence);
    for_peers([&](int peer) { stream.wait(group_->room(peer).steps[static_cast<std::size_t>(2 * size() - 2)]); });
    arrive(call);  // and have read the events
  }
  void ring_pass(const Call& call, const Stream<Cuda>& stream, Range range, unsigned char* arrived) {
    const int n = size(), me = rank(), before = (me + n - 1) % n;
    const std::int64_t size = call.reducer->element_bytes, sum_bytes = call.reducer->sum_bytes;
    const auto elements_of = [&](int chunk) { return part_of(range, n, chunk); };
    const auto sum_of = [&](int of, int chunk) { return group_->room(of).sums + chunk * ring_elements * sum_bytes; };
    for (int i = 0; i + 1 < n; ++i) {
      const int chunk = ring_summed(me, n, i);
      const Range part = elements_of(chunk);
      const bool first = i == 0, last = i + 2 == n;
      const unsigned char* const theirs = first ? source_of(before, call) + part.begin * size : sum_of(before, chunk);
      copy(arrived, theirs, before, part.size() * (first ? size : sum_bytes));
      unsigned char* const target = last ? target_of(me, call) + part.begin * size : sum_of(me, chunk);
      call.reducer->combine_partial(device(), arrived, source_of(me, call) + part.begin * size, target, part.size(),
                                    first, last, n);
      pass_on(call, stream, i, before);
    }
    for (int i = 0; i + 1 < n; ++i) {
      const Range part = elements_of(ring_taken(me, n, i));
      copy(target_of(me, call) + part.begin * size, target_of(before, call) + part.begin * size, before,
           part.size() * size);
      if (i + 2 < n) pass_on(call, stream, n - 1 + i, before);
    }
  }
  /// Records a step of this rank, and orders later work after the same step of the rank before.
  void pass_on(const Call& call, const Stream<Cuda>& stream, int number, int before) {
    step(stream, number);
    group_->await(rank(), before, group_->steps(rank()), call.what, call.sequence);
    stream.wait(group_->room(before).steps[static_cast<std::size_t>(number)]);
  }
  void step(const Stream<Cuda>& stream, int number) {
    auto& steps = mine().steps;
    if (steps.empty()) steps.resize(2 * static_cast<std::size_t>(size()));
    steps[static_cast<std::size_t>(number)] = stream.record();
    group_->arrive(rank());
  }

  Shared<Group> group_;
};

}}}  // namespace locus::LOCUS_ABI::dist
