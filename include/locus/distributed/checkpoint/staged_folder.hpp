#pragma once
// A folder that is written beside its target and renamed to it, and the newest checkpoint among folders.

#include <locus/core/system/file.hpp>
#include <locus/core/system/folder.hpp>
#include <locus/distributed/checkpoint/index.hpp>
#include <locus/distributed/model/rank_zero.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {

/// Calls f(name) for each entry of a folder but "." and "..". Returns false if there is no such folder.
template <class F>
bool for_entries(const std::string& folder, const F& f) {
  DIR* const entries = opendir(folder.c_str());
  if (!entries) return false;
  while (const dirent* const entry = readdir(entries))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") f(name);
  (void)closedir(entries);
  return true;
}
/// Removes a folder of a checkpoint with its files; other folders within it stay, and it with them. The index is the
/// first, so that the remaining files are no checkpoint.
inline void remove_checkpoint(const std::string& folder) noexcept {
  const io::detail::Descriptor within(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DIR* const entries = within ? opendir(folder.c_str()) : nullptr;
  if (!entries) return;
  (void)unlinkat(within.number(), index_name, 0);
  while (const dirent* const entry = readdir(entries)) (void)unlinkat(within.number(), entry->d_name, 0);
  (void)closedir(entries);
  (void)rmdir(folder.c_str());
}
/// Removes folders of killed processes, which nobody has locked.
inline void remove_abandoned_checkpoints(const std::string& parent) {
  std::vector<std::string> names;
  (void)for_entries(parent, [&](std::string_view name) {
    if (io::detail::is_temporary_name(name)) names.emplace_back(name);
  });
  for (const std::string& name : names) {
    const std::string path = join(parent, "/", name);
    const io::detail::Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder && flock(folder.number(), LOCK_EX | LOCK_NB) == 0) remove_checkpoint(path);
  }
}
/// The path without slashes at its end. throws DataError for an empty one
[[nodiscard]] inline std::string folder_path(std::string path) {
  io::detail::require_path("write to", path);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}
inline void make_folders(const std::string& path) {
  if (io::detail::is_folder(path)) return;
  if (const std::string parent = io::detail::folder_of(path); parent != path && parent != ".") make_folders(parent);
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) io::detail::fail_to_write(path, errno);
}

/// A new folder beside a target, removed at the end unless it was published. Locked while it lives.
class StagedFolder {
 public:
  /// throws DataError if the target is a file, or a folder that is no checkpoint and not empty
  explicit StagedFolder(std::string target) : target_(io::detail::behind_links(folder_path(std::move(target)))) {
    const std::string parent = io::detail::folder_of(target_);
    make_folders(parent);
    require_replaceable();
    remove_abandoned_checkpoints(parent);
    int error = EEXIST;
    for (int i = 0; i < 100 && error == EEXIST; ++i) {
      path_ = io::detail::temporary_name(target_, io::detail::random_number());
      error = create();
    }
    if (error) io::detail::fail_to_write(std::exchange(path_, {}), error);
  }
  StagedFolder(StagedFolder&& other) noexcept
      : target_(std::move(other.target_)), path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  ~StagedFolder() {
    if (!path_.empty()) remove_checkpoint(path_);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Gives the folder the name of its target. A checkpoint of that name is replaced in one step where the file system
  /// can exchange names; elsewhere (NFS) it is renamed first. throws DataError
  void publish() {
    io::detail::sync_folder(path_);
    const bool is_new = access(target_.c_str(), F_OK) != 0;
    int error = 0;
    if (is_new) {
      error = std::rename(path_.c_str(), target_.c_str()) == 0 ? 0 : errno;
    } else if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
      error = errno == EINVAL || errno == ENOSYS ? replace_in_two_steps() : errno;
    }
    if (error) io::detail::fail_to_write(target_, error, path_);
    io::detail::sync_folder(io::detail::folder_of(target_));
    if (!is_new) remove_checkpoint(path_);  // the older checkpoint
    path_.clear();
  }

 private:
  /// Returns 0 or an errno; EEXIST if the name is taken, or if a process that removes abandoned folders locked it
  /// first.
  [[nodiscard]] int create() {
    if (mkdir(path_.c_str(), 0777) != 0) return errno;
    lock_ = io::detail::Descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock_) return errno == ENOENT ? EEXIST : errno;
    struct stat info {};
    const bool is_taken = flock(lock_.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    return is_taken || (fstat(lock_.number(), &info) == 0 && info.st_nlink == 0) ? EEXIST : 0;
  }
  void require_replaceable() const {
    std::int64_t entries = 0;
    struct stat info {};
    if (stat(target_.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
      fail<DataError>({"cannot write the checkpoint '", target_, "': there is a file of this name; expected a folder"});
    std::string other;
    (void)for_entries(target_, [&](std::string_view name) {
      ++entries;
      const bool is_of_rank = name.starts_with("rank-") && name.ends_with(".safetensors");
      if (name != index_name && !is_of_rank && !io::detail::is_temporary_name(name)) other = name;
    });
    if (entries > 0 && access(join(target_, "/", index_name).c_str(), F_OK) != 0)
      fail<DataError>({"cannot write the checkpoint '", target_, "': the folder has ", entries, " entries and no ",
                       index_name, ", so it is no checkpoint; choose a folder of its own"});
    if (!other.empty())
      fail<DataError>({"cannot write the checkpoint '", target_, "': the folder has '", locus::detail::printable(other),
                       "', which no checkpoint has and which would be removed; choose a folder of its own"});
  }
  [[nodiscard]] int replace_in_two_steps() {
    const std::string aside = io::detail::temporary_name(target_, io::detail::random_number());
    if (std::rename(target_.c_str(), aside.c_str()) != 0) return errno;
    if (std::rename(path_.c_str(), target_.c_str()) != 0) {
      const int error = errno;
      (void)std::rename(aside.c_str(), target_.c_str());
      return error;
    }
    path_ = aside;
    return 0;
  }

  std::string target_, path_;
  io::detail::Descriptor lock_;
};

}  // namespace detail

/// The path of the complete checkpoint of the largest step among the folders in `folder`; of the last name among equal
/// steps. Empty if there is none, or no such folder. Folders of saves that did not end do not count.
/// throws DataError for a checkpoint whose index is damaged: remove it to go on from an older one
///
///     if (const auto newest = dist::newest_checkpoint("run")) ...
[[nodiscard]] inline std::optional<std::string> newest_checkpoint(const std::string& folder) {
  std::optional<std::string> newest;
  std::int64_t step = -1;
  std::vector<std::string> paths;
  (void)detail::for_entries(folder, [&](std::string_view name) {
    if (!io::detail::is_temporary_name(name)) paths.push_back(join(folder, "/", name));
  });
  for (const std::string& path : paths) {
    if (access(join(path, "/", detail::index_name).c_str(), F_OK) != 0) continue;
    const std::int64_t its = checkpoint_info(path).step;
    if (its < step || (its == step && path < *newest)) continue;
    newest = path;
    step = its;
  }
  return newest;
}
/// The same on all ranks, as rank 0 finds it. All ranks call it. throws DataError on rank 0, RankError on the others
template <class D>
[[nodiscard]] std::optional<std::string> newest_checkpoint(const std::string& folder, const Communicator<D>& comm) {
  std::optional<std::string> newest;
  on_rank_zero(comm, [&] { newest = newest_checkpoint(folder); });
  const std::string path = detail::text_of_first(comm, newest.value_or(""));
  if (path.empty()) return {};
  return path;
}

}}}  // namespace locus::LOCUS_ABI::dist
