// Runs on: host.
#include <locus/report/json_lines.hpp>

#include <locus/report/report.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

#include <support/child.hpp>
#include <support/environment_variable.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <sys/resource.h>

using namespace locus;
using namespace locus_test;

namespace {
std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}
/// The value of a member, as JSON; empty if there is none. Fails unless the line is one JSON object.
std::string member(const std::string& line, std::string_view name) {
  std::string found;
  io::detail::JsonReader json(line, "the line");
  json.object([&](const std::string& key) {
    const std::string_view value = json.value();
    if (key == name) found = value;
  });
  json.expect_end();
  return found;
}
/// Files of this process are at most so long.
void limit_files(std::uintmax_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}
}  // namespace

TEST_CASE("a run record names the program, the build and the processor, and no secret") {
  const Variable secret("LOCUS_DIST_SECRET", "0123456789abcdef"), other("HOME_OF_SECRETS", "no"),
      named("LOCUS_TEST_VARIABLE", "on"), commit("LOCUS_COMMIT", "abc123");
  manual_seed(41);
  const io::RunRecord record = io::run_record();
  CHECK(record.get("seed") == "41");
  CHECK(record.get("locus") == LOCUS_VERSION);
  CHECK(record.get("commit") == "abc123");
  CHECK(io::run_record({.commit = "of the caller"}).get("commit") == "of the caller");
  CHECK(record.get("LOCUS_TEST_VARIABLE") == "on");
  CHECK(record.get("start").size() == 20);
  CHECK(record.get("start").substr(0, 2) == "20");
  CHECK(record.get("instructions") == to_string(cpu::isa()));
  CHECK(!record.get("program").empty());
  CHECK(record.get("command").find(record.get("program").substr(record.get("program").rfind('/') + 1)) !=
        std::string_view::npos);
  CHECK(record.text().find("0123456789abcdef") == std::string::npos);
  CHECK(record.text().find("HOME_OF_SECRETS") == std::string::npos);
  CHECK(io::run_record().get("start") == record.get("start"));
}
TEST_CASE("a command line is quoted for a shell") {
  using namespace std::string_view_literals;
  CHECK(io::detail::command_line_of("./train\0--lr=0.1\0it's here\0\0"sv) == "./train --lr=0.1 'it'\\''s here' ''");
}
TEST_CASE("the difference of two records names both values") {
  const io::RunRecord before = io::RunRecord().set("start", "a").set("host", "one").set("commit", "c");
  const io::RunRecord now = io::RunRecord().set("start", "b").set("host", "two").set("gpu", "none");
  CHECK(io::difference(before, now) == "host: one -> two\ncommit: c -> (none)\ngpu: (none) -> none\n");
  CHECK(io::difference(now, now) == "");
}
TEST_CASE("lines of JSON: the run, steps, epochs and own lines; NaN and infinity are null with a text") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run.jsonl";
  const io::JsonLines lines(path, io::RunRecord().set("host", "a \"b\"\n"));
  Progress progress{2, 3, 10, 100, std::numeric_limits<double>::quiet_NaN()};
  lines(progress);
  EpochRecord record;
  record.epoch = 1;
  record.train_loss = 0.25;
  record.valid_loss = -std::numeric_limits<double>::infinity();
  record.valid_accuracy = __builtin_nan("");
  record.metrics = {{"f1", 0.5}, {"worst", std::numeric_limits<double>::infinity()}};
  lines(record);
  lines.log(
      {{"n", 3}, {"big", std::int64_t{1} << 62}, {"is", true}, {"name", "x\xff"}, {"half", 0.5f}, {"most", ~0ull}});
  const auto found = lines_of(path);
  REQUIRE(found.size() == 4);
  CHECK(member(found[0], "event") == "\"run\"");
  CHECK(member(member(found[0], "run"), "host") == "\"a \\\"b\\\"\\n\"");
  CHECK(member(found[1], "step") == "13");
  CHECK(member(found[1], "loss") == "null");
  CHECK(member(found[1], "loss_text") == "\"nan\"");
  CHECK(member(found[2], "train_loss") == "0.25");
  CHECK(member(found[2], "train_loss_text") == "");
  CHECK(member(found[2], "valid_loss_text") == "\"-inf\"");
  CHECK(member(found[2], "valid_accuracy") == "");
  CHECK(member(member(found[2], "metrics"), "worst_text") == "\"inf\"");
  CHECK(member(found[3], "big") == "4611686018427387904");
  CHECK(member(found[3], "is") == "true");
  CHECK(member(found[3], "half") == "0.5");
  CHECK(member(found[3], "most") == "18446744073709551615");
  CHECK(std::stod(member(found[3], "time")) > 1.6e9);
}
TEST_CASE("a resumed run appends, after ending an unfinished line") {
  const TemporaryFolder folder;
  const std::string path = folder.write("run.jsonl", "{\"event\":\"log\"}\n{\"ev");
  const io::JsonLines lines(path);
  lines.log({});
  const auto found = lines_of(path);
  REQUIRE(found.size() == 4);
  CHECK(found[1] == "{\"ev");
  CHECK(member(found[2], "event") == "\"run\"");
  CHECK(member(member(found[2], "run"), "locus") == "\"" LOCUS_VERSION "\"");
}
TEST_CASE("a line has each name once") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run.jsonl";
  const io::JsonLines lines(path);
  const auto refusal = [&](std::initializer_list<io::NamedValue> entries) {
    return message_of<ArgumentError>([&] { lines.log(entries); });
  };
  CHECK(refusal({{"time", 7}}) == "JsonLines: log has a member 'time', as every line has; expected another name");
  CHECK(contains(refusal({{"x", 1}, {"event", "x"}}), "'event'"));
  CHECK(contains(refusal({{"x", 1}, {"y", 1}, {"x", 2.0}}), "'x' twice"));
  CHECK(contains(refusal({{"x_text", "a"}, {"x", 2.0}}), "'x_text' beside 'x'"));
  CHECK(lines_of(path).size() == 1);
}
TEST_CASE("a file that cannot be written throws before training") {
  const TemporaryFolder folder;
  CHECK(contains(message_of<DataError>([&] { io::JsonLines lines(folder.path / "no" / "run.jsonl"); }),
                 "there is no folder"));
  CHECK_THROWS_AS(io::JsonLines(folder.path), DataError);
  CHECK_THROWS_AS(io::JsonLines("/dev/full"), DataError);
}
TEST_CASE("a line that does not fit is lost, reported once, and no line of another writer with it") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run.jsonl", told = folder.path / "told";
  const io::JsonLines lines(path, io::RunRecord()), other(path, io::RunRecord());
  for (int i = 0; i < 20; ++i) other.log({{"i", i}});
  const int status = status_of_child([&] {
    dup2(open(told.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    limit_files(content_of(path).size() + 10);
    for (int i = 0; i < 3; ++i) lines.log({{"long", std::string(100, 'x')}});
    limit_files(RLIM_INFINITY);
    lines.log({{"after", 1}});
    return 0;
  });
  CHECK(status == 0);
  CHECK(content_of(told) ==
        join("locus: cannot write lines to '", path, "': File too large; training goes on, lines are lost\n"));
  const auto found = lines_of(path);
  REQUIRE(found.size() == 23);
  for (int i = 0; i < 20; ++i) CHECK(member(found[static_cast<std::size_t>(i) + 2], "i") == join(i));
  CHECK(member(found[22], "after") == "1");
}
TEST_CASE("a process whose lines do not fit cuts off none of a process that writes meanwhile") {
  for (const bool is_inherited : {false, true}) {  // opened by each process, or by the parent before fork()
    CAPTURE(is_inherited);
    const TemporaryFolder folder;
    const std::string path = folder.path / "run.jsonl";
    constexpr int lines_of_each = 2000;
    const auto open_lines = [&] { return io::JsonLines(path, io::RunRecord()); };
    const io::JsonLines before = open_lines();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
      const io::JsonLines full = is_inherited ? before : open_lines();
      for (int i = 0; i < lines_of_each; ++i) {
        limit_files(std::filesystem::file_size(path) + 10);
        full.log({{"lost", std::string(1000, 'x')}});
      }
      _exit(0);
    }
    const io::JsonLines lines = is_inherited ? before : open_lines();
    for (int i = 0; i < lines_of_each; ++i) lines.log({{"i", i}});
    waitpid(child, nullptr, 0);
    std::vector<std::string> kept, expected;
    for (const std::string& line : lines_of(path))
      if (std::string i = member(line, "i"); !i.empty()) kept.push_back(std::move(i));
    for (int i = 0; i < lines_of_each; ++i) expected.push_back(join(i));
    CHECK(kept.size() == expected.size());
    CHECK(kept == expected);
  }
}
TEST_CASE("Python reads the lines") {
  if (std::system("python3 -c 'import json'") != 0) return;
  const TemporaryFolder folder;
  const std::string path = folder.path / "run.jsonl";
  const io::JsonLines lines(path);
  lines.log({{"loss", std::numeric_limits<double>::quiet_NaN()}, {"text", "é\t\"\\"}, {"third", 1.0 / 3}});
  const std::string script = folder.write("read.py", R"(import json, sys
def refuse(x): raise ValueError(x)
run, log = (json.loads(line, parse_constant=refuse) for line in open(sys.argv[1], encoding="utf-8"))
assert run["event"] == "run" and run["run"]["locus"] and run["run"]["seed"].isdigit(), run
assert log["loss"] is None and log["loss_text"] == "nan", log
assert log["text"] == "é\t\"\\" and log["third"] == 1 / 3, log
)");
  CHECK(std::system(join("python3 ", script, " ", path).c_str()) == 0);
}
TEST_CASE("a report has the record as a table") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "run.html";
  io::write_report(path, History(), {.run = io::RunRecord().set("host", "a<b")});
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  CHECK(text.str().find("<tr><td>host</td><td>a&lt;b</td></tr>") != std::string::npos);
}
