#pragma once
// Folders: whether there is one, and what it holds.

#include <locus/core/system/descriptor.hpp>
#include <locus/core/system/out_of_memory.hpp>

#include <cstdlib>
#include <cstring>
#include <vector>

#include <dirent.h>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

[[nodiscard]] inline bool is_folder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}
/// Whether something has this path.
[[nodiscard]] inline bool exists(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0;
}

/// Owns the entries that scandir() allocates.
struct FolderEntries {
  dirent** list = nullptr;
  int count = 0;
  FolderEntries() = default;
  FolderEntries(const FolderEntries&) = delete;
  FolderEntries& operator=(const FolderEntries&) = delete;
  ~FolderEntries() {
    for (int i = 0; i < count; ++i) std::free(list[i]);
    std::free(list);
  }
};

/// The names in a folder, sorted by their bytes, except names that begin with a dot. throws DataError
[[nodiscard]] inline std::vector<std::string> names_in(const std::string& folder, const char* expected) {
  require_path("read", folder);
  FolderEntries entries;
  entries.count = scandir(
      folder.c_str(), &entries.list, [](const dirent* entry) { return entry->d_name[0] == '.' ? 0 : 1; },
      [](const dirent** a, const dirent** b) { return std::strcmp((*a)->d_name, (*b)->d_name); });
  if (entries.count < 0 && errno == ENOMEM)
    locus::detail::fail_out_of_memory({"cannot read the folder '", folder, "': out of memory"});
  if (entries.count < 0)
    fail<DataError>({"cannot read the folder '", folder, "': ", std::strerror(errno), "; expected ", expected});
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(entries.count));
  for (int i = 0; i < entries.count; ++i) names.emplace_back(entries.list[i]->d_name);
  return names;
}

}}}  // namespace locus::LOCUS_ABI::io::detail
