#pragma once
// Gradient clipping, without waiting for the device.

#include <locus/autograd/flat.hpp>
#include <locus/ops/norm.hpp>
#include <locus/tensor/host_reads.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Norm of order p > 0 over all elements of several tensors. One launch per tensor, and one more for several tensors;
/// for p other than 1, 2 and infinity four and three. On Cpu one more per tensor whose squares overflow or vanish.
template <class T, class D, class R = compute_t<T>>
[[nodiscard]] Tensor<R, D> joint_norm(const std::vector<Tensor<T, D>>& tensors, double p) {
  using fold::NormOrder;
  const Tensor<R, D> norms({static_cast<std::int64_t>(tensors.size())}, tensors[0].device());
  std::int64_t i = 0;
  for (const auto& x : tensors) {
    const Tensor<R, D> norm = norms.select(0, i++);
    const auto fold = [&](const auto& op) {
      reduce_into(norm, false, x.shape(), FoldedAxes("clip_grad_norm_", x.shape(), {}), Symbol<0>{}, op, x);
      return norm;
    };
    if (p == 2) {
      (void)euclidean<R, D>(fold);
    } else if (p == 1) {
      fold(fold::Norm<R, NormOrder::one>{});
    } else if (p == std::numeric_limits<double>::infinity()) {
      fold(fold::Norm<R, NormOrder::infinity>{});
    } else {
      const operation::PowerNorm powers{p, {}, false, "clip_grad_norm_"};
      norm.copy_(powers.compute([&] { return x.template as<R>(); }).reshape({}));
    }
  }
  return tensors.size() == 1 ? norms.select(0, 0) : norm(norms, p);
}

template <class R>
[[nodiscard]] LOCUS_FN R scale_to_norm(R most, R norm) {
  return functor::Minimum{}(most / (norm + R(1e-6)), R(1));
}
/// Scales a gradient so that the joint norm is at most `most`. Zeros stay zero whatever the norm, as the padding
/// between parameters in flat memory must.
template <class R>
struct ScaleToNorm {
  R most;
  LOCUS_FN R operator()(R gradient, R norm) const {
    return gradient == R(0) ? gradient : gradient * scale_to_norm(most, norm);
  }
};
template <class R>
struct ScaleBy {
  R scale;
  LOCUS_FN R operator()(R gradient) const { return gradient * scale; }
};

/// Scales gradients so that their joint norm is at most `most`. One launch for each, or none if the host sees that the
/// norm is at most `most`.
template <class T, class D, class R>
void scale_to_norm(const std::vector<Tensor<T, D>>& gradients, R most, const Tensor<R, D>& norm) {
  const bool done = done_by_host(norm, [&](auto number) {
    const auto scale = scale_to_norm(most, number);
    if (!(scale == scale)) return false;
    if (scale != R(1))
      for (const auto& g : gradients) map_into(g, ScaleBy<decltype(number)>{scale}, g);
    return true;
  });
  if (done) return;
  for (const auto& g : gradients) map_into(g, ScaleToNorm<R>{most}, g, norm);
}
}  // namespace detail

namespace optim {

struct ClipNormOptions {
  double norm_type = 2;             ///< above 0: 1 adds magnitudes, 2 is Euclid's norm, infinity the largest magnitude
  bool error_if_nonfinite = false;  ///< throws if the norm is infinite or NaN; the host waits for the norm, which
                                    ///< a captured step cannot
};

/// Scales all gradients so that their joint norm, over all elements of all gradients, is at most max_norm. Returns the
/// norm before, as a scalar on the device, float for 16-bit floats. Parameters without a gradient are skipped;
/// gradients of 0 stay 0. Correct whenever the norm is finite, even if powers overflow or vanish. As in PyTorch, an
/// infinite norm makes finite gradients 0 and others NaN, and a NaN norm makes all NaN: see error_if_nonfinite, or skip
/// such a step, optimizer.step(!isfinite(norm)).
/// Of a sharded model's parameters, it is the norm of the whole gradients, and each rank calls it.
/// cost: two launches if the parameters are neighbours in flat memory, as in an optimizer or after flatten, and
///       one more for each run of parameters that had a gradient once and has none now. Otherwise two per gradient, and
///       one. The host never waits for the device. On Cpu no launch to scale if the norm is at most max_norm, but one
///       more for each norm whose squares overflow or vanish, as squares of zeros do. A norm_type other than 1, 2 and
///       infinity takes three launches more, and two powers per element
/// throws ArgumentError unless max_norm >= 0 and norm_type > 0; GraphError for gradients that have yet to be reduced
///        over ranks, or unscaled by their GradScaler; NumericError for error_if_nonfinite, before anything is scaled;
///        CaptureError for error_if_nonfinite within a captured step
///
///     optim::clip_grad_norm_(model.parameters(), 1);
///     optim::clip_grad_norm_(model.parameters(), 0.1, {.norm_type = std::numeric_limits<double>::infinity()});
template <class T, class D>
Tensor<compute_t<T>, D> clip_grad_norm_(const std::vector<Parameter<T, D>>& parameters, double max_norm,
                                        const ClipNormOptions& options = {}) {
  const double p = options.norm_type;
  if (!(max_norm >= 0)) fail<ArgumentError>({"clip_grad_norm_: max_norm is ", max_norm, "; expected 0 or more"});
  if (!(p > 0)) fail<ArgumentError>({"clip_grad_norm_: norm_type is ", p, "; expected a number above 0, or infinity"});
  locus::detail::require_final("clip_grad_norm_", parameters);
  if (options.error_if_nonfinite && locus::detail::is_capturing())
    fail<CaptureError>(
        {"capture: clip_grad_norm_: .error_if_nonfinite within the step: the host would have to see the norm in each "
         "replay; leave it out, and skip such a step, optimizer.step(!isfinite(norm)), or return the norm and check "
         "it"});
  using R = compute_t<T>;  // squares of halves would overflow from 256 on
  const auto runs = locus::detail::gradient_runs(parameters);
  const auto others = locus::detail::other_parts(parameters);
  Tensor<R, D> norm;
  if (!runs.empty()) norm = locus::detail::joint_norm(runs, p);
  else norm = Tensor<R, D>(Shape{}, parameters.empty() ? D{} : parameters[0].device()).fill_(R(0));
  if (others) norm = locus::norm(others->gathered(norm), p);
  else if (runs.empty()) return norm;
  if (options.error_if_nonfinite) {
    const auto seen = static_cast<double>(norm.template to<Cpu>().item());
    if (seen - seen != 0)
      fail<NumericError>(
          {"clip_grad_norm_: the norm of order ", p, " of the gradients is ", seen,
           ": one of them is inf or NaN, or the norm overflows; without .error_if_nonfinite they would be ",
           "scaled by it"});
  }
  locus::detail::scale_to_norm(runs, static_cast<R>(max_norm), norm);
  locus::detail::gradients_changed(parameters);
  return norm;
}

/// Limits every element of the gradients to [-limit, limit].
/// cost: one launch where the parameters are neighbours in flat memory, otherwise one for each gradient
/// throws ArgumentError unless limit >= 0; GraphError for gradients that have yet to be reduced over ranks, or unscaled
template <class T, class D>
void clip_grad_value_(const std::vector<Parameter<T, D>>& parameters, double limit) {
  if (!(limit >= 0)) fail<ArgumentError>({"clip_grad_value_: limit is ", limit, "; expected 0 or more"});
  locus::detail::require_final("clip_grad_value_", parameters);
  for (const auto& run : locus::detail::gradient_runs(parameters)) run.copy_(clamp(run, -limit, limit));
  locus::detail::gradients_changed(parameters);
}

#include <locus/refuse/optim/clip.inc>

}  // namespace optim

}}  // namespace locus::LOCUS_ABI
