#pragma once
// What the mnist example shows and writes while it trains and at the end.

#include "command_line.hpp"

#include <locus/training/fit.hpp>

#include <string>
#include <vector>

/// The table of epochs, then how the model does on the test images.
void print(const locus::History& history, const locus::Evaluation& test);

/// throws locus::DataError if one of the files that the options name could not be written at the end
void require_writable(const CommandLine& options);

/// Each is written unless its path is empty. throws locus::DataError if it cannot be
void write_history(const std::string& path, const locus::History& history);
void write_curves(const CommandLine& options, const locus::History& history, const locus::Evaluation& test);
void write_losses(const std::string& path, const std::vector<double>& losses);
