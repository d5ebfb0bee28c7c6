#pragma once
// Initial values of parameters, as in torch.nn.init.

#include <locus/core/bounds.hpp>
#include <locus/core/math.hpp>
#include <locus/expr/operators.hpp>
#include <locus/tensor/random.hpp>

namespace locus::inline LOCUS_ABI::nn::init {

namespace detail {
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
}  // namespace detail

/// Uniform in [low, high). One launch. throws ArgumentError unless low <= high, both and high - low finite numbers of
/// the type in which T is computed, or for an expanded tensor
template <class T, class D>
const Tensor<T, D>& uniform_(const Tensor<T, D>& tensor, double low = 0, double high = 1) {
  using R = compute_t<T>;
  if (!(low <= high)) fail<ArgumentError>({"uniform_: from ", low, " to ", high, "; expected low <= high"});
  const R begin = locus::detail::finite_as<R>("uniform_", "low", low);
  const R end = locus::detail::finite_as<R>("uniform_", "high", high);
  const R width = locus::detail::finite_as<R>("uniform_", "high - low", high - low);
  tensor.layout().require_distinct_elements("uniform_");
  const auto element = [begin, end, width, count = tensor.elements()] {
    const auto numbers = locus::detail::draw_from_default<D>(count);
    return detail::UniformBetween<T>{{numbers.seed, numbers.offset}, begin, end, width};
  };
  const Strides index = row_major(tensor.shape());
  const auto plan = make_plan<2>(tensor.shape(), {PlanOperand{nullptr, &index}, locus::detail::operand_of(tensor)});
  locus::detail::map_anew(tensor.device(), plan, element, Pack<LinearIndex>(LinearIndex{}), Pack<T*>(tensor.data()));
  tensor.changed();
  return tensor;
}

/// Normal. throws ArgumentError for a negative deviation, and for what is no finite number of the type in which T is
/// computed
template <class T, class D>
const Tensor<T, D>& normal_(const Tensor<T, D>& tensor, double mean = 0, double deviation = 1) {
  using R = compute_t<T>;
  locus::detail::require_not_negative("normal_", "deviation", deviation);
  const R factor = locus::detail::finite_as<R>("normal_", "deviation", deviation);
  const R shift = locus::detail::finite_as<R>("normal_", "mean", mean);
  return tensor.copy_(locus::randn<T>(tensor.shape(), tensor.device()) * factor + shift);
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

/// Uniform in +-sqrt(6 / ((1 + slope^2) fan_in)) (He et al., 2015). PyTorch's layers use slope = sqrt(5).
template <class T, class D>
const Tensor<T, D>& kaiming_uniform_(const Tensor<T, D>& weight, double slope = 0) {
  locus::detail::require_finite("kaiming_uniform_", "slope", slope);
  const auto fan_in = static_cast<double>(fans(weight.shape()).in);
  const double bound = fan_in > 0 ? math::sqrt(6.0 / ((1.0 + slope * slope) * fan_in)) : 0.0;
  return uniform_(weight, -bound, bound);
}

/// Uniform in +-gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010).
template <class T, class D>
const Tensor<T, D>& xavier_uniform_(const Tensor<T, D>& weight, double gain = 1) {
  locus::detail::require_not_negative("xavier_uniform_", "gain", gain);
  const auto [in, out] = fans(weight.shape());
  const double bound = in + out > 0 ? gain * math::sqrt(6.0 / static_cast<double>(in + out)) : 0.0;
  return uniform_(weight, -bound, bound);
}

}  // namespace locus::inline LOCUS_ABI::nn::init

#include <locus/instances/nn/init.inc>
