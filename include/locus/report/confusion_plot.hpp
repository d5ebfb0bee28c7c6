#pragma once
// A confusion matrix as an SVG file.

#include <locus/core/system/file.hpp>
#include <locus/report/plot_canvas.hpp>
#include <locus/tensor/copy.hpp>

#include <cmath>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {
/// From almost white to blue by the square root of a share in [0, 1], so that rare mistakes are visible.
[[nodiscard]] inline std::string shade(double share) {
  const double depth = std::sqrt(share);
  const auto mixed = [&](double full) { return std::lround(247 + depth * (full - 247)); };
  return join("rgb(", mixed(0x00), ",", mixed(0x72), ",", mixed(0xb2), ")");
}
/// A share as a percentage. Only 1 is "100.0": a share between 0.999 and 1 gets a second digit, and is at most "99.99".
[[nodiscard]] inline std::string percentage(double share) {
  const bool is_almost_all = share < 1 && share > 0.999;
  return is_almost_all ? plot::detail::fixed(locus::detail::smaller(100 * share, 99.99), 2)
                       : plot::detail::fixed(100 * share, 1);
}

/// Draws a matrix of counts, whose rows and columns have names.
class ConfusionPainter {
 public:
  ConfusionPainter(const Tensor<std::int64_t, Cpu>& matrix, const std::vector<std::string>& names)
      : matrix_(matrix.contiguous()), names_(names), classes_(matrix.size(0)) {
    for (const auto& name : names) longest_ = locus::detail::larger(longest_, plot::detail::text_width(name, 12));
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < matrix_.elements(); ++i) most = locus::detail::larger(most, matrix_.data()[i]);
    cell_ = locus::detail::larger(40.0, plot::detail::text_width(std::to_string(most), 12) + 10);
  }

  [[nodiscard]] std::string svg(const std::string& title, const std::string& subtitle) const {
    constexpr double side = 24, margin = 62;  // margin: the column and the row of shares
    const double head = title.empty() ? 16 : subtitle.empty() ? 60 : 82, lean = 0.71 * longest_ + 14;
    const double left = side + 22 + longest_ + 10, top = head + 24 + lean;
    const double extent = cell_ * static_cast<double>(classes_);
    plot::detail::Canvas canvas(left + extent + margin + side + 0.3 * longest_, top + extent + 44 + side, title);
    if (!title.empty()) canvas.label(side, 36, "title", title);
    if (!title.empty() && !subtitle.empty()) canvas.label(side, 58, "subtitle", subtitle);
    canvas.label(left + extent / 2, head + 14, "middle quiet", "predicted");
    canvas.label_turned(side + 12, top + extent / 2, -90, "middle quiet", "label");
    canvas.label(left + extent + 12, top - 8, "quiet", "recall %");
    canvas.label(left - 10, top + extent + 26, "end quiet", "precision %");
    for (std::int64_t i = 0; i < classes_; ++i) draw_class(canvas, i, left, top, extent);
    return canvas.finished();
  }

 private:
  [[nodiscard]] std::int64_t count(std::int64_t label, std::int64_t predicted) const {
    return matrix_.data()[label * classes_ + predicted];
  }
  /// The row of a class, its name above its column, and its shares.
  void draw_class(plot::detail::Canvas& canvas, std::int64_t i, double left, double top, double extent) const {
    std::int64_t labels = 0, predictions = 0;
    for (std::int64_t j = 0; j < classes_; ++j) labels += count(i, j), predictions += count(j, i);
    const double at = cell_ * static_cast<double>(i);
    const std::string& name = names_[static_cast<std::size_t>(i)];
    canvas.label(left - 10, top + at + cell_ / 2 + 4, "end", name);
    canvas.label_turned(left + at + cell_ / 2 + 4, top - 8, -45, "", name);
    for (std::int64_t j = 0; j < classes_; ++j) {
      const double share = labels > 0 ? static_cast<double>(count(i, j)) / static_cast<double>(labels) : 0;
      const double x = left + cell_ * static_cast<double>(j), y = top + at;
      const std::string& other = names_[static_cast<std::size_t>(j)];
      canvas.box({x, y, cell_ - 1.5, cell_ - 1.5}, shade(share),
                 join(count(i, j), " of ", labels, " ", name, i == j ? " recognized" : join(" taken for ", other)));
      if (count(i, j) > 0)
        canvas.label(x + cell_ / 2 - 0.75, y + cell_ / 2 + 3.5, share > 0.35 ? "middle light" : "middle",
                     std::to_string(count(i, j)));
    }
    const auto own = static_cast<double>(count(i, i));
    if (labels > 0)
      canvas.label(left + extent + 12, top + at + cell_ / 2 + 4, "", percentage(own / static_cast<double>(labels)));
    if (predictions > 0)
      canvas.label(left + at + cell_ / 2, top + extent + 26, "middle",
                   percentage(own / static_cast<double>(predictions)));
  }

  Tensor<std::int64_t, Cpu> matrix_;
  const std::vector<std::string>& names_;
  std::int64_t classes_;
  double longest_ = 0, cell_ = 0;
};
}  // namespace detail

/// Writes a confusion matrix, (classes, classes), whose rows are the labels and columns the predictions, as SVG: with
/// the share of each class that was found (recall), and the share of its predictions that are right (precision).
/// throws ShapeError for another shape, ArgumentError unless there is a name for each class and no count is below 0;
/// DataError if the file cannot be written
///
///     io::plot_confusion("confusion.svg", confusion_matrix(predictions, labels, 10), names, "Test images");
inline void plot_confusion(const std::string& path, const Tensor<std::int64_t, Cpu>& matrix,
                           const std::vector<std::string>& names, const std::string& title = "",
                           const std::string& subtitle = "") {
  if (matrix.rank() != 2 || matrix.size(0) != matrix.size(1) || matrix.empty())
    fail<ShapeError>({"plot_confusion: a matrix of shape ", matrix.shape(), "; expected (classes, classes)"});
  if (static_cast<std::int64_t>(names.size()) != matrix.size(0))
    fail<ArgumentError>({"plot_confusion: ", names.size(), " names of ", matrix.size(0), " classes"});
  const Tensor<std::int64_t, Cpu> counts = matrix.contiguous();
  for (std::int64_t i = 0; i < counts.elements(); ++i)
    if (counts.data()[i] < 0)
      fail<ArgumentError>({"plot_confusion: a count is ", counts.data()[i], "; expected 0 or more"});
  write_file_atomically(path, detail::ConfusionPainter(counts, names).svg(title, subtitle));
}

}}}  // namespace locus::LOCUS_ABI::io
