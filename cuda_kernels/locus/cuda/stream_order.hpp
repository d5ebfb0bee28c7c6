#pragma once
// LOCUS_CHECK_STREAMS=1: each use of a GPU's memory has to follow the uses of other streams that it depends on. The
// algorithm is FastTrack's (Flanagan and Freund, PLDI 2009), with streams for threads and events for locks.

#include <locus/core/std/posix.hpp>
#include <locus/cuda/stream_uses.hpp>

#include <exception>
#include <map>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
[[nodiscard]] LOCUS_OUT_OF_LINE inline Atomic<bool>& checks_streams() {
  static Atomic<bool> checks{locus::detail::switch_from_environment("LOCUS_CHECK_STREAMS", false)};
  return checks;
}
}  // namespace detail

[[nodiscard]] inline bool streams_are_checked() { return detail::checks_streams().load(Order::relaxed); }

/// The known order of all streams, and the last uses of all memory. Work whose end any host thread has
/// awaited happened before everything that is queued later, by any thread.
class StreamOrder {
 public:
  using Stream = const void*;

  [[nodiscard]] LOCUS_OUT_OF_LINE static StreamOrder& instance() {
    static auto* order = new StreamOrder;  // outlives tensors of static storage
    return *order;
  }

  // Order.

  LOCUS_OUT_OF_LINE void record(StreamClock& event, Stream stream) {
    const Lock lock(mutex_);
    Queue& queue = queue_of(stream);
    event = queue.clock;
    queue.clock.advance(queue.number);
  }
  LOCUS_OUT_OF_LINE void wait(Stream stream, const StreamClock& event) {
    const Lock lock(mutex_);
    queue_of(stream).clock.join(event);
  }
  /// The host knows that the event has completed.
  LOCUS_OUT_OF_LINE void completed(const StreamClock& event) {
    const Lock lock(mutex_);
    host_.join(event);
  }
  /// The host knows that all work queued in the stream is done.
  LOCUS_OUT_OF_LINE void completed(Stream stream) {
    StreamClock all;
    record(all, stream);
    completed(all);
  }

  // Memory.

  LOCUS_OUT_OF_LINE void allocated(const void* block, std::size_t bytes, Stream stream) {
    const Lock lock(mutex_);
    const auto begin = reinterpret_cast<std::uintptr_t>(block), end = begin + bytes;
    forget(begin, end);
    const Queue& queue = queue_of(stream);
    const Shared<const QueuedLaunch> use(new QueuedLaunch({.verb = "an allocation"}, queue.number));
    segments_.emplace(begin, Segment{end, ++allocations_, {queue.clock.of(queue.number), use}, {}, true});
  }
  /// Without tensors, the block is the owner's again, after the work of `current`, the stream of the thread that
  /// releases it, if it has one. A use that does not come before is printed at once, as a destructor cannot throw, and
  /// thrown by the thread's next launch, copy or wait.
  LOCUS_OUT_OF_LINE void released(const void* block, std::size_t bytes, Stream owner, Stream current) noexcept {
    try {
      const Lock lock(mutex_);
      const auto begin = reinterpret_cast<std::uintptr_t>(block), end = begin + bytes;
      StreamClock before = host_;
      before.join(queue_of(owner).clock);
      if (current) before.join(queue_of(current).clock);
      for (auto segment = segments_.lower_bound(begin); segment != segments_.end() && segment->first < end; ++segment)
        if (const Use* const use = not_before(before, segment->second, true)) {
          remember(describe_release(*use, queue_of(current ? current : owner).number));
          break;
        }
      forget(begin, end);
    } catch (const std::bad_alloc&) {  // unchecked
    }
  }

  /// The same without a check.
  void forget(const void* block, std::size_t bytes) noexcept {
    const Lock lock(mutex_);
    forget(reinterpret_cast<std::uintptr_t>(block), reinterpret_cast<std::uintptr_t>(block) + bytes);
  }

  /// throws StreamError for a release by the calling thread, since the checker was last switched on
  LOCUS_OUT_OF_LINE static void throw_pending() {
    if (!pending()) [[likely]]
      return;
    const PendingError error = *pending();
    delete std::exchange(pending(), nullptr);
    if (error.period == period().load(Order::relaxed)) fail<StreamError>({error.text});
  }

  /// Without uses of any memory, and errors not yet thrown.
  void forget() {
    const Lock lock(mutex_);
    segments_.clear();
    period().fetch_add(1, Order::relaxed);
  }

  /// Before launches of one call. throws StreamError, and notes none of them, if one does not follow the uses of its
  /// memory
  LOCUS_OUT_OF_LINE void launch(Stream stream, Span<StreamUses> launches) {
    throw_pending();
    const Lock lock(mutex_);
    Queue& queue = queue_of(stream);
    queue.clock.join(host_);
    const std::uint64_t epoch = queue.clock.of(queue.number);
    std::vector<Use> uses;
    for (StreamUses& each : launches) {
      uses.push_back({epoch, Shared<const QueuedLaunch>(new QueuedLaunch(each.launch(), queue.number))});
      for (const MemoryUse& memory : each.memory())
        for_each_segment(memory, [&](const Segment& segment) {
          if (const Use* const use = not_before(queue.clock, segment, memory.writes))
            fail_unordered(*use, segment, *uses.back().by, memory.writes);
        });
    }
    for (std::size_t i = 0; i < launches.size(); ++i)
      for (const MemoryUse& memory : launches[i].memory()) note(memory, uses[i]);
  }
  /// A launch that is captured: its memory is used by replays, for which launch() is called.
  LOCUS_OUT_OF_LINE void captured(StreamUses& uses) {
    throw_pending();
    const Lock lock(mutex_);
    for (MemoryUse& memory : uses.memory()) {
      const auto segment = segment_at(memory.begin);
      memory.allocation = segment == segments_.end() ? no_allocation : segment->second.allocation;
    }
  }

 private:
  struct Queue {
    std::size_t number = 0;
    StreamClock clock;
  };
  struct Use {
    std::uint64_t epoch = 0;
    Shared<const QueuedLaunch> by;
  };
  /// Neighbouring bytes with the same uses.
  struct Segment {
    std::uintptr_t end;
    std::uint64_t allocation;  ///< counted from 1
    Use written;
    std::vector<Use> read;  ///< since then, the last of each stream
    bool is_fresh;          ///< allocated, and not written yet
  };
  using Segments = std::map<std::uintptr_t, Segment>;

  static constexpr std::uint64_t no_allocation = ~std::uint64_t{0};

  StreamOrder() = default;

  [[nodiscard]] Queue& queue_of(Stream stream) {
    Queue& queue = queues_[stream];
    if (queue.number == 0) {
      queue.number = queues_.size();
      queue.clock.advance(queue.number);
    }
    return queue;
  }

  /// The use that does not happen before the clock; null: all do.
  [[nodiscard]] static const Use* not_before(const StreamClock& clock, const Segment& segment, bool writes) {
    if (!clock.covers(segment.written.by->stream, segment.written.epoch)) return &segment.written;
    for (const Use& use : segment.read)
      if (writes && !clock.covers(use.by->stream, use.epoch)) return &use;
    return nullptr;
  }

  [[nodiscard]] Segments::iterator segment_at(std::uintptr_t at) {
    auto segment = segments_.upper_bound(at);
    if (segment == segments_.begin()) return segments_.end();
    --segment;
    return at < segment->second.end ? segment : segments_.end();
  }
  template <class F>
  void for_each_segment(const MemoryUse& use, const F& f) {
    auto segment = segment_at(use.begin);
    if (segment == segments_.end()) segment = segments_.lower_bound(use.begin);
    for (; segment != segments_.end() && segment->first < use.end; ++segment)
      if (use.allocation == 0 || use.allocation == segment->second.allocation) f(segment->second);
  }
  /// Cuts a segment, so that one begins at this address.
  void split(std::uintptr_t at) {
    const auto segment = segment_at(at);
    if (segment == segments_.end() || segment->first == at) return;
    Segment rest = segment->second;
    segment->second.end = at;
    segments_.emplace(at, std::move(rest));
  }
  void note(const MemoryUse& memory, const Use& use) {
    split(memory.begin);
    split(memory.end);
    for_each_segment(memory, [&](Segment& segment) {
      if (memory.writes) {
        segment.written = use;
        segment.read.clear();
        segment.is_fresh = false;
        return;
      }
      for (Use& before : segment.read)
        if (before.by->stream == use.by->stream) return void(before = use);
      segment.read.push_back(use);
    });
  }
  void forget(std::uintptr_t begin, std::uintptr_t end) {
    segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(end));
  }

  // Errors.

  [[noreturn]] static void fail_unordered(const Use& use, const Segment& segment, const QueuedLaunch& launch,
                                          bool writes) {
    const bool was_written = &use == &segment.written;
    fail<StreamError>({launch.text(), writes ? " writes" : " reads", " memory that ", use.by->text(),
                       !was_written       ? " reads"
                       : segment.is_fresh ? " made"
                                          : " writes",
                       ", and nothing orders the two: before it, let stream ", launch.stream,
                       " wait, stream.wait(other.record()), or the host, other.synchronize()", use.by->line(),
                       launch.line()});
  }
  [[nodiscard]] static std::string describe_release(const Use& use, std::size_t current) {
    return join("a tensor was released in stream ", current, " while ", use.by->text(),
                " may still use its memory: before the last handle goes, let stream ", current,
                " wait, stream.wait(other.record()), or the host, other.synchronize()", use.by->line(), "\n  stream ",
                current, ": released from ", CallSite::here().text());
  }

  struct PendingError {
    std::string text;
    std::uint64_t period;  ///< when it was found
  };
  [[nodiscard]] static PendingError*& pending() {
    static thread_local PendingError* error =
        nullptr;  // not destroyed: tensors of thread-local variables are released late
    return error;
  }
  /// Counts how often the checker was switched off.
  [[nodiscard]] LOCUS_OUT_OF_LINE static Atomic<std::uint64_t>& period() {
    static Atomic<std::uint64_t> count{0};
    return count;
  }
  static void remember(const std::string& text) {
    std::fprintf(stderr, "locus: %s\n", text.c_str());
    const std::uint64_t now = period().load(Order::relaxed);
    if (pending() && pending()->period == now) return;
    delete std::exchange(pending(), nullptr);
    pending() = new PendingError{text, now};
  }

  Mutex mutex_;
  std::map<Stream, Queue> queues_;
  StreamClock host_;
  Segments segments_;
  std::uint64_t allocations_ = 0;
};

inline void check_streams(bool checked) {
  detail::checks_streams().store(checked, Order::relaxed);
  if (!checked) StreamOrder::instance().forget();  // uses while it is off will not be known
}

}}}  // namespace locus::LOCUS_ABI::cuda
