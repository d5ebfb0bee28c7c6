// Runs on: host.
#include <locus/report/report.hpp>

#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/distributed/start/spawn.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/linear.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>
#include <locus/training/fit.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <vector>

#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>
#include <support/trace_events.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;

namespace {

/// Two epochs of two steps, each accumulating `accumulate` batches.
History train(std::int64_t accumulate = 1) {
  const Tensor x = from({1, 2, 3, 4}).reshape({4, 1});
  nn::Linear<float, Cpu> model{1, 1};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.01}};
  auto batches = data::loader<Cpu>(data::TensorDataset{x, x}, {.batch_size = 2 / accumulate});
  History history;
  fit(model, optimizer, nn::MSELoss{}, batches, data::loader<Cpu>(data::TensorDataset{x, x}), history,
      {.epochs = 2, .accumulate = accumulate});
  return history;
}

/// The events that f() traces.
template <class F>
std::vector<io::TracedPhase> traced(const F& f) {
  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  trace_to(path);
  CHECK(phases_are_traced());
  f();
  trace_to("");
  CHECK(!phases_are_traced());
  CHECK(content_of(path).ends_with("}\n]\n"));
  if (traces_can_be_checked()) CHECK(count_of(checked_trace(path), "phase") > 0);
  return io::read_phases(path);
}

std::string names_of(const std::vector<io::TracedPhase>& phases) {
  std::string names;
  for (const auto& phase : phases) names += (names.empty() ? "" : " ") + phase.name;
  return names;
}

/// Events of one thread, (name, start, seconds), in the order of their ends.
std::vector<io::TracedPhase> events(std::initializer_list<io::TracedPhase> given) { return given; }

}  // namespace

TEST_CASE("a trace has the phases of each step of fit, one after another, and those of the program around them") {
  const auto phases = traced([] {
    const Phase phase("whole \"run\"");
    (void)train();
  });
  CHECK(names_of(phases) ==
        "data forward backward step data forward backward step data validation "
        "data forward backward step data forward backward step data validation whole _run_");
  for (std::size_t i = 0; i + 1 < phases.size(); ++i) {
    if (i > 0) CHECK(phases[i].start >= phases[i - 1].end() - 1e-9);
    CHECK(phases[i].start >= phases.back().start);
    CHECK(phases[i].end() <= phases.back().end() + 1e-9);
    CHECK(phases[i].process == getpid());
    CHECK(phases[i].thread == gettid());
  }
  CHECK(names_of(traced([] { (void)train(2); })) ==
        "data forward backward data forward backward step data forward backward data forward backward step data "
        "validation "
        "data forward backward data forward backward step data forward backward data forward backward step data "
        "validation");
}

TEST_CASE(
    "LOCUS_TRACE=json in the environment names the file; one that cannot be written is said, and nothing is traced") {
  if (std::getenv("LOCUS_TRACED_TEST")) return;  // the program that is started below
  const TemporaryFolder folder;
  const std::string self = fs::read_symlink("/proc/self/exe");
  const auto run = [&](const std::string& value) {
    const std::string command = join("cd '", folder.path.string(), "' && LOCUS_TRACED_TEST=1 LOCUS_TRACE='", value,
                                     "' '", self, "' --test-case='a report of a run*' >out 2>err");
    return std::system(command.c_str());
  };
  CHECK(run("json") == 0);
  CHECK(contains(names_of(io::read_phases(folder.path / "locus-trace.json")), "data forward backward step"));
  CHECK(content_of(folder.path / "err") == "");
  CHECK(run("json:mine-%p.json") == 0);
  std::size_t named = 0;
  for (const auto& entry : fs::directory_iterator(folder.path))
    named += entry.path().filename().string().starts_with("mine-") && !contains(entry.path(), "%p");
  CHECK(named == 1);
  CHECK(run("json:no/where.json") == 0);
  CHECK(
      content_of(folder.path / "err") ==
      "locus: LOCUS_TRACE names the file 'no/where.json', which cannot be written: No such file or directory; expected "
      "json:FILE with a file that you may write to; nothing is traced\n");
  CHECK(run("jsonl") != 0);
  CHECK(contains(content_of(folder.path / "out"), "LOCUS_TRACE is \"jsonl\"; expected 0, 1, json or json:FILE"));
}

TEST_CASE("a trace that cannot be written is refused at once, and given up later, which stderr says once") {
  CHECK(message_of<DataError>([] { trace_to("/proc/none/trace.json"); }) ==
        "cannot write the trace '/proc/none/trace.json': No such file or directory; expected a file that you may write "
        "to");
  CHECK(contains(message_of<DataError>([] { trace_to("/dev/full"); }), "No space left on device"));
  CHECK(!phases_are_traced());

  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json", told = folder.write("err", "");
  trace_to(path);
  { const Phase phase("kept"); }
  detail::TraceFile::instance().flush();
  struct stat wanted {
  }, info{};
  REQUIRE(stat(path.c_str(), &wanted) == 0);
  int file = 3;
  while (file < 1024 && !(fstat(file, &info) == 0 && info.st_ino == wanted.st_ino && info.st_dev == wanted.st_dev))
    ++file;
  REQUIRE(file < 1024);
  const int full = open("/dev/full", O_WRONLY), errors = dup(STDERR_FILENO), log = open(told.c_str(), O_WRONLY);
  dup2(full, file);
  dup2(log, STDERR_FILENO);
  const History history = train();
  detail::TraceFile::instance().flush();
  dup2(errors, STDERR_FILENO);
  for (const int each : {full, errors, log}) close(each);
  CHECK(history.records().size() == 2);
  CHECK(content_of(told) == join("locus: cannot write the trace '", path,
                                 "': No space left on device; training goes on, nothing more is traced\n"));
  CHECK(!phases_are_traced());
  trace_to("");
  CHECK(names_of(io::read_phases(path)) == "kept");
}

TEST_CASE("a trace that was cut off anywhere has its whole events; what is no trace is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  trace_to(path);
  for (const char* name : {"a", "b", "c"}) const Phase phase(name);
  trace_to("");
  const std::string whole = content_of(path);
  std::size_t most = 0;
  for (std::size_t bytes = whole.find('}') + 2; bytes <= whole.size(); ++bytes) {
    const auto phases = io::read_phases(folder.write("cut.json", whole.substr(0, bytes)));
    CHECK(names_of(phases) == std::string("a b c").substr(0, phases.empty() ? 0 : 2 * phases.size() - 1));
    CHECK(phases.size() >= most);
    most = phases.size();
  }
  CHECK(most == 3);
  for (const char* text : {"", "{}", "[}", "[1]", "[{\"ts\":}]", "[{\"name\":\"a\"}] more]", "}", "\xff"}) {
    CAPTURE(std::string(text));
    CHECK_THROWS_AS((void)io::read_phases(folder.write("none.json", text)), DataError);
  }
  CHECK(io::read_phases(folder.write("others.json", "[{\"name\":{\"a\":[1]},\"ph\":\"B\",\"ts\":-1e3},{\"ph\":\"X\"}]"))
            .size() == 1);
  for (const char* const event : {"\"pid\":1e20", "\"tid\":-1e20", "\"pid\":1e400", "\"ts\":1e300", "\"dur\":-1e19"}) {
    CAPTURE(event);
    CHECK_THROWS_WITH_AS((void)io::read_phases(folder.write("far.json", join("[{\"ph\":\"X\",", event, "}]"))),
                         doctest::Contains("; expected "), DataError);
  }
  CHECK_THROWS_AS((void)io::read_phases(folder.path / "missing.json"), DataError);
}

TEST_CASE("a trace has each launch beside the phases, with what it computes, and the memory of the device") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  trace_to(path);
  CHECK(detail::launches_are_observed());
  {
    const Phase phase("mine");
    const Tensor x = from({1, 2, 3, 4}).reshape({2, 2});
    const Tensor y = x * 2.f + x;
    const Tensor z = matmul(x, y);
  }
  trace_to("");
  CHECK_FALSE(detail::launches_are_observed());
  const std::string text = content_of(path);
  for (const char* const part :
       {"{\"name\":\"map x0 * c + "
        "x1\",\"cat\":\"launch\",\"args\":{\"verb\":\"map\",\"device\":\"cpu\",\"extents\":\"(4,)\"",
        "\"verb\":\"gemm\",\"device\":\"cpu\",\"extents\":\"(1, 2, 2, 2)\",\"bytes\":48,\"flops\":16}",
        "{\"name\":\"memory of cpu\",\"cat\":\"memory\",\"ph\":\"C\"", "\"name\":\"process_name\"",
        "{\"name\":\"mine\",\"cat\":\"phase\",\"ph\":\"X\""}) {
    CAPTURE(part);
    CHECK(contains(text, part));
  }
  CHECK(names_of(io::read_phases(path)) == "mine");
}

TEST_CASE("ranks that are threads are processes of a trace, with their collectives on a track of their own") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  trace_to(path);
  dist::spawn<Cpu>(2, [](const dist::Communicator<Cpu>& comm) {
    const Tensor x = full({3}, static_cast<float>(comm.rank()));
    comm.all_reduce(x);
    const auto later = comm.all_reduce_async(x);
  });
  trace_to("");
  const std::string text = content_of(path);
  for (const char* const part :
       {"\"args\":{\"name\":\"rank 0\"}}", "\"args\":{\"name\":\"rank 1\"}}", "\"args\":{\"name\":\"communication\"}}",
        "{\"name\":\"all_reduce\",\"cat\":\"communication\",\"args\":{\"engine\":\"threads\",\"type\":\"float32\","
        "\"bytes\":12,"
        "\"op\":\"sum\"}"}) {
    CAPTURE(part);
    CHECK(contains(text, part));
  }
  const auto phases = io::read_phases(path);
  CHECK(phases.size() == 4);
  for (const auto& phase : phases) CHECK(phase.process % (1 << 22) == getpid());
}

TEST_CASE("the trace of a killed process, and of a fork, has whole events and each of them once") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "trace.json";
  const pid_t killed = fork();
  if (killed == 0) {
    trace_to(path);
    for (int i = 0; i < 1000; ++i) const Phase phase("one");
    detail::TraceFile::instance().flush();
    for (int i = 0; i < 1000; ++i) const Phase phase("one");
    raise(SIGKILL);
  }
  waitpid(killed, nullptr, 0);
  const std::size_t kept = io::read_phases(path).size();
  CHECK(kept >= 1000);
  CHECK(kept <= 2000);

  trace_to(path);
  { const Phase phase("parent"); }
  const pid_t child = fork();
  if (child == 0) {
    {
      const Phase phase("child");
    }
    trace_to("");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  trace_to("");
  CHECK(names_of(io::read_phases(path)) == "child parent");
}

TEST_CASE("shares of phases: what is within another counts once, validation and other threads do not") {
  const auto shares = io::phase_shares(events({{"data", 0, 1, 1, 1},
                                               {"forward", 1, 2, 1, 1},
                                               {"communication", 4, 1, 1, 1},
                                               {"communication", 4, 9, 1, 2},
                                               {"backward", 3, 3, 1, 1},
                                               {"step", 6, 1, 1, 1},
                                               {"validation", 7, 20, 1, 1},
                                               {"augmentation", 27, 0.5, 1, 1},
                                               {"data", 27, 1, 1, 1},
                                               {"step", 29, 1, 1, 1}}));
  REQUIRE(shares.size() == 7);
  const char* const names[] = {"data", "forward", "backward", "step", "communication", "augmentation", "other"};
  const double per_step[] = {0.75, 1, 1, 1, 0.5, 0.25, 0.5};  // of two steps that took ten seconds
  for (std::size_t i = 0; i < 7; ++i) {
    CAPTURE(names[i]);
    CHECK(shares[i].name == names[i]);
    CHECK(shares[i].seconds_per_step == doctest::Approx(per_step[i]));
    CHECK(shares[i].share == doctest::Approx(per_step[i] / 5));
  }
  CHECK(io::phase_shares(events({{"data", 0, 1, 1, 1}})).empty());
}

TEST_CASE("a timeline shows typical steps, not the one with validation, and a lane for what else the process did") {
  std::vector<io::TracedPhase> phases;
  for (int i = 0; i < 20; ++i) {
    const double at = i + (i > 9 ? 100 : 0);
    phases.push_back({"forward", at, 0.5, 1, 1});
    phases.push_back({"communication", at + 0.5, 0.25, 1, 7});
    phases.push_back({"step", at + 0.5, 0.5, 1, 1});
    phases.push_back({"step", at, 0.5, 2, 1});  // another process, with equally many steps
    phases.push_back({"hers", at, 0.5, 2, 1});
  }
  const std::string svg = io::detail::timeline_svg(phases);
  CHECK(contains(svg, ">in the background<"));
  CHECK(contains(svg, "<title>communication: 250 ms</title>"));
  CHECK(contains(svg, ">6000<"));  // milliseconds of six steps
  CHECK(!contains(svg, "hers"));
  std::size_t bars = 0;
  for (auto at = svg.find("<title>step: 500 ms"); at != std::string::npos; at = svg.find("<title>step", at + 1)) ++bars;
  CHECK(bars == 6);
}

TEST_CASE("a report of a run has curves, costs, the parts of a step and tables, in one file") {
  const TemporaryFolder folder;
  const std::string trace = folder.path / "trace.json", path = folder.path / "run.html";
  if (!std::getenv("LOCUS_TRACED_TEST")) trace_to(trace);  // else to the file that the environment names
  const History history = train();
  if (!std::getenv("LOCUS_TRACED_TEST")) trace_to("");
  else return;
  io::write_report(path, history, {.title = "A <line>", .labels = {.data = "4 points"}, .trace = trace});
  const std::string html = content_of(path);
  for (const char* part :
       {"<title>A &lt;line&gt;</title>", "4 points", ">Loss<", ">Throughput<", ">Memory of the device<",
        "<td>backward</td>", ">Timeline of typical steps<", "samples/s", "wait/step"}) {
    CAPTURE(part);
    CHECK(contains(html, part));
  }
  for (const char* link : {"src=", "<link", "<script", "@import"})
    CHECK(!contains(html, link));  // nothing else is needed
  io::write_report(path, History());
  CHECK(contains(content_of(path), "<h1>Training</h1>"));
  CHECK(!contains(content_of(path), "<svg"));
  CHECK(contains(
      message_of<DataError>([&] { io::write_report(path, history, {.trace = folder.write("empty.json", "[]")}); }),
      "has no step of training; expected one of a program that calls fit or train_step"));
  CHECK_THROWS_AS(io::write_report(folder.path / "no" / "where.html", history), DataError);
}
