// Losses.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/nn/loss.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/linear_cross_entropy.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
[[nodiscard]] Reduction reduction_of(const char* caller, const std::string& name) {
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "none") return Reduction::none;
  fail<ArgumentError>({caller, ": reduction is \"", name, "\"; expected \"mean\", \"sum\" or \"none\""});
}

void add_classes(nb::module_& m) {
  m.def(
      "cross_entropy",
      [](Operand logits, Operand labels, std::int64_t ignore_index, double label_smoothing,
         const std::string& reduction) {
        const CrossEntropyOptions options{.reduction = reduction_of("cross_entropy", reduction),
                                          .ignore_index = ignore_index,
                                          .label_smoothing = label_smoothing};
        return differentiable(
            "cross_entropy(logits, labels)", Floats{},
            [=](const auto& logits, const auto& labels) { return cross_entropy(logits, labels, options); },
            Main{logits}, Indices{labels});
      },
      "logits"_a, "labels"_a, nb::kw_only(), "ignore_index"_a = -100, "label_smoothing"_a = 0.0, "reduction"_a = "mean",
      "Cross-entropy of logits (n, classes, ...) and labels; probabilities are never stored.");
  m.def(
      "linear_cross_entropy",
      [](Operand x, Operand weight, Operand targets, std::optional<Operand> bias, std::int64_t ignore_index,
         double label_smoothing, const std::string& reduction) {
        const Reduction reduces = reduction_of("linear_cross_entropy", reduction);
        return differentiable(
            "linear_cross_entropy(x, weight, targets, bias)", Floats{},
            [=]<class X>(const X& x, const auto& weight, const auto& targets, const auto& bias_given) {
              const LinearCrossEntropyOptions<value_of<X>, Here> options{
                  .reduction = reduces, .ignore_index = ignore_index, .label_smoothing = label_smoothing};
              return bias ? linear_cross_entropy(x, weight, targets, bias_given, options)
                          : linear_cross_entropy(x, weight, targets, options);
            },
            Main{x}, Main{weight}, Indices{targets}, Optional{bias});
      },
      "x"_a, "weight"_a, "targets"_a, "bias"_a = nb::none(), nb::kw_only(), "ignore_index"_a = -100,
      "label_smoothing"_a = 0.0, "reduction"_a = "mean",
      "cross_entropy(linear(x, weight, bias), targets), without logits for all rows at once.");
}

template <class F>
void add(nb::module_& m, const char* name, F f, const char* text) {
  m.def(
      name,
      [name, f](Operand prediction, Operand target, const std::string& reduction) {
        const Reduction reduces = reduction_of(name, reduction);
        return differentiable(
            name, Floats{}, [=](const auto& prediction, const auto& target) { return f(prediction, target, reduces); },
            Main{prediction}, Main{target});
      },
      "prediction"_a, "target"_a, "reduction"_a = "mean", text);
}
}  // namespace

void add_losses(nb::module_& m) {
  add_classes(m);
  add(
      m, "mse_loss", [](const auto& x, const auto& y, Reduction reduces) { return nn::mse_loss(x, y, reduces); },
      "(prediction - target)^2.");
  add(
      m, "l1_loss", [](const auto& x, const auto& y, Reduction reduces) { return nn::l1_loss(x, y, reduces); },
      "abs(prediction - target).");
  add(
      m, "binary_cross_entropy_with_logits",
      [](const auto& x, const auto& y, Reduction reduces) {
        return nn::binary_cross_entropy_with_logits(x, y, reduces);
      },
      "Binary cross-entropy of sigmoid(prediction), stable for large predictions.");
  m.def(
      "huber_loss",
      [](Operand prediction, Operand target, double delta, const std::string& reduction) {
        const Reduction reduces = reduction_of("huber_loss", reduction);
        return differentiable(
            "huber_loss(prediction, target)", Floats{},
            [=](const auto& x, const auto& y) { return nn::huber_loss(x, y, delta, reduces); }, Main{prediction},
            Main{target});
      },
      "prediction"_a, "target"_a, "delta"_a = 1.0, "reduction"_a = "mean",
      "d^2 / 2 where d = abs(prediction - target) < delta, delta (d - delta / 2) elsewhere.");
}

}  // namespace locus::python
