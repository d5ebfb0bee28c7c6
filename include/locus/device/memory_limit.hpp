#pragma once
// The limit of a pool, for its allocator: set_memory_limit(), or LOCUS_MEMORY_LIMIT of the environment.

#include <locus/core/system/environment.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// As whole_number(), and -1 for a text with leading zeros, such as 01.
[[nodiscard]] constexpr std::int64_t plain_number(std::string_view text, std::int64_t most = INT32_MAX) {
  return text.size() > 1 && text[0] == '0' ? -1 : whole_number(text, most);
}

/// 8589934592, or 8G: a whole number of bytes, or of K, M, G or T, powers of 1024; -1 for any other text.
[[nodiscard]] constexpr std::int64_t bytes_in(std::string_view text) {
  const std::size_t unit = text.empty() ? std::string_view::npos : std::string_view("KMGT").find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const std::int64_t count = plain_number(has_unit ? text.substr(0, text.size() - 1) : text, std::int64_t{1} << 53);
  const int shift = has_unit ? 10 * (static_cast<int>(unit) + 1) : 0;
  return count < 0 || count > INT64_MAX >> shift ? -1 : count << shift;
}

/// The limit of a place in a list such as cpu=8G,cuda=20G,cuda:1=10G; 0 if it has none. "cuda" is every GPU without an
/// entry of its own. throws ArgumentError for any other list
[[nodiscard]] LOCUS_COLD inline std::int64_t memory_limit_in(std::string_view list, std::string_view place) {
  std::int64_t of_kind = 0, of_place = -1;
  for (std::size_t begin = 0; !list.empty() && begin <= list.size();) {
    const std::size_t found = list.find(',', begin), end = found < list.size() ? found : list.size();
    const std::string_view entry = list.substr(begin, end - begin), name = entry.substr(0, entry.find('='));
    begin = end + 1;
    const std::int64_t bytes = name.size() < entry.size() ? bytes_in(entry.substr(name.size() + 1)) : -1;
    const bool is_gpu = name.starts_with("cuda:") && plain_number(name.substr(5)) >= 0;
    if (bytes < 0 || (name != "cpu" && name != "cuda" && name != "pinned" && !is_gpu))
      fail<ArgumentError>(
          {"LOCUS_MEMORY_LIMIT is \"", printable(list), "\", where \"", printable(entry),
           "\" is no limit; expected PLACE=BYTES, separated by commas, such as cpu=8G,cuda=20G,pinned=512M: places ",
           "cpu, cuda, cuda:N and pinned, and whole numbers of bytes or of K, M, G or T (1024 K are 1 M), without ",
           "leading zeros"});
    if (name == place) of_place = bytes;
    else if (name == "cuda" && place.starts_with("cuda:")) of_kind = bytes;
  }
  return of_place < 0 ? of_kind : of_place;
}

/// The limit of one pool, which guards it by its mutex.
class MemoryLimit {
 public:
  /// LOCUS_MEMORY_LIMIT's, of the place that is named as by to_string. throws ArgumentError
  explicit MemoryLimit(const std::string& place)
      : place_(place), bytes_(memory_limit_in(environment("LOCUS_MEMORY_LIMIT"), place)) {}

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  /// Of the `free` bytes that the pool may get or has unused, those within the limit.
  [[nodiscard]] std::int64_t available(const MemoryStats& stats, std::int64_t free) const {
    const std::int64_t rest = bytes_ - stats.allocated_bytes;
    return bytes_ == 0 || rest > free ? free : rest;
  }
  /// Before the pool asks the system for a block for `bytes`: releases unused blocks by free_unused() if there is no
  /// room for it. throws OutOfMemory
  template <class F>
  void make_room(const MemoryStats& stats, std::size_t bytes, std::size_t block, const F& free_unused) const {
    if (allows(stats, block)) [[likely]]
      return;
    free_unused();
    if (!allows(stats, block)) refuse(stats, bytes, block);
  }
  /// Sets the limit, 0 for none; if the pool holds more, releases unused blocks by free_unused(). throws ArgumentError
  template <class F>
  void set(const MemoryStats& stats, std::int64_t bytes, const F& free_unused) {
    if (bytes > 0 && stats.reserved_bytes > bytes) free_unused();
    require(stats, bytes);
    bytes_ = bytes;
  }

 private:
  [[nodiscard]] bool allows(const MemoryStats& stats, std::size_t block) const {
    return bytes_ == 0 ||
           (stats.reserved_bytes <= bytes_ && block <= static_cast<std::size_t>(bytes_ - stats.reserved_bytes));
  }
  /// Of a pool without blocks that it could release.
  [[nodiscard]] static std::string holders(const MemoryStats& stats) {
    const std::int64_t others = stats.reserved_bytes - stats.allocated_bytes;
    return join("tensors hold ", stats.allocated_bytes, " bytes",
                others > 0 ? join(", captured steps and copies in flight ", others, " more") : "");
  }
  [[noreturn]] LOCUS_COLD void refuse(const MemoryStats& stats, std::size_t bytes, std::size_t block) const {
    fail<OutOfMemory>({"out of memory on ", place_, ": ", bytes, " bytes were asked for, in a block of ", block, ", ",
                       holders(stats), ", and the limit is ", bytes_,
                       " bytes; use smaller batches, free tensors, or raise the limit by set_memory_limit or ",
                       "LOCUS_MEMORY_LIMIT"});
  }
  LOCUS_COLD void require(const MemoryStats& stats, std::int64_t bytes) const {
    if (bytes < 0)
      fail<ArgumentError>({"set_memory_limit: ", bytes, " bytes on ", place_, "; expected 0, for no limit, or more"});
    if (bytes > 0 && stats.reserved_bytes > bytes)
      fail<ArgumentError>({"set_memory_limit: ", bytes, " bytes on ", place_, ", where ", holders(stats), "; expected ",
                           stats.reserved_bytes, " bytes or more, or fewer tensors and captured steps"});
  }

  std::string place_;
  std::int64_t bytes_;
};

}}}  // namespace locus::LOCUS_ABI::detail
