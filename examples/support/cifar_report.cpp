#include "cifar_report.hpp"

#include <locus/report/confusion_plot.hpp>
#include <locus/report/history_file.hpp>
#include <locus/report/image_grid.hpp>
#include <locus/tensor/from.hpp>
#include <locus/training/confusion_matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

using namespace locus;

namespace {

double accuracy_of(const std::vector<Prediction>& predictions) {
  const auto is_right = [](const Prediction& each) { return each.predicted == each.label; };
  return static_cast<double>(std::count_if(predictions.begin(), predictions.end(), is_right)) /
         static_cast<double>(predictions.size());
}

std::string name_of(std::int64_t label) { return std::string(data::cifar10_classes[static_cast<std::size_t>(label)]); }

std::string percent(double share) { return plot::detail::fixed(100 * share, 2) + " %"; }

std::string described(const CifarOptions& options) {
  const std::string model = options.width == 64 ? "ResNet-18" : join("ResNet-18 of width ", options.width);
  return join(model, " on ", options.data.empty() ? "drawn images" : "CIFAR-10");
}

void plot_curves(const std::string& path, const std::string& title, const std::string& subtitle,
                 const History& history) {
  std::vector<double> epochs, train_loss, valid_loss, accuracy, of_average;
  for (const EpochRecord& r : history.records()) {
    epochs.push_back(r.epoch);
    train_loss.push_back(r.train_loss);
    valid_loss.push_back(r.valid_loss);
    accuracy.push_back(100 * r.valid_accuracy);
    for (const auto& metric : r.metrics)
      if (metric.name == average_accuracy) of_average.push_back(100 * metric.value);
  }
  plot::Figure figure(title, subtitle);
  figure.panel("Loss", {.label = "epoch", .integer = true}, {.label = "cross-entropy, smoothed labels"})
      .line("training, augmented", epochs, train_loss)
      .line("test", epochs, valid_loss);
  auto& accuracies =
      figure.panel("Accuracy", {.label = "epoch", .integer = true}, {.label = "test images recognized", .unit = "%"});
  accuracies.line("weights", epochs, accuracy, {.colour = 1});
  if (of_average.size() == epochs.size()) accuracies.line("averaged weights", epochs, of_average, {.colour = 2});
  figure.write(path);
}

/// Draws the wrong predictions with the highest confidence, at most 40.
void write_mistakes(const std::string& path, const std::string& title, const CifarImages& images,
                    const std::vector<Prediction>& predictions) {
  std::vector<std::int64_t> wrong;
  for (std::size_t i = 0; i < predictions.size(); ++i)
    if (predictions[i].predicted != predictions[i].label) wrong.push_back(static_cast<std::int64_t>(i));
  const std::size_t total = wrong.size();
  if (total == 0) return std::fprintf(stderr, "no mistakes, and so no mistakes.svg\n"), void();
  const auto sureness = [&](std::int64_t i) { return predictions[static_cast<std::size_t>(i)].confidence; };
  std::stable_sort(wrong.begin(), wrong.end(),
                   [&](std::int64_t a, std::int64_t b) { return sureness(a) > sureness(b); });
  wrong.resize(std::min<std::size_t>(wrong.size(), 40));
  std::vector<io::CaptionedImage> tiles;
  for (const std::int64_t i : wrong) {
    const Prediction& each = predictions[static_cast<std::size_t>(i)];
    tiles.push_back({images.test[i].first, join(name_of(each.predicted), " ", std::lround(100 * each.confidence), " %"),
                     join("is ", name_of(each.label))});
  }
  io::write_image_grid(path, tiles,
                       {.title = title,
                        .subtitle = join("the ", wrong.size(), " that it is surest of, among ", total,
                                         " mistakes with ", predictions.size(), " test images")});
}

}  // namespace

std::string result_file(const CifarOptions& options, const char* name) { return join(options.output, "/", name); }

void require_writable(const CifarOptions& options) {
  if (!options.checkpoint.empty()) io::require_writable(options.checkpoint);
  if (options.output.empty()) return;
  for (const char* name : {"history.json", "curves.svg", "confusion.svg", "mistakes.svg", "weights.safetensors"})
    io::require_writable(result_file(options, name));
}

void print(const History& history, const std::vector<Prediction>& predictions) {
  std::printf("%s\ntest images: accuracy %s\n", history.table().c_str(), percent(accuracy_of(predictions)).c_str());
}

void write_report(const CifarOptions& options, const History& history, const CifarImages& images,
                  const std::vector<Prediction>& predictions) {
  if (options.output.empty()) return;
  const std::string subtitle = join("accuracy ", percent(accuracy_of(predictions)), " on ", predictions.size(),
                                    " test images", options.average > 0 ? ", by averaged weights" : "");
  io::write_history(result_file(options, "history.json"), history);
  plot_curves(result_file(options, "curves.svg"), described(options), subtitle, history);
  std::vector<std::int64_t> labels, predicted;
  std::vector<std::string> names;
  for (const Prediction& each : predictions) {
    labels.push_back(each.label);
    predicted.push_back(each.predicted);
  }
  for (std::int64_t label = 0; label < 10; ++label) names.push_back(name_of(label));
  io::plot_confusion(result_file(options, "confusion.svg"), confusion_matrix(from(predicted), from(labels), 10), names,
                     described(options), subtitle);
  write_mistakes(result_file(options, "mistakes.svg"), "Mistakes of " + described(options), images, predictions);
}
