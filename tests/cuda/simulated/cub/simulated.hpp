#pragma once
// Shared by the stand-ins for functions of CUB beside this file. They take CUB's arguments, and check the order of
// calls that CUB asks for: a query for the working memory first, then a run with as much, in a stream.

#include <cuda_runtime_api.h>

namespace simulated {

/// Works on working memory of `bytes`: the first of the two calls says how much it needs, the second queues f(), or
/// adds it to the stream's capture.
template <class F>
cudaError_t in_two_calls(void* memory, std::size_t& bytes, std::size_t needed, cudaStream_t stream, const F& f) {
  if (!stream) stop("CUB on the default stream");
  if (!memory) {
    bytes = needed;
    return cudaSuccess;
  }
  if (bytes < needed) stop("CUB with less working memory than it asked for");
  if (reinterpret_cast<Stream*>(stream)->ordinal != current_ordinal) stop("CUB on a stream of another GPU");
  perform(stream, std::make_shared<Node>(Node{[=] {
            std::memset(memory, 0xab, needed);
            f();
          }}));
  return cudaSuccess;
}

}  // namespace simulated
