#pragma once
// fit and evaluate with several ranks: measurements cover the samples of all ranks.

#include <locus/core/check.hpp>
#include <locus/tensor/copy.hpp>

#include <concepts>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// A model that several ranks train together, as dist::distributed() makes it.
template <class M>
concept OfRanks = requires(const M& model) {
  { model.communicator().rank() } -> std::same_as<int>;
  { model.communicator().size() } -> std::same_as<int>;
};

/// The same, called with values that say how they are spread over ranks: local() is the model of this rank.
template <class M>
concept OfSpreadRanks = OfRanks<M> && requires(const M& model) {
  { model.local().communicator().rank() } -> std::same_as<int>;
};
/// The model that takes the tensors of this rank.
template <class M>
[[nodiscard]] const auto& model_of_rank(const M& model) {
  if constexpr (OfSpreadRanks<M>) return model.local();
  else return model;
}

/// Rank 0, or no rank.
template <class M>
[[nodiscard]] bool is_first_rank([[maybe_unused]] const M& model) {
  if constexpr (OfRanks<M>) return model.communicator().rank() == 0;
  else return true;
}

/// Gathers these numbers of all ranks, one rank after another; without ranks, returns this process's. A collective.
template <class M>
[[nodiscard]] std::vector<double> numbers_of_ranks([[maybe_unused]] const M& model, std::vector<double> mine) {
  if constexpr (OfRanks<M>) {
    const auto& comm = model.communicator();
    using D = decltype(comm.device());
    const auto count = static_cast<std::int64_t>(mine.size());
    const Tensor<double, Cpu> numbers({count});
    for (std::int64_t i = 0; i < count; ++i) numbers(i) = mine[static_cast<std::size_t>(i)];
    const Tensor<double, Cpu> all = comm.all_gather(numbers.template to<D>(comm.device())).template to<Cpu>();
    mine.assign(all.data(), all.data() + all.elements());
  }
  return mine;
}
/// Sums of these numbers over all ranks: identical on all, bit for bit.
template <class M>
[[nodiscard]] std::vector<double> sums_over_ranks(const M& model, std::vector<double> mine) {
  const std::size_t count = mine.size();
  const std::vector<double> all = numbers_of_ranks(model, std::move(mine));
  std::vector<double> sums(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = count; i < all.size(); ++i) sums[i % count] += all[i];
  return sums;
}
/// Weight of a rank with this many samples in the average of gradients.
template <class M>
[[nodiscard]] double weight_of_rank([[maybe_unused]] const M& model, [[maybe_unused]] double samples) {
  if constexpr (requires { model.options().weigh_by_samples; })
    if (model.options().weigh_by_samples) return samples;
  return 1;
}
/// Whether steps of the model can be captured: of several ranks, over NCCL, without accumulation of gradients, whose
/// counts of samples are kept on the host.
template <class M>
[[nodiscard]] bool is_capturable([[maybe_unused]] const M& model, [[maybe_unused]] std::int64_t accumulate) {
  if constexpr (requires { model.communicator().is_capturable(); })
    return accumulate == 1 && model.communicator().is_capturable();
  else return !OfRanks<M>;
}
/// Whether `holds` is true on all ranks.
template <class M>
[[nodiscard]] bool on_all_ranks(const M& model, bool holds) {
  for (const double answer : numbers_of_ranks(model, {holds ? 1.0 : 0.0}))
    if (answer == 0) return false;
  return true;
}

/// throws ArgumentError, on all ranks, if ranks have different numbers of batches: a backward pass waits for the other
/// ranks' backward passes
template <class M>
void require_same_batches(const M& model, std::int64_t batches) {
  constexpr const char* remedy =
      "; gradients are reduced after each: take a data::DistributedSampler whose remainder is repeated or dropped, and "
      "one batch_size";
  const std::vector<double> all = numbers_of_ranks(model, {static_cast<double>(batches)});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0])
      fail<ArgumentError>({"fit: an epoch of rank ", rank, " has ", static_cast<std::int64_t>(all[rank]),
                           " batches, one of rank 0 ", static_cast<std::int64_t>(all[0]), remedy});
  }
}
/// throws ArgumentError for a loader by which some samples would count twice
template <class Loader>
void require_each_once(const Loader& batches) {
  if (batches.repeats_samples())
    fail<ArgumentError>(
        {"evaluate: the sampler of the loader repeats samples, so that all ranks have as many, and "
         "they would count twice; make it data::DistributedSampler{dataset, comm, "
         "{.remainder = data::Remainder::keep}}"});
}

}}}  // namespace locus::LOCUS_ABI::detail
