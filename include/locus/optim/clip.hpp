#pragma once
// Gradient clipping, without waiting for the device.

#include <locus/autograd/parameter.hpp>
#include <locus/ops/reduce.hpp>

#include <vector>

namespace locus::inline LOCUS_ABI::optim {

/// Scales all gradients so that their joint Euclidean norm is at most max_norm; returns the norm before, as a scalar on
/// the device. Parameters without a gradient are passed over. throws ArgumentError unless max_norm >= 0
template <class T, class D>
Tensor<T, D> clip_grad_norm_(const std::vector<Parameter<T, D>>& parameters, double max_norm) {
  if (!(max_norm >= 0)) fail<ArgumentError>({"clip_grad_norm_: max_norm is ", max_norm, "; expected 0 or more"});
  using R = compute_t<T>;  // squares of halves would overflow from 256 on
  Tensor<R, D> squares;
  for (const auto& parameter : parameters) {
    if (!parameter.has_grad()) continue;
    const Tensor<R, D> own = sum(square(parameter.grad().template as<R>()));
    if (squares.buffer()) squares += own;
    else squares = own;
  }
  if (!squares.buffer()) return Tensor<T, D>(Shape{}).fill_(T(0));
  const Tensor<R, D> norm = sqrt(squares);
  const Tensor<T, D> scale = minimum(max_norm / (norm + 1e-6), 1).template as<T>();
  for (const auto& parameter : parameters)
    if (parameter.has_grad()) parameter.grad() *= scale;
  return norm.template as<T>();
}

/// Limits every element of the gradients to [-limit, limit]. throws ArgumentError unless limit >= 0
template <class T, class D>
void clip_grad_value_(const std::vector<Parameter<T, D>>& parameters, double limit) {
  if (!(limit >= 0)) fail<ArgumentError>({"clip_grad_value_: limit is ", limit, "; expected 0 or more"});
  for (const auto& parameter : parameters)
    if (parameter.has_grad()) parameter.grad().copy_(clamp(parameter.grad(), -limit, limit));
}

#define LOCUS_REFUSED clip_grad_norm_(const M&, double)
#define LOCUS_REFUSED_TEMPLATE class M
#define LOCUS_REFUSED_IF \
  requires(const M& model) { model.parameters(); }
#define LOCUS_REFUSED_TEXT "clip_grad_norm_: a model was given instead of its parameters; pass model.parameters()"
#define LOCUS_REFUSED_WHY error::not_possible<error::a_model_instead_of_its_parameters, error::pass_model_parameters>
#include <locus/device/refuse_if.inc>
#define LOCUS_REFUSED clip_grad_value_(const M&, double)
#define LOCUS_REFUSED_TEMPLATE class M
#define LOCUS_REFUSED_IF \
  requires(const M& model) { model.parameters(); }
#define LOCUS_REFUSED_TEXT "clip_grad_value_: a model was given instead of its parameters; pass model.parameters()"
#define LOCUS_REFUSED_WHY error::not_possible<error::a_model_instead_of_its_parameters, error::pass_model_parameters>
#include <locus/device/refuse_if.inc>

}  // namespace locus::inline LOCUS_ABI::optim
