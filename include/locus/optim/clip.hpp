#pragma once
// Gradient clipping, without waiting for the device.

#include <locus/autograd/parameter.hpp>
#include <locus/ops/moments.hpp>

#include <vector>

namespace locus::inline LOCUS_ABI {

namespace detail {
/// The Euclidean norm of each gradient that there is. A launch for each, and on Cpu another one for each whose squares
/// overflow or vanish.
template <class T, class D, class R = compute_t<T>>
[[nodiscard]] Tensor<R, D> norms_of_gradients(const std::vector<Parameter<T, D>>& parameters) {
  std::vector<Tensor<T, D>> gradients;
  for (const auto& parameter : parameters)
    if (parameter.has_grad()) gradients.push_back(parameter.grad());
  if (gradients.empty()) return {};
  const Tensor<R, D> norms({static_cast<std::int64_t>(gradients.size())}, gradients[0].device());
  std::int64_t i = 0;
  for (const auto& g : gradients) {
    const Tensor<R, D> norm = norms.select(0, i++);
    (void)euclidean<R, D>([&](const auto& op) {
      reduce_into(norm, false, g.shape(), FoldedAxes("clip_grad_norm_", g.shape(), {}), Symbol<0>{}, op, g);
      return norm;
    });
  }
  return norms;
}
}  // namespace detail

namespace optim {

/// Scales all gradients so that their joint Euclidean norm is at most max_norm; returns the norm before, as a scalar on
/// the device. Parameters without a gradient are passed over. Right wherever the norm is a number of the type in which
/// gradients are computed (float for half and bfloat16), also where squares overflow or vanish; half may be too narrow
/// for the returned norm, but not for the scaling.
/// cost: two launches for each gradient, and two, three for 16-bit floats; on Cpu another one for each gradient whose
///       squares overflow or vanish, as those of zeros, and for the joint norm if its own do
/// throws ArgumentError unless max_norm >= 0
template <class T, class D>
Tensor<T, D> clip_grad_norm_(const std::vector<Parameter<T, D>>& parameters, double max_norm) {
  if (!(max_norm >= 0)) fail<ArgumentError>({"clip_grad_norm_: max_norm is ", max_norm, "; expected 0 or more"});
  using R = compute_t<T>;  // squares of halves would overflow from 256 on
  const auto norms = locus::detail::norms_of_gradients(parameters);
  if (!norms.buffer()) return Tensor<T, D>(Shape{}).fill_(T(0));
  const Tensor<R, D> joint = norm(norms);
  const Tensor<R, D> scale = minimum(max_norm / (joint + 1e-6), 1);
  for (const auto& parameter : parameters) {
    if (!parameter.has_grad()) continue;
    if constexpr (std::is_same_v<T, R>) parameter.grad() *= scale;
    else parameter.grad().copy_((parameter.grad().template as<R>() * scale).template as<T>());
  }
  return joint.template as<T>();
}

/// Limits every element of the gradients to [-limit, limit]. throws ArgumentError unless limit >= 0
template <class T, class D>
void clip_grad_value_(const std::vector<Parameter<T, D>>& parameters, double limit) {
  if (!(limit >= 0)) fail<ArgumentError>({"clip_grad_value_: limit is ", limit, "; expected 0 or more"});
  for (const auto& parameter : parameters)
    if (parameter.has_grad()) parameter.grad().copy_(clamp(parameter.grad(), -limit, limit));
}

#include <locus/refuse/optim/clip.inc>

}  // namespace optim

}  // namespace locus::inline LOCUS_ABI
