#pragma once
// The loss of a sequence of labels whose places in the input are not known. Not part of locus/locus.hpp.

#include <locus/nn/loss.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/loss/ctc.hpp>
#include <locus/tensor/host_reads.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct CTCLossOptions {
  std::int64_t blank = 0;  ///< the class between labels
  Reduction reduction = Reduction::mean;
  bool zero_infinity = false;  ///< a loss of infinity (labels that do not fit into their input) becomes 0
};

namespace detail {
template <class L, class Y, class I, class J>
struct CtcMistake : FirstMistake<EntropyMistake<L, Y>, EntropyMistake<L, I>, EntropyMistake<L, J>> {};

/// throws ShapeError, ArgumentError
LOCUS_OUT_OF_LINE inline void require_ctc_shapes(const Shape& x, const Shape& labels, const Shape& times,
                                                 const Shape& counts, std::int64_t blank) {
  const bool fits = x.rank() == 3 && x[0] > 0 && labels.rank() == 2 && labels[0] == x[1] && times == Shape{x[1]} &&
                    counts == Shape{x[1]};
  if (!fits)
    fail<ShapeError>({"ctc_loss: logarithms of shape ", x, ", labels of shape ", labels, ", input lengths of shape ",
                      times, ", label lengths of shape ", counts,
                      "; expected (time, batch, classes), (batch, most labels), (batch,) and (batch,)"});
  if (blank < 0 || blank >= x[2])
    fail<ArgumentError>({"ctc_loss: the blank is ", blank, " of ", x[2], " classes; expected 0 to ", x[2] - 1});
}
/// throws ArgumentError for a length out of range, on a device that ChecksElements
template <class D>
void require_lengths(const char* what, const Tensor<std::int64_t, D>& lengths, std::int64_t most) {
  check_elements(lengths, [&](std::int64_t length, std::int64_t i) {
    if (length < 0 || length > most)
      fail<ArgumentError>({"ctc_loss: ", what, " ", length, " at position ", i, "; expected 0 to ", most});
  });
}
}  // namespace detail

/// -log of the probability of labels, added up over all ways to spread them over the input with blanks between them:
/// torch.nn.functional.ctc_loss. `logarithms` are log-probabilities, as log_softmax returns. Labels beyond a label
/// length, and logarithms beyond an input length, do not count.
/// shape:    logarithms (time, batch, classes), labels (batch, most labels), both lengths (batch,) -> scalar;
///           Reduction::none gives (batch,). The mean is over the batch of each loss divided by its label length, or by
///           1 where that is 0.
/// gradient: -g times the share of the paths that have the class at that time. 0 where the loss is infinite. (PyTorch
///           returns the gradient of the logits before log_softmax; after log_softmax's backward both are equal.)
/// cost:     a launch for each time forward, and one backward, over (batch, 2 most labels + 1); 19 more forward, 9 more
///           backward. Saves two tensors of (time, batch, 2 most labels + 1), and the indices of the labels in another
/// throws ShapeError naming all four shapes; ArgumentError for a blank that is no class, and, where the host can read
/// them, lengths out of range; IndexError for a label out of range likewise
///
///     auto loss = nn::ctc_loss(log_softmax(scores, -1), letters, frames, letter_counts);
template <class L, class Y, class I, class J>
  requires(locus::detail::LossOperands<L, Y> && locus::detail::LossOperands<L, I> && locus::detail::LossOperands<L, J>)
[[nodiscard]] auto ctc_loss(const L& logarithms, const Y& labels, const I& input_lengths, const J& label_lengths,
                            const CTCLossOptions& options = {}) {
  using T = value_of<L>;
  using D = device_of<L>;
  using R = compute_t<T>;
  using Integers = Tensor<std::int64_t, D>;
  const auto& x = logarithms.eval();
  const Integers given = labels.eval().value(), times = input_lengths.eval().value(),
                 counts = label_lengths.eval().value();
  const Shape& shape = x.value().shape();
  detail::require_ctc_shapes(shape, given.shape(), times.shape(), counts.shape(), options.blank);
  locus::detail::require_same_ordinal("ctc_loss", x.value(), given, times, counts);
  detail::require_lengths("input length", times, shape[0]);
  detail::require_lengths("label length", counts, given.size(1));

  const std::int64_t most = given.size(1), states = 2 * most + 1;
  const Integers column = counts.unsqueeze(1);
  const Integers present = where(arange<std::int64_t>(most, given.device()) < column, given, options.blank);
  locus::detail::require_labels("ctc_loss", present, shape[2]);
  const Integers classes({shape[1], states}, given.device());
  classes.fill_(options.blank);
  const Tensor<R, D> skips({shape[1], states}, given.device());
  skips.fill_(-std::numeric_limits<R>::infinity());
  if (most > 0) classes.slice(1, 1, states, 2).copy_(present);
  if (most > 1) {  // different neighbouring labels need no blank between them
    const auto to_labels = skips.slice(1, 3, states, 2);
    to_labels.copy_(where(present.slice(1, 1) == present.slice(1, 0, most - 1), to_labels, R(0)));
  }

  const auto scores = detail::converted<R>(gather(x, 2, classes.unsqueeze(0).expand({shape[0], shape[1], states})));
  const auto losses = apply(operation::CtcPaths{options.zero_infinity}, scores, skips, times.unsqueeze(1), column);
  using Result = std::remove_cvref_t<decltype(detail::converted<T>(sum(losses)))>;
  switch (options.reduction) {
    case Reduction::none: return Result(detail::converted<T>(losses));
    case Reduction::sum: return Result(detail::converted<T>(sum(losses)));
    case Reduction::mean: break;
  }
  const Tensor<R, D> lengths = where(counts < std::int64_t{1}, std::int64_t{1}, counts).template as<R>();
  return Result(detail::converted<T>(mean(losses / lengths)));
}

#include <locus/refuse/nn/ctc_loss.inc>

/// ctc_loss with options.
struct CTCLoss {
  CTCLossOptions options = {};

  template <class L, class Y, class I, class J>
    requires(detail::IsWrong<detail::CtcMistake<L, Y, I, J>, detail::Wrong::nothing>)
  [[nodiscard]] auto operator()(const L& logarithms, const Y& labels, const I& input_lengths,
                                const J& label_lengths) const {
    return ctc_loss(logarithms, labels, input_lengths, label_lengths, options);
  }
#include <locus/refuse/nn/criterion_ctc.inc>
};

}}}  // namespace locus::LOCUS_ABI::nn
