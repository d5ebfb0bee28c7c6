#pragma once
// The cosines and sines of rotary positions, and the ways to stretch them over longer texts.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/core/math.hpp>
#include <locus/tensor/factory.hpp>

#include <optional>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

/// How frequencies change for texts longer than those of the training; names and formulas as in Hugging Face's
/// rope_parameters.
enum class RotaryType {
  plain,    ///< "default": not at all
  linear,   ///< all divided by `factor`
  dynamic,  ///< a larger theta for texts longer than `original_max_position_embeddings` (NTK)
  llama3,   ///< low frequencies divided by `factor`, high ones kept, those between interpolated
  yarn      ///< the same along a ramp over the elements (Peng et al., 2023); tables are scaled by `attention_factor`
};
struct RotaryScaling {
  RotaryType type = RotaryType::plain;
  double factor = 1;
  std::int64_t original_max_position_embeddings = 0;  ///< length of training; for all types but plain and linear
  double low_freq_factor = 1, high_freq_factor = 4;   ///< llama3
  double beta_fast = 32, beta_slow = 1;         ///< yarn: turns within that length, where the ramp begins and ends
  bool truncate = true;                         ///< yarn: the ramp begins and ends at whole elements
  std::optional<double> attention_factor = {};  ///< yarn; absent: of `factor`, mscale and mscale_all_dim
  double mscale = 0, mscale_all_dim = 0;        ///< yarn
};
/// {.theta = 5e5, .scaling = {.type = RotaryType::llama3, .factor = 8, .original_max_position_embeddings = 8192}}
struct RotaryOptions {
  double theta = 10000;  ///< of element i of e / 2, the frequency is theta^(-2 i / e)
  RotaryScaling scaling = {};
};

/// Both have the shape (..., e / 2) for positions (...).
template <class T, class D>
struct RotaryTables {
  Tensor<T, D> cosines, sines;
};

namespace detail {

inline constexpr double full_turn = 6.28318530717958647692;

/// throws ArgumentError
LOCUS_OUT_OF_LINE inline void require_rotary(std::int64_t width, const RotaryOptions& options) {
  constexpr const char* name = "rotary_tables";
  const RotaryScaling& scaling = options.scaling;
  const auto require = [&](bool holds, const char* option, double given, const char* expected) {
    if (!holds) fail<ArgumentError>({name, ": ", option, " = ", given, "; expected ", expected});
  };
  if (width < 2 || width % 2 != 0) fail<ArgumentError>({name, ": a width of ", width, "; expected an even number"});
  const auto positive = [&](const char* option, double value) {
    require(value > 0 && __builtin_isfinite(value), option, value, "a positive number");
  };
  positive(".theta", options.theta);
  if (scaling.type == RotaryType::plain) return;
  positive(".factor", scaling.factor);
  if (scaling.type == RotaryType::linear) return;
  positive(".original_max_position_embeddings", static_cast<double>(scaling.original_max_position_embeddings));
  if (scaling.type == RotaryType::dynamic) {
    require(width > 2, "the width", static_cast<double>(width), "more than 2 for RotaryType::dynamic");
  } else if (scaling.type == RotaryType::llama3) {
    positive(".low_freq_factor", scaling.low_freq_factor);
    require(scaling.high_freq_factor > scaling.low_freq_factor, ".high_freq_factor", scaling.high_freq_factor,
            "more than .low_freq_factor");
  } else {
    positive(".beta_fast", scaling.beta_fast), positive(".beta_slow", scaling.beta_slow);
    require(options.theta != 1, ".theta", options.theta, "another theta than 1 for RotaryType::yarn");
    if (scaling.attention_factor) positive(".attention_factor", *scaling.attention_factor);
  }
}

/// The frequency of each pair of elements, in registers; theta, ramp and scale are those of a length.
class RotaryFrequency {
 public:
  RotaryFrequency(std::int64_t width, const RotaryOptions& options, std::int64_t length) : type_(options.scaling.type) {
    const RotaryScaling& scaling = options.scaling;
    const auto elements = static_cast<double>(width),
               trained = static_cast<double>(scaling.original_max_position_embeddings);
    double theta = options.theta;
    factor_ = scaling.factor;
    if (type_ == RotaryType::dynamic) {
      const double stretch = factor_ * larger(static_cast<double>(length), trained) / trained - (factor_ - 1);
      theta *= math::pow(stretch, elements / (elements - 2));
    }
    step_ = -2 * math::log(theta) / elements;
    if (type_ == RotaryType::llama3) {
      low_ = scaling.low_freq_factor * full_turn / trained, high_ = scaling.high_freq_factor * full_turn / trained;
    } else if (type_ == RotaryType::yarn) {
      const auto element_of = [&](double turns) {
        return elements * math::log(trained / (turns * full_turn)) / (2 * math::log(theta));
      };
      low_ = element_of(scaling.beta_fast), high_ = element_of(scaling.beta_slow);
      if (scaling.truncate) low_ = __builtin_floor(low_), high_ = __builtin_ceil(high_);
      low_ = larger(low_, 0.), high_ = smaller(high_, elements - 1);
      if (low_ == high_) high_ += 0.001;
    }
  }

  LOCUS_FN double operator()(std::int64_t i) const {
    const double frequency = math::exp(static_cast<double>(i) * step_);
    switch (type_) {
      case RotaryType::linear: return frequency / factor_;
      case RotaryType::llama3: return between(frequency, 1 - share(frequency));
      case RotaryType::yarn: return between(frequency, share(static_cast<double>(i)));
      default: return frequency;
    }
  }

 private:
  /// Of the way from low_ to high_: 0 to 1.
  [[nodiscard]] LOCUS_FN double share(double at) const {
    const double share = (at - low_) / (high_ - low_);
    return share < 0 ? 0 : share > 1 ? 1 : share;
  }
  /// divided: which share of the frequency is divided by the factor
  [[nodiscard]] LOCUS_FN double between(double frequency, double divided) const {
    return frequency * (1 - divided) + frequency / factor_ * divided;
  }

  RotaryType type_;
  double step_ = 0, factor_ = 1;
  double low_ = 0, high_ = 1;  ///< llama3: frequencies; yarn: elements
};

/// Element i of the cosines (first half of the indices) or sines of all positions.
template <class T>
struct RotaryAngle {
  RotaryFrequency frequency;
  double scale;
  const std::int64_t* positions;
  std::int64_t count, half;  ///< of positions, and of elements
  LOCUS_FN void operator()(std::int64_t i, compute_t<T>& out) const {
    const std::int64_t in_table = i % (count * half), row = in_table / half;
    const double angle = static_cast<double>(positions[row]) * frequency(in_table - row * half);
    out = static_cast<compute_t<T>>(scale * (i < count * half ? math::cos(angle) : math::sin(angle)));
  }
};

/// The factor of yarn's tables.
[[nodiscard]] inline double rotary_scale(const RotaryScaling& scaling) {
  if (scaling.type != RotaryType::yarn) return 1;
  if (scaling.attention_factor) return *scaling.attention_factor;
  const auto scale = [&](double m) { return scaling.factor <= 1 ? 1 : 0.1 * m * math::log(scaling.factor) + 1; };
  const bool has_both = scaling.mscale != 0 && scaling.mscale_all_dim != 0;
  return has_both ? scale(scaling.mscale) / scale(scaling.mscale_all_dim) : scale(1);
}

}  // namespace detail

/// The frequencies of e / 2 pairs of elements: the angle of pair i at position p is p times the i-th. For
/// RotaryType::dynamic, of a text of `length` tokens.
/// throws ArgumentError for an odd width, and options out of range
[[nodiscard]] inline std::vector<double> rotary_frequencies(std::int64_t width, const RotaryOptions& options = {},
                                                            std::int64_t length = 0) {
  detail::require_rotary(width, options);
  const detail::RotaryFrequency frequency(width, options, length);
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < width / 2; ++i) frequencies.push_back(frequency(i));
  return frequencies;
}

/// Cosines and sines of the angles that rotary() turns by, for heads of `width` elements. Angles are computed in
/// double, and the tables rounded to T. A model makes them once for all layers.
/// length: tokens of the text, for RotaryType::dynamic; the other types ignore it.
/// shape: positions (...) of int64 -> two tables (..., width / 2)
/// cost:  one launch
/// throws ArgumentError as rotary_frequencies
///
///     const auto [cosines, sines] = rotary_tables<float>(arange<std::int64_t>(length), 64, {.theta = 5e5});
template <FloatingDType T, class X>
  requires detail::IndexOperand<X>
[[nodiscard]] RotaryTables<T, device_of<X>> rotary_tables(const X& positions, std::int64_t width,
                                                          const RotaryOptions& options = {}, std::int64_t length = 0) {
  using D = device_of<X>;
  detail::require_rotary(width, options);
  const Tensor<std::int64_t, D> dense = Tensor<std::int64_t, D>(positions.eval()).contiguous();
  Shape shape = dense.shape();
  shape.push_back(width / 2);
  const detail::RotaryAngle<T> angle{detail::RotaryFrequency(width, options, length),
                                     detail::rotary_scale(options.scaling), dense.data(), dense.elements(), width / 2};
  const auto both = detail::from_indices<T>({2, elements(shape)}, dense.device(), angle);
  return {both.select(0, 0).reshape(shape), both.select(0, 1).reshape(shape)};
}

}}  // namespace locus::LOCUS_ABI
