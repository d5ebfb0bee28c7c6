#pragma once
// Copies between host and GPU. Copies to the host and from page-locked memory wait for the GPU, except copy_async.

#include <locus/cuda/stream.hpp>
#include <locus/cuda/trace.hpp>
#include <locus/cuda/tuning.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
/// Page-locked buffers, used in turn, that stage copies from pageable memory. The driver stages such copies too, except
/// where the GPU reads pageable memory directly; there the source would have to stay unchanged. Here it may always
/// change after the call.
class Staging {
 public:
  static constexpr std::size_t chunk = tuning::staged_bytes;

  explicit Staging(Context& context)
      : stream_(context.stream()),
        chunks_{Chunk(context.ordinal()), Chunk(context.ordinal()), Chunk(context.ordinal()),
                Chunk(context.ordinal())} {}

  /// The source may change when this returns; the target is written in stream order.
  void copy_to_device(const std::byte* source, std::byte* target, std::size_t bytes) {
    for (std::size_t begin = 0; begin < bytes; begin += chunk) {
      const std::size_t size = bytes - begin < chunk ? bytes - begin : chunk;
      Chunk& buffer = chunks_[next_++ % chunks_.size()];
      buffer.sent.wait();
      std::memcpy(buffer.data, source + begin, size);
      check(cudaMemcpyAsync(target + begin, buffer.data, size, cudaMemcpyHostToDevice, stream_),
            "copy from Cpu to Cuda");
      buffer.sent.record(stream_);
    }
  }

 private:
  struct Chunk {
    Event sent;  ///< the last copy out of this chunk
    void* data;
    explicit Chunk(int ordinal) : sent(ordinal), data(PinnedMemory::instance().allocate(chunk)) {}
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;
    ~Chunk() { PinnedMemory::instance().deallocate(data, chunk); }
  };
  cudaStream_t stream_;
  std::array<Chunk, 4> chunks_;
  std::size_t next_ = 0;
};
}  // namespace detail

namespace detail {
inline void refuse_captured_copy(const Context& context) {
  context.refuse_capture("a copy from the host to the GPU, which replays would repeat with what the host had then",
                         "copy before the step, with copy_ into a tensor that the step uses");
}
}  // namespace detail

/// Copies between a GPU and page-locked memory, part of the allocation `block`, in the order of a context's stream.
/// Returns an event that marks completion. Until then neither side may change, and the block is not reused, even if it
/// is freed.
[[nodiscard]] inline Shared<const Event> copy_async(Context& context, void* block, const void* source, void* target,
                                                    std::size_t bytes, cudaMemcpyKind direction) {
  context.refuse_capture("an asynchronous copy", "copy before the step, and order or await the copy there");
  if (streams_are_checked()) [[unlikely]]
    context.check_order({"copy_async"}, source, target, bytes);
  const OrdinalGuard guard(context.ordinal());
  const Shared<Event> done(new Event(context.ordinal()));
  if (bytes) {
    const char* const name =
        direction == cudaMemcpyHostToDevice ? "copy from Pinned to Cuda" : "copy from Cuda to Pinned";
    CopyTrace trace(context, name, bytes);
    check(cudaMemcpyAsync(target, source, bytes, direction, context.stream()), name);
    trace.queued();
  }
  try {
    done->record(context.stream());
    if (bytes) PinnedMemory::instance().used_until(block, Shared<const Event>(done.get()));
  } catch (...) {  // without an event nobody can await the copy: it completes before the error leaves
    settle(context.stream());
    throw;
  }
  return Shared<const Event>(done.get());
}

/// From page-locked memory, which may change when this returns.
inline void copy_from_pinned(const void* source, Cuda to, void* target, std::size_t bytes) {
  if (bytes == 0) return;
  Context& context = Context::current(to.ordinal);
  detail::refuse_captured_copy(context);
  if (streams_are_checked()) [[unlikely]]
    context.check_order({"copy from Pinned to Cuda"}, source, target, bytes);
  const OrdinalGuard guard(to.ordinal);
  CopyTrace trace(context, "copy from Pinned to Cuda", bytes);
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, context.stream()), "copy from Pinned to Cuda");
  trace.queued();
  context.synchronize();
}

/// From pageable memory, which may change when this returns.
inline void copy_to_device(const void* source, Cuda to, void* target, std::size_t bytes) {
  if (bytes == 0) return;
  Context& context = Context::current(to.ordinal);
  detail::refuse_captured_copy(context);
  if (streams_are_checked()) [[unlikely]]
    context.check_order({"copy from Cpu to Cuda"}, source, target, bytes);
  const OrdinalGuard guard(to.ordinal);
  CopyTrace trace(context, "copy from Cpu to Cuda", bytes);
  context.state<detail::Staging>(Context::staging)
      .copy_to_device(static_cast<const std::byte*>(source), static_cast<std::byte*>(target), bytes);
  trace.queued();
}

/// To any host memory; waits until the bytes are there.
inline void copy_to_host(Cuda from, const void* source, void* target, std::size_t bytes) {
  if (bytes == 0) return;
  Context& context = Context::current(from.ordinal);
  context.refuse_captured_wait();
  if (streams_are_checked()) [[unlikely]]
    context.check_order({"copy from Cuda to the host"}, source, target, bytes);
  const OrdinalGuard guard(from.ordinal);
  CopyTrace trace(context, "copy from Cuda to the host", bytes);
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, context.stream()), "copy from Cuda to the host");
  trace.queued();
  context.synchronize();
}

/// Within one GPU in stream order. Between two GPUs, after the work queued in both streams and before later work in
/// either.
inline void copy_on_device(Cuda from, const void* source, Cuda to, void* target, std::size_t bytes) {
  if (bytes == 0) return;
  Context& target_context = Context::current(to.ordinal);
  if (from == to) {
    if (streams_are_checked()) [[unlikely]]
      target_context.check_order({"copy on Cuda"}, source, target, bytes);
    const OrdinalGuard guard(to.ordinal);
    CopyTrace trace(target_context, "copy on Cuda", bytes);
    check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, target_context.stream()), "copy on Cuda");
    return trace.queued();
  }
  target_context.refuse_capture("a copy between two GPUs", "do it before or after the step");
  Context& source_context = Context::current(from.ordinal);
  Event source_ready(from.ordinal), copied(to.ordinal);
  source_ready.record(source_context.stream());
  source_ready.block(target_context.stream());
  const OrdinalGuard guard(to.ordinal);
  CopyTrace trace(target_context, "copy between two GPUs", bytes);
  check(cudaMemcpyPeerAsync(target, to.ordinal, source, from.ordinal, bytes, target_context.stream()),
        "copy between two GPUs");
  trace.queued();
  try {
    if (streams_are_checked()) [[unlikely]]  // after the call: if it fails, nothing uses the source
      target_context.check_order({"copy between two GPUs"}, source, target, bytes);
    copied.record(target_context.stream());
    copied.block(source_context.stream());
  } catch (...) {  // nothing would keep the source until it is copied
    settle(target_context.stream());
    throw;
  }
}

}}}  // namespace locus::LOCUS_ABI::cuda
