#pragma once
// Versions of libraries that this process uses, noted where it starts them: records of runs name them.

#include <locus/core/std/posix.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

struct UsedLibrary {
  std::string name, version;
};
struct UsedLibraries {
  Mutex mutex;
  std::vector<UsedLibrary> all;
};
[[nodiscard]] inline UsedLibraries& libraries_in_use() {
  static UsedLibraries libraries;
  return libraries;
}

/// Notes that this process uses a library; once for each name.
LOCUS_COLD inline void note_library(std::string_view name, std::string_view version) {
  UsedLibraries& libraries = libraries_in_use();
  const Lock lock(libraries.mutex);
  for (const UsedLibrary& known : libraries.all)
    if (known.name == name) return;
  libraries.all.push_back({std::string(name), std::string(version)});
}
/// Libraries in the order in which they were noted.
[[nodiscard]] LOCUS_COLD inline std::vector<UsedLibrary> used_libraries() {
  UsedLibraries& libraries = libraries_in_use();
  const Lock lock(libraries.mutex);
  return libraries.all;
}

}}}  // namespace locus::LOCUS_ABI::detail
