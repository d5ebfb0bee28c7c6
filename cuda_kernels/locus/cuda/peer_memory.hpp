#pragma once
// GPUs that read and write each other's memory.

#include <locus/cuda/stream.hpp>
#include <locus/cuda/trace.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Lets kernels on `reader` use memory of `owner`. False where the machine does not connect them; copies between the
/// two still work, by way of the host.
[[nodiscard]] inline bool open_memory(int owner, int reader) {
  if (owner == reader) return true;
  int is_connected = 0;
  check(cudaDeviceCanAccessPeer(&is_connected, reader, owner), "cudaDeviceCanAccessPeer");
  if (!is_connected) return false;
  const OrdinalGuard guard(reader);
  const cudaError_t error = cudaDeviceEnablePeerAccess(owner, 0);  // for memory from cudaMalloc
  if (error == cudaErrorPeerAccessAlreadyEnabled) (void)cudaGetLastError();
  else check(error, "cudaDeviceEnablePeerAccess");
  DeviceMemory::of(owner).open_to(reader);
  return true;
}

/// Copies between two GPUs, or within one, in the stream of the target's context. The caller orders it after the writes
/// to the source.
inline void copy_in_stream(Context& context, void* target, const void* source, int source_ordinal, std::size_t bytes) {
  if (bytes == 0) return;
  if (streams_are_checked()) [[unlikely]]
    context.check_order({"copy between two ranks"}, source, target, bytes);
  const OrdinalGuard guard(context.ordinal());
  CopyTrace trace(context, "copy between two ranks", bytes);
  check(cudaMemcpyPeerAsync(target, context.ordinal(), source, source_ordinal, bytes, context.stream()),
        "copy between two ranks");
  trace.queued();
}

}}}  // namespace locus::LOCUS_ABI::cuda
