#pragma once
// Running statistics of batch norms, computed anew for averaged weights: PyTorch's update_bn.

#include <locus/autograd/unrecorded.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/training/metrics.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct UpdateBnOptions {
  std::int64_t batches = 0;  ///< how many to use, the first ones; 0: all
};

namespace detail {
template <class X>
concept PlainTensor = TensorLike<X> && X::role == Role::plain;
template <class B>
using first_t = std::remove_cvref_t<decltype(get<0>(std::declval<const B&>()))>;
template <class B>
concept BeginsWithInput = PlainTensor<first_t<B>>;

/// The input of a model in a batch: the first tensor.
template <PlainTensor B>
[[nodiscard]] auto input_of(const B& batch) {
  return batch.eval();
}
template <class T, class D>
[[nodiscard]] auto input_of(const data::Batch<T, D>& batch) {
  return batch.images;
}
template <class B>
  requires(!PlainTensor<B> && BeginsWithInput<B>)
[[nodiscard]] auto input_of(const B& batch) {
  return get<0>(batch).eval();
}

/// Calls f with the input of each batch, until f returns false.
template <class S, class D, class F>
void for_each_input(data::Loader<S, D>& batches, const F& f) {
  for (const auto& batch : batches)
    if (!f(get<0>(data::detail::tensors_of<data::detail::fields_t<S>::size>(batch)))) return;
}
template <class Batches, class F>
  requires requires(Batches& batches) { input_of(*batches.begin()), batches.begin() != batches.end(); }
void for_each_input(Batches& batches, const F& f) {
  for (const auto& batch : batches)
    if (!f(input_of(batch))) return;
}
template <class T, std::size_t count, class F>
  requires requires(const T& batch) { input_of(batch); }
void for_each_input(T (&batches)[count], const F& f) {
  for (const auto& batch : batches)
    if (!f(input_of(batch))) return;
}
template <class Next, class F>
  requires requires(Next& next) { input_of(*next()), static_cast<bool>(next()); }
void for_each_input(Next& next, const F& f) {
  for (auto batch = next(); batch; batch = next())
    if (!f(input_of(*batch))) return;
}

/// The type of the inputs; void for something else than batches.
template <class Batches>
struct InputOfBatches : std::type_identity<void> {};
template <class S, class D>
struct InputOfBatches<data::Loader<S, D>> : std::type_identity<Tensor<locus::detail::input_t<S>, D>> {};
template <class Batches>
  requires requires(Batches& batches) { input_of(*batches.begin()); }
struct InputOfBatches<Batches> : std::type_identity<decltype(input_of(*std::declval<Batches&>().begin()))> {};
template <class T, std::size_t count>
  requires requires(const T& batch) { input_of(batch); }
struct InputOfBatches<T[count]> : std::type_identity<decltype(input_of(std::declval<const T&>()))> {};
template <class Next>
  requires requires(Next& next) { input_of(*next()); }
struct InputOfBatches<Next> : std::type_identity<decltype(input_of(*std::declval<Next&>()()))> {};
template <class Batches>
using input_of_batches = std::remove_cvref_t<typename InputOfBatches<std::remove_reference_t<Batches>>::type>;
template <class Batches>
concept GivesBatches = !std::is_void_v<input_of_batches<Batches>>;

/// Whether the layers of a model are known: a function has none.
template <class M>
concept HasLayers = HasPlace<M> && ListsMembers<M>;

template <class M, class X>
struct RecalibrationMistake : NoMistake {};
template <class M, TensorLike X>
struct RecalibrationMistake<M, X> : locus::detail::BatchMistake<M, value_of<X>, device_of<X>> {};

/// The running statistics of all batch norms of a model that keep some.
template <class M>
class StatisticsOf {
  using T = value_of<M>;
  using D = device_of<M>;
  using R = compute_t<T>;

 public:
  explicit StatisticsOf(const M& model) {
    for_each_batch_norm<T, D>(model, [&](const auto& layer) {
      if (!layer.running_mean.defined()) return;
      if constexpr (std::is_same_v<decltype(layer), const BatchNorm1d<T, D>&>) of_features_.push_back(layer);
      else if constexpr (std::is_same_v<decltype(layer), const BatchNorm2d<T, D>&>) of_images_.push_back(layer);
      else of_volumes_.push_back(layer);
    });
    for_each([&](const auto& layer) {
      before_.push_back({layer.running_mean.value().clone(), layer.running_var.value().clone(),
                         layer.num_batches_tracked.value().clone()});
    });
  }
  StatisticsOf(const StatisticsOf&) = delete;
  StatisticsOf& operator=(const StatisticsOf&) = delete;
  ~StatisticsOf() {
    for_each([](const auto& layer) { layer.average_batches(false); });
  }

  /// Number of layers.
  [[nodiscard]] std::int64_t layers() const { return static_cast<std::int64_t>(before_.size()); }
  /// From now on, until the destructor, the mean over all batches.
  void reset() const {
    for_each([](const auto& layer) {
      layer.average_batches(true);
      layer.running_mean.value().fill_(R(0));
      layer.running_var.value().fill_(R(1));
      layer.num_batches_tracked.value().fill_(0);
    });
  }
  void restore() const {
    std::size_t i = 0;
    for_each([&](const auto& layer) {
      const auto& before = before_[i++];
      layer.running_mean.value().copy_(before.mean);
      layer.running_var.value().copy_(before.var);
      layer.num_batches_tracked.value().copy_(before.batches);
    });
  }

 private:
  template <class F>
  void for_each(const F& f) const {
    for (const auto& layer : of_features_) f(layer);
    for (const auto& layer : of_images_) f(layer);
    for (const auto& layer : of_volumes_) f(layer);
  }

  std::vector<BatchNorm1d<T, D>> of_features_;  ///< handles of the model's
  std::vector<BatchNorm2d<T, D>> of_images_;
  std::vector<BatchNorm3d<T, D>> of_volumes_;
  std::vector<RunningStatistics<R, D>> before_;
};

/// The forward pass of a training step, of which nothing is recorded.
template <class M, class X>
void forward_in_training(const M& model, const X& x) {
  locus::detail::OutsideOperands forgotten;
  const locus::detail::Within noting(locus::detail::unrecorded, &forgotten);
  (void)model.forward(trace(x));
}
}  // namespace detail

/// Computes the running statistics of all batch norms of a model anew, as the mean over these batches:
/// torch.optim.swa_utils.update_bn, for averaged weights. The model runs as in training, dropout included, but nothing
/// is recorded. Each layer keeps its momentum. `batches` is a loader, which begins an epoch; a range of inputs, or of
/// batches that begin with the input; or a function that returns the next one as std::optional. Returns the number of
/// layers; a model without running statistics does not run, and returns 0. With several ranks, each rank uses its own
/// batches, unless dist::synchronize_batch_norm was called.
/// cost:  a forward pass for each batch
/// throws ArgumentError without a batch, or for options.batches below 0. After any exception, running statistics are as
/// before
///
///     nn::update_bn(average.module(), data::loader<D>(train, {.batch_size = 128, .shuffle = true}), {.batches = 50});
template <class M, class Batches>
  requires(detail::HasLayers<M> && detail::GivesBatches<Batches> &&
           locus::detail::IsWrong<detail::RecalibrationMistake<M, detail::input_of_batches<Batches>>,
                                  locus::detail::Wrong::nothing>)
std::int64_t update_bn(const M& model, Batches&& batches, const UpdateBnOptions& options = {}) {
  if (options.batches < 0)
    fail<ArgumentError>({"update_bn: batches is ", options.batches, "; expected 1 or more, or 0 for all"});
  const detail::StatisticsOf<M> statistics(model);
  if (statistics.layers() == 0) return 0;
  try {
    statistics.reset();
    std::int64_t used = 0;
    detail::for_each_input(batches, [&](const auto& x) {
      detail::forward_in_training(model, x);
      return ++used != options.batches;
    });
    if (used == 0) fail<ArgumentError>({"update_bn: there are no batches; expected at least one"});
  } catch (...) {
    statistics.restore();
    throw;
  }
  return statistics.layers();
}

#include <locus/refuse/training/update_bn.inc>

}}}  // namespace locus::LOCUS_ABI::nn
