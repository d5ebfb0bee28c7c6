#pragma once
// Options of Fourier transforms, and checks of lengths and axes.

#include <locus/core/check.hpp>
#include <locus/core/shape.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace fft {

/// Which direction is scaled, for a transform of n elements: `backward` scales the inverse by 1 / n, `forward` the
/// forward transform by 1 / n, `ortho` both by 1 / sqrt(n).
enum class Norm { backward, ortho, forward };

/// The extent of the input along the axis.
inline constexpr std::int64_t as_input = -1;

/// Options of a transform along one axis.
struct Options {
  std::int64_t n = as_input;  ///< the length: the input is cut, or padded with zeros
  int axis = -1;
  Norm norm = Norm::backward;
};

/// Options of a transform along several axes.
struct AxesOptions {
  Shape sizes = {};  ///< lengths along the axes; none: as the input
  Axes axes = {};    ///< none: the last axes, as many as sizes, or all
  Norm norm = Norm::backward;
};

namespace detail {

[[nodiscard]] inline Norm opposite(Norm norm) {
  return norm == Norm::backward ? Norm::forward : norm == Norm::forward ? Norm::backward : norm;
}
/// The factor of a transform of n elements.
[[nodiscard]] inline double scale_of(Norm norm, bool inverse, double n) {
  if (norm == Norm::ortho) return 1 / __builtin_sqrt(n);
  return (norm == Norm::backward) == inverse ? 1 / n : 1;
}

/// The length of a transform. throws ArgumentError below 1, ShapeError for an axis without elements
LOCUS_OUT_OF_LINE inline std::int64_t length_of(const char* name, const Shape& shape, int axis, std::int64_t given) {
  const std::int64_t n = given == as_input ? shape[axis] : given;
  if (given != as_input && given < 1)
    fail<ArgumentError>(
        {name, ": n is ", given, "; expected a length of 1 or more, or no n, which takes the extent of the axis"});
  if (n < 1) fail<ShapeError>({name, ": axis ", axis, " of shape ", shape, " has no elements; expected at least one"});
  return n;
}

/// The length of a real result, of n / 2 + 1 bins. throws ArgumentError or ShapeError unless they fit
LOCUS_OUT_OF_LINE inline std::int64_t length_from_bins(const char* name, const Shape& shape, int axis,
                                                       std::int64_t given) {
  const std::int64_t bins = shape[axis];
  if (given != as_input && given < 1)
    fail<ArgumentError>({name, ": n is ", given, "; expected a length of 1 or more, or no n, which is even then"});
  if (given == as_input && bins < 2)
    fail<ShapeError>(
        {name, ": ", bins, " bins along axis ", axis, " of shape ", shape, "; expected 2 or more, or a length n"});
  const std::int64_t n = given == as_input ? 2 * (bins - 1) : given;
  if (bins != n / 2 + 1)
    fail<ShapeError>({name, ": ", bins, " bins along axis ", axis, " of shape ", shape, " for a length of ", n,
                      ", which has ", n / 2 + 1, "; cut the bins with slice, or pad them with pad"});
  return n;
}

/// The axes of a transform, counted from 0, and the length along each.
struct AxesAndLengths {
  Axes axes;
  Shape lengths;
  [[nodiscard]] double elements() const {
    double product = 1;
    for (const std::int64_t n : lengths) product *= static_cast<double>(n);
    return product;
  }
};
/// throws ArgumentError for an axis named twice, or another number of sizes than axes; IndexError
[[nodiscard]] LOCUS_OUT_OF_LINE inline AxesAndLengths axes_of(const char* name, const Shape& shape,
                                                              const AxesOptions& options) {
  const int rank = shape.rank(), count = options.axes.empty() && !options.sizes.empty() ? options.sizes.rank() : rank;
  if (count > rank)
    fail<ArgumentError>({name, ": sizes ", options.sizes, " for shape ", shape, "; expected at most ", rank});
  AxesAndLengths result;
  if (options.axes.empty()) {
    for (int d = rank - count; d < rank; ++d) result.axes.push_back(d);
  } else {
    for (const std::int64_t axis : options.axes) result.axes.push_back(normalize_axis(axis, rank, name));
  }
  if (!options.sizes.empty() && options.sizes.rank() != result.axes.rank())
    fail<ArgumentError>(
        {name, ": sizes ", options.sizes, " along axes ", options.axes, "; expected one for each axis"});
  unsigned named = 0;
  for (int i = 0; i < result.axes.rank(); ++i) {
    const int d = static_cast<int>(result.axes[i]);
    if ((named >> d & 1u) != 0) fail<ArgumentError>({name, ": axis ", d, " is named twice in ", options.axes});
    named |= 1u << d;
    result.lengths.push_back(options.sizes.empty() ? as_input : options.sizes[i]);
  }
  if (result.axes.empty()) fail<ShapeError>({name, ": shape ", shape, " has no axes; expected one dimension or more"});
  return result;
}

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::fft
