#pragma once
// Line plots as SVG files, which every browser shows.

#include <locus/core/check.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/core/system/file.hpp>
#include <locus/report/plot_canvas.hpp>
#include <locus/report/plot_scale.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace plot {

struct Axis {
  std::string label;
  std::string unit = "";  ///< shown after the label, in parentheses
  Scale scale = Scale::linear;
  bool integer = false;  ///< ticks at whole numbers only, as for epochs
};

struct Line {
  bool dashed = false;
  bool markers = true;  ///< left out anyway beyond 60 points
  /// Number of a colour, 0 or more, for lines that belong together across panels; by default the next colour.
  std::optional<int> colour = {};
};

namespace detail {
class PanelPainter;
}

/// One coordinate system with its lines.
class Panel {
 public:
  Panel(std::string title, Axis x, Axis y) : title_(std::move(title)), x_(std::move(x)), y_(std::move(y)) {}

  /// Adds a line in the next colour. Points that are NaN or infinite, or not positive on a logarithmic axis, leave a
  /// gap. throws ArgumentError unless there are as many x as y, and for a colour below 0
  Panel& line(std::string name, std::vector<double> x, std::vector<double> y, Line style = {}) {
    if (x.size() != y.size()) {
      fail<ArgumentError>({"plot: the line '", name, "' has ", x.size(), " x and ", y.size(), " y; expected as many"});
    }
    if (style.colour.value_or(0) < 0) {
      fail<ArgumentError>({"plot: the line '", name, "' has colour ", *style.colour, "; expected 0 or more"});
    }
    lines_.push_back({std::move(name), std::move(x), std::move(y), style});
    return *this;
  }
  /// Adds a labelled level across the panel: a goal, or the peak of a machine.
  Panel& level(double y, std::string label) {
    levels_.push_back({y, std::move(label)});
    return *this;
  }
  /// Adds a labelled mark across the panel at one x: where something changed.
  Panel& mark(double x, std::string label) {
    marks_.push_back({x, std::move(label)});
    return *this;
  }

 private:
  friend class detail::PanelPainter;
  struct Series {
    std::string name;
    std::vector<double> x, y;
    Line style;
  };
  struct Level {
    double y;
    std::string label;
  };
  struct Mark {
    double x;
    std::string label;
  };

  std::string title_;
  Axis x_, y_;
  std::vector<Series> lines_;
  std::vector<Level> levels_;
  std::vector<Mark> marks_;
};

namespace detail {

/// Draws one panel: title, legend, axes, lines.
class PanelPainter {
 public:
  static constexpr double side = 24, row = 20;  // margin; height of a row of the legend
  static constexpr double room_above = 8;       // of the highest value, for its marker

  PanelPainter(Canvas& canvas, const Panel& panel, Box frame, double legend_height)
      : canvas_(canvas), panel_(panel), frame_(frame), x_(x_scale(panel)), y_(y_scale(panel)) {
    double labels = 0;
    for (const auto& tick : y_.ticks()) labels = locus::detail::larger(labels, text_width(tick.label, 12));
    const double left = frame.left + side + labels + 10, top = frame.top + 34 + title_height(panel) + legend_height;
    plot_ = {left, top, frame.right() - side - left, frame.bottom() - 58 - top};
  }

  void draw() {
    if (!panel_.title_.empty()) canvas_.label(frame_.left + side, frame_.top + 14, "panel", panel_.title_);
    draw_legend();
    draw_axes();
    for (const auto& level : panel_.levels_) draw_level(level);
    draw_marks();
    for (std::size_t i = 0; i < panel_.lines_.size(); ++i) draw_line(i);
  }

  [[nodiscard]] static double legend_height(const Panel& panel, double width) {
    double rows = 0;
    place_legend(panel, width, [&](std::size_t, double, double y) { rows = y / row + 1; });
    return rows * row;
  }

 private:
  [[nodiscard]] static bool shown(const Panel& panel, const Panel::Series& line, std::size_t i) {
    return AxisScale::shows(line.x[i], panel.x_.scale) && AxisScale::shows(line.y[i], panel.y_.scale);
  }

  [[nodiscard]] static AxisScale x_scale(const Panel& panel) {
    Range range;
    for (const auto& line : panel.lines_) {
      for (std::size_t i = 0; i < line.x.size(); ++i) {
        if (shown(panel, line, i)) range.include(line.x[i]);
      }
    }
    for (const auto& mark : panel.marks_)
      if (AxisScale::shows(mark.x, panel.x_.scale)) range.include(mark.x);
    const bool few = panel.x_.integer && range.high - range.low <= 12;
    return {range, {.scale = panel.x_.scale, .integer = panel.x_.integer, .wanted = few ? 12 : 6}};
  }
  [[nodiscard]] static AxisScale y_scale(const Panel& panel) {
    Range range;
    for (const auto& line : panel.lines_) {
      for (std::size_t i = 0; i < line.y.size(); ++i) {
        if (shown(panel, line, i)) range.include(line.y[i]);
      }
    }
    for (const auto& level : panel.levels_) {
      if (AxisScale::shows(level.y, panel.y_.scale)) range.include(level.y);
    }
    AxisScale::Options options{.scale = panel.y_.scale, .integer = panel.y_.integer, .round = true};
    if (panel.y_.unit == "%" && range.high <= 100) options.most = 100;
    return {range, options};
  }

  /// Calls place(series, x, y) for every named line, from left to right and row by row.
  template <class F>
  static void place_legend(const Panel& panel, double width, F place) {
    double x = 0, y = 0;
    for (std::size_t i = 0; i < panel.lines_.size(); ++i) {
      if (panel.lines_[i].name.empty()) continue;
      const double needed = 34 + text_width(panel.lines_[i].name, 12.5) + 18;
      if (x > 0 && x + needed > width - 2 * side) {
        x = 0;
        y += row;
      }
      place(i, x, y);
      x += needed;
    }
  }

  void draw_legend() {
    place_legend(panel_, frame_.width, [&](std::size_t i, double x, double y) {
      const double left = frame_.left + side + x, middle = frame_.top + 12 + title_height(panel_) + y;
      canvas_.curve(colour(i), panel_.lines_[i].style.dashed, is_long(panel_.lines_[i]),
                    join("M", At{left}, " ", At{middle}, "h26"));
      if (has_markers(panel_.lines_[i])) canvas_.marker(colour(i), left + 13, middle, "");
      canvas_.label(left + 34, middle + 4.5, "name", panel_.lines_[i].name);
    });
  }

  void draw_axes() {
    for (const auto& tick : y_.ticks()) {
      const double y = y_at(tick.value);
      canvas_.line(plot_.left, y, plot_.right(), y, tick.label.empty() ? "faint" : "grid");
      if (!tick.label.empty()) canvas_.label(plot_.left - 8, y + 4, "end", tick.label);
    }
    for (const auto& tick : x_.ticks()) {
      const double x = x_at(tick.value);
      canvas_.line(x, plot_.top, x, plot_.bottom(), tick.label.empty() ? "faint" : "grid");
      if (!tick.label.empty()) canvas_.label(x, plot_.bottom() + 18, "middle", tick.label);
    }
    canvas_.line(plot_.left, plot_.bottom(), plot_.right(), plot_.bottom(), "axis");
    canvas_.label(plot_.left + plot_.width / 2, plot_.bottom() + 40, "middle quiet", axis_title(panel_.x_));
    canvas_.label(frame_.left + side, plot_.top - 12, "quiet", axis_title(panel_.y_));
  }

  void draw_level(const Panel::Level& level) {
    if (!AxisScale::shows(level.y, panel_.y_.scale)) return;
    const double y = y_at(level.y);
    canvas_.line(plot_.left, y, plot_.right(), y, "level");
    canvas_.label(plot_.right() - 4, y - 5, "end quiet", level.label);
  }

  /// Labels are centred over their marks, or moved to the right until they are clear of the axis title and of the label
  /// before.
  void draw_marks() {
    double free_from = frame_.left + side + text_width(axis_title(panel_.y_), 12) + 8;
    for (const auto& mark : panel_.marks_) {
      if (!AxisScale::shows(mark.x, panel_.x_.scale)) continue;
      const double x = x_at(mark.x), width = text_width(mark.label, 12);
      canvas_.line(x, plot_.top, x, plot_.bottom(), "level");
      const double left = locus::detail::larger(free_from, x - width / 2);
      canvas_.label(left, plot_.top - 12, "quiet", mark.label);
      free_from = left + width + 8;
    }
  }

  void draw_line(std::size_t index) {
    const auto& line = panel_.lines_[index];
    std::string path;
    bool pen_down = false;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      const bool show = shown(panel_, line, i);
      if (show) path += join(pen_down ? "L" : "M", At{x_at(line.x[i])}, " ", At{y_at(line.y[i])});
      pen_down = show;
    }
    if (!path.empty()) canvas_.curve(colour(index), line.style.dashed, is_long(line), path);
    for (std::size_t i = 0; i < line.x.size() && has_markers(line); ++i) {
      if (shown(panel_, line, i)) canvas_.marker(colour(index), x_at(line.x[i]), y_at(line.y[i]), tip(line, i));
    }
  }

  /// Tooltip of a point.
  [[nodiscard]] std::string tip(const Panel::Series& line, std::size_t i) const {
    return join(line.name, line.name.empty() ? "" : ": ", general(line.y[i], 5), panel_.y_.unit.empty() ? "" : " ",
                panel_.y_.unit, " at ", panel_.x_.label, " ", general(line.x[i], 10));
  }

  [[nodiscard]] static double title_height(const Panel& panel) { return panel.title_.empty() ? 0 : 20; }
  [[nodiscard]] std::size_t colour(std::size_t index) const {
    const auto& chosen = panel_.lines_[index].style.colour;
    return chosen ? static_cast<std::size_t>(*chosen) : index;
  }
  [[nodiscard]] static bool has_markers(const Panel::Series& line) { return line.style.markers && !is_long(line); }
  [[nodiscard]] static bool is_long(const Panel::Series& line) { return line.x.size() > 60; }
  [[nodiscard]] static std::string axis_title(const Axis& axis) {
    return join(axis.label, axis.unit.empty() ? "" : " (", axis.unit, axis.unit.empty() ? "" : ")",
                axis.scale == Scale::linear ? "" : ", logarithmic");
  }
  [[nodiscard]] double x_at(double value) const { return plot_.left + plot_.width * x_.position(value); }
  [[nodiscard]] double y_at(double value) const {
    return plot_.bottom() - (plot_.height - room_above) * y_.position(value);
  }

  Canvas& canvas_;
  const Panel& panel_;
  Box frame_, plot_{};
  AxisScale x_, y_;
};

}  // namespace detail

/// A drawing of one or more panels side by side.
///
///     plot::Figure figure("784-32-10 on drawn digits");
///     figure.panel("Loss", {.label = "epoch", .integer = true}, {.label = "cross-entropy"})
///         .line("training", epochs, train_loss)
///         .line("validation", epochs, valid_loss);
///     figure.write("history.svg");
class Figure {
 public:
  explicit Figure(std::string title = "", std::string subtitle = "")
      : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

  /// Adds a panel to the right of the others; the reference is valid until the next panel is added.
  Panel& panel(std::string title, Axis x, Axis y) {
    return panels_.emplace_back(std::move(title), std::move(x), std::move(y));
  }

  /// The drawing as SVG. throws ArgumentError for a figure without panels
  [[nodiscard]] std::string svg() const {
    if (panels_.empty()) fail<ArgumentError>({"plot: the figure '", title_, "' has no panel; expected at least one"});
    const double width = panels_.size() == 1 ? 720 : 490;  // of a panel
    const double head = title_.empty() ? 16 : subtitle_.empty() ? 60 : 82;
    double legend = 0;
    for (const auto& panel : panels_)
      legend = locus::detail::larger(legend, detail::PanelPainter::legend_height(panel, width));
    const double whole_width = width * static_cast<double>(panels_.size()), height = head + legend + 428;

    detail::Canvas canvas(whole_width, height, title_);
    if (!title_.empty()) canvas.label(24, 36, "title", title_);
    if (!title_.empty() && !subtitle_.empty()) canvas.label(24, 58, "subtitle", subtitle_);
    double left = 0;
    for (const auto& panel : panels_) {
      detail::PanelPainter(canvas, panel, {left, head, width, height - head}, legend).draw();
      left += width;
    }
    return canvas.finished();
  }

  /// Writes the drawing; a file of that name keeps its content until the new one is complete. throws DataError
  void write(const std::string& path) const { io::write_file_atomically(path, svg()); }

 private:
  std::string title_, subtitle_;
  std::vector<Panel> panels_;
};

}}}  // namespace locus::LOCUS_ABI::plot
