#pragma once
// The order of streams as vector clocks.

#include <locus/core/check.hpp>

#include <cstdint>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// For each stream, by its number, the last epoch that happened before a moment. An event, or a wait of the host, ends
/// an epoch of its stream.
class StreamClock {
 public:
  /// Whether the stream's work in the epoch happened before.
  [[nodiscard]] bool covers(std::size_t stream, std::uint64_t epoch) const { return epoch <= of(stream); }
  [[nodiscard]] std::uint64_t of(std::size_t stream) const { return stream < epochs_.size() ? epochs_[stream] : 0; }
  void join(const StreamClock& other) {
    if (epochs_.size() < other.epochs_.size()) epochs_.resize(other.epochs_.size());
    for (std::size_t i = 0; i < other.epochs_.size(); ++i)
      if (epochs_[i] < other.epochs_[i]) epochs_[i] = other.epochs_[i];
  }
  /// Begins an epoch of the stream.
  void advance(std::size_t stream) {
    if (epochs_.size() <= stream) epochs_.resize(stream + 1);
    ++epochs_[stream];
  }

 private:
  std::vector<std::uint64_t> epochs_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
