#pragma once
// Shows the progress of training at a terminal.

#include <locus/training/history.hpp>
#include <locus/training/progress.hpp>

#include <unistd.h>

namespace locus { inline namespace LOCUS_ABI {

/// A callback of fit. If stderr is a terminal, one line, rewritten at each report of progress: the loss, samples per
/// second, the share of time that steps waited for data, the memory of the device, and the utilization of a GPU. After
/// each epoch, a line that stays, even if stderr is no terminal. Of several ranks, give it to one.
///
///     fit(model, optimizer, train, valid, history, {.on_progress = ProgressBar(), .on_epoch = ProgressBar()});
///
///     epoch  2 [=============                 ] loss 0.2758    324517 samples/s  waits 3 %  12.3 MB, peak 15.1 MB
class ProgressBar {
 public:
  /// `samples`: name of the samples, such as "images"
  explicit ProgressBar(std::string samples = "samples")
      : samples_(std::move(samples)), is_terminal_(isatty(STDERR_FILENO) != 0) {}

  void operator()(const Progress& progress) const {
    if (!is_terminal_) return;
    std::fprintf(stderr, "\r%s\033[K", line(progress).c_str());
    std::fflush(stderr);
  }
  LOCUS_OUT_OF_LINE void operator()(const EpochRecord& r) const {
    std::string accuracy;
    if (detail::has_accuracy(r)) accuracy = formatted(", accuracy %.2f %%", 100 * r.valid_accuracy);
    std::fprintf(stderr, "%sepoch %2d: loss %.4f, validation loss %.4f%s, %.0f %s/s\n", is_terminal_ ? "\r\033[K" : "",
                 r.epoch, r.train_loss, r.valid_loss, accuracy.c_str(), r.samples_per_second, samples_.c_str());
  }

  /// The line of progress, without control characters.
  [[nodiscard]] LOCUS_OUT_OF_LINE std::string line(const Progress& p) const {
    constexpr std::int64_t width = 30;
    const auto done = static_cast<std::size_t>(p.batches > 0 ? width * p.batch / p.batches : 0);
    std::string text = formatted("epoch %2.0f [", p.epoch) + std::string(done, '=') + std::string(width - done, ' ') +
                       formatted("] loss %.4f", p.loss) + formatted("  %8.0f ", p.samples_per_second) + samples_ + "/s";
    if (p.seconds > 0) text += formatted("  waits %.0f %%", 100 * p.data_seconds / p.seconds);
    if (p.memory.peak_bytes > 0)
      text += "  " + detail::scaled(static_cast<double>(p.memory.allocated_bytes), "B") + ", peak " +
              detail::scaled(static_cast<double>(p.memory.peak_bytes), "B");
    if (p.share_of_peak() == p.share_of_peak()) text += formatted("  %.0f %% of peak", 100 * p.share_of_peak());
    if (p.gpu_utilization == p.gpu_utilization) text += formatted("  GPU %.0f %%", 100 * p.gpu_utilization);
    return text;
  }

 private:
  [[nodiscard]] static std::string formatted(const char* format, double number) {
    char text[400];
    std::snprintf(text, sizeof text, format, number);
    return text;
  }

  std::string samples_;
  bool is_terminal_;
};

}}  // namespace locus::LOCUS_ABI
