#pragma once
// Scale of one axis: positions, ticks and labels of its numbers.

#include <locus/core/config.hpp>
#include <locus/core/std/bounds.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace plot {

enum class Scale { linear, log2, log10 };

namespace detail {

/// `value` with this many digits after the point; trailing zeros stay, so that ticks align.
[[nodiscard]] inline std::string fixed(double value, int decimals) {
  char digits[400];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals).ptr;
  return {digits, end};
}
/// At most `precision` significant digits, scientific where that is shorter.
[[nodiscard]] inline std::string general(double value, int precision) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, precision).ptr};
}

[[nodiscard]] inline std::string superscript(int number) {
  static constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = number < 0 ? "⁻" : "";
  for (char digit : std::to_string(std::abs(number))) text += digits[digit - '0'];
  return text;
}

/// At most six significant digits, as a person writes them: 0.25, 1000, 1.5·10⁷, 10⁻⁶.
[[nodiscard]] inline std::string readable(double value) {
  std::string text = general(value, 6);
  const auto exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  const std::string mantissa = text.substr(0, exponent);
  const std::string power = "10" + superscript(std::atoi(text.c_str() + exponent + 1));
  return mantissa == "1" ? power : mantissa == "-1" ? "-" + power : mantissa + "·" + power;
}

/// Range of the finite values of an axis; on a logarithmic axis, of the positive ones.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = locus::detail::smaller(low, value);
    high = locus::detail::larger(high, value);
  }
  [[nodiscard]] bool empty() const { return low > high; }
};

struct Tick {
  double value;
  std::string label;  // empty: a faint line between labelled ones
};

/// 1, 2 or 5 times a power of ten, for about `wanted` steps over the span.
[[nodiscard]] inline double nice_step(double span, int wanted) {
  const double rough = span / wanted, power = std::pow(10., std::floor(std::log10(rough)));
  for (double factor : {1., 2., 5.}) {
    if (rough <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

/// One axis: its range, its ticks, and where a value lies on it.
class AxisScale {
 public:
  struct Options {
    Scale scale = Scale::linear;
    bool integer = false;                                   // ticks at whole numbers only
    bool round = false;                                     // begin and end at a tick
    int wanted = 5;                                         // steps
    double most = std::numeric_limits<double>::infinity();  // no value lies above
  };

  AxisScale(Range data, Options options) : options_(options) {
    if (data.empty()) data = logarithmic() ? Range{1, 10} : Range{0, 1};
    if (logarithmic()) fit_logarithmic(data);
    else fit_linear(data);
  }

  /// Whether an axis of this scale can show the value at all.
  [[nodiscard]] static bool shows(double value, Scale scale) {
    return std::isfinite(value) && std::abs(value) < 1e300 && (scale == Scale::linear || value > 1e-300);
  }

  [[nodiscard]] const std::vector<Tick>& ticks() const& { return ticks_; }

  /// 0 at the low end, 1 at the high end.
  [[nodiscard]] double position(double value) const {
    return logarithmic() ? (std::log2(value) - std::log2(low_)) / (std::log2(high_) - std::log2(low_))
                         : (value - low_) / (high_ - low_);
  }

 private:
  static constexpr int most_per_label = 6;  // powers for which there are faint lines

  [[nodiscard]] bool logarithmic() const { return options_.scale != Scale::linear; }
  [[nodiscard]] bool covers(double value) const {
    const double at = position(value);
    return at > -1e-9 && at < 1 + 1e-9;
  }

  void fit_linear(Range data) {
    const double magnitude = locus::detail::larger(std::abs(data.low), std::abs(data.high));
    const bool zero = magnitude < 1e-300;
    if (data.high - data.low <= 1e-9 * magnitude || zero) {  // one value: add room around it
      // 0.5 would be rounded away beside a large integer.
      const double room = options_.integer ? locus::detail::larger(0.5, 1e-6 * magnitude) : zero ? 1 : 0.1 * magnitude;
      data = {data.low - room, locus::detail::smaller(data.high + room, options_.most)};
    }
    if (options_.round && data.low > 0 && data.low < 0.4 * data.high) data.low = 0;
    double step = nice_step(data.high - data.low, options_.wanted);
    if (options_.integer) step = locus::detail::larger(step, 1.);
    const double pad = options_.round ? 0 : 0.03 * (data.high - data.low);
    low_ = options_.round ? step * std::floor(data.low / step + 1e-6) : data.low - pad;
    high_ = options_.round ? step * std::ceil(data.high / step - 1e-6) : data.high + pad;
    if (high_ <= low_) high_ = low_ + step;
    add_linear_ticks(step);
  }

  void add_linear_ticks(double step) {
    const int decimals = locus::detail::larger(0, static_cast<int>(-std::floor(std::log10(step) + 1e-6)));
    const double largest = locus::detail::larger(std::abs(low_), std::abs(high_));
    const auto first = std::llround(std::ceil(low_ / step - 1e-6)),
               last = std::llround(std::floor(high_ / step + 1e-6));
    for (auto i = first; i <= last; ++i) {
      const double value = static_cast<double>(i) * step;
      ticks_.push_back({value, largest >= 1e6 || largest < 1e-3 ? readable(value) : fixed(value, decimals)});
    }
  }

  void fit_logarithmic(Range data) {
    if (data.high / data.low < 1.001) data = {data.low / 2, data.high * 2};
    const double pad = std::pow(data.high, 0.04) / std::pow(data.low, 0.04);
    low_ = locus::detail::larger(data.low / pad, std::numeric_limits<double>::min());
    high_ = locus::detail::smaller(data.high * pad, 1e308);  // below 2^1024
    if (options_.scale == Scale::log2) add_powers_of_two();
    else add_decades();
    if (labelled() < 2) {  // less than a step of the scale: linear ticks, placed logarithmically
      ticks_.clear();
      add_linear_ticks(nice_step(high_ - low_, 6));
    }
  }

  [[nodiscard]] std::ptrdiff_t labelled() const {
    std::ptrdiff_t count = 0;
    for (const Tick& tick : ticks_) count += tick.label.empty() ? 0 : 1;
    return count;
  }

  void add_powers_of_two() {
    const int first = static_cast<int>(std::ceil(std::log2(low_) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log2(high_) + 1e-9));
    const int step = locus::detail::larger(1, (last - first + 9) / 10);
    for (int exponent = first; exponent <= last; ++exponent) {
      const double value = std::exp2(exponent);
      const bool named = (last - exponent) % step == 0;
      if (!named && step > most_per_label) continue;
      ticks_.push_back({value, !named ? "" : exponent >= 0 && exponent <= 20 ? fixed(value, 0) : readable(value)});
    }
  }

  void add_decades() {
    const int first = static_cast<int>(std::floor(std::log10(low_))),
              last = static_cast<int>(std::ceil(std::log10(high_)));
    const int step = locus::detail::larger(1, (last - first + 9) / 10);
    const bool narrow = std::log10(high_ / low_) < 2;
    for (int exponent = first; exponent <= last; ++exponent) {
      for (int digit = 1; digit < (last - first <= 4 ? 10 : 2); ++digit) {
        const double value = digit * std::pow(10., exponent);
        if (!covers(value)) continue;
        const bool named = digit == 1 ? exponent % step == 0 : narrow && (digit == 2 || digit == 5);
        if (!named && step > most_per_label) continue;
        ticks_.push_back({value, named ? readable(value) : ""});
      }
    }
  }

  Options options_;
  double low_ = 0, high_ = 1;
  std::vector<Tick> ticks_;
};

}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::plot
