#pragma once
// A training history as a file: JSON, or curves of loss and accuracy.

#include <locus/io/json.hpp>
#include <locus/io/plot.hpp>
#include <locus/training/history.hpp>

namespace locus::inline LOCUS_ABI::io {

/// Writes an array of objects: epoch, learning_rate, train_loss, valid_loss, valid_accuracy, seconds,
/// images_per_second. throws DataError if the file cannot be written
inline void write_history(const std::string& path, const History& history) {
  JsonWriter json;
  json.begin_array();
  for (const auto& r : history.records()) {
    json.begin_object()
        .member("epoch", r.epoch)
        .member("learning_rate", r.learning_rate)
        .member("train_loss", r.train_loss)
        .member("valid_loss", r.valid_loss)
        .member("valid_accuracy", r.valid_accuracy)
        .member("seconds", r.seconds)
        .member("images_per_second", r.images_per_second)
        .end_object();
  }
  json.end_array();
  write_file_atomically(path, json.text());
}

/// Writes the curves of loss and accuracy over the epochs as SVG. throws DataError if the file cannot be written
inline void plot_history(const std::string& path, const History& history, const std::string& title) {
  std::vector<double> epochs, train_loss, valid_loss, accuracy;
  for (const auto& r : history.records()) {
    epochs.push_back(r.epoch);
    train_loss.push_back(r.train_loss);
    valid_loss.push_back(r.valid_loss);
    accuracy.push_back(100 * r.valid_accuracy);
  }
  plot::Figure figure(title, history.empty() ? ""
                                             : join("final validation accuracy ",
                                                    plot::detail::fixed(100 * history.last().valid_accuracy, 2), " %"));
  figure.panel("Loss", {.label = "epoch", .integer = true}, {.label = "cross-entropy"})
      .line("training", epochs, train_loss)
      .line("validation", epochs, valid_loss);
  figure.panel("Accuracy", {.label = "epoch", .integer = true}, {.label = "accuracy", .unit = "%"})
      .line("validation", epochs, accuracy, {.colour = 1});
  figure.write(path);
}

}  // namespace locus::inline LOCUS_ABI::io
