#pragma once
// Streams: queues of work on a device. What one queue holds happens in order; two queues run beside each other until an
// event orders them. Every thread has a current stream of its own on every device, in which its operations are queued.

#include <locus/device/pinned.hpp>

namespace locus::inline LOCUS_ABI {

/// A moment in a stream: when what was queued before it is done.
template <class D>
class Event;

/// A queue of work on D, for one thread at a time. Before a stream uses a tensor of another one, it waits for an event
/// of that; and before the tensor is let go, its own stream waits for an event of the user's, or the host synchronizes.
///
///     const Stream<Cuda> side;
///     side.wait(Stream<Cuda>::current().record());   // x was computed here
///     const Tensor<float, Cuda> y = with_stream(side, [&] { return (x * 2.f).eval(); });
///     Stream<Cuda>::current().wait(side.record());   // what follows here comes after it
template <class D>
class Stream;

/// On the host, operations are done when they return: there is nothing to order.
template <>
class Event<Cpu> {
 public:
  void wait() const {}
  [[nodiscard]] bool done() const { return true; }
};
template <>
class Stream<Cpu> {
 public:
  using device_type = Cpu;
  struct Current {
    explicit Current(const Stream&) {}
  };
  explicit Stream(Cpu = {}) {}
  [[nodiscard]] static Stream current(Cpu = {}) { return Stream{}; }
  [[nodiscard]] Cpu device() const { return {}; }
  [[nodiscard]] Event<Cpu> record() const { return {}; }
  void wait(const Event<Cpu>&) const {}
  void synchronize() const {}
};

#if LOCUS_CUDA

template <>
class Event<Cuda> {
 public:
  explicit Event(cuda::Event event) : event_(std::move(event)) {}
  /// The host waits.
  void wait() const { event_.wait(); }
  [[nodiscard]] bool done() const { return event_.done(); }

 private:
  friend class Stream<Cuda>;
  cuda::Event event_;
};

template <>
class Stream<Cuda> {
 public:
  using device_type = Cuda;

  /// A queue beside those of all threads. throws CudaUnavailable
  explicit Stream(Cuda device = {}) : context_(&cuda::Context::open(device.ordinal)), owned_(true) {}
  /// The one in which the calling thread's operations are queued. throws CudaUnavailable
  [[nodiscard]] static Stream current(Cuda device = {}) { return Stream(cuda::Context::current(device.ordinal)); }
  Stream(Stream&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)), owned_(std::exchange(other.owned_, false)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  /// What is queued is still done.
  ~Stream() {
    if (owned_) cuda::ContextRegistry::give_back(*context_);
  }

  [[nodiscard]] Cuda device() const { return {context_->ordinal()}; }
  /// The moment when all is done that is in the queue now.
  [[nodiscard]] Event<Cuda> record() const {
    cuda::Event event(context_->ordinal());
    const cuda::OrdinalGuard guard(context_->ordinal());
    event.record(context_->stream());
    return Event<Cuda>(std::move(event));
  }
  /// What is queued from now on comes after the event. The host does not wait.
  void wait(const Event<Cuda>& event) const {
    const cuda::OrdinalGuard guard(context_->ordinal());
    event.event_.block(context_->stream());
  }
  /// The host waits until the queue is empty.
  void synchronize() const { context_->synchronize(); }

  /// Makes the stream the calling thread's current one, for the time of its life.
  class Current {
   public:
    explicit Current(const Stream& stream) : current_(*stream.context_) {}

   private:
    cuda::CurrentContext current_;
  };

  /// See copy_async. `block` is the whole of the page-locked memory.
  [[nodiscard]] Event<Cuda> copy_to_device(void* block, const void* source, void* target, std::size_t bytes) const {
    return Event<Cuda>(cuda::copy_async(*context_, block, source, target, bytes, cudaMemcpyHostToDevice));
  }
  [[nodiscard]] Event<Cuda> copy_to_pinned(void* block, const void* source, void* target, std::size_t bytes) const {
    return Event<Cuda>(cuda::copy_async(*context_, block, source, target, bytes, cudaMemcpyDeviceToHost));
  }

 private:
  explicit Stream(cuda::Context& context) : context_(&context) {}
  cuda::Context* context_;
  bool owned_ = false;
};

#else  // no CUDA in this build: there is never a stream

template <>
class Event<Cuda> {
 public:
  Event() = default;
  Event(Event&&) noexcept {}  // moved, never copied, as where there is CUDA
  Event& operator=(Event&&) noexcept { return *this; }
  ~Event() = default;
  void wait() const {}
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

/// f(), whose operations on the stream's device are queued in the stream.
template <class D, class F>
decltype(auto) with_stream(const Stream<D>& stream, F&& f) {
  static_assert(
      !requires { typename std::remove_cvref_t<std::invoke_result_t<F>>::result_type; },
      "with_stream: the function returns a pending expression, which would be computed later, in the stream "
      "that is current then; return x.eval()");
  const typename Stream<D>::Current current(stream);
  return std::forward<F>(f)();
}

}  // namespace locus::inline LOCUS_ABI
