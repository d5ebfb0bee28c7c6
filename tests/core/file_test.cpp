#include <locus/core/file.hpp>

#include <doctest/doctest.h>

#include <support/skip.hpp>
#include <support/temporary_folder.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;

TEST_CASE("a file is written whole and leaves nothing beside it") {
  const TemporaryFolder folder;
  const auto file = folder.path / "result.json";
  io::write_file_atomically(file, "first");
  CHECK(content_of(file) == "first");
  io::write_file_atomically(file, std::string_view("second\0half", 11));
  CHECK(content_of(file) == std::string("second\0half", 11));
  for (const std::string_view nothing : {std::string_view(""), std::string_view()}) {
    io::write_file_atomically(file, nothing);
    CHECK(content_of(file).empty());
  }
  CHECK(folder.entries() == 1);
}

TEST_CASE("a file name without a folder means the working folder") {
  const TemporaryFolder folder;
  const auto before = fs::current_path();
  fs::current_path(folder.path);
  io::write_file_atomically("here.txt", "text");
  fs::current_path(before);
  CHECK(content_of(folder.path / "here.txt") == "text");
}

TEST_CASE("replacing a file keeps its permissions and the link that led to it") {
  const TemporaryFolder folder;
  const auto file = folder.path / "real", link = folder.path / "link";
  io::write_file_atomically(file, "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", link);
  io::write_file_atomically(link, "new");
  CHECK(fs::is_symlink(link));
  CHECK(content_of(file) == "new");
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

namespace {
/// Whether f() throws DataError for a user who is not root.
template <class F>
bool throws_for_others(const F& f) {
  const pid_t child = fork();
  if (child == 0) {
    (void)!setuid(65534);  // fails for others
    try {
      f();
    } catch (const DataError&) {
      _exit(1);
    }
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status) != 0;
}
}  // namespace

TEST_CASE("what could not be written is known beforehand") {
  const TemporaryFolder folder;
  const std::string root = folder.path;
  CHECK_NOTHROW(io::require_writable(root + "/new.json"));
  CHECK(folder.entries() == 0);
  for (const std::string& path : {std::string(), root, root + "/", root + "/none/", root + "/none/new.json"}) {
    CAPTURE(path);
    CHECK_THROWS_AS(io::require_writable(path), DataError);
  }
  CHECK(throws_for_others([] { io::require_writable("/etc/new.json"); }));
  CHECK_FALSE(throws_for_others([] { io::require_writable("/dev/null"); }));
}

TEST_CASE("a device is written, not replaced") {
  io::write_file_atomically("/dev/null", "text");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a path that cannot be written says why") {
  const TemporaryFolder folder;
  const auto message = [](const std::string& path) -> std::string {
    try {
      io::write_file_atomically(path, "text");
    } catch (const DataError& error) {
      return error.what();
    }
    return "written";
  };
  const std::string root = folder.path;
  CHECK(message("") == "cannot write to a file without a name; expected a path");
  CHECK(message(root + "/none/a.json") == "cannot write '" + root + "/none/a.json': there is no folder '" + root +
                                              "/none'; create it (mkdir -p) or choose another");
  CHECK(message(root) == "cannot write '" + root + "': it is a folder; expected the name of a file");
  CHECK(message(root + "/new/") != "written");
  io::write_file_atomically(root + "/file", "text");
  CHECK(message(root + "/file/a.json").find("there is no folder") != std::string::npos);
  CHECK(message(root + "/" + std::string(300, 'a')).find("name too long") != std::string::npos);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a write that fails half way leaves the old content and no temporary file") {
  const TemporaryFolder folder;
  const auto file = folder.path / "file";
  io::write_file_atomically(file, "old");
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit tight{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  CHECK_THROWS_AS(io::write_file_atomically(file, std::string(100'000, 'x')), DataError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(content_of(file) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a full disk is named") {
  if (!fs::exists("/dev/full")) SKIP_TEST("there is no /dev/full");
  CHECK_THROWS_WITH_AS(io::write_file_atomically("/dev/full", "text"), doctest::Contains("free some space"), DataError);
}

TEST_CASE("a link to a file that is not there yet leads to the new file") {
  const TemporaryFolder folder;
  fs::create_symlink("to_be", folder.path / "link");
  io::write_file_atomically(folder.path / "link", "new");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(fs::file_size(folder.path / "to_be") == 3);

  fs::create_symlink("later", folder.path / "second");
  fs::create_symlink("second", folder.path / "first");
  io::write_file_atomically(folder.path / "first", "new");
  CHECK(fs::is_symlink(folder.path / "second"));
  CHECK(fs::file_size(folder.path / "later") == 3);
}
