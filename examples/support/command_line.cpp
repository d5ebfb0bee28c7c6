#include "command_line.hpp"

#include <CLI/CLI.hpp>

CommandLine::CommandLine(int argc, char** argv) {
  CLI::App app("Trains a perceptron on handwritten digits.");
  app.add_option("--device", device, "where to train: cpu, cuda, cuda:N, or auto")->capture_default_str();
  app.add_option("--type", type, "element type of the model and its images: float, bfloat16, or half")
      ->check(CLI::IsMember({"float", "bfloat16", "half"}))
      ->capture_default_str();
  app.add_option("--data", data, "folder with the MNIST IDX files, plain or .gz; without it, digits are drawn");
  app.add_option("--epochs", epochs, "passes over the training images")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--hidden", hidden, "hidden units")->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_option("--seed", seed, "of initial weights, split and order of the images")->capture_default_str();
  app.add_option(
         "--workers", workers,
         "threads that prepare batches and do nothing else; by default LOCUS_WORKERS, or as many as suit the machine")
      ->check(CLI::Range(0, 256));
  app.add_option("--history", history, "write one JSON object per epoch to this file");
  app.add_option("--plot", plot, "write the curves of loss and accuracy to this SVG file");
  app.add_option("--steps-log", steps_log, "write the losses of the first steps to this JSON file, and stop");
  app.add_option("--steps", steps, "how many, for --steps-log")->check(CLI::Range(1, 1000000))->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    finished = true;
    exit_code = app.exit(error) == 0 ? 0 : 2;
  }
}
