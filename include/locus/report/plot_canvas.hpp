#pragma once
// The SVG text of a plot under construction, its colours and its type.

#include <locus/core/check.hpp>
#include <locus/io/utf8.hpp>
#include <locus/report/plot_scale.hpp>

#include <string>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace plot { namespace detail {

struct Box {
  double left, top, width, height;
  [[nodiscard]] double right() const { return left + width; }
  [[nodiscard]] double bottom() const { return top + height; }
};

/// Blue, vermilion, green, purple, orange, sky, grey: told apart by every kind of colour vision (after Okabe and Ito).
[[nodiscard]] inline const char* color(std::size_t series) {
  static constexpr const char* colors[] = {"#0072b2", "#d55e00", "#009e73", "#aa4499", "#e69f00", "#56b4e9", "#555555"};
  return colors[series % 7];
}

[[nodiscard]] inline std::string escaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = io::utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0 || (byte < 0x20 && byte != '\t' && byte != '\n')) result += io::replacement_character;
    else if (byte == '&') result += "&amp;";
    else if (byte == '<') result += "&lt;";
    else if (byte == '>') result += "&gt;";
    else if (byte == '"') result += "&quot;";
    else result += text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return result;
}

/// About how wide a text is at a font size: the average letter of sans-serif fonts is 0.56 of it.
[[nodiscard]] inline double text_width(std::string_view text, double size) {
  int letters = 0;
  for (const char c : text) letters += (c & 0xC0) != 0x80 ? 1 : 0;
  return 0.56 * size * letters;
}

/// A coordinate of the drawing, to a hundredth of a pixel.
struct At {
  double value;
  [[nodiscard]] friend std::string to_string(At at) { return fixed(at.value, 2); }
};

inline constexpr std::string_view style_sheet =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif;font-size:12px;fill:#444}\n"
    ".title{font-size:20px;font-weight:600;fill:#1a1a1a}.subtitle{font-size:13px;fill:#666}\n"
    ".panel{font-size:15px;font-weight:600;fill:#1a1a1a}.name{font-size:12.5px;fill:#333}\n"
    ".middle{text-anchor:middle}.end{text-anchor:end}.quiet{fill:#777}.light{fill:#fff}.alarm{fill:#b34700}\n"
    ".grid{stroke:#e4e4e4;fill:none}.faint{stroke:#f3f3f3;fill:none}.axis{stroke:#888;fill:none}\n"
    ".level{stroke:#999;stroke-dasharray:2 4;fill:none}\n"
    ".curve{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}.thin{stroke-width:1.3}.dot{stroke:#"
    "fff;stroke-width:1}\n"
    "</style>";

/// The SVG text under construction.
class Canvas {
 public:
  Canvas(double width, double height, std::string_view title) {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", At{width}, " ", At{height}, "\" width=\"",
        At{width}, "\" height=\"", At{height}, "\" role=\"img\" aria-label=\"", escaped(title), "\">");
    add(style_sheet);
    add("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
  }

  void line(double x1, double y1, double x2, double y2, std::string_view style) {
    add("<path class=\"", style, "\" d=\"M", At{x1}, " ", At{y1}, "L", At{x2}, " ", At{y2}, "\"/>");
  }
  void box(const Box& at, std::string_view fill, std::string_view tip = "") {
    const std::string title = tip.empty() ? "" : "<title>" + escaped(tip) + "</title>";
    add("<path fill=\"", fill, "\" d=\"M", At{at.left}, " ", At{at.top}, "h", At{at.width}, "v", At{at.height}, "h",
        At{-at.width}, "z\">", title, "</path>");
  }
  /// An image scaled without smoothing; `link`: its URL, or a data URI.
  void image(const Box& at, std::string_view link, std::string_view tip) {
    add("<image x=\"", At{at.left}, "\" y=\"", At{at.top}, "\" width=\"", At{at.width}, "\" height=\"", At{at.height},
        "\" style=\"image-rendering:pixelated\" href=\"", link, "\"><title>", escaped(tip), "</title></image>");
  }
  void label(double x, double y, std::string_view style, std::string_view content) {
    add("<text class=\"", style, "\" x=\"", At{x}, "\" y=\"", At{y}, "\">", escaped(content), "</text>");
  }
  /// A label turned clockwise around its beginning.
  void label_turned(double x, double y, double degrees, std::string_view style, std::string_view content) {
    add("<text class=\"", style, "\" transform=\"translate(", At{x}, " ", At{y}, ")rotate(", At{degrees}, ")\">",
        escaped(content), "</text>");
  }
  /// The mark of a series: circle, square, diamond, triangle in turn, so that series differ in more than colour.
  void marker(std::size_t series, double x, double y, std::string_view tip) {
    const std::string title = tip.empty() ? "" : "<title>" + escaped(tip) + "</title>";
    static constexpr const char* outlines[] = {"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "m-3.5 -3.5h7v7h-7z",
                                               "m0 -5l5 5l-5 5l-5 -5z", "m0 -4.8l4.6 8h-9.2z"};
    add("<path class=\"dot\" fill=\"", color(series), "\" d=\"M", At{x}, " ", At{y}, outlines[series % 4], "\">", title,
        "</path>");
  }
  void curve(std::size_t series, bool dashed, bool thin, std::string_view path) {
    add("<path class=\"curve", thin ? " thin" : "", "\" stroke=\"", color(series), "\"",
        dashed ? " stroke-dasharray=\"6 5\"" : "", " d=\"", path, "\"/>");
  }
  [[nodiscard]] std::string finished() const { return text_ + "</svg>\n"; }

 private:
  template <class... Parts> void add(const Parts&... parts) { text_ += join(parts...) + '\n'; }

  std::string text_;
};

}}}}  // namespace locus::LOCUS_ABI::plot::detail
