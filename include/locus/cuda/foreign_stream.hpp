#pragma once
// The order between this thread's stream on a GPU and a stream of another library, given as a number: its handle, or a
// name of one of CUDA's default streams.

#include <locus/cuda/backend.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The numbers that DLPack and the CUDA array interface give to streams that have no handle.
inline constexpr std::intptr_t no_stream = -1, legacy_stream = 1, per_thread_stream = 2;

#if LOCUS_CUDA

namespace detail {
[[nodiscard]] inline cudaStream_t handle_of(std::intptr_t stream) { return reinterpret_cast<cudaStream_t>(stream); }

/// As order_streams; nothing if both are the same stream, whose work is in order.
inline void order(int ordinal, cudaStream_t first, cudaStream_t second) {
  if (first != second) order_streams(ordinal, first, second);
}

/// The calling thread's context. throws ArgumentError unless `stream` names one stream; CaptureError
[[nodiscard]] LOCUS_OUT_OF_LINE inline Context& to_exchange_with(int ordinal, std::intptr_t stream) {
  if (stream == 0 || stream < no_stream)
    fail<ArgumentError>({"stream ", stream, "; expected the handle of a stream, 1 for CUDA's legacy default stream, 2 ",
                         "for the per-thread default stream, or -1 if the work is ordered already"});
  Context& context = Context::current(ordinal);
  context.refuse_capture("an exchange of memory with another library", "exchange it before the step");
  return context;
}
}  // namespace detail

/// The number of the calling thread's stream.
[[nodiscard]] inline std::intptr_t number_of_stream(Cuda device) {
  return reinterpret_cast<std::intptr_t>(cuda::stream(device));
}
/// Work that this thread queues from now on runs after the work of the other stream.
inline void follow_stream(Cuda device, std::intptr_t other) {
  const Context& context = detail::to_exchange_with(device.ordinal, other);
  if (other != no_stream) detail::order(device.ordinal, detail::handle_of(other), context.stream());
}
/// Work that is queued in the other stream from now on runs after this thread's.
inline void precede_stream(Cuda device, std::intptr_t other) {
  const Context& context = detail::to_exchange_with(device.ordinal, other);
  if (other != no_stream) detail::order(device.ordinal, context.stream(), detail::handle_of(other));
}
/// Before memory is freed: later work of this thread follows the other stream's work. The host waits if no event can
/// order the two.
LOCUS_OUT_OF_LINE inline void settle_stream(Cuda device, std::intptr_t other) noexcept {
  const UncapturedCalls anything_goes;
  const cudaStream_t stream = detail::handle_of(other);
  const Context* const context = Context::last(device.ordinal);
  try {
    const OrdinalGuard guard(device.ordinal);
    if (!context || context->captured_step()) return settle(stream);
    try {
      detail::order(device.ordinal, stream, context->stream());
    } catch (const Error&) {
      settle(stream);
    }
  } catch (const Error&) {  // the GPU does not answer, and nothing more will run there
  }
}
/// Before memory of another library is given back: the host waits for the work that this thread queued.
LOCUS_OUT_OF_LINE inline void settle_own_stream(Cuda device) noexcept {
  const Context* const context = Context::last(device.ordinal);
  if (!context || context->captured_step()) return;
  try {
    const OrdinalGuard guard(device.ordinal);
    settle(context->stream());
  } catch (const Error&) {  // as above
  }
}

#else  // no CUDA in this build: there is no memory of a GPU either

[[nodiscard]] inline std::intptr_t number_of_stream(Cuda device) { require_device(device.ordinal); }
inline void follow_stream(Cuda device, std::intptr_t) { require_device(device.ordinal); }
inline void precede_stream(Cuda device, std::intptr_t) { require_device(device.ordinal); }
inline void settle_stream(Cuda, std::intptr_t) noexcept {}
inline void settle_own_stream(Cuda) noexcept {}

#endif

}}}  // namespace locus::LOCUS_ABI::cuda
