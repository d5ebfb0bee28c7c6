#pragma once
// The limit of open descriptors of this process: a rank has a connection to each other rank.

#include <locus/core/check.hpp>

#include <dirent.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// The number of open descriptors of this process; `otherwise` if the system does not say.
[[nodiscard]] inline rlim_t open_descriptors(rlim_t otherwise) {
  DIR* const folder = opendir("/proc/self/fd");
  if (!folder) return otherwise;
  rlim_t count = 0;
  while (const dirent* const entry = readdir(folder)) count += *entry->d_name != '.';
  closedir(folder);
  return count - 1;  // without the folder's own
}

/// Makes room for `more` descriptors beside the open ones: raises the soft limit if necessary, up to the hard limit.
/// Empty on success; else the reason.
[[nodiscard]] inline std::string make_room_for_descriptors(int more) {
  constexpr rlim_t spare = 64;  // for files that the program opens later
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  errno = 0;
  const rlim_t open = open_descriptors(spare);
  const rlim_t needed = (errno == EMFILE ? limit.rlim_cur : open) + static_cast<rlim_t>(more);
  if (limit.rlim_cur >= needed + spare) return {};
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max < needed + spare ? limit.rlim_max : needed + spare;
  if (limit.rlim_cur > before && setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  if (limit.rlim_cur >= needed) return {};
  return join("a rank needs ", needed,
              " descriptors, one for each other rank and those that are open, and the limit is ", limit.rlim_cur,
              "; raise the hard limit where ranks are started, on each machine: ulimit -n ", needed,
              " (LimitNOFILE of systemd, or nofile in /etc/security/limits.conf)");
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
