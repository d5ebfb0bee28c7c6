#pragma once
// What the cifar10 example writes at the end.

#include "cifar_images.hpp"
#include "cifar_options.hpp"

#include <locus/training/history.hpp>

#include <vector>

/// What a model takes a test image for.
struct Prediction {
  std::int64_t label, predicted;
  float confidence;  ///< probability of the predicted class
};

/// "validation accuracy of the averaged weights", as the history has it.
inline constexpr const char* average_accuracy = "average accuracy";

/// throws locus::DataError if one of the files cannot be written at the end
void require_writable(const CifarOptions& options);

/// The table of epochs, and how many of the test images were recognized.
void print(const locus::History& history, const std::vector<Prediction>& predictions);

/// history.json, curves.svg, confusion.svg and mistakes.svg in the folder of results, if there is one.
/// throws locus::DataError
void write_report(const CifarOptions& options, const locus::History& history, const CifarImages& images,
                  const std::vector<Prediction>& predictions);

/// In the folder of results.
std::string result_file(const CifarOptions& options, const char* name);
