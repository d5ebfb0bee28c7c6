#pragma once
// Memory of a GPU for MPI, which shares it with other processes by CUDA IPC. CUDA IPC refuses memory of pools, and
// tensors have such memory.

#include <locus/cuda/peers.hpp>
#include <locus/distributed/engine/engine.hpp>

#include <bit>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A block that is kept between calls, and grows. One thread at a time uses it.
class MpiStaging final : public Owner {
 public:
  explicit MpiStaging(Cuda device) : device_(device) {}
  MpiStaging(const MpiStaging&) = delete;
  MpiStaging& operator=(const MpiStaging&) = delete;
  ~MpiStaging() override {
    try {
      free();
    } catch (const std::exception&) {}  // the GPU does not answer
  }

  /// At least `bytes`, which no queued work uses. throws OutOfMemory
  [[nodiscard]] unsigned char* at_least(std::int64_t bytes) {
    used_.wait();
    constexpr std::size_t least = 1 << 20;
    const auto wanted = static_cast<std::size_t>(bytes);
    if (wanted > bytes_) {
      free();
      const std::size_t size = std::bit_ceil(wanted > least ? wanted : least);
      block_ = PeerMemory::allocate_shareable(device_, size);
      bytes_ = size;
    }
    return static_cast<unsigned char*>(block_);
  }
  /// Work queued so far in the current stream uses the block.
  void used() { used_ = Stream<Cuda>::current(device_).record(); }

 private:
  void free() {
    used_.wait();
    if (block_) PeerMemory::free_shareable(device_, std::exchange(block_, nullptr), bytes_);
    bytes_ = 0;
  }

  Cuda device_;
  void* block_ = nullptr;
  std::size_t bytes_ = 0;
  Event<Cuda> used_{};
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
