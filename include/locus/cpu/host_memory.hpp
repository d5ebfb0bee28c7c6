#pragma once
// Free and total memory of the host, within the limits of this process's control groups.

#include <locus/core/std/bounds.hpp>
#include <locus/core/system/proc.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// The number behind `name` in a file of lines "name number"; the first number for an empty name; -1 if there is none.
[[nodiscard]] LOCUS_COLD inline std::int64_t number_in(const std::string& path, std::string_view name) {
  const std::string text = locus::detail::text_of_proc(path.c_str());
  long long found = -1;
  locus::detail::for_lines(text, [&](std::string_view line) {
    if (found < 0 && line.starts_with(name)) (void)std::sscanf(line.data() + name.size(), "%lld", &found);
  });
  return found;
}

/// Files of a control group's memory. Version 2 has "max" for no limit, version 1 a number beyond any memory.
struct GroupFiles {
  const char *folder, *limit, *used, *reclaimable;
};
inline constexpr GroupFiles group_files[] = {
    {"/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file "},
    {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file "}};

/// Lowers `memory` to the limit of one group, and to the room within it. Inactive pages of files count as free: the
/// system takes them back.
inline void apply_group(MemoryInfo& memory, const GroupFiles& files, const std::string& group) {
  using locus::detail::larger, locus::detail::smaller;
  const std::int64_t limit = number_in(group + files.limit, ""), used = number_in(group + files.used, "");
  if (limit < 0 || used < 0) return;
  const std::int64_t cached = larger<std::int64_t>(number_in(group + "/memory.stat", files.reclaimable), 0);
  memory.total = smaller(memory.total, limit);
  memory.free = smaller(memory.free, larger<std::int64_t>(limit - larger<std::int64_t>(used - cached, 0), 0));
}

/// `root` is before all paths: empty for this machine. Zeros where /proc/meminfo cannot be read.
[[nodiscard]] LOCUS_COLD inline MemoryInfo host_memory(const std::string& root = "") {
  MemoryInfo memory;
  const std::int64_t free = number_in(root + "/proc/meminfo", "MemAvailable:");
  const std::int64_t total = number_in(root + "/proc/meminfo", "MemTotal:");
  if (free < 0 || total < 0) return memory;
  memory = {free * 1024, total * 1024};
  const std::string groups = locus::detail::text_of_proc((root + "/proc/self/cgroup").c_str());
  locus::detail::for_lines(groups, [&](std::string_view line) {
    const bool is_second = line.starts_with("0::");
    const std::size_t at = is_second ? 3 : line.find(":memory:") + 8;
    if (!is_second && at == std::string_view::npos + 8) return;
    const GroupFiles& files = group_files[is_second ? 0 : 1];
    std::string group = root + files.folder;
    const std::size_t top = group.size();
    if (at < line.size()) group += line.substr(at);
    for (; group.size() > top; group.resize(group.rfind('/'))) apply_group(memory, files, group);  // and its parents
    apply_group(memory, files, group);
  });
  return memory;
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
