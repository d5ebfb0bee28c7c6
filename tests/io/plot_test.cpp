// Runs on: host.
#include <locus/report/plot.hpp>

#include <locus/data/files/image_file.hpp>
#include <locus/report/confusion_plot.hpp>
#include <locus/report/image_grid.hpp>
#include <locus/tensor/from.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <support/temporary_folder.hpp>

#include <unistd.h>

using namespace locus;
namespace fs = std::filesystem;
using plot::Scale;
using plot::detail::AxisScale;

namespace {

constexpr double gap = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The labelled ticks of an axis, as one text.
std::string ticks(double low, double high, AxisScale::Options options = {}) {
  std::string text;
  const AxisScale axis({low, high}, options);
  for (const auto& tick : axis.ticks()) {
    if (!tick.label.empty()) text += (text.empty() ? "" : " ") + tick.label;
  }
  return text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

/// Whether every element is closed by its own end, every attribute quoted, and no < or & stands in a text.
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < xml.size();) {
    if (xml[i] == '&') {
      const auto entity = xml.substr(i, xml.find(';', i) - i + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") return false;
    }
    if (xml[i] != '<') {
      ++i;
      continue;
    }
    const auto end = xml.find('>', i);
    const std::string tag = xml.substr(i + 1, end - i - 1);
    if (end == std::string::npos || count(tag, "\"") % 2 != 0 || tag.find('<') != std::string::npos) return false;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    i = end + 1;
  }
  return open.empty();
}

plot::Panel& plain_panel(plot::Figure& figure) { return figure.panel("Panel", {.label = "x"}, {.label = "y"}); }

/// The path of the only line drawn.
std::string curve_of(std::vector<double> x, std::vector<double> y, plot::Axis y_axis = {.label = "y"}) {
  plot::Figure figure;
  figure.panel("Panel", {.label = "x"}, y_axis).line("", std::move(x), std::move(y));
  const auto svg = figure.svg();
  REQUIRE(well_formed(svg));
  const auto from = svg.find("class=\"curve");
  if (from == std::string::npos) return "";
  const auto start = svg.find(" d=\"", from) + 4;
  return svg.substr(start, svg.find('"', start) - start);
}

}  // namespace

TEST_CASE("linear ticks are 1, 2 or 5 times a power of ten") {
  CHECK(ticks(0, 1) == "0.0 0.2 0.4 0.6 0.8 1.0");
  CHECK(ticks(0, 9.7) == "0 2 4 6 8");
  CHECK(ticks(-3, 3) == "-2 0 2");
  CHECK(ticks(0.012, 0.019) == "0.012 0.014 0.016 0.018");
  CHECK(ticks(92.4, 97.1) == "93 94 95 96 97");
}

TEST_CASE("a rounded axis begins and ends at a tick, and at zero where zero is near") {
  CHECK(ticks(92.4, 97.1, {.round = true}) == "92 93 94 95 96 97 98");
  CHECK(ticks(0.11, 0.79, {.round = true}) == "0.0 0.2 0.4 0.6 0.8");
  CHECK(ticks(-0.9, 0.1, {.round = true}) == "-1.0 -0.8 -0.6 -0.4 -0.2 0.0 0.2");
  const AxisScale axis({92.4, 97.1}, {.round = true});
  CHECK(axis.position(92) == doctest::Approx(0));
  CHECK(axis.position(98) == doctest::Approx(1));
}

TEST_CASE("integer ticks are whole numbers") {
  CHECK(ticks(1, 3, {.integer = true}) == "1 2 3");
  CHECK(ticks(1, 10, {.integer = true, .wanted = 12}) == "1 2 3 4 5 6 7 8 9 10");
  CHECK(ticks(1, 1, {.integer = true}) == "1");
}

TEST_CASE("logarithmic ticks are powers") {
  CHECK(ticks(64, 4096, {.scale = Scale::log2}) == "64 128 256 512 1024 2048 4096");
  CHECK(ticks(1, 65536, {.scale = Scale::log2}) == "1 4 16 64 256 1024 4096 16384 65536");
  CHECK(ticks(0.02, 1500, {.scale = Scale::log10}) == "0.1 1 10 100 1000");
  CHECK(ticks(2, 60, {.scale = Scale::log10}) == "2 5 10 20 50");
  CHECK(ticks(1e-12, 1e12, {.scale = Scale::log10}) == "10⁻¹² 10⁻⁹ 10⁻⁶ 0.001 1 1000 10⁶ 10⁹ 10¹²");
}

TEST_CASE("a logarithmic axis of less than one step still has ticks") {
  CHECK(ticks(5.1, 5.6, {.scale = Scale::log2}) == "5.1 5.2 5.3 5.4 5.5 5.6");
  CHECK(ticks(3.1, 3.9, {.scale = Scale::log10}) == "3.2 3.4 3.6 3.8");
}

TEST_CASE("a logarithmic axis places equal ratios at equal distances") {
  const AxisScale axis({1, 100}, {.scale = Scale::log10});
  CHECK(axis.position(10) == doctest::Approx(0.5));
  CHECK(axis.position(100) - axis.position(10) == doctest::Approx(axis.position(10) - axis.position(1)));
}

TEST_CASE("large and small numbers are written as powers") {
  CHECK(ticks(0, 2e10, {.round = true}) == "0 5·10⁹ 10¹⁰ 1.5·10¹⁰ 2·10¹⁰");
  CHECK(ticks(0, 4e-5, {.round = true}) == "0 10⁻⁵ 2·10⁻⁵ 3·10⁻⁵ 4·10⁻⁵");
}

TEST_CASE("an axis without extent gets some") {
  for (double value : {0., 1., -3., 1e-200, 1e200, 1e16}) {
    const AxisScale axis({value, value}, {.round = true});
    CHECK(axis.ticks().size() >= 2);
    CHECK(axis.ticks().size() < 20);
    CHECK(axis.position(value) > 0);
    CHECK(axis.position(value) < 1);
  }
  CHECK(ticks(infinity, -infinity) == "0.0 0.2 0.4 0.6 0.8 1.0");
  CHECK(ticks(infinity, -infinity, {.scale = Scale::log10}) == "1 2 5 10");
  CHECK(AxisScale({8, 8}, {.scale = Scale::log2}).position(8) == doctest::Approx(0.5));
}

TEST_CASE("an axis of any magnitude has a handful of ticks") {
  for (double low = 1e-280; low < 1e280; low *= 7e8) {
    for (double ratio : {1.0001, 1.7, 30., 1e6, 1e15}) {
      for (auto scale : {Scale::linear, Scale::log2, Scale::log10}) {
        const AxisScale axis({low, low * ratio}, {.scale = scale});
        REQUIRE(axis.ticks().size() >= 2);
        REQUIRE(axis.ticks().size() < 80);
      }
    }
  }
}

TEST_CASE("the ends of the numbers, and spans that whole numbers do not resolve, lie on their axis in order") {
  const auto check = [](double low, double high, AxisScale::Options options) {
    CAPTURE(low);
    CAPTURE(high);
    const AxisScale axis({low, high}, options);
    CHECK(axis.position(low) >= 0);
    CHECK(axis.position(low) <= axis.position(high));
    CHECK(axis.position(high) <= 1);
    CHECK(axis.ticks().size() >= 1);
    CHECK(axis.ticks().size() < 80);
  };
  for (auto scale : {Scale::log2, Scale::log10}) {
    check(1e-200, 1e200, {.scale = scale});
    check(1e-299, 1e299, {.scale = scale});
  }
  for (bool round : {false, true}) {
    check(-1e299, 1e299, {.round = round});
    check(0, 1e-310, {.round = round});
    check(5e-324, 1e-323, {.round = round});
    check(3, 3 + 1e-7, {.integer = true, .round = round});
    check(0, 1e-310, {.integer = true, .round = round});
  }
}

TEST_CASE("percentages do not pass 100") {
  plot::Figure figure;
  figure.panel("Accuracy", {.label = "epoch"}, {.label = "accuracy", .unit = "%"}).line("", {1}, {99});
  CHECK(count(figure.svg(), ">100<") == 1);
  CHECK(count(figure.svg(), ">105<") == 0);
}

TEST_CASE("a figure holds its titles, labels, units and names") {
  plot::Figure figure("Training", "on drawn digits");
  figure.panel("Loss", {.label = "epoch", .integer = true}, {.label = "cross-entropy"})
      .line("training", {1, 2, 3}, {0.9, 0.5, 0.4})
      .line("validation", {1, 2, 3}, {0.8, 0.6, 0.5}, {.dashed = true});
  figure.panel("Accuracy", {.label = "epoch"}, {.label = "right", .unit = "%"})
      .line("", {1, 2, 3}, {90, 94, 96})
      .level(95, "goal");
  const auto svg = figure.svg();
  CHECK(well_formed(svg));
  for (const char* text : {">Training<", ">on drawn digits<", ">Loss<", ">Accuracy<", ">cross-entropy<", ">right (%)<",
                           ">training<", ">validation<", ">goal<"}) {
    CHECK_MESSAGE(count(svg, text) == 1, text);
  }
  CHECK(count(svg, ">epoch<") == 2);
  CHECK(count(svg, "class=\"dot\"") == 9 + 2);    // points, and the marks of the legend
  CHECK(count(svg, "stroke-dasharray=\"") == 2);  // the line, and its name in the legend
  CHECK(count(svg, "<title>training: 0.9 at epoch 1</title>") == 1);
  CHECK(count(svg, "<title>94 % at epoch 2</title>") == 1);
}

TEST_CASE("the lines of a panel differ in colour and mark") {
  plot::Figure figure;
  auto& panel = plain_panel(figure);
  for (int i = 0; i < 9; ++i) panel.line("", {0, 1}, {0, 1. + i}, {.markers = false});
  const auto svg = figure.svg();
  CHECK(count(svg, "stroke=\"#0072b2\"") == 2);  // the eighth line begins anew
  CHECK(count(svg, "stroke=\"#d55e00\"") == 2);
  CHECK(count(svg, "stroke=\"#009e73\"") == 1);
  CHECK(count(svg, "class=\"dot\"") == 0);
}

TEST_CASE("a line runs from left to right and up, whatever the size of its numbers") {
  const auto small = curve_of({0, 1, 2}, {0, 1, 2});
  CHECK(curve_of({0, 1e250, 2e250}, {0, 1e-250, 2e-250}).starts_with("M"));
  double x[3], y[3];
  REQUIRE(std::sscanf(small.c_str(), "M%lf %lfL%lf %lfL%lf %lf", x, y, x + 1, y + 1, x + 2, y + 2) == 6);
  CHECK(x[0] < x[1]);
  CHECK(x[1] - x[0] == doctest::Approx(x[2] - x[1]).epsilon(0.001));
  CHECK(y[0] > y[1]);
  CHECK(y[1] - y[0] == doctest::Approx(y[2] - y[1]).epsilon(0.001));
}

TEST_CASE("the highest marker stays clear of the frame, and marks name what changed") {
  plot::Figure figure;
  figure.panel("Accuracy", {.label = "epoch", .integer = true}, {.label = "accuracy", .unit = "%"})
      .line("validation", {1, 2, 3, 4}, {60, 80, 100, 100})
      .mark(2, "lr 0.1")
      .mark(3, "lr 0.01");
  const auto svg = figure.svg();
  CHECK(well_formed(svg));
  CHECK(count(svg, ">lr 0.1<") == 1);
  CHECK(count(svg, ">lr 0.01<") == 1);
  CHECK(count(svg, "class=\"level\"") == 2);
  double x = 0, frame = 0, marker = 1e9;
  const std::string grid = "class=\"level\" d=\"M", dot = "class=\"dot\"";
  REQUIRE(std::sscanf(svg.c_str() + svg.find(grid) + grid.size(), "%lf %lf", &x, &frame) == 2);
  for (auto at = svg.find(dot, svg.find(grid)); at != std::string::npos; at = svg.find(dot, at + 1)) {
    double y = 0;
    REQUIRE(std::sscanf(svg.c_str() + svg.find(" d=\"M", at) + 5, "%lf %lf", &x, &y) == 2);
    marker = std::min(marker, y);
  }
  CHECK(marker - 5 > frame);
}

TEST_CASE("points that cannot be shown leave a gap") {
  CHECK(count(curve_of({1, 2, 3, 4, 5}, {1, 2, gap, 4, 5}), "M") == 2);
  CHECK(count(curve_of({1, 2, 3, 4, 5}, {1, 2, gap, 4, 5}), "L") == 2);
  CHECK(count(curve_of({1, gap, 3}, {1, 2, 3}), "M") == 2);
  CHECK(count(curve_of({1, 2, 3}, {1, infinity, -infinity}), "M") == 1);
  CHECK(curve_of({1, 2}, {gap, gap}).empty());
  CHECK(count(curve_of({1, 2, 3, 4}, {-1, 0, 3, 4}, {.label = "y", .scale = Scale::log10}), "L") == 1);
}

TEST_CASE("the axes ignore points that cannot be shown") {
  CHECK(curve_of({1, 2, 3}, {1, 2, gap}) == curve_of({1, 2, gap}, {1, 2, 3}));
  CHECK(curve_of({1, 2}, {1, 2}, {.label = "y", .scale = Scale::log10}) ==
        curve_of({1, 2, 1e6}, {1, 2, -5}, {.label = "y", .scale = Scale::log10}));
}

TEST_CASE("no number of the drawing is NaN or infinite") {
  plot::Figure figure;
  figure.panel("", {.label = ""}, {.label = ""})
      .line("", {}, {})
      .line("", {gap}, {1})
      .level(gap, "")
      .level(infinity, "");
  figure.panel("", {.label = "", .scale = Scale::log2}, {.label = "", .scale = Scale::log10})
      .line("", {0, -1}, {1, 2})
      .line("", {4}, {4})
      .level(-1, "");
  const auto svg = figure.svg();
  CHECK(well_formed(svg));
  CHECK(count(svg, "nan") == 0);
  CHECK(count(svg, "inf") == 0);
}

TEST_CASE("numbers of any size on any axis give a drawing of finite numbers, and a handful of ticks") {
  std::vector<double> numbers{0, 1, 100, gap, infinity, 5e-324};
  for (const double magnitude : {1e-307, 1e-300, 1e-150, 1e9, 1e16, 1e150, 1e242, 9.9e299, 1.7e308})
    for (const double sign : {-1., 1.}) numbers.push_back(sign * magnitude);
  for (const Scale scale : {Scale::linear, Scale::log2, Scale::log10})
    for (const bool integer : {false, true})
      for (const double a : numbers)
        for (const double b : numbers) {
          plot::Figure figure;
          figure
              .panel("", {.label = "", .scale = scale, .integer = integer},
                     {.label = "", .scale = scale, .integer = integer})
              .line("", {a, b}, {b, a});
          const std::string svg = figure.svg();
          CAPTURE(a);
          CAPTURE(b);
          CHECK(svg.find("nan") == std::string::npos);
          CHECK(svg.find("inf") == std::string::npos);
          CHECK(svg.size() < 10000);
        }
}

TEST_CASE("texts are escaped") {
  plot::Figure figure("a < b & \"c\" > d", "\x01\xff");
  figure.panel("<script>", {.label = "&amp;"}, {.label = "größe", .unit = "µs"}).line("<&>", {1, 2}, {1, 2});
  const auto svg = figure.svg();
  CHECK(well_formed(svg));
  CHECK(count(svg, "a &lt; b &amp; &quot;c&quot; &gt; d") == 2);
  CHECK(count(svg, "&lt;script&gt;") == 1);
  CHECK(count(svg, "&amp;amp;") >= 1);
  CHECK(count(svg, "größe (µs)") == 1);
  CHECK(count(svg, ">\xEF\xBF\xBD\xEF\xBF\xBD<") == 1);
}

TEST_CASE("a legend that is too wide takes more rows") {
  const auto height = [](int lines) {
    plot::Figure figure;
    auto& panel = plain_panel(figure);
    for (int i = 0; i < lines; ++i) panel.line("a rather long name of a line", {0, 1}, {0, 1});
    const auto svg = figure.svg();
    return std::stod(svg.substr(svg.find("height=\"") + 8));
  };
  CHECK(height(1) == height(2));
  CHECK(height(6) == height(2) + 40);
}

TEST_CASE("wrong calls are refused") {
  plot::Figure figure("Loss");
  CHECK_THROWS_WITH_AS((void)figure.svg(), "plot: the figure 'Loss' has no panel; expected at least one",
                       ArgumentError);
  CHECK_THROWS_WITH_AS(plain_panel(figure).line("train", {1, 2}, {1}),
                       "plot: the line 'train' has 2 x and 1 y; expected as many", ArgumentError);
  CHECK_THROWS_WITH_AS(plain_panel(figure).line("train", {1, 2}, {1, 2}, {.colour = -1}),
                       "plot: the line 'train' has colour -1; expected 0 or more", ArgumentError);
}

TEST_CASE("a figure is written whole, and a folder that does not exist is named") {
  const auto folder = fs::temp_directory_path() / join("locus-plot-", getpid());
  fs::create_directories(folder);
  plot::Figure figure("Loss");
  plain_panel(figure).line("", {1, 2}, {1, 2});
  figure.write(folder / "a.svg");
  std::ostringstream text;
  text << std::ifstream(folder / "a.svg").rdbuf();
  CHECK(text.str() == figure.svg());
  CHECK_THROWS_WITH_AS(figure.write(folder / "none" / "a.svg"), doctest::Contains("there is no folder"), DataError);
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  fs::remove_all(folder);
}

namespace {
/// Bytes that are all different from their neighbours.
Tensor<std::uint8_t, Cpu> picture(const Shape& shape) {
  const Tensor<std::uint8_t, Cpu> image(shape);
  for (std::int64_t i = 0; i < image.elements(); ++i) image.data()[i] = static_cast<std::uint8_t>(i * i % 251);
  return image;
}
std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
}  // namespace

TEST_CASE("images that are written as PNG are read as they were, also where rows fill several blocks") {
#if LOCUS_PNG
  for (const Shape& shape : {Shape{3, 2, 5}, Shape{1, 1, 1}, Shape{1, 3, 4}, Shape{3, 200, 150}, Shape{1, 1, 65534}}) {
    CAPTURE(to_string(shape));
    const auto image = picture(shape);
    const std::string png = io::encode_png(image);
    const auto read =
        data::decode_image({reinterpret_cast<const std::uint8_t*>(png.data()), png.size()}, {.channels = 0});
    REQUIRE(read.shape() == shape);
    for (std::int64_t i = 0; i < image.elements(); ++i) REQUIRE(read.data()[i] == image.data()[i]);
  }
  const locus_test::TemporaryFolder folder;
  io::write_png(folder.path / "first.png", picture({3, 2, 5}));
  CHECK(text_of(folder.path / "first.png") == io::encode_png(picture({3, 2, 5})));
  CHECK_THROWS_AS(io::write_png(folder.path / "none" / "first.png", picture({3, 2, 5})), DataError);
  CHECK_THROWS_AS(io::write_png(folder.path / "first.png", Tensor<std::uint8_t, Cpu>({2, 4, 4})), ShapeError);
  CHECK(folder.entries() == 1);
  const std::string turned = io::encode_png(picture({5, 4, 3}).transpose(0, 2));
  CHECK(turned == io::encode_png(picture({5, 4, 3}).transpose(0, 2).contiguous()));
#endif
  for (const Shape& shape : {Shape{2, 4, 4}, Shape{4, 4}, Shape{3, 0, 4}})
    CHECK_THROWS_WITH_AS((void)io::encode_png(Tensor<std::uint8_t, Cpu>(shape)),
                         doctest::Contains("expected (1 or 3, height, width)"), ShapeError);
}

TEST_CASE("a grid of images holds each of them, and what stands below") {
  using io::detail::base64;
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob\xff\xfe") == "Zm9vYv/+");
  const std::vector<io::CaptionedImage> images = {
      {picture({3, 4, 4}), "a < b", "is c"}, {picture({1, 8, 4}), "d"}, {picture({3, 4, 4}), "e", "is f"}};
  const std::string svg = io::image_grid(images, {.title = "Mistakes & more", .columns = 2, .size = 50});
  CHECK(well_formed(svg));
  CHECK(count(svg, "<image ") == 3);
  CHECK(count(svg, base64(io::encode_png(picture({1, 8, 4})))) == 1);
  CHECK(svg.find(">a &lt; b</text>") != std::string::npos);
  CHECK(svg.find("Mistakes &amp; more") != std::string::npos);
  CHECK(svg.find("width=\"50.00\" height=\"100.00\"") != std::string::npos);  // as high as it is
  CHECK_THROWS_AS((void)io::image_grid({}), ArgumentError);
  CHECK_THROWS_AS((void)io::image_grid(images, {.columns = 0}), ArgumentError);
  CHECK_THROWS_AS((void)io::image_grid(images, {.size = 0}), ArgumentError);
  CHECK_THROWS_AS((void)io::image_grid({{picture({2, 2, 2})}}), ShapeError);
}

TEST_CASE("a confusion matrix shows counts, recall and precision") {
  const fs::path path = fs::temp_directory_path() / ("locus_confusion_" + std::to_string(getpid()) + ".svg");
  const auto matrix = from(std::vector<std::int64_t>{8, 2, 0, 1, 9, 0, 0, 0, 0}, {3, 3});
  io::plot_confusion(path, matrix, {"cat", "dog", "<none>"}, "Animals", "20 images");
  const std::string svg = text_of(path);
  fs::remove(path);
  CHECK(well_formed(svg));
  for (const char* part : {">80.0<", ">90.0<", ">88.9<", ">81.8<", ">8<", "2 of 10 cat taken for dog",
                           "9 of 10 dog recognized", "&lt;none&gt;"})
    CHECK_MESSAGE(svg.find(part) != std::string::npos, part);
  CHECK(svg.find(">0<") == std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(io::detail::percentage(0.9996) == "99.96");
  CHECK(io::detail::percentage(1999. / 2000) == "99.95");
  CHECK(io::detail::percentage(99'999. / 100'000) == "99.99");
  CHECK(io::detail::percentage(0.999) == "99.9");
  CHECK(io::detail::percentage(1) == "100.0");
  CHECK_THROWS_AS(io::plot_confusion(path, matrix, {"cat", "dog"}), ArgumentError);
  CHECK_THROWS_AS(io::plot_confusion(path, matrix.slice(0, 0, 2), {"a", "b"}), ShapeError);
  matrix.data()[3] = -1;
  CHECK_THROWS_WITH_AS(io::plot_confusion(path, matrix, {"a", "b", "c"}), doctest::Contains("a count is -1"),
                       ArgumentError);
}
