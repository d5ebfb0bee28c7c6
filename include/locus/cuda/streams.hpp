#pragma once
// Streams of NVIDIA GPUs. Type-checks everywhere, as cuda/backend.hpp.

#include <locus/cuda/pinned.hpp>
#include <locus/device/stream.hpp>

namespace locus { inline namespace LOCUS_ABI {

#if LOCUS_CUDA

template <>
class Event<Cuda> {
 public:
  /// No event: done, and nothing to wait for.
  Event() = default;
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(event_); }
  /// The host waits.
  void wait() const {
    if (event_) event_->wait();
  }
  /// The same in a destructor.
  void settle() const noexcept {
    if (event_) event_->settle();
  }
  [[nodiscard]] bool done() const {
    if (!event_) return true;
    if (!event_->done()) return false;
    event_->note_wait();
    return true;
  }

 private:
  friend class Stream<Cuda>;
  explicit Event(Shared<const cuda::Event> event) : event_(std::move(event)) {}
  Shared<const cuda::Event> event_;
};

template <>
class Stream<Cuda> {
 public:
  using device_type = Cuda;

  /// A stream besides those that threads have. throws CudaUnavailable
  explicit Stream(Cuda device = {}) : context_(&cuda::Context::open(device.ordinal)), owned_(true) {}
  /// The stream in which the calling thread's operations are queued. throws CudaUnavailable
  [[nodiscard]] static Stream current(Cuda device = {}) { return Stream(cuda::Context::current(device.ordinal)); }
  Stream(Stream&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)), owned_(std::exchange(other.owned_, false)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  /// Queued work still runs.
  ~Stream() {
    if (owned_) cuda::ContextRegistry::give_back(*context_);
  }

  [[nodiscard]] Cuda device() const { return {context().ordinal()}; }
  /// An event that completes when all work queued so far is done.
  [[nodiscard]] Event<Cuda> record() const {
    context().refuse_capture("an event recorded in it", "record it before or after the step");
    const Shared<cuda::Event> event(new cuda::Event(context().ordinal()));
    const cuda::OrdinalGuard guard(context().ordinal());
    event->record(context().stream());
    return Event<Cuda>(Shared<const cuda::Event>(event.get()));
  }
  /// Work queued from now on waits for the event. The host does not wait.
  void wait(const Event<Cuda>& event) const {
    if (!event) return;
    context().refuse_capture("an event awaited in it", "wait before the step");
    const cuda::OrdinalGuard guard(context().ordinal());
    event.event_->block(context().stream());
  }
  /// The host waits until the stream is empty.
  void synchronize() const { context().synchronize(); }

  /// Makes the stream the calling thread's current one during its lifetime.
  class Current {
   public:
    explicit Current(const Stream& stream) : current_(stream.context()) {}

   private:
    cuda::CurrentContext current_;
  };

  /// See copy_async. `block` is the whole page-locked allocation.
  [[nodiscard]] Event<Cuda> copy_to_device(void* block, const void* source, void* target, std::size_t bytes) const {
    return Event<Cuda>(cuda::copy_async(context(), block, source, target, bytes, cudaMemcpyHostToDevice));
  }
  [[nodiscard]] Event<Cuda> copy_to_pinned(void* block, const void* source, void* target, std::size_t bytes) const {
    return Event<Cuda>(cuda::copy_async(context(), block, source, target, bytes, cudaMemcpyDeviceToHost));
  }

 private:
  explicit Stream(cuda::Context& context) : context_(&context) {}
  /// throws ArgumentError where the stream was moved from
  [[nodiscard]] cuda::Context& context() const {
    if (!context_) [[unlikely]]
      detail::fail_moved_from("Stream");
    return *context_;
  }
  cuda::Context* context_;
  bool owned_ = false;
};

#else  // no CUDA in this build: there is never a stream

template <>
class Event<Cuda> {
 public:
  [[nodiscard]] explicit operator bool() const { return false; }
  void wait() const {}
  void settle() const noexcept {}
  [[nodiscard]] bool done() const { return true; }
};
template <>
class Stream<Cuda> {
 public:
  using device_type = Cuda;
  struct Current {
    explicit Current(const Stream&) {}
  };
  explicit Stream(Cuda device = {}) { cuda::require_device(device.ordinal); }
  [[nodiscard]] static Stream current(Cuda device = {}) { return Stream(device); }
  [[nodiscard]] Cuda device() const { return {}; }
  [[nodiscard]] Event<Cuda> record() const { return {}; }
  void wait(const Event<Cuda>&) const {}
  void synchronize() const {}
  [[nodiscard]] Event<Cuda> copy_to_device(void*, const void*, void*, std::size_t) const { return {}; }
  [[nodiscard]] Event<Cuda> copy_to_pinned(void*, const void*, void*, std::size_t) const { return {}; }
};

#endif

}}  // namespace locus::LOCUS_ABI
