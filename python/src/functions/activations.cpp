// Activations of layers; each is one pass over its input, forward and backward.

#include "../functions.hpp"
#include "unary.hpp"

#include <locus/expr/activations.hpp>
#include <locus/ops/prelu.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
template <class F>
void add(nb::module_& m, const char* name, F f, const char* option, double value, const char* text) {
  m.def(
      name,
      [name, f](Operand x, double given) {
        return differentiable(
            name, Floats{}, [f, given](const auto& x) { return f(x, given); }, Main{x});
      },
      "x"_a, nb::arg(option) = value, text);
}
}  // namespace

void add_activations(nb::module_& m) {
  add_unary(
      m, "relu", Floats{}, [](const auto& x) { return relu(x); }, "max(x, 0).");
  add_unary(
      m, "relu6", Floats{}, [](const auto& x) { return relu6(x); }, "min(max(x, 0), 6).");
  add_unary(
      m, "sigmoid", Floats{}, [](const auto& x) { return sigmoid(x); }, "1 / (1 + exp(-x)).");
  add_unary(
      m, "silu", Floats{}, [](const auto& x) { return silu(x); }, "x sigmoid(x).");
  add_unary(
      m, "mish", Floats{}, [](const auto& x) { return mish(x); }, "x tanh(softplus(x)).");
  add_unary(
      m, "softplus", Floats{}, [](const auto& x) { return softplus(x); }, "log(1 + exp(x)).");
  add_unary(
      m, "softsign", Floats{}, [](const auto& x) { return softsign(x); }, "x / (1 + abs(x)).");
  add_unary(
      m, "selu", Floats{}, [](const auto& x) { return selu(x); },
      "1.0507 x where x > 0, 1.7581 (exp(x) - 1) elsewhere.");
  add_unary(
      m, "hardswish", Floats{}, [](const auto& x) { return hardswish(x); }, "x min(max(x + 3, 0), 6) / 6.");
  add_unary(
      m, "hardsigmoid", Floats{}, [](const auto& x) { return hardsigmoid(x); }, "min(max(x + 3, 0), 6) / 6.");
  add(
      m, "leaky_relu", [](const auto& x, double slope) { return leaky_relu(x, slope); }, "slope", 0.01,
      "x where x > 0, slope * x elsewhere.");
  add(
      m, "elu", [](const auto& x, double alpha) { return elu(x, alpha); }, "alpha", 1,
      "x where x > 0, alpha (exp(x) - 1) elsewhere.");
  add(
      m, "celu", [](const auto& x, double alpha) { return celu(x, alpha); }, "alpha", 1,
      "x where x > 0, alpha (exp(x / alpha) - 1) elsewhere.");
  add(
      m, "softshrink", [](const auto& x, double lambda) { return softshrink(x, lambda); }, "lambda_", 0.5,
      "x moved towards 0 by lambda_, 0 within [-lambda_, lambda_].");
  add(
      m, "hardshrink", [](const auto& x, double lambda) { return hardshrink(x, lambda); }, "lambda_", 0.5,
      "x, but 0 within [-lambda_, lambda_].");
  m.def(
      "gelu",
      [](Operand x, const std::string& approximate) {
        if (approximate != "none" && approximate != "tanh")
          fail<ArgumentError>({"gelu: approximate is \"", approximate, "\"; expected \"none\" or \"tanh\""});
        if (approximate == "tanh")
          return differentiable(
              "gelu", Floats{}, [](const auto& x) { return gelu<GeluForm::tanh>(x); }, Main{x});
        return differentiable(
            "gelu", Floats{}, [](const auto& x) { return gelu(x); }, Main{x});
      },
      "x"_a, "approximate"_a = "none", "x times the normal distribution function at x.");
  m.def(
      "hardtanh",
      [](Operand x, double low, double high) {
        return differentiable(
            "hardtanh", Floats{}, [=](const auto& x) { return hardtanh(x, low, high); }, Main{x});
      },
      "x"_a, "low"_a = -1.0, "high"_a = 1.0, "x limited to [low, high]; the gradient at the bounds is 0.");
  m.def(
      "threshold",
      [](Operand x, double limit, double value) {
        return differentiable(
            "threshold", Floats{}, [=](const auto& x) { return threshold(x, limit, value); }, Main{x});
      },
      "x"_a, "limit"_a, "value"_a, "x where x > limit, value elsewhere.");
  m.def(
      "glu",
      [](Operand x, int axis) {
        return differentiable(
            "glu", Floats{}, [=](const auto& x) { return glu(x, axis); }, Main{x});
      },
      "x"_a, "axis"_a = -1, "a sigmoid(b) of the halves a and b of x along an axis.");
  m.def(
      "swiglu",
      [](Operand gate, Operand x) {
        return differentiable(
            "swiglu(gate, x)", Floats{}, [](const auto& gate, const auto& x) { return swiglu(gate, x); }, Main{gate},
            Main{x});
      },
      "gate"_a, "x"_a, "silu(gate) x, in one pass: the activation of LLaMA's layers.");
  m.def(
      "prelu",
      [](Operand x, Operand weight) {
        return differentiable(
            "prelu(x, weight)", Floats{}, [](const auto& x, const auto& weight) { return prelu(x, weight); }, Main{x},
            Main{weight});
      },
      "x"_a, "weight"_a, "x where x > 0, x times the slope of its channel elsewhere; one slope, or one per channel.");
}

}  // namespace locus::python
