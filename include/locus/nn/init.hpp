#pragma once
// Initial values of parameters, as in torch.nn.init: written in place, to a parameter or a tensor. Random ones come
// from the default generator of the device, so that equal seeds give equal values on every device (normal ones to
// a few units in the last place, within 1e-6 for float).

#include <locus/core/math.hpp>
#include <locus/core/normal_quantile.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/expr/operators.hpp>
#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn::init {

namespace detail {
/// A tensor or a parameter of floating-point numbers, on a device that computes.
template <class W>
concept Fillable = locus::detail::Computes<W> && FloatingDType<value_of<W>> &&
                   (locus::detail::IsParameter<W> || std::is_same_v<W, Tensor<value_of<W>, device_of<W>>>);
template <class W>
struct FillMistake : locus::detail::FirstMistake<locus::detail::MemoryMistake<W>, locus::detail::IntegerMistake<W>> {};

template <class T>
struct UniformBetween {
  locus::detail::UniformElement<T> unit;
  compute_t<T> low, high, width;
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    unit(index, out);
    out = load_as_register(from_register<T>(low + width * out));
    out = out < high ? out : low;  // rounding may have made it `high`
  }
};

/// Normal probabilities below two standardized bounds. If both are above 0, they are mirrored, so that the
/// probabilities are close to 0, where floating-point numbers are dense, and not to 1.
struct TruncatedRange {
  bool mirrored;
  double low, high;

  TruncatedRange(double from, double to)
      : mirrored(from > 0), low(below(mirrored ? -to : from)), high(below(mirrored ? -from : to)) {}
  [[nodiscard]] static double below(double x) { return 0.5 * __builtin_erfc(-0.70710678118654752440 * x); }
};

/// Truncated normal numbers by inversion of the distribution function: devices differ by rounding alone. Rejection
/// sampling would return another number where the last bit of a rejected draw differs.
template <class T>
struct TruncatedNormal {
  static constexpr bool takes_long = true;
  std::uint64_t seed, offset;
  double from, width;  ///< probability below the lower bound, and between the bounds
  double mean, deviation, low, high;
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    const double unit =
        uniform_double(seed, offset + static_cast<std::uint64_t>(index), locus::detail::stream_of_64_bits);
    const double drawn = from + width * (unit + 0x1p-54);  // may round to 0 or 1, which have no quantile
    const double p = drawn > 0 ? drawn < 1 ? drawn : 1 - 0x1p-53 : 0x1p-1074;
    const double centered = p - 0.5;
    const double x = mean + deviation * locus::detail::normal_quantile(centered, centered < 0 ? p : 1 - p);
    out = register_of<T>(x < low ? low : high < x ? high : x);
  }
};

inline thread_local bool draws = true;  ///< random initial values; otherwise 0

/// One launch of the functors that make(seed, offset) returns, over all elements.
template <class T, class D, class Make>
void fill_randomly(const char* caller, const Tensor<T, D>& tensor, const Make& make) {
  if (!draws) return (void)tensor.fill_(T());
  tensor.layout().require_distinct_elements(caller);
  const auto element = [make, count = tensor.elements()] {
    const auto numbers = locus::detail::draw_from_default<D>(count);
    return make(numbers.seed, numbers.offset);
  };
  const Strides index = row_major(tensor.shape());
  const auto plan = make_plan<2>(tensor.shape(), {PlanOperand{nullptr, &index}, locus::detail::operand_of(tensor)});
  locus::detail::map_anew(tensor.device(), plan, element, Pack<LinearIndex>(LinearIndex{}), Pack<T*>(tensor.data()));
  tensor.changed();
}
template <class T, class D>
void fill_uniformly(const Tensor<T, D>& tensor, double low, double high) {
  using R = compute_t<T>;
  if (!(low <= high)) fail<ArgumentError>({"uniform_: from ", low, " to ", high, "; expected low <= high"});
  const R begin = locus::detail::finite_as<R>("uniform_", "low", low);
  const R end = locus::detail::finite_as<R>("uniform_", "high", high);
  const R width = locus::detail::finite_as<R>("uniform_", "high - low", high - low);
  fill_randomly("uniform_", tensor, [begin, end, width](std::uint64_t seed, std::uint64_t offset) {
    return UniformBetween<T>{{seed, offset}, begin, end, width};
  });
}
}  // namespace detail

/// Every element becomes the number, rounded to the element type. One launch.
template <detail::Fillable W>
const W& constant_(const W& weight, double value) {
  weight.value().fill_(convert<value_of<W>>(value));
  return weight;
}
template <detail::Fillable W>
const W& zeros_(const W& weight) {
  return constant_(weight, 0);
}
template <detail::Fillable W>
const W& ones_(const W& weight) {
  return constant_(weight, 1);
}

/// Uniform in [low, high). One launch. throws ArgumentError unless low <= high, both and high - low finite numbers of
/// the type in which T is computed, or for an expanded tensor
template <detail::Fillable W>
const W& uniform_(const W& weight, double low = 0, double high = 1) {
  detail::fill_uniformly(weight.value(), low, high);
  return weight;
}

/// Normal. throws ArgumentError for a negative deviation, and for a mean or deviation that is not finite in the type in
/// which T is computed
template <detail::Fillable W>
const W& normal_(const W& weight, double mean = 0, double deviation = 1) {
  using R = compute_t<value_of<W>>;
  locus::detail::require_not_negative("normal_", "deviation", deviation);
  const R factor = locus::detail::finite_as<R>("normal_", "deviation", deviation);
  const R shift = locus::detail::finite_as<R>("normal_", "mean", mean);
  if (!detail::draws) return zeros_(weight);
  weight.value().copy_(locus::randn<value_of<W>>(weight.shape(), weight.device()) * factor + shift);
  return weight;
}

/// Normal, truncated to [low, high]; the bounds are rounded to the element type. One launch.
/// throws ArgumentError unless low <= high, all are finite, the deviation is above 0, and, if both bounds lie on one
/// side of the mean, the nearer bound is at most 37.5 deviations from it: beyond, probabilities underflow in double
template <detail::Fillable W>
const W& trunc_normal_(const W& weight, double mean = 0, double deviation = 1, double low = -2, double high = 2) {
  using T = value_of<W>;
  using R = compute_t<T>;
  const auto require = [](const char* option, double given) {
    (void)locus::detail::finite_as<R>("trunc_normal_", option, given);
  };
  require("mean", mean), require("deviation", deviation), require("low", low), require("high", high);
  if (!(low <= high)) fail<ArgumentError>({"trunc_normal_: from ", low, " to ", high, "; expected low <= high"});
  if (!(deviation > 0)) fail<ArgumentError>({"trunc_normal_: deviation is ", deviation, "; expected more than 0"});
  const detail::TruncatedRange range((low - mean) / deviation, (high - mean) / deviation);
  if (!(range.high >= 0x1p-1022))
    fail<ArgumentError>({"trunc_normal_: from ", low, " to ", high, " lies too far from the mean ", mean,
                         " for a deviation of ", deviation, "; expected 37.5 deviations or fewer"});
  const double signed_deviation = range.mirrored ? -deviation : deviation;
  detail::fill_randomly("trunc_normal_", weight.value(), [=](std::uint64_t seed, std::uint64_t offset) {
    return detail::TruncatedNormal<T>{seed, offset,           range.low, range.high - range.low,
                                      mean, signed_deviation, low,       high};
  });
  return weight;
}

/// make(), in which random initial values are 0 instead of drawn: a model whose weights are loaded at once. Only this
/// thread is concerned; the generator does not move.
///
///     const auto model = nn::init::without_draws([] { return models::gpt2<float>(); });
///     io::load_into(model, "gpt2");
template <class F>
[[nodiscard]] auto without_draws(const F& make) {
  struct Scope {
    bool before = std::exchange(detail::draws, false);
    Scope() = default;
    Scope(const Scope&) = delete;
    ~Scope() { detail::draws = before; }
  };
  const Scope scope;
  return make();
}

struct Fans {
  std::int64_t in, out;
};

/// Inputs and outputs of one unit, for a weight of shape (out, in, receptive field...).
[[nodiscard]] inline Fans fans(const Shape& shape) {
  if (shape.rank() < 2) fail<ShapeError>({"init: fan in and out need a weight of two or more dimensions, got ", shape});
  const std::int64_t field = elements(shape) == 0 ? 0 : elements(shape) / (shape[0] * shape[1]);
  return {shape[1] * field, shape[0] * field};
}

/// The nonlinearity after a layer.
enum class Nonlinearity { linear, sigmoid, tanh, relu, leaky_relu, selu };
/// Factor on initial values before a nonlinearity, so that it keeps the variance. PyTorch's numbers.
[[nodiscard]] inline double calculate_gain(Nonlinearity next, double negative_slope = 0.01) {
  switch (next) {
    case Nonlinearity::tanh: return 5.0 / 3;
    case Nonlinearity::relu: return math::sqrt(2.0);
    case Nonlinearity::leaky_relu: return math::sqrt(2.0 / (1.0 + negative_slope * negative_slope));
    case Nonlinearity::selu: return 0.75;
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid: break;
  }
  return 1;
}

/// Whether initial values keep the variance of activations in the forward pass or of gradients in the backward pass.
enum class FanMode { fan_in, fan_out };
struct KaimingOptions {
  double negative_slope = 0;  ///< of leaky_relu
  FanMode mode = FanMode::fan_in;
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
};

namespace detail {
/// gain / sqrt(fan); 0 for a weight without elements
[[nodiscard]] LOCUS_OUT_OF_LINE inline double kaiming_deviation(const char* caller, const Shape& shape,
                                                                const KaimingOptions& options) {
  locus::detail::require_finite(caller, "negative_slope", options.negative_slope);
  const Fans both = fans(shape);
  const auto fan = static_cast<double>(options.mode == FanMode::fan_in ? both.in : both.out);
  return fan > 0 ? calculate_gain(options.nonlinearity, options.negative_slope) / math::sqrt(fan) : 0.0;
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline double xavier_deviation(const char* caller, const Shape& shape, double gain) {
  locus::detail::require_not_negative(caller, "gain", gain);
  const auto [in, out] = fans(shape);
  return in + out > 0 ? gain * math::sqrt(2.0 / static_cast<double>(in + out)) : 0.0;
}
/// Bound of the uniform distribution with this deviation.
[[nodiscard]] inline double bound_of(double deviation) { return math::sqrt(3.0) * deviation; }
}  // namespace detail

/// Uniform in +-gain sqrt(3 / fan) (He et al., 2015). PyTorch's layers use negative_slope = sqrt(5).
/// throws ShapeError for a weight of fewer than two dimensions
///
///     nn::init::kaiming_uniform_(layer.weight, {.nonlinearity = nn::init::Nonlinearity::relu});
template <detail::Fillable W>
const W& kaiming_uniform_(const W& weight, const KaimingOptions& options = {}) {
  const double bound = detail::bound_of(detail::kaiming_deviation("kaiming_uniform_", weight.shape(), options));
  return uniform_(weight, -bound, bound);
}
/// Normal of deviation gain / sqrt(fan).
template <detail::Fillable W>
const W& kaiming_normal_(const W& weight, const KaimingOptions& options = {}) {
  return normal_(weight, 0, detail::kaiming_deviation("kaiming_normal_", weight.shape(), options));
}

/// Uniform in +-gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010).
template <detail::Fillable W>
const W& xavier_uniform_(const W& weight, double gain = 1) {
  const double bound = detail::bound_of(detail::xavier_deviation("xavier_uniform_", weight.shape(), gain));
  return uniform_(weight, -bound, bound);
}
/// Normal of deviation gain sqrt(2 / (fan_in + fan_out)).
template <detail::Fillable W>
const W& xavier_normal_(const W& weight, double gain = 1) {
  return normal_(weight, 0, detail::xavier_deviation("xavier_normal_", weight.shape(), gain));
}

#include <locus/refuse/nn/init.inc>

}}}  // namespace locus::LOCUS_ABI::nn::init

#include <locus/instances/nn/init.inc>
