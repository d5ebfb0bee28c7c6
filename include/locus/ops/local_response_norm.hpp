#pragma once
// Local response normalization: each element divided by a power of its neighbouring channels (Krizhevsky et al., 2012).
// Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/pad.hpp>
#include <locus/ops/pool.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// PyTorch's, with its defaults.
struct LocalResponseNormOptions {
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
};

namespace detail {
/// x / (k + alpha * the mean of squares of `size` channels, `before` of them before its own)^beta. throws ShapeError,
/// ArgumentError
template <class X>
[[nodiscard]] auto over_near_channels(const char* caller, const X& x, std::int64_t size, std::int64_t before,
                                      const LocalResponseNormOptions& options) {
  using R = compute_t<value_of<X>>;
  if (size < 1) fail<ArgumentError>({caller, ": a size of ", size, "; expected 1 or more"});
  const R alpha = finite_as<R>(caller, "alpha", options.alpha), beta = finite_as<R>(caller, "beta", options.beta),
          k = finite_as<R>(caller, "k", options.k);
  const Shape shape = x.shape();
  if (shape.rank() < 2) fail<ShapeError>({caller, ": an input of shape ", shape, "; expected (batch, channels, ...)"});
  decltype(auto) input = x.eval();
  std::int64_t inner = 1;
  for (int d = 2; d < shape.rank(); ++d) inner *= shape[d];
  const auto squares = reshape(square(input), {shape[0], 1, shape[1], inner});
  const auto around = pad(squares, {0, 0, before, size - 1 - before});
  const auto means = reshape(avg_pool2d(around, {size, 1}, 1), shape);
  return fuse([=](auto v, auto mean) { return v / pow(mean * alpha + k, beta); }, input, means).eval();
}
}  // namespace detail

/// x / (k + alpha * mean(x^2))^beta, where the mean is over `size` neighbouring channels, size / 2 of them before the
/// element's own; channels beyond the first and the last count as 0. F.local_response_norm.
/// shape: as x, (batch, channels, ...)     cost: four launches; backward five
/// throws ShapeError for fewer than two dimensions; ArgumentError for a size below 1, and numbers that are not finite
template <detail::FloatingOperand X>
  requires(!detail::IsParameter<X>)
[[nodiscard]] auto local_response_norm(const X& x, std::int64_t size, const LocalResponseNormOptions& options = {}) {
  return detail::over_near_channels("local_response_norm", x, size, size / 2, options);
}

#include <locus/refuse/ops/local_response_norm.inc>

}}  // namespace locus::LOCUS_ABI
