#pragma once
// The memory that a launch uses, for the checker of stream order.

#include <locus/core/fields.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/cuda/call_site.hpp>
#include <locus/cuda/stream_clock.hpp>
#include <locus/device/trace/launch_trace.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Bytes that a launch reads or writes.
struct MemoryUse {
  std::uintptr_t begin = 0, end = 0;
  bool writes = false;
  std::uint64_t allocation = 0;  ///< that the bytes belonged to; of captured launches
};

/// One launch, or one copy, and the memory that it uses.
class StreamUses {
 public:
  explicit StreamUses(const locus::detail::LaunchDescription& launch) : launch_(launch) {}

  void read(const void* data, std::int64_t bytes) { add(data, bytes, false); }
  void write(const void* data, std::int64_t bytes) { add(data, bytes, true); }
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
    add(data, run * size, writes);
  }
  /// The pointers in an object that is copied to the GPU, such as a functor: the element at each stands for all. It is
  /// written unless the pointer is one to const.
  template <class X>
  void add_pointers_in(const X& object) {
    if constexpr (std::is_pointer_v<X>) {
      using Element = std::remove_pointer_t<X>;
      if constexpr (std::is_object_v<Element>)
        add(object, static_cast<std::int64_t>(sizeof(Element)), !std::is_const_v<Element>);
    } else if constexpr (std::is_array_v<X>) {
      for (const auto& each : object) add_pointers_in(each);
    } else if constexpr (constexpr std::size_t fields = locus::detail::count_fields<X, 16>(); fields > 0) {
      locus::detail::with_fields<fields>(object, [&](const auto&... each) { (add_pointers_in(each), ...); });
    } else if constexpr (std::is_class_v<X>) {
      read_pointers_in(&object, sizeof object);
    }
  }
  /// The same for an object of unknown members: all is read, as it cannot be told what is written.
  LOCUS_OUT_OF_LINE void read_pointers_in(const void* object, std::size_t bytes) {
    for (std::size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
      const void* word = nullptr;
      std::memcpy(&word, static_cast<const std::byte*>(object) + i, sizeof word);
      add(word, 1, false);
    }
  }

  [[nodiscard]] const locus::detail::LaunchDescription& launch() const { return launch_; }
  [[nodiscard]] std::vector<MemoryUse>& memory() { return memory_; }

 private:
  void add(const void* data, std::int64_t bytes, bool writes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    if (data && bytes > 0) memory_.push_back({begin, begin + static_cast<std::uintptr_t>(bytes), writes});
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
