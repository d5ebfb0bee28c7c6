#pragma once
// Results that the cifar10 example writes at the end.

#include "cifar_images.hpp"
#include "cifar_options.hpp"

#include <locus/training/history.hpp>

#include <vector>

/// A model's prediction for a test image.
struct Prediction {
  std::int64_t label, predicted;
  float confidence;  ///< probability of the predicted class
};

/// The name in the history of the validation accuracy of the averaged weights.
inline constexpr const char* average_accuracy = "average accuracy";

/// throws locus::DataError if one of the files cannot be written at the end
void require_writable(const CifarOptions& options);

/// Prints the table of epochs and the accuracy on the test images.
void print(const locus::History& history, const std::vector<Prediction>& predictions);

/// Writes history.json, curves.svg, confusion.svg and mistakes.svg to the folder of results, if there is one.
/// throws locus::DataError
void write_report(const CifarOptions& options, const locus::History& history, const CifarImages& images,
                  const std::vector<Prediction>& predictions);

/// The path of a file in the folder of results.
std::string result_file(const CifarOptions& options, const char* name);
