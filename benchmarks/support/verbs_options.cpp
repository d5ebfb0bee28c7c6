#include "verbs_options.hpp"

#include "output_file.hpp"

#include <CLI/CLI.hpp>

VerbsOptions::VerbsOptions(int argc, char** argv) {
  CLI::App app("Measures every kind of operation, each checked against float64 before its time counts.");
  std::string sizes = "full";
  app.add_option("--device", device, "cpu, cuda, cuda:N or auto")->capture_default_str();
  app.add_option("--sizes", sizes, "full, or tiny to try the program")
      ->check(CLI::IsMember({"full", "tiny"}))
      ->capture_default_str();
  app.add_option("--only", only, "measure the workloads whose names contain this text");
  app.add_option("--turns", turns, "samples of each variant, which take turns (default 15; tiny: 2)")
      ->check(CLI::Range(1, 10000));
  app.add_option("--sample-time", sample_seconds, "seconds of a sample (default 0.02; on a GPU 0.002; tiny: none)")
      ->check(CLI::Range(0.0, 60.0));
  app.add_option("--threads", threads, "threads on the CPU (default: one per core)")->check(CLI::Range(1, 256));
  app.add_option("--json", json, "write environment and samples to this file")->check(check_target);
  app.add_flag("--serve", serve, "list the workloads, then measure those that the lines of the input name");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    finished = true;
    exit_code = app.exit(error);
  }
  tiny = sizes == "tiny";
  if (turns == 0) turns = tiny ? 2 : 15;
  if (sample_seconds == 0 && !tiny) sample_seconds = device.starts_with("cuda") ? 0.002 : 0.02;
}
