// Normalization of rows, groups of channels, and batches.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/batch_norm.hpp>
#include <locus/ops/group_norm.hpp>
#include <locus/ops/layer_norm.hpp>

#include <limits>

namespace locus::python {

using namespace nb::literals;

namespace {
// The last dimensions that are normalized: those of the weight, or a shape.
void add_row_norms(nb::module_& m) {
  m.def(
      "layer_norm",
      [](Operand x, Numerals normalized_shape, std::optional<Operand> weight, std::optional<Operand> bias, double eps) {
        return differentiable(
            "layer_norm(x, normalized_shape, weight, bias)", Floats{},
            [&](const auto& x, const auto& weight, const auto& bias) {
              return layer_norm(x, normalized_shape.dims(), weight, bias, eps);
            },
            Main{x}, Optional{weight}, Optional{bias});
      },
      "x"_a, "normalized_shape"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5,
      "(x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions.");
  m.def(
      "rms_norm",
      [](Operand x, Numerals normalized_shape, std::optional<Operand> weight, std::optional<double> eps) {
        return differentiable(
            "rms_norm(x, normalized_shape, weight)", Floats{},
            [&](const auto& x, const auto& weight) {
              using R = value_of<std::remove_cvref_t<decltype(x)>>;
              return rms_norm(x, normalized_shape.dims(), weight, eps.value_or(std::numeric_limits<R>::epsilon()));
            },
            Main{x}, Optional{weight});
      },
      "x"_a, "normalized_shape"_a, "weight"_a = nb::none(), "eps"_a = nb::none(),
      "x / sqrt(mean(x^2) + eps) * weight over the last dimensions; eps is the machine epsilon by default.");
}

void add_channel_norms(nb::module_& m) {
  m.def(
      "group_norm",
      [](Operand x, std::int64_t groups, std::optional<Operand> weight, std::optional<Operand> bias, double eps) {
        return differentiable(
            "group_norm(x, groups, weight, bias)", Floats{},
            [=](const auto& x, const auto& weight, const auto& bias) {
              return group_norm(x, groups, weight, bias, eps);
            },
            Main{x}, Optional{weight}, Optional{bias});
      },
      "x"_a, "groups"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5,
      "Normalizes groups of neighbouring channels of each sample of (batch, channels, ...).");
  m.def(
      "instance_norm",
      [](Operand x, std::optional<Operand> weight, std::optional<Operand> bias, double eps) {
        return differentiable(
            "instance_norm(x, weight, bias)", Floats{},
            [=](const auto& x, const auto& weight, const auto& bias) { return instance_norm(x, weight, bias, eps); },
            Main{x}, Optional{weight}, Optional{bias});
      },
      "x"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5,
      "Normalizes each channel of each sample of (batch, channels, length, ...).");
  m.def(
      "batch_norm",
      [](Operand x, std::optional<Operand> mean, std::optional<Operand> var, std::optional<Operand> weight,
         std::optional<Operand> bias, double eps) {
        if (mean.has_value() != var.has_value())
          fail<ArgumentError>({"batch_norm: only one of mean and var was given; expected both, or none"});
        const bool measures = !mean;
        return differentiable(
            "batch_norm(x, mean, var, weight, bias)", Floats{},
            [=]<class X>(const X& x, const auto& mean, const auto& var, const auto& weight, const auto& bias) {
              const RunningStatistics<value_of<X>, Here> given{mean.value(), var.value(), {}};
              const BatchNormOptions options{.eps = eps};
              if constexpr (X::role == Role::traced)
                return measures ? batch_norm(x, RunningStatistics<value_of<X>, Here>{}, weight, bias, options)
                                : batch_norm(frozen(x), given, weight, bias, options);
              else return batch_norm(x, given, weight, bias, options);
            },
            Main{x}, Optional{mean}, Optional{var}, Optional{weight}, Optional{bias});
      },
      "x"_a, "mean"_a = nb::none(), "var"_a = nb::none(), "weight"_a = nb::none(), "bias"_a = nb::none(),
      "eps"_a = 1e-5,
      "Normalizes each channel of (batch, channels, ...) by a mean and a variance, or by the batch's own if none are "
      "given.");
}
}  // namespace

void add_normalization(nb::module_& m) {
  add_row_norms(m);
  add_channel_norms(m);
}

}  // namespace locus::python
