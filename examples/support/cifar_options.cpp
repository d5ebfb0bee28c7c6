#include "cifar_options.hpp"

#include <locus/core/check.hpp>

#include <CLI/CLI.hpp>

CifarOptions::CifarOptions(int argc, char** argv) {
  CLI::App app("Trains ResNet-18 on the images of CIFAR-10.");
  app.add_option("--device", device, "where to train: cpu, cuda, cuda:N, or auto")->capture_default_str();
  app.add_option("--type", type, "element type of the model and its images: float, bfloat16, or half")
      ->check(CLI::IsMember({"float", "bfloat16", "half"}))
      ->capture_default_str();
  app.add_option("--data", data, "folder with CIFAR-10's binary version; without it, images are drawn");
  app.add_option("--images", images, "how many images to train with, the first ones; 0: all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{50000}))
      ->capture_default_str();
  app.add_option("--test-images", test_images, "the same to test with")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{10000}))
      ->capture_default_str();
  app.add_option("--epochs", epochs, "passes over the training images")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--batch", batch, "images of a step")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{10000}))
      ->capture_default_str();
  app.add_option("--lr", lr, "largest learning rate")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--schedule", schedule, "of the learning rate, step by step: one-cycle, or cosine")
      ->check(CLI::IsMember({"one-cycle", "cosine"}))
      ->capture_default_str();
  app.add_option("--weight-decay", weight_decay)->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--smoothing", smoothing, "of labels")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app.add_option("--average", average, "how much of the average of weights a step keeps; 0: no average")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--cutout", cutout, "side of the square that each image loses, in pixels; 0: none")
      ->check(CLI::Range(0, 32))
      ->capture_default_str();
  app.add_option("--width", width, "channels after the first convolution")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--channels-last", channels_last,
               "images lie with their channels side by side, as cuDNN's kernels of 16 bits read them");
  app.add_flag("--capture,!--no-capture", captures, "capture a step on a GPU, and replay it");
  app.add_option("--seed", seed, "of initial weights, order and changes of the images")->capture_default_str();
  app.add_option(
         "--workers", workers,
         "threads that prepare batches and do nothing else; by default LOCUS_WORKERS, or as many as suit the machine")
      ->check(CLI::Range(0, 256));
  app.add_option("--checkpoint", checkpoint, "file that the run is saved to, and goes on from where there is one");
  app.add_option("--checkpoint-every", checkpoint_every, "seconds between two of them within an epoch")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--output", output, "folder for history, curves, confusion matrix, mistakes and weights")
      ->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    finished = true;
    exit_code = app.exit(error) == 0 ? 0 : 2;
  }
}

std::int64_t fingerprint(const CifarOptions& o, std::int64_t images) {
  const std::string text = locus::join(images, " ", o.epochs, " ", o.batch, " ", o.lr, " ", o.schedule, " ",
                                       o.weight_decay, " ", o.smoothing, " ", o.average, " ", o.cutout, " ", o.width,
                                       " ", o.seed, " ", o.type, o.channels_last ? " channels-last" : "");
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return static_cast<std::int64_t>(hash);
}

void require_same_run(const std::string& checkpoint, std::int64_t in_file, std::int64_t of_options) {
  if (in_file != of_options)
    locus::fail<locus::ArgumentError>(
        {"'", checkpoint, "' is of a run with other options or images; give those, or ", "another --checkpoint"});
}
