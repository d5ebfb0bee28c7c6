#pragma once
// Losses as objects with options: what PyTorch's tutorials call the criterion.

#include <locus/nn/loss.hpp>

namespace locus::inline LOCUS_ABI::nn {

struct LossOptions {
  Reduction reduction = Reduction::mean;
};

/// cross_entropy(logits, labels) with options, as torch.nn.CrossEntropyLoss.
///
///     const nn::CrossEntropyLoss loss{{.label_smoothing = 0.1}};
///     loss(model(trace(x)), labels).backward();
struct CrossEntropyLoss {
  CrossEntropyOptions options = {};

  template <class L, class Y>
    requires locus::detail::LossOperands<L, Y>
  [[nodiscard]] auto operator()(const L& logits, const Y& labels) const {
    return cross_entropy(logits, labels, options);
  }
#include <locus/refuse/nn/criterion_cross_entropy.inc>
};

/// mse_loss(prediction, target): (prediction - target)^2.
struct MSELoss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target) const {
    return mse_loss(prediction, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_mse.inc>
};

/// l1_loss(prediction, target): |prediction - target|.
struct L1Loss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target) const {
    return l1_loss(prediction, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_l1.inc>
};

struct HuberLossOptions {
  double delta = 1.0;
  Reduction reduction = Reduction::mean;
};
/// huber_loss(prediction, target, delta). throws ArgumentError, where it is called, for a delta out of range
struct HuberLoss {
  HuberLossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target) const {
    return huber_loss(prediction, target, options.delta, options.reduction);
  }
#include <locus/refuse/nn/criterion_huber.inc>
};

/// binary_cross_entropy_with_logits(logits, target): targets are probabilities in [0, 1].
struct BCEWithLogitsLoss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& logits, const Y& target) const {
    return binary_cross_entropy_with_logits(logits, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_bce_with_logits.inc>
};

}  // namespace locus::inline LOCUS_ABI::nn
