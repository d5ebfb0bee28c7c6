#pragma once
// Products with bias and activation, forward and with their backward pass. Sizes: rows, outputs, inputs.

#include "../support/precision.hpp"
#include "operands.hpp"

#include <locus/autograd/parameter.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/linear.hpp>

#include <cmath>

namespace bench::linear {

using locus::convert;

struct Form {
  std::int64_t rows, out, in;
  [[nodiscard]] double product() const {
    return static_cast<double>(rows) * static_cast<double>(out) * static_cast<double>(in);
  }
};

/// Activations in float64, and their derivatives.
struct Relu64 {
  static double value(double z) { return z > 0 ? z : 0; }
  static double slope(double z) { return z > 0; }
};
struct Gelu64 {
  static double value(double z) { return z / 2 * (1 + std::erf(z / std::sqrt(2.0))); }
  static double slope(double z) {
    return (1 + std::erf(z / std::sqrt(2.0))) / 2 + z * std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
  }
};

template <class T, class D>
struct Layer {
  Tensor<T, D> x, w, b, g;  ///< g: gradient of the result
  Tensor<T, D> y;
  locus::Traced<T, D> traced_x;
  locus::Parameter<T, D> weight, bias;

  Layer(const Form& form, D device)
      : x(locus::randn<T>({form.rows, form.in}, device)),
        w((locus::randn<T>({form.out, form.in}, device) * (1 / std::sqrt(static_cast<double>(form.in)))).eval()),
        b(locus::randn<T>({form.out}, device)),
        g(locus::randn<T>({form.rows, form.out}, device)),
        traced_x(locus::variable(x)),
        weight(w),
        bias(b) {}

  void forget_gradients() const {
    traced_x.zero_grad();
    weight.zero_grad();
    bias.zero_grad();
  }
};

/// One output of a layer for all rows, in float64: `z` before the activation, `magnitude` of the sums, and `rounded`,
/// the magnitude of values that may be rounded to T (without fusion, the product is rounded as well).
template <class T>
struct Column {
  std::vector<double> z, magnitude, rounded;
  Column(const Tensor<T, Cpu>& x, const Tensor<T, Cpu>& w, const Tensor<T, Cpu>& b, std::int64_t out) {
    for (std::int64_t row = 0; row < x.size(0); ++row) {
      const double bias = convert<double>(b(out));
      double sum = 0, size = std::abs(bias);
      for (std::int64_t i = 0; i < x.size(1); ++i) {
        const double product = convert<double>(x(row, i)) * convert<double>(w(out, i));
        sum += product;
        size += std::abs(product);
      }
      z.push_back(sum + bias);
      magnitude.push_back(size);
      rounded.push_back(std::abs(sum) + std::abs(bias));
    }
  }
};

/// The largest error of y and, if `with_gradients`, of the gradients of bias and weights. Within rounding of ReLU's
/// kink, both slopes are right: the bounds of the gradients include the contribution of such rows.
template <class F64, class T, class D>
double error_of_layer(const Layer<T, D>& layer, const std::string& dtype, bool with_gradients) {
  const Rounding rounding = rounding_of(dtype);
  const auto x = on_the_host(layer.x), w = on_the_host(layer.w), b = on_the_host(layer.b);
  const auto y = on_the_host(layer.y), g = on_the_host(layer.g);
  Worst worst;
  for (const std::int64_t out : {std::int64_t{0}, w.size(0) - 1}) {
    const Column<T> column(x, w, b, out);
    double db = 0, dw = 0, allowed = 1e-30;
    for (std::int64_t row = 0; row < x.size(0); ++row) {
      const auto r = static_cast<std::size_t>(row);
      const double z = column.z[r], off = rounding.sum * column.magnitude[r] + rounding.result * column.rounded[r];
      const double expected = F64::value(z);
      worst.add(convert<double>(y(row, out)), expected, 2 * off + rounding.result * std::abs(expected) + 1e-30);
      const double gradient = convert<double>(g(row, out)), input = convert<double>(x(row, 0));
      const double dz = gradient * F64::slope(z);
      const double slope_off = std::abs(F64::slope(z + 2 * off) - F64::slope(z - 2 * off)) + off + 4 * rounding.result;
      db += dz;
      dw += dz * input;
      allowed += (std::abs(gradient) * slope_off + rounding.sum * std::abs(dz)) * std::max(1.0, std::abs(input));
    }
    if (!with_gradients) continue;
    const auto of_weight = window(layer.weight.grad(), out, 1), of_bias = window(layer.bias.grad(), out, 1);
    worst.add(convert<double>(of_bias(0)), db, allowed + rounding.result * std::abs(db));
    worst.add(convert<double>(of_weight(0, 0)), dw, allowed + rounding.result * std::abs(dw));
  }
  return worst.value();
}

/// The layer on plain or traced tensors: fused in one launch, or the product and then bias and activation (unfused).
template <class F, class X, class W, class B>
auto fused(const X& x, const W& w, const B& b) {
  return locus::linear(x, w, b, F{});
}
template <class F, class X, class W, class B>
auto unfused(const X& x, const W& w, const B& b) {
  const auto z = locus::linear(x, w);
  return locus::elementwise(F{}, z + b).eval();
}

template <class T, class F, class F64, class D>
std::vector<Variant> prepare(const Form& form, const std::string& dtype, bool training, D device) {
  const double bytes = static_cast<double>(sizeof(T)) *
                       static_cast<double>(form.rows * form.in + form.out * form.in + 2 * form.rows * form.out);
  const auto sets = rotation(device, bytes, [=] { return Layer<T, D>(form, device); });
  const bool tf32 = dtype == "tf32";
  const auto variant = [=](const char* name, auto layer_of) {
    const auto compute = [=](Layer<T, D>& layer) {
      const Tf32Guard guard(tf32);
      if (!training) {
        layer.y = layer_of(layer.x, layer.w, layer.b);
        return;
      }
      layer.forget_gradients();
      const auto y = layer_of(layer.traced_x, layer.weight, layer.bias);
      y.backward(layer.g);
      layer.y = y.value();
    };
    const auto error = [=] {
      Layer<T, D>& layer = sets->next();
      compute(layer);
      return error_of_layer<F64>(layer, dtype, training);
    };
    return Variant{name, [=] { compute(sets->next()); }, error};
  };
  return {variant("locus", [](const auto&... operands) { return fused<F>(operands...); }),
          variant("locus unfused", [](const auto&... operands) { return unfused<F>(operands...); })};
}

template <class T, class F, class F64, class D>
void add(Workloads& workloads, const Form& form, const std::string& dtype, const std::string& activation, D device) {
  for (const bool training : {false, true}) {
    Workload w{"linear", activation + (training ? " training" : " forward"), dtype, {form.rows, form.out, form.in}};
    const double passes = training ? 3 : 1;
    w.bytes = passes * static_cast<double>(sizeof(T)) *
              static_cast<double>(form.rows * form.in + form.out * form.in + form.rows * form.out);
    w.flops = passes * 2 * form.product();
    w.prepare = [=] { return prepare<T, F, F64>(form, dtype, training, device); };
    workloads.push_back(std::move(w));
  }
}

template <class T, class D>
void add_both(Workloads& workloads, Scale scale, const std::string& dtype, D device) {
  const std::int64_t size = on_host<D> ? 1024 : 4096;
  std::vector<Form> forms{{8, 6, 10}};
  if (scale == Scale::full) forms = {{128, 128, 784}, {size, size, size}};
  for (const Form& form : forms) {
    add<T, locus::functor::Relu, Relu64>(workloads, form, dtype, "relu", device);
    add<T, locus::functor::Gelu, Gelu64>(workloads, form, dtype, "gelu", device);
  }
}

}  // namespace bench::linear
