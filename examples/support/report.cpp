#include "report.hpp"

#include <locus/report/history_file.hpp>

#include <cstdio>

using namespace locus;

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
