#pragma once
// How training goes on, for whoever watches.

#include <locus/training/fit.hpp>

/// A progress bar with loss and images per second; where the output is no terminal, a line per epoch.
class ProgressBar {
 public:
  ProgressBar();
  void show(const locus::Progress& progress) const;
  void show(const locus::EpochRecord& record) const;

 private:
  bool terminal_;
};
