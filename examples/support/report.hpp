#pragma once
// Output of the mnist example at the end of training.

#include "command_line.hpp"

#include <locus/training/fit.hpp>

#include <string>
#include <vector>

/// Prints the table of epochs, then loss and accuracy on the test images.
void print(const locus::History& history, const locus::Evaluation& test);

/// throws locus::DataError if a file that the options name could not be written at the end
void require_writable(const CommandLine& options);

/// Each function writes its file unless the path is empty. throws locus::DataError if it cannot be written
void write_history(const std::string& path, const locus::History& history);
void write_curves(const CommandLine& options, const locus::History& history, const locus::Evaluation& test);
void write_losses(const std::string& path, const std::vector<double>& losses);
