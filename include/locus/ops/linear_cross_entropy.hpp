#pragma once
// A linear layer and the cross-entropy of its results, fused: the logits are never stored whole.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/loss/linear_cross_entropy_passes.hpp>

namespace locus { inline namespace LOCUS_ABI {

template <class T, class D>
struct LinearCrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  std::int64_t ignore_index = -100;  ///< a target that contributes neither loss nor gradient nor weight
  double label_smoothing = 0;        ///< in [0, 1]: the share of the target that is spread over all classes
  Tensor<T, D> class_weights = {};   ///< (classes); empty: 1 each. They collect no gradient
};

namespace detail {

/// An unscaled gradient of losses, times the adjoint of their sum, over the divisor of a mean. A gradient of 0 stays 0
/// whatever the divisor is, and an adjoint of 0 makes each 0.
template <bool divides>
struct ScaledLossGradient {
  static constexpr unsigned repeated = divides ? 0b110u : 0b10u;
  template <class R, class... Total>
  LOCUS_FN R operator()(R gradient, R adjoint, Total... total) const {
    static_assert(sizeof...(total) == (divides ? 1 : 0));
    const R scale = (adjoint / ... / total);
    const bool has_gradient = !is_zero(gradient), has_adjoint = !is_zero(adjoint);
    return kept_if(has_gradient & has_adjoint, gradient * scale);
  }
};

/// The gradient of weights or a bias, whose first extent was rounded up, or of rows, in the shape of the operand.
template <class U, class D>
[[nodiscard]] Tensor<U, D> of_classes(const Tensor<U, D>& gradient, const Shape& shape) {
  const bool is_padded = shape.rank() == gradient.rank() && gradient.size(0) > shape[0];
  return (is_padded ? gradient.slice(0, 0, shape[0]) : gradient).reshape(shape);
}

}  // namespace detail

namespace operation {

/// Shared by the two operations of linear_cross_entropy.
template <class T, class D>
struct LinearCrossEntropyCall {
  static constexpr const char* name = "linear_cross_entropy";
  using R = compute_t<T>;
  LinearCrossEntropyOptions<T, D> options;
  std::int64_t bytes = detail::logit_bytes<D>, multiple = detail::class_multiple<D>;

 protected:
  static const Tensor<T, D>& bias_of(const Tensor<T, D>& b) { return b; }
  static Tensor<T, D> bias_of() { return {}; }

  template <class... B>
  void require_operands(const Tensor<T, D>& x, const Tensor<T, D>& w, const Tensor<std::int64_t, D>& targets,
                        const B&... b) const {
    Shape expected = x.shape();
    if (x.rank() > 0) expected.erase(x.rank() - 1);
    if (w.rank() != 2 || x.rank() == 0 || x.size(-1) != w.size(1) || !(targets.shape() == expected))
      fail<ShapeError>({name, ": input of shape ", x.shape(), ", weights of shape ", w.shape(),
                        " and targets of shape ", targets.shape(), "; expected (..., d), (classes, d) and (...)"});
    const std::int64_t classes = w.size(0);
    [[maybe_unused]] const auto require_bias = [&](const Tensor<T, D>& bias) {
      if (bias.buffer() && !(bias.shape() == Shape{classes}))
        fail<ShapeError>(
            {name, ": bias of shape ", bias.shape(), " for ", classes, " classes; expected (", classes, ",)"});
    };
    (require_bias(b), ...);
    const auto& weights = options.class_weights;
    if (weights.buffer()) detail::require_class_weights(name, weights.shape(), classes);
    detail::require_smoothing(name, options.label_smoothing);
    detail::require_same_ordinal(name, x, w, targets, b...);
    if (weights.buffer()) detail::require_same_ordinal(name, x, weights);
    detail::require_labels(name, targets, classes, &options.ignore_index);
  }

  /// f(passes) with the passes of rows x, dense labels and dense class weights.
  template <class F>
  void with_passes(const Tensor<T, D>& x, const Tensor<T, D>& w, const Tensor<T, D>& b,
                   const Tensor<std::int64_t, D>& labels, const Tensor<T, D>& weights, const F& f) const {
    const std::int64_t classes = w.size(0);
    const detail::LogitChunks chunks(x.size(0), classes, multiple, bytes / std::int64_t{sizeof(T)});
    const auto smoothing = static_cast<R>(options.label_smoothing);
    const auto run = [&](const auto& rules) { f(detail::LinearCrossEntropyPasses(x, w, b, rules, chunks)); };
    if (weights.buffer())
      run(detail::LabelRules<T, true>{labels.data(), weights.data(), classes, options.ignore_index, smoothing});
    else run(detail::LabelRules<T, false>{labels.data(), nullptr, classes, options.ignore_index, smoothing});
  }
};

/// The mean or sum of the losses. The forward pass computes the wanted gradients, but for the factor that follows from
/// the adjoint of the result, so that the logits are computed once.
template <class T, class D>
struct LinearCrossEntropy : LinearCrossEntropyCall<T, D> {
  using R = compute_t<T>;
  bool wants_x = false, wants_w = false, wants_b = false;

  template <class... B>
  [[nodiscard]] LinearCrossEntropy wanting(bool x, bool w, bool, B... b) const {
    LinearCrossEntropy result = *this;
    result.wants_x = x, result.wants_w = w, result.wants_b = (false || ... || b);
    return result;
  }

  /// The loss, and for backward unscaled gradients of the rows of x, of w and of b, and the divisor.
  using Result = Forwarded<Tensor<R, D>, Tensor<T, D>, Tensor<R, D>, Tensor<R, D>, Tensor<R, D>>;
  template <class... B>
  Result forward(const Tensor<T, D>& x, const Tensor<T, D>& w, const Tensor<std::int64_t, D>& targets,
                 const B&... b) const;
  template <class... B>
  void backward(const Tuple<Tensor<T, D>, Tensor<R, D>, Tensor<R, D>, Tensor<R, D>>& saved, const Tensor<R, D>& g,
                Gradient<T, D>& dx, Gradient<T, D>& dw, Gradient<std::int64_t, D>&, B&... db) const {
    const Tensor<R, D>& total = get<3>(saved);  // clang 14 captures no structured bindings
    const auto give = [&](Gradient<T, D>& gradient, const auto& unscaled) {
      if (!gradient) return;
      const auto values = detail::of_classes(unscaled, gradient.shape());
      if (total.buffer()) detail::map_to(gradient, detail::ScaledLossGradient<true>{}, values, g, total);
      else detail::map_to(gradient, detail::ScaledLossGradient<false>{}, values, g);
    };
    give(dx, get<0>(saved)), give(dw, get<1>(saved));
    (give(db, get<2>(saved)), ...);
  }
};

/// The losses themselves. Each has an adjoint of its own, so the backward pass computes the logits again.
template <class T, class D>
struct LinearCrossEntropies : LinearCrossEntropyCall<T, D> {
  using R = compute_t<T>;

  /// The losses, and for backward the rows of x, w, b, the labels, the class weights, and two numbers for each row.
  using Result = Forwarded<Tensor<R, D>, Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<std::int64_t, D>,
                           Tensor<T, D>, Tensor<R, D>>;
  template <class... B>
  Result forward(const Tensor<T, D>& x, const Tensor<T, D>& w, const Tensor<std::int64_t, D>& targets,
                 const B&... b) const;
  template <class... B>
  void backward(
      const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<std::int64_t, D>, Tensor<T, D>, Tensor<R, D>>& saved,
      const Tensor<R, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dw, Gradient<std::int64_t, D>&, B&... db) const {
    const auto& [x, w, b, labels, weights, of_rows] = saved;
    const Tensor<R, D> adjoints = g.contiguous(), numbers = of_rows;
    const bool wants_b = (false || ... || static_cast<bool>(db));
    detail::LinearCrossEntropyGradients<T, D> gradients;
    this->with_passes(x, w, b, labels, weights, [&](const auto& passes) {
      gradients = passes.gradients_to_write(static_cast<bool>(dx), static_cast<bool>(dw), wants_b);
      passes.gradients(adjoints, numbers, gradients);
    });
    const auto give = [](Gradient<T, D>& gradient, const auto& values) {
      if (gradient) detail::map_to(gradient, functor::Identity{}, detail::of_classes(values, gradient.shape()));
    };
    if (dx) dx.give(gradients.x.reshape(dx.shape()));
    give(dw, gradients.weight);
    (give(db, gradients.bias), ...);
  }
};

// Outside the classes, and so not inline: the compiled library can hold them.
template <class T, class D>
template <class... B>
auto LinearCrossEntropy<T, D>::forward(const Tensor<T, D>& x, const Tensor<T, D>& w,
                                       const Tensor<std::int64_t, D>& targets, const B&... b) const -> Result {
  this->require_operands(x, w, targets, b...);
  const Tensor<T, D> rows = detail::as_rows(x), weights = this->options.class_weights.contiguous();
  const bool differentiates = wants_x || wants_w || wants_b;
  const Tensor<R, D> numbers({differentiates ? 2 : 4, rows.size(0)}, x.device());
  detail::LinearCrossEntropyGradients<T, D> gradients;
  const auto labels = targets.contiguous();
  const Tensor<T, D> bias = this->bias_of(b...);
  this->with_passes(rows, w, bias, labels, weights, [&](const auto& passes) {
    if (!differentiates) return passes.losses(numbers);
    gradients = passes.gradients_to_write(wants_x, wants_w, wants_b);
    passes.losses_and_gradients(numbers, gradients);
  });
  const bool divides = this->options.reduction == Reduction::mean;
  const auto pair = detail::fold_losses(numbers.select(0, 0), numbers.select(0, 1), divides);
  return Forwarded{Tensor<R, D>(pair.select(0, 0)),
                   Tuple(gradients.x, gradients.weight, gradients.bias, divides ? pair.select(0, 1) : Tensor<R, D>())};
}

template <class T, class D>
template <class... B>
auto LinearCrossEntropies<T, D>::forward(const Tensor<T, D>& x, const Tensor<T, D>& w,
                                         const Tensor<std::int64_t, D>& targets, const B&... b) const -> Result {
  this->require_operands(x, w, targets, b...);
  const Tensor<T, D> rows = detail::as_rows(x), weights = this->options.class_weights.contiguous();
  const Tensor<T, D> bias = this->bias_of(b...);
  const Tensor<R, D> numbers({4, rows.size(0)}, x.device());
  const auto labels = targets.contiguous();
  this->with_passes(rows, w, bias, labels, weights, [&](const auto& passes) { passes.losses(numbers); });
  return Forwarded{Tensor<R, D>(numbers.select(0, 0).reshape(targets.shape())),
                   Tuple(rows, w, bias, labels, weights, numbers.slice(0, 2))};
}

}  // namespace operation

namespace detail {
template <class X, class W, class Y, class... B>
concept LinearEntropyOperands =
    Computes<X> && FloatingDType<value_of<X>> && TensorLike<W> && (TensorLike<B> && ...) && CombinablePair<X, W> &&
    (CombinablePair<X, B> && ...) && NotParametersAlone<X, W, B...> && IndexOperand<Y> && SameDevice<X, Y>;

/// Labels in another place than an input, or of another type than int64.
template <class X, class Y>
struct LabelsMistake : FirstMistake<PlaceMistake<X, Y, error::input_is_on, error::labels_are_on>,
                                    IndexTypeMistake<Y, error::labels_hold>> {};

template <class T, class D, class X, class W, class Y, class... B>
[[nodiscard]] auto linear_cross_entropy(const operation::LinearCrossEntropyCall<T, D>& call, const X& x, const W& w,
                                        const Y& targets, const B&... b) {
  using Reduced = operation::LinearCrossEntropy<T, D>;
  using Result = decltype(apply(Reduced{call}, x, w, targets, b...));
  if (call.options.reduction == Reduction::none)
    return Result(apply(operation::LinearCrossEntropies<T, D>{call}, x, w, targets, b...));
  return Result(apply(Reduced{call}, x, w, targets, b...));
}
}  // namespace detail

/// cross_entropy(linear(x, weight), targets), without logits for all rows: the loss of a language model, whose logits
/// would be its largest tensor. As torch.nn.functional.linear_cross_entropy; class weights are an option.
/// shape:    x (..., d), weight (classes, d), targets (...) of int64 -> scalar, or (...) with Reduction::none. The loss
///           is float for 16-bit types.
/// gradient: of the logits dz = (softmax(logits) - target) * weight; dz w for x, dz^T x for weight
/// cost:     Rows are computed in chunks, whose logits take 64 MiB on hosts, 128 MiB on Cuda; up to four times as much
///           if that holds fewer than 128 rows, and in any case at least one row's. Each chunk takes two launches, and
///           one for each gradient (two for weight in 16 bits); one launch sums the losses. The mean and the sum
///           compute their gradients in the forward pass, in place of the logits, and backward takes one launch for
///           each. Reduction::none computes the logits again in backward: two launches for each chunk, and those of the
///           gradients. On Cuda, weights whose number of classes is no multiple of 64 are copied, in two launches, with
///           classes behind them that take no part: products with odd extents are slow there.
///           In 16 bits, the gradient of weight also takes memory in float, and a product of its size.
///           Saves the gradients of x and weight, no operand; Reduction::none saves x, weight, and two numbers per row.
/// In half, the gradient of weight overflows where its sum over the rows of one chunk, before the reduction divides it,
/// exceeds 65,504: that sum is rounded to half before chunks are added up in float. bfloat16 has the range of float.
/// 16-bit floats are summed in float; logits and their gradients, which for targets of weight 1 are between -1 and 1
/// whatever the reduction, are rounded to 16 bits.
/// throws ShapeError naming the shapes; ArgumentError unless 0 <= label_smoothing <= 1; IndexError for a target out of
///        range, if the host can read the targets (on Cuda the loss and gradients become NaN)
///
///     auto loss = linear_cross_entropy(hidden, embedding.weight, next, {.ignore_index = padding});
template <class X, class W, class Y>
  requires detail::LinearEntropyOperands<X, W, Y>
[[nodiscard]] auto linear_cross_entropy(const X& x, const W& weight, const Y& targets,
                                        const LinearCrossEntropyOptions<value_of<X>, device_of<X>>& options = {}) {
  using Call = operation::LinearCrossEntropyCall<value_of<X>, device_of<X>>;
  return detail::linear_cross_entropy(Call{options}, x, weight, targets);
}

/// The same with a bias (classes,). Its gradient takes one launch more for each chunk, and one in backward; a copy of
/// it on Cuda two.
template <class X, class W, class Y, class B>
  requires detail::LinearEntropyOperands<X, W, Y, B>
[[nodiscard]] auto linear_cross_entropy(const X& x, const W& weight, const Y& targets, const B& bias,
                                        const LinearCrossEntropyOptions<value_of<X>, device_of<X>>& options = {}) {
  using Call = operation::LinearCrossEntropyCall<value_of<X>, device_of<X>>;
  return detail::linear_cross_entropy(Call{options}, x, weight, targets, bias);
}

#include <locus/refuse/ops/linear_cross_entropy.inc>

}}  // namespace locus::LOCUS_ABI
