// The first experiments on a GPU: how its libraries behave where their documentation is silent or says otherwise.
//
//     cuda_first_run [--json FILE] [--seconds N] [EXPERIMENT...]   all, or these; each in a process of its own
//     cuda_first_run --list                                        their names and questions
//     cuda_first_run --here EXPERIMENT [--row N]                   in this process, for a debugger; from row N of its
//     table
//
// docs/first-gpu-run.md says how to read the answers. Exits with 0 if all experiments answered, 1 if one ended
// unexpectedly or FILE could not be written, 2 for wrong arguments, and 77 if no GPU can be used.

#include <locus/core/system/file.hpp>
#include <locus/cuda/versions.hpp>
#include <locus/io/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "first_run/experiment.hpp"

using namespace locus;
using first_run::Experiment;

namespace {

constexpr int answered = 0, failed = 1, wrong_arguments = 2, threw = 3, no_gpu = 77;

struct Options {
  std::string json, here;
  int row = 0;       ///< of the table, where the experiment `here` begins
  int seconds = 60;  ///< for an experiment
  bool list = false;
  std::vector<std::string> names;
};

std::vector<Experiment> all_experiments() {
  std::vector<Experiment> all;
  for (auto* const list :
       {&first_run::machine_experiments, &first_run::blas_experiments, &first_run::kernel_experiments})
    for (Experiment& experiment : list()) all.push_back(std::move(experiment));
  return all;
}

const Experiment& find(const std::vector<Experiment>& all, const std::string& name) {
  for (const Experiment& experiment : all)
    if (experiment.name == name) return experiment;
  fail<ArgumentError>({"'", name, "' is no experiment; cuda_first_run --list names them"});
}

int number_of(const std::string& option, const std::string& text, int least) {
  const bool is_number = !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::atoi(text.c_str()) < least)
    fail<ArgumentError>({option, " ", text, ": expected a whole number of at least ", least});
  return std::atoi(text.c_str());
}

/// throws ArgumentError
Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) fail<ArgumentError>({argument, ": expected a value after it"});
      return argv[++i];
    };
    if (argument == "--json") options.json = value();
    else if (argument == "--here") options.here = value();
    else if (argument == "--row") options.row = number_of(argument, value(), 0);
    else if (argument == "--list") options.list = true;
    else if (argument == "--seconds") options.seconds = number_of(argument, value(), 1);
    else if (argument.starts_with("-")) {
      fail<ArgumentError>({argument, ": unknown; expected --json FILE, --seconds N, --list, --here NAME, or names"});
    } else {
      options.names.push_back(argument);
    }
  }
  try {
    if (!options.json.empty()) io::require_writable(options.json);
  } catch (const DataError& error) {
    fail<ArgumentError>({"--json ", options.json, ": ", error.what()});
  }
  return options;
}

Options options_of_process;

/// How an experiment ended, and its output.
struct Outcome {
  const Experiment* experiment = nullptr;
  std::string end, text;
  double seconds = 0;
  bool is_fault = false;
};

/// This program, as it would be started by hand, with its output in a pipe. throws Error where the system has no room
pid_t start(const std::string& name, int& output) {
  int ends[2];
  if (pipe(ends) != 0) fail<Error>({"pipe: ", std::strerror(errno)});
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    fail<Error>({"fork: ", std::strerror(error)});
  }
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    execl("/proc/self/exe", "cuda_first_run", "--here", name.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  output = ends[0];
  return child;
}

/// Collects the child's output until it ends. Returns why waiting was given up, or nothing.
std::string collect(int output, int seconds, std::string& text) {
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(last - std::chrono::steady_clock::now());
    if (left.count() <= 0) return join("did not end within ", seconds, " seconds");
    pollfd waited{output, POLLIN, 0};
    const int ready = poll(&waited, 1, static_cast<int>(left.count()));
    if (ready == 0) continue;  // its time is over
    char bytes[4096];
    const ssize_t count = ready < 0 ? -1 : read(output, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return join("could not be read: ", std::strerror(errno));
    if (count == 0) return "";
    text.append(bytes, static_cast<std::size_t>(count));
  }
}

/// How a child that was awaited ended.
std::string end_of(int status) {
  if (WIFSIGNALED(status)) return join("ended by signal ", WTERMSIG(status), ", ", strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == threw) return "threw";
  return WEXITSTATUS(status) == answered ? "answered" : join("ended with status ", WEXITSTATUS(status));
}

Outcome run_apart(const Experiment& experiment, int seconds) {
  Outcome outcome{&experiment, "", "", 0, false};
  const auto begin = std::chrono::steady_clock::now();
  try {
    int output = -1, status = 0;
    const pid_t child = start(experiment.name, output);
    outcome.end = collect(output, seconds, outcome.text);
    if (!outcome.end.empty()) kill(child, SIGKILL);
    close(output);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (outcome.end.empty()) outcome.end = end_of(status);
    outcome.is_fault = outcome.end != "answered" && !experiment.may_end_process;
  } catch (const Error& error) {  // the next one may have more luck
    outcome.end = join("could not be started: ", error.what());
    outcome.is_fault = true;
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

/// Lines of the form NAME: ANSWER become members of `answers`; other lines, such as a library's, go to `other`.
void write_json(const std::string& path, const std::vector<Outcome>& outcomes) {
  io::JsonWriter json;
  json.begin_object().member("machine", locus::cuda::versions()).key("experiments").begin_array();
  for (const Outcome& outcome : outcomes) {
    std::vector<std::string> others;
    json.begin_object().member("name", outcome.experiment->name).member("question", outcome.experiment->question);
    json.member("end", outcome.end).member("seconds", outcome.seconds).key("answers").begin_object();
    for (std::size_t at = 0; at < outcome.text.size();) {
      const std::size_t end = std::min(outcome.text.find('\n', at), outcome.text.size());
      const std::string line = outcome.text.substr(at, end - at);
      const std::size_t colon = line.find(": ");
      if (colon == std::string::npos) others.push_back(line);
      else json.member(line.substr(0, colon), line.substr(colon + 2));
      at = end + 1;
    }
    json.end_object().key("other").begin_array();
    for (const std::string& line : others) json.value(line);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  io::write_file_atomically(path, json.text());
}

/// The same; false, and a warning, where the file cannot be written: the terminal has the answers, too.
bool save(const std::string& path, const std::vector<Outcome>& outcomes) try {
  if (!path.empty()) write_json(path, outcomes);
  return true;
} catch (const Error& error) {
  std::fprintf(stderr, "first_run: %s\n", error.what());
  return false;
}

int run_all(const Options& options, const std::vector<Experiment>& all) {
  std::vector<const Experiment*> wanted;
  for (const std::string& name : options.names) wanted.push_back(&find(all, name));
  if (wanted.empty())
    for (const Experiment& experiment : all) wanted.push_back(&experiment);
  std::printf("%s\n", locus::cuda::versions().c_str());
  std::vector<Outcome> outcomes;
  int faults = 0;
  bool is_saved = true;
  for (const Experiment* const experiment : wanted) {
    std::printf("\n%s: %s\n", experiment->name.c_str(), experiment->question.c_str());
    std::fflush(stdout);
    outcomes.push_back(run_apart(*experiment, options.seconds));
    const Outcome& outcome = outcomes.back();
    faults += outcome.is_fault;
    std::printf("%s=> %s%s, %.1f s\n", outcome.text.c_str(), outcome.is_fault ? "FAULT: " : "", outcome.end.c_str(),
                outcome.seconds);
    std::fflush(stdout);
    is_saved = save(options.json, outcomes);  // each time: if cut off, the file has the answers so far
  }
  std::printf("\n%zu experiments, %d of which ended as they should not have\n", outcomes.size(), faults);
  return faults || !is_saved ? failed : answered;
}

}  // namespace

int first_run::first_row() { return options_of_process.row; }
void first_run::start_again_at(int row) {
  execl("/proc/self/exe", "cuda_first_run", "--here", options_of_process.here.c_str(), "--row",
        std::to_string(row).c_str(), static_cast<char*>(nullptr));
  fail<Error>({"could not start again: ", std::strerror(errno)});
}

int main(int argc, char** argv) try {
  const Options& options = options_of_process = parse(argc, argv);
  const std::vector<Experiment> all = all_experiments();
  if (options.list) {
    for (const Experiment& experiment : all)
      std::printf("%-24s %s\n", experiment.name.c_str(), experiment.question.c_str());
    return answered;
  }
  if (!locus::cuda::is_available()) {
    std::fprintf(stderr, "first_run: no usable GPU: %s\n", locus::cuda::unavailable_reason().c_str());
    return no_gpu;
  }
  if (options.here.empty()) return run_all(options, all);
  const Experiment& experiment = find(all, options.here);
  try {
    experiment.run();
  } catch (const std::exception& error) {
    first_run::note("error", error.what());
    return threw;
  }
  return answered;
} catch (const ArgumentError& error) {
  std::fprintf(stderr, "first_run: %s\n", error.what());
  return wrong_arguments;
} catch (const std::exception& error) {
  std::fprintf(stderr, "first_run: %s\n", error.what());
  return failed;
}
