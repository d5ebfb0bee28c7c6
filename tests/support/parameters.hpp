#pragma once
// Parameters with values and gradients that a test chooses.

#include <locus/autograd/parameter.hpp>
#include <locus/tensor/factory.hpp>

#include <support/reference.hpp>

namespace locus_test {

/// A parameter of two elements.
template <class D>
[[nodiscard]] locus::Parameter<float, D> two(float a, float b) {
  return locus::Parameter<float, D>(tensor<float, D>({2}, {a, b}));
}

/// Sets the gradient of a parameter.
template <class T, class D>
void give(const locus::Parameter<T, D>& parameter, const locus::Tensor<T, D>& gradient) {
  parameter.zero_grad();
  locus::Traced<T, D>(trace(parameter) * locus::convert<T>(1)).backward(gradient);
}
/// Sets all elements of the gradient to `size`.
template <class D>
void give(const locus::Parameter<float, D>& parameter, float size) {
  give(parameter, locus::full<float, D>(parameter.shape(), size));
}

}  // namespace locus_test
