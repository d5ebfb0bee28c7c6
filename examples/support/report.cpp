#include "report.hpp"

#include <locus/io/history.hpp>

#include <cstdio>

#include <unistd.h>

using namespace locus;

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressBar::show(const Progress& p) const {
  constexpr int width = 30;
  if (!terminal_) return;
  const auto done = static_cast<std::size_t>(width * p.batch / p.batches);
  const std::string bar = std::string(done, '=') + std::string(width - done, ' ');
  std::fprintf(stderr, "\repoch %2d [%s] loss %.4f  %8.0f images/s", p.epoch, bar.c_str(), p.loss,
               p.samples_per_second);
  std::fflush(stderr);
}

void ProgressBar::show(const EpochRecord& r) const {
  std::fprintf(stderr, "%sepoch %2d: loss %.4f, validation loss %.4f, accuracy %.2f %%, %.0f images/s\n",
               terminal_ ? "\r\033[K" : "", r.epoch, r.train_loss, r.valid_loss, 100 * r.valid_accuracy,
               r.samples_per_second);
}

void print(const History& history, const Evaluation& test) {
  std::printf("\n%s\ntest images: loss %.4f, accuracy %.2f %%\n", history.table().c_str(), test.loss,
              100 * test.accuracy);
}

void require_writable(const CommandLine& options) {
  for (const auto& path : {options.history, options.plot, options.steps_log})
    if (!path.empty()) io::require_writable(path);
}

void write_history(const std::string& path, const History& history) {
  if (!path.empty()) io::write_history(path, history);
}

void write_curves(const CommandLine& options, const History& history, const Evaluation& test) {
  if (options.plot.empty()) return;
  io::plot_history(options.plot, history, "Handwritten digits",
                   {.data = options.data.empty() ? "drawn digits" : "MNIST",
                    .model = join("784-", options.hidden, "-10"),
                    .test_accuracy = test.accuracy});
}

void write_losses(const std::string& path, const std::vector<double>& losses) {
  if (path.empty()) return;
  io::JsonWriter json;
  json.begin_array();
  for (const double loss : losses) json.value(loss);
  json.end_array();
  io::write_file_atomically(path, json.text());
}
