#pragma once
// Options of a loader.

#include <locus/core/check.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Stands for a seed that is drawn: different for every loader, determined by manual_seed().
inline constexpr std::uint64_t drawn_seed = ~std::uint64_t{0};

/// The most workers of a loader.
inline constexpr int most_workers = 256;

struct LoaderOptions {
  std::int64_t batch_size = 64;
  bool shuffle = false;             ///< a new order every epoch
  bool drop_last = false;           ///< leave out the last batch of an epoch if it is smaller
  std::uint64_t seed = drawn_seed;  ///< orders depend on (seed, epoch); drawn by default
  std::int64_t ahead = 8;           ///< batches prepared in advance, at most 1024
  /// Threads that only prepare batches, at most 256: for samples that take long to read or to make. The loader keeps
  /// them from its first epoch on; of several loops at once, each further one creates its own. By default the threads
  /// that share loops prepare batches in between. data/loading/workers.hpp suggests a number.
  int workers = 0;
  /// Batches for Cuda wait in pinned memory, from which the GPU copies them while it computes. If false, they wait in
  /// pageable memory, for systems with limited RAM: the thread of the loop copies each batch, a piece at a time,
  /// through four pinned buffers. Each stream of a GPU that copies from pageable memory has four of its own. Without
  /// effect on other devices.
  bool pinned = true;
};

namespace detail {

/// Purpose: seeds of loaders, from a separate generator, so that shuffling changes no other random number.
struct Orders {};

/// throws ArgumentError for options out of range, and a data set without samples
inline void require_valid(const LoaderOptions& options, std::int64_t size) {
  if (size < 1) fail<ArgumentError>({"loader: the data set is empty"});
  if (options.batch_size < 1)
    fail<ArgumentError>({"loader: batch_size is ", options.batch_size, "; expected 1 or more"});
  if (options.ahead < 1 || options.ahead > 1024)
    fail<ArgumentError>({"loader: ahead is ", options.ahead, "; expected 1 to 1024 batches"});
  if (options.workers < 0 || options.workers > most_workers)
    fail<ArgumentError>({"loader: workers is ", options.workers, "; expected 0 to ", most_workers, " threads"});
}

/// Number of batches in an epoch of `samples` samples.
[[nodiscard]] inline std::int64_t batches_of(std::int64_t samples, const LoaderOptions& options) {
  const bool rest = !options.drop_last && samples % options.batch_size != 0;
  return samples / options.batch_size + rest;
}

}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::data
