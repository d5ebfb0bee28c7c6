// Runs on: host.
#include <locus/core/system/file.hpp>

#include <doctest/doctest.h>

#include <support/child.hpp>
#include <support/skip.hpp>
#include <support/temporary_folder.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;

namespace {
/// System calls of this program, with file names, and a hook that runs before a file is synced.
std::vector<std::string> calls;
std::function<void(const std::string&)> at_sync;
}  // namespace

extern "C" int fsync(int file) {
  const std::string name = fs::read_symlink(join("/proc/self/fd/", file));
  calls.push_back("fsync " + name);
  if (at_sync) at_sync(name);
  return static_cast<int>(syscall(SYS_fsync, file));
}
extern "C" int rename(const char* from, const char* to) noexcept {
  calls.push_back(join("rename ", from, " ", to));
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

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

TEST_CASE("a write beyond the limit of file sizes is an error, and no signal ends the process") {
  const TemporaryFolder folder;
  const auto file = folder.path / "file";
  io::write_file_atomically(file, "old");
  const auto with_limit = [&](const auto& f) {
    return status_of_child([&] {
      const rlimit tight{1000, RLIM_INFINITY};
      if (setrlimit(RLIMIT_FSIZE, &tight) != 0) return 90;
      try {
        return f();
      } catch (const DataError& error) {
        return std::string_view(error.what()).find("raise the limit of file sizes") != std::string_view::npos ? 0 : 91;
      }
    });
  };
  CHECK(with_limit([&] {
          io::write_file_atomically(file, std::string(100'000, 'x'));
          return 92;
        }) == 0);
  CHECK(content_of(file) == "old");
  CHECK(folder.entries() == 1);
  // Signals are restored: the program's own write beyond the limit still ends by a signal.
  CHECK(with_limit([&] {
          try {
            io::write_file_atomically(file, std::string(100'000, 'x'));
          } catch (const DataError&) {}
          std::FILE* const own = std::fopen((folder.path / "own").c_str(), "w");
          if (own) std::fwrite(std::string(100'000, 'x').data(), 1, 100'000, own);
          return 93;
        }) == 98);
  CHECK(content_of(file) == "old");
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

TEST_CASE("the content is on the disk before it has the name, and the name before the call returns") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "file";
  io::write_file_atomically(file, "old");
  calls.clear();
  io::write_file_atomically(file, "new");
  REQUIRE(calls.size() == 3);
  const std::string temporary = calls[0].substr(std::string("fsync ").size());
  CHECK(temporary.starts_with(file + ".locus-"));
  CHECK(temporary.ends_with(".tmp"));
  CHECK(calls[1] == join("rename ", temporary, " ", file));
  CHECK(calls[2] == join("fsync ", folder.path.string()));
}

namespace {
/// Runs f in a child process, which exits after f.
template <class F>
pid_t in_child(const F& f) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      f();
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  return child;
}
int status_of(pid_t child) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}
/// A child that is killed after it has written the file and before it renames it.
void be_killed_while_writing(const std::string& file, std::string_view text) {
  const pid_t child = in_child([&] {
    at_sync = [](const std::string&) { (void)raise(SIGKILL); };
    io::write_file_atomically(file, text);
  });
  CHECK(WIFSIGNALED(status_of(child)));
}
}  // namespace

TEST_CASE("after a process was killed while it wrote, the next one writes, and removes what was left") {
  const TemporaryFolder folder;
  const auto file = folder.path / "file";
  io::write_file_atomically(file, "old");
  for (int i = 0; i < 3; ++i) be_killed_while_writing(file, "half");
  be_killed_while_writing(folder.path / "other", "half");
  CHECK(content_of(file) == "old");
  CHECK(folder.entries() >= 2);
  io::write_file_atomically(file, "new");
  CHECK(content_of(file) == "new");
  CHECK(folder.entries() == 1);
}

TEST_CASE("what another process is writing is left alone") {
  const TemporaryFolder folder;
  const auto file = folder.path / "file";
  int at_it[2], go_on[2];
  REQUIRE(pipe(at_it) == 0);
  REQUIRE(pipe(go_on) == 0);
  const pid_t child = in_child([&] {
    at_sync = [&](const std::string&) {
      char byte = 0;
      (void)!write(at_it[1], &byte, 1);
      (void)!read(go_on[0], &byte, 1);
      at_sync = nullptr;
    };
    io::write_file_atomically(file, "slow");
  });
  char byte = 0;
  REQUIRE(read(at_it[0], &byte, 1) == 1);
  io::write_file_atomically(file, "fast");
  CHECK(content_of(file) == "fast");
  CHECK(folder.entries() == 2);
  REQUIRE(write(go_on[1], &byte, 1) == 1);
  CHECK(status_of(child) == 0);
  CHECK(content_of(file) == "slow");
  CHECK(folder.entries() == 1);
  for (const int end : {at_it[0], at_it[1], go_on[0], go_on[1]}) close(end);
}

TEST_CASE("a private file is private while it is written, and one that may not be written can be replaced again") {
  const TemporaryFolder folder;
  const auto file = folder.path / "file";
  io::write_file_atomically(file, "old");
  for (const unsigned mode : {0600u, 0640u, 0444u, 0755u}) {
    fs::permissions(file, static_cast<fs::perms>(mode));
    unsigned while_written = 0;
    at_sync = [&](const std::string& name) {
      if (name.ends_with(".tmp")) while_written = static_cast<unsigned>(fs::status(name).permissions());
    };
    io::write_file_atomically(file, "new");
    at_sync = nullptr;
    CHECK((while_written & 077 & ~mode) == 0);
    CHECK((while_written & 0600) == 0600);
    CHECK(static_cast<unsigned>(fs::status(file).permissions()) == mode);
  }
}

TEST_CASE("a temporary file that somebody removes is written again, some times") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "file";
  int removed = 0, most = 3;
  at_sync = [&](const std::string& name) {
    if (name.ends_with(".tmp") && removed < most) removed += static_cast<int>(fs::remove(name));
  };
  io::write_file_atomically(file, "text");
  CHECK(removed == 3);
  CHECK(content_of(file) == "text");
  removed = 0;
  most = 1000;
  CHECK_THROWS_WITH_AS(io::write_file_atomically(file, "more"), doctest::Contains("No such file"), DataError);
  at_sync = nullptr;
  CHECK(content_of(file) == "text");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a name that is taken is not used, and another one is") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "file";
  std::uint64_t next = 0;
  const auto same_twice = [&] { return next++ / 2; };
  {
    const io::detail::TemporaryFile first(file, 0666, same_twice);   // 0
    const io::detail::TemporaryFile second(file, 0666, same_twice);  // 0 is taken, then 1
    CHECK(first.path() == file + ".locus-0000000000000000.tmp");
    CHECK(second.path() == file + ".locus-0000000000000001.tmp");
    CHECK((first.error() == 0 && second.error() == 0));
    const io::detail::TemporaryFile none(file, 0666, [] { return std::uint64_t{1}; });
    CHECK(none.error() == EEXIST);
    CHECK(folder.entries() == 2);
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE("files of others that look alike are not removed") {
  const TemporaryFolder folder;
  for (const char* name :
       {"file.tmp", "file.locus-.tmp", "file.locus-0123456789abcde.tmp", "file.locus-0123456789abcdeF.tmp",
        "file.locus-0123456789abcdef.tmp.bak", "file-0123456789abcdef.tmp", ".tmp"})
    (void)folder.write(name, "kept");
  fs::create_directory(folder.path / "folder.locus-0123456789abcdef.tmp");
  fs::create_symlink("file.tmp", folder.path / "link.locus-0123456789abcdef.tmp");
  io::write_file_atomically(folder.path / "file", "new");
  CHECK(folder.entries() == 10);
  (void)folder.write(".locus-0123456789abcdef.tmp", "left");  // of a file that is named ""
  io::write_file_atomically(folder.path / "file", "new");
  CHECK(folder.entries() == 10);
}

TEST_CASE("what fails with the temporary file names it") {
  const TemporaryFolder folder;
  const auto file = folder.path / "file";
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit tight{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  CHECK_THROWS_WITH_AS(io::write_file_atomically(file, std::string(100'000, 'x')),
                       doctest::Contains("File too large (of the temporary file '"), DataError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

TEST_CASE("a name as long as the system allows is written, and its temporary file has a shorter one") {
  const TemporaryFolder folder;
  std::string umlauts;
  while (umlauts.size() < 254) umlauts += "\xc3\xa4";
  for (const std::string& name : {std::string(255, 'a'), umlauts}) {
    io::write_file_atomically(folder.path / name, "text");
    CHECK(content_of(folder.path / name) == "text");
  }
  CHECK(folder.entries() == 2);
  const std::string temporary = io::detail::temporary_name("/folder/x" + umlauts, 7);
  CHECK(temporary.size() <= std::string("/folder/").size() + 255);
  CHECK(temporary.substr(temporary.find(".locus")) == ".locus-0000000000000007.tmp");
  CHECK(temporary.find(".locus") % 2 == 1);  // no half of an umlaut
}

TEST_CASE("symbolic links that lead in a circle are not replaced") {
  const TemporaryFolder folder;
  fs::create_symlink("b", folder.path / "a");
  fs::create_symlink("a", folder.path / "b");
  fs::create_symlink("self", folder.path / "self");
  for (const char* name : {"a", "b", "self", "self/new"}) {
    const std::string path = folder.path / name;
    CHECK_THROWS_WITH_AS(io::write_file_atomically(path, "text"), doctest::Contains("too many symbolic links"),
                         DataError);
    CHECK_THROWS_WITH_AS(io::require_writable(path), doctest::Contains("too many symbolic links"), DataError);
  }
  CHECK(fs::is_symlink(folder.path / "a"));
  CHECK(folder.entries() == 3);

  fs::create_symlink("end", folder.path / "link 0");  // more than the system follows
  for (int i = 1; i < 60; ++i) fs::create_symlink(join("link ", i - 1), folder.path / join("link ", i));
  CHECK_THROWS_WITH_AS(io::write_file_atomically(folder.path / "link 59", "text"),
                       doctest::Contains("too many symbolic links"), DataError);
  CHECK(folder.entries() == 63);
  io::write_file_atomically(folder.path / "link 30", "text");
  CHECK(content_of(folder.path / "end") == "text");
}

TEST_CASE("a path with a zero byte is refused, not cut off") {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "file").string() + std::string("\0.bak", 5);
  CHECK_THROWS_WITH_AS(io::write_file_atomically(path, "text"), doctest::Contains("file\\x00.bak': a path cannot hold"),
                       DataError);
  CHECK_THROWS_AS(io::require_writable(path), DataError);
  CHECK(folder.entries() == 0);
}

TEST_CASE("many parts, large and empty ones among them, are written in order") {
  const TemporaryFolder folder;
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i)
    texts.push_back(std::string(i % 3 == 0 ? 0 : static_cast<std::size_t>(i * 37), static_cast<char>('a' + i % 26)));
  const std::vector<std::string_view> parts(texts.begin(), texts.end());
  std::string whole;
  for (const auto& text : texts) whole += text;
  io::write_file_atomically(folder.path / "file", parts);
  CHECK(content_of(folder.path / "file") == whole);
}

TEST_CASE("a pipe is written, whichever name of its descriptor leads to it") {
  if (!fs::exists("/dev/fd/0") && !fs::exists("/proc/self/fd")) SKIP_TEST("the system has no names of descriptors");
  const TemporaryFolder folder;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  fs::create_symlink(join("/proc/self/fd/", ends[1]), folder.path / "link");
  for (const std::string& name :
       {join("/dev/fd/", ends[1]), join("/proc/", getpid(), "/fd/", ends[1]), (folder.path / "link").string()}) {
    CAPTURE(name);
    io::require_writable(name);
    io::write_file_atomically(name, "text");
    char got[5] = {};
    REQUIRE(read(ends[0], got, 4) == 4);
    CHECK(got == std::string("text"));
  }
  CHECK(folder.entries() == 1);
  (void)close(ends[0]), (void)close(ends[1]);
}

TEST_CASE("a file that is open in this process keeps what is written before and after") {
  if (!fs::exists("/proc/self/fd")) SKIP_TEST("the system has no names of descriptors");
  const TemporaryFolder folder;
  const std::string path = folder.path / "file";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(file >= 0);
  REQUIRE(write(file, "first ", 6) == 6);
  io::write_file_atomically(join("/dev/fd/", file), "text");
  REQUIRE(write(file, " last", 5) == 5);
  (void)close(file);
  CHECK(content_of(path) == "first text last");
  CHECK(folder.entries() == 1);
}
