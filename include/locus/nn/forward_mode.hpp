#pragma once
// Derivatives with respect to all parameters of a model: along a direction (jvp), and of second order (hvp).

#include <locus/autograd/forward_mode.hpp>
#include <locus/nn/layer.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

template <class M, class V>
concept TakesDirections = HasPlace<M> && !TensorLike<M> && is_part_of_dual<value_of<M>> &&
                          std::is_same_v<V, std::vector<Tensor<value_of<M>, device_of<M>>>>;

/// A copy of a model whose parameters have the tangents v. throws ArgumentError, ShapeError
template <class M, class T, class D>
[[nodiscard]] auto with_tangents(std::string_view caller, const M& model, const std::vector<Tensor<T, D>>& v) {
  auto dual = model.template as<Dual<T>>();
  const auto parameters = dual.parameters();
  if (parameters.size() != v.size())
    fail<ArgumentError>({caller, ": ", v.size(), " tangents for a model of ", parameters.size(),
                         " parameters; expected one for each, in the order of parameters()"});
  for (std::size_t i = 0; i < v.size(); ++i) {
    require_tangent_shape(caller, parameters[i].shape(), v[i].shape());
    parameters[i].value().copy_(make_dual(primal(parameters[i].value()), v[i]));
  }
  return dual;
}

}  // namespace detail

/// f(model) and its derivative along v, which has a tensor for each parameter, in the order of model.parameters(). f is
/// called with a copy of the model whose parameters are duals; its inputs may be numbers.
/// throws ArgumentError for another number of tangents, ShapeError for tangents of other shapes
///
///     const auto [loss, slope] = jvp([&](const auto& net) { return nn::mse_loss(net(x), y); }, model, v);
template <class F, class M, class V>
  requires detail::TakesDirections<M, V>
[[nodiscard]] auto jvp(const F& f, const M& model, const V& v) {
  return detail::parts_of(f(detail::with_tangents("jvp", model, v)));
}

/// f(model), the gradients of its parameters, and the Hessian of f times v, both a std::vector in the order of
/// model.parameters(). f records, as a step of training does: it passes trace(x) to the model, and returns one number.
/// throws ArgumentError for another number of tangents, ShapeError for tangents of other shapes and unless f returns
/// one number
///
///     const auto step = hvp([&](const auto& net) { return nn::mse_loss(net(trace(x)), y); }, model, v);
template <class F, class M, class V>
  requires detail::TakesDirections<M, V>
[[nodiscard]] auto hvp(const F& f, const M& model, const V& v) {
  const auto dual = detail::with_tangents("hvp", model, v);
  const auto y = f(dual).eval();
  detail::require_scalar_result("hvp", y.shape());
  y.backward();
  V gradients, products;
  for (const auto& parameter : dual.parameters()) {
    using J = value_of<decltype(parameter)>;
    const auto parts = detail::split_duals(
        parameter.has_grad() ? parameter.grad()
                             : Tensor<J, device_of<M>>(parameter.shape(), parameter.device()).fill_(J(0)));
    gradients.push_back(parts.value);
    products.push_back(parts.tangent);
  }
  return HessianProduct{detail::parts_of(y.value()).value, gradients, products};
}

}}  // namespace locus::LOCUS_ABI
