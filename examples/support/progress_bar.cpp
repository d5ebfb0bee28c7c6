#include "progress_bar.hpp"

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
