#include "training_times_options.hpp"

#include "device_option.hpp"

#include <CLI/CLI.hpp>

namespace {

void add_list(CLI::App& app, const char* name, std::vector<std::int64_t>& values, const char* what, std::int64_t most) {
  app.add_option(name, values, std::string(what) + ", separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, most))
      ->capture_default_str();
}

}  // namespace

TrainingTimesOptions::TrainingTimesOptions(int argc, char** argv) {
  CLI::App app(
      "Measures what training a perceptron of 784 inputs, hidden layers and 10 outputs takes, by fit with Adam, on the "
      "CPU and on the GPU: each hidden size with each depth and batch. Prints a line of JSON for each measurement.");
  add_list(app, "--hidden", hidden, "outputs of each hidden layer", 65536);
  add_list(app, "--depth", depth, "numbers of hidden layers", 64);
  add_list(app, "--batch", batch, "images of a batch", 60000);
  add_list(app, "--images", images, "whole epochs of so many images; without it, steps are measured", 60000);
  app.add_option("--threads", threads, "numbers of threads on the CPU (default: 1, and one per core)")
      ->delimiter(',')
      ->check(CLI::Range(1, 256));
  app.add_option("--device", device, "auto and both: the CPU, and a GPU if there is one; cpu; cuda; cuda:N")
      ->check(check_device)
      ->capture_default_str();
  app.add_option("--data", data, "folder with the files of MNIST; without it, images are random")
      ->check(CLI::ExistingDirectory);
  app.add_option("--min-time", min_seconds, "seconds to measure each for")
      ->check(CLI::Range(0.0001, 600.0))
      ->capture_default_str();
  app.add_option("--budget", budget, "seconds after which no measurement begins; what is left out is named")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_flag("--pin", pin, "bind each thread to a core of its own (Linux)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    finished = true;
    exit_code = app.exit(error);
  }
}
