#pragma once
// A context's cuDNN.

#include <locus/cuda/cudnn/engines.hpp>
#include <locus/cuda/event.hpp>
#include <locus/cuda/stream.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// One context's cuDNN, whose handle convolutions and attention share: a handle takes memory of the GPU and time.
class Library {
 public:
  /// throws CudaError where cuDNN does not start
  explicit Library(Context& context) : Library() {
    check(cudnnSetStream(machine_.handle, context.stream()), "cudnnSetStream", "cuDNN");
  }
  ~Library() { (void)cudnnDestroy(machine_.handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Made at the first use in the context.
  [[nodiscard]] static const Machine& machine_of(Context& context) {
    return context.state<Library>(Context::dnn).machine_;
  }

 private:
  Library() {
    const UncapturedCalls anything_goes;
    check(cudnnCreate(&machine_.handle), "cudnnCreate", "cuDNN");
  }

  Machine machine_;
};

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
