#pragma once
// A thread's access to one GPU: its stream, its memory, its library handles.

#include <locus/core/shape.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/core/system/thread_end.hpp>
#include <locus/cuda/fault.hpp>
#include <locus/cuda/memory.hpp>
#include <locus/cuda/pinned_memory.hpp>
#include <locus/device/trace/launch_trace.hpp>

#include <array>
#include <atomic>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

inline constexpr int max_devices = 64;

namespace detail {
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::atomic<bool>& launches_are_awaited() {
  static std::atomic<bool> awaited{locus::detail::switch_from_environment("LOCUS_SYNC", false)};
  return awaited;
}
}  // namespace detail

inline void await_launches(bool awaited) { detail::launches_are_awaited().store(awaited, std::memory_order_relaxed); }
[[nodiscard]] inline bool launches_are_awaited() {
  return detail::launches_are_awaited().load(std::memory_order_relaxed);
}

class CapturedStep;

/// One thread's access to one GPU. When the thread ends, the next new thread inherits it, with the work still queued.
class Context {
 public:
  /// A context that no thread uses until it is given back to the registry. throws CudaUnavailable
  [[nodiscard]] static Context& open(int ordinal);
  /// The calling thread's context. throws CudaUnavailable
  [[nodiscard]] static Context& current(int ordinal);
  /// The same, but null where this thread never used the GPU, or is ending.
  [[nodiscard]] static Context* existing(int ordinal) noexcept;
  /// The context in which this thread queued work on the GPU; null: none. Valid to the thread's very end.
  [[nodiscard]] static Context* last(int ordinal) noexcept;

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] int ordinal() const { return ordinal_; }
  [[nodiscard]] cudaStream_t stream() const { return memory_.stream; }

  [[nodiscard]] void* allocate(std::size_t bytes) { return device_memory_.allocate(memory_, bytes); }
  void deallocate(void* block, std::size_t bytes) noexcept { device_memory_.deallocate(block, bytes, &memory_); }
  /// throws CudaError, or the GPU's fault
  void synchronize() {
    refuse_captured_wait();
    const OrdinalGuard guard(ordinal_);  // or the call would start the current GPU
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    if (streams_are_checked()) [[unlikely]] {
      StreamOrder::instance().completed(stream());
      StreamOrder::throw_pending();
    }
    Faults::require_none(ordinal_);
  }

  void refuse_captured_wait() const {
    refuse_capture("waiting for the GPU (item, copies to the host, synchronize)",
                   "return the tensor from the step, and read it after the step was called");
  }

  /// The step that is being captured in this context; null: none.
  [[nodiscard]] CapturedStep* captured_step() const { return captured_step_; }
  /// throws CaptureError naming the operation if a step is being captured
  void refuse_capture(const char* operation, const char* remedy) const {
    if (captured_step_) [[unlikely]] {
      fail<CaptureError>({"capture: the step cannot be captured for replay, because of ", operation, "; ", remedy});
    }
  }

  /// Before each launch and copy, where streams_are_checked(). throws StreamError unless it follows the uses of its
  /// memory by other streams
  LOCUS_COLD void check_order(StreamUses& uses) {
    if (!captured_uses_) return StreamOrder::instance().launch(stream(), {&uses, 1});
    StreamOrder::instance().captured(uses);
    captured_uses_->push_back(uses);
  }
  /// The same for a launch whose operands are pointers, or the pointers in functors, and for a copy.
  template <class... F>
  LOCUS_COLD void check_order_of(const locus::detail::LaunchDescription& launch, const F&... operands) {
    StreamUses uses(launch);
    (uses.add_pointers_in(operands), ...);
    check_order(uses);
  }
  LOCUS_COLD void check_order(const locus::detail::LaunchDescription& copy, const void* source, void* target,
                              std::size_t bytes) {
    StreamUses uses(copy);
    uses.read(source, static_cast<std::int64_t>(bytes));
    uses.write(target, static_cast<std::int64_t>(bytes));
    check_order(uses);
  }

  /// After each launch. throws the launch's error, naming it and its extents; with LOCUS_SYNC=1 the error of its run
  /// too
  void launched(const char* verb, Span<const std::int64_t> extents) {
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess && launches_are_awaited() && !captured_step_) error = cudaStreamSynchronize(stream());
    if (error != cudaSuccess) [[unlikely]]
      detail::raise(error, join(verb, " over ", Shape(extents)).c_str());
  }

  /// A device attribute of the GPU.
  [[nodiscard]] int attribute(cudaDeviceAttr which) const {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, ordinal_), "cudaDeviceGetAttribute");
    return value;
  }
  /// Largest shared memory of a block, in bytes, for kernels that ask for it.
  [[nodiscard]] std::size_t shared_memory() const { return shared_memory_; }
  /// Bytes of the second-level cache.
  [[nodiscard]] std::size_t cache() const { return cache_; }
  [[nodiscard]] int multiprocessors() const { return multiprocessors_; }
  /// Threads that a multiprocessor holds at once.
  [[nodiscard]] int resident_threads() const { return resident_threads_; }
  /// 10 * major + minor
  [[nodiscard]] int compute_capability() const { return compute_capability_; }
  /// Whether blocks can be launched in clusters.
  [[nodiscard]] bool has_clusters() const { return clusters_; }

  /// State of a library for this context, made at its first use; one type per slot.
  enum Slot { blas, dnn, convolver, attender, staging, solver, fourier, slots };
  template <class State>
  [[nodiscard]] State& state(Slot slot) {
    if (!states_[slot]) states_[slot] = new State(*this);  // contexts are never destroyed
    return *static_cast<State*>(states_[slot]);
  }

 private:
  explicit Context(int ordinal) : ordinal_(ordinal), device_memory_(DeviceMemory::of(ordinal)) {
    const OrdinalGuard guard(ordinal);
    check(cudaStreamCreateWithFlags(&memory_.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&memory_.event, cudaEventDisableTiming), "cudaEventCreate");
    shared_memory_ = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    cache_ = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize));
    multiprocessors_ = attribute(cudaDevAttrMultiProcessorCount);
    resident_threads_ = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    compute_capability_ =
        10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
    clusters_ = attribute(cudaDevAttrClusterLaunch) != 0;
    device_memory_.add(&memory_);
  }

  friend class ContextRegistry;
  friend class CapturePool;
  friend class CapturedStep;

  int ordinal_;
  DeviceMemory& device_memory_;
  CapturedStep* captured_step_ = nullptr;
  std::vector<StreamUses>* captured_uses_ = nullptr;  ///< receives the launches of a step that is being captured
  StreamMemory memory_;
  std::size_t shared_memory_ = 0, cache_ = 0;
  int multiprocessors_ = 1, resident_threads_ = 1, compute_capability_ = 0;
  bool clusters_ = false;
  void* states_[slots] = {};
};

/// All contexts. Contexts of ended threads wait for new threads. Never destroyed, like the memory that refers to them.
class ContextRegistry {
 public:
  [[nodiscard]] static Context*& of_thread(int ordinal) {
    static thread_local Context* contexts[max_devices] = {};
    return contexts[ordinal];
  }

  /// The context in which the thread is capturing a step; null: none.
  [[nodiscard]] static Context*& capturing_of_thread() {
    static thread_local Context* context = nullptr;
    return context;
  }

  /// The context in which the thread queued work last. Thread-local tensors may be destroyed after the thread gave back
  /// its contexts: freeing their memory must still come after that work.
  [[nodiscard]] static Context*& last_of_thread(int ordinal) {
    static thread_local Context* contexts[max_devices] = {};
    return contexts[ordinal];
  }

  [[nodiscard]] static Context* acquire(int ordinal) {
    static const locus::detail::ThreadEnd at_thread_end(give_back_all);
    if (!at_thread_end.note(&instance()))
      fail<OutOfMemory>({"out of host memory: none for a thread's stream; free tensors, or use fewer threads"});
    {
      const Lock lock(instance().mutex_);
      auto& idle = instance().idle_[static_cast<std::size_t>(ordinal)];
      if (!idle.empty()) {
        Context* context = idle.back();
        idle.pop_back();
        return context;
      }
    }
    return new Context(ordinal);
  }
  static void give_back(Context& context) {
    const Lock lock(instance().mutex_);
    instance().idle_[static_cast<std::size_t>(context.ordinal())].push_back(&context);
  }

 private:
  static void give_back_all(void*) {
    for (int ordinal = 0; ordinal < max_devices; ++ordinal)
      if (Context* const context = std::exchange(of_thread(ordinal), nullptr)) give_back(*context);
  }

  [[nodiscard]] LOCUS_OUT_OF_LINE static ContextRegistry& instance() {
    static auto* registry = new ContextRegistry;
    return *registry;
  }

  Mutex mutex_;
  std::array<std::vector<Context*>, max_devices> idle_;
};

LOCUS_OUT_OF_LINE inline Context& Context::open(int ordinal) {
  require_device(ordinal);
  if (ordinal >= max_devices)
    fail<CudaUnavailable>({"cuda:", ordinal, ": at most ", max_devices, " GPUs are supported"});
  return *ContextRegistry::acquire(ordinal);
}
LOCUS_OUT_OF_LINE inline Context& Context::current(int ordinal) {
  Context* context = existing(ordinal);
  if (const Context* capturing = ContextRegistry::capturing_of_thread(); capturing && capturing != context)
      [[unlikely]] {
    fail<CaptureError>({"capture: the step cannot be captured for replay, because an operation in it is on cuda:",
                        ordinal, " in another stream than the step's, which is on cuda:", capturing->ordinal(),
                        "; do it before or after the step"});
  }
  if (context) return *context;
  context = &open(ordinal);
  ContextRegistry::last_of_thread(ordinal) = ContextRegistry::of_thread(ordinal) = context;
  return *context;
}
inline Context* Context::existing(int ordinal) noexcept {
  return ordinal >= 0 && ordinal < max_devices ? ContextRegistry::of_thread(ordinal) : nullptr;
}
inline Context* Context::last(int ordinal) noexcept {
  return ordinal >= 0 && ordinal < max_devices ? ContextRegistry::last_of_thread(ordinal) : nullptr;
}

/// Makes a context the calling thread's current one during its lifetime.
class CurrentContext {
 public:
  explicit CurrentContext(Context& context)
      : ordinal_(context.ordinal()),
        before_(std::exchange(ContextRegistry::of_thread(ordinal_), &context)),
        last_before_(std::exchange(ContextRegistry::last_of_thread(ordinal_), &context)) {}
  ~CurrentContext() {
    ContextRegistry::of_thread(ordinal_) = before_;
    ContextRegistry::last_of_thread(ordinal_) = last_before_;
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  int ordinal_;
  Context *before_, *last_before_;
};

/// Device memory for one operation, given back in stream order.
class Scratch {
 public:
  explicit Scratch(Context& context, std::size_t bytes = 0) : context_(context) {
    if (bytes) reserve(bytes);
  }
  LOCUS_OUT_OF_LINE ~Scratch() {
    if (data_) context_.deallocate(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Allocates; call it only where there is no memory yet.
  void reserve(std::size_t bytes) {
    data_ = context_.allocate(bytes);
    bytes_ = bytes;
  }
  template <class T> [[nodiscard]] T* as() const { return static_cast<T*>(data_); }

 private:
  Context& context_;
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
};

/// The stream in which this thread's operations on the GPU run. Within a captured step, and in with_stream, it differs
/// from the stream outside. throws CudaUnavailable
[[nodiscard]] inline cudaStream_t stream(Cuda device = {}) { return Context::current(device.ordinal).stream(); }

}}}  // namespace locus::LOCUS_ABI::cuda
