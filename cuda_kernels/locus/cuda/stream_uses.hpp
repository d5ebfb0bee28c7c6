#pragma once
// The memory that a launch uses, for the checker of stream order.

#include <locus/core/std/shared.hpp>
#include <locus/cuda/call_site.hpp>
#include <locus/cuda/stream_clock.hpp>
#include <locus/device/trace/launch_trace.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Bytes that a launch reads or writes.
struct MemoryUse {
  std::uintptr_t begin = 0, end = 0;
  bool writes = false;
  bool is_guessed = false;       ///< from a pointer in a functor: a write where nothing was written yet, else a read
  std::uint64_t allocation = 0;  ///< that the bytes belonged to; of captured launches
};

/// One launch, or one copy, and the memory that it uses.
class StreamUses {
 public:
  explicit StreamUses(const locus::detail::LaunchDescription& launch) : launch_(launch) {}

  void read(const void* data, std::int64_t bytes) { add(data, bytes, false, false); }
  void write(const void* data, std::int64_t bytes) { add(data, bytes, true, false); }
  /// Elements by extents and strides: all bytes from the first to the last where they leave no gaps, else the first
  /// run of neighbours, so that interleaved views are not taken for each other.
  void add(const void* data, int rank, const std::int64_t* extent, const std::int64_t* stride, std::int64_t size,
           bool writes) {
    std::int64_t run = 1;  // length of a run of neighbours; grown by each dimension whose stride it is
    for (int grown = 0; grown < rank; ++grown) {
      int next = -1;
      for (int d = 0; d < rank && next < 0; ++d)
        if (stride[d] == run && extent[d] > 1) next = d;
      if (next < 0) break;
      run *= extent[next];
    }
    for (int d = 0; d < rank; ++d)
      if (extent[d] == 0) return;
    add(data, run * size, writes, false);
  }
  /// The pointers in an object that is copied to the GPU, such as a functor: the element at each stands for all.
  LOCUS_OUT_OF_LINE void guess(const void* object, std::size_t bytes) {
    for (std::size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
      const void* word = nullptr;
      std::memcpy(&word, static_cast<const std::byte*>(object) + i, sizeof word);
      add(word, 1, false, true);
    }
  }

  [[nodiscard]] const locus::detail::LaunchDescription& launch() const { return launch_; }
  [[nodiscard]] std::vector<MemoryUse>& memory() { return memory_; }

 private:
  void add(const void* data, std::int64_t bytes, bool writes, bool is_guessed) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    if (data && bytes > 0) memory_.push_back({begin, begin + static_cast<std::uintptr_t>(bytes), writes, is_guessed});
  }

  locus::detail::LaunchDescription launch_;
  std::vector<MemoryUse> memory_;
};

/// A launch in a stream, for error messages.
struct QueuedLaunch : Counted {
  QueuedLaunch(const locus::detail::LaunchDescription& launch, std::size_t in)
      : what(launch), stream(in), site(CallSite::here()) {}

  /// "map of x0 * c over (12,) in stream 1"
  [[nodiscard]] std::string text() const {
    std::string text = what.verb;
    if (what.function) text += " of " + std::string(locus::detail::expression_text(what.function).view());
    if (!what.extents.empty()) text += " over " + to_string(what.extents);
    return join(text, " in stream ", stream);
  }
  [[nodiscard]] std::string line() const { return join("\n  stream ", stream, ": ", site.text()); }

  locus::detail::LaunchDescription what;
  std::size_t stream;  ///< its number
  CallSite site;
};

}}}  // namespace locus::LOCUS_ABI::cuda
