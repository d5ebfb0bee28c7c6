#pragma once
// Copies the buffers of a model from rank 0 to all ranks in one broadcast.

#include <locus/autograd/flat.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/nn/buffer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Buffers packed into one tensor of bytes, for one broadcast.
template <class D>
class PackedBuffers {
 public:
  PackedBuffers(std::vector<nn::AnyBuffer<D>> parts, D device) : parts_(std::move(parts)) {
    std::int64_t size = 0;
    for (const auto& part : parts_) {
      begins_.push_back(size);
      size += locus::detail::padded_to_slot<std::uint8_t>(part.bytes().elements());
    }
    if (size > 0) bytes_ = Tensor<std::uint8_t, D>({size}, device).fill_(0);
  }
  /// Starts the broadcast from rank 0 to all ranks.
  [[nodiscard]] Handle<std::uint8_t, D> start(const Communicator<D>& comm) const {
    if (!bytes_.buffer()) return {};
    if (comm.rank() == 0) each([](const auto& part, const auto& place) { place.copy_(part); });
    return comm.broadcast_async(bytes_);
  }
  void finish(Handle<std::uint8_t, D> handle, const Communicator<D>& comm) const {
    if (!handle.started()) return;
    (void)std::move(handle).ordered();
    if (comm.rank() != 0) each([](const auto& part, const auto& place) { part.copy_(place); });
  }

 private:
  template <class F>
  void each(const F& f) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Tensor<std::uint8_t, D> part = parts_[i].bytes();
      f(part, bytes_.slice(0, begins_[i], begins_[i] + part.elements()));
    }
  }
  std::vector<nn::AnyBuffer<D>> parts_;
  std::vector<std::int64_t> begins_;
  Tensor<std::uint8_t, D> bytes_{};
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
