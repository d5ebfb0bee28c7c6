#pragma once
// Batches of a data set on a device. Other threads prepare batches ahead; the next batch is copied to a GPU while the
// current one is used.

#include <locus/core/generator.hpp>
#include <locus/core/std/iterator.hpp>
#include <locus/data/loading/distributed_sampler.hpp>
#include <locus/data/loading/epoch.hpp>
#include <locus/data/sampler.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// A batch of an epoch; both are counted from 0.
struct LoaderPosition {
  std::uint64_t epoch = 0;
  std::int64_t batch = 0;
  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

namespace detail {

/// A sampler with its type erased.
struct AnySampler : Counted {
  virtual ~AnySampler() = default;
  [[nodiscard]] virtual std::vector<std::int64_t> order(std::uint64_t epoch) const = 0;
  [[nodiscard]] virtual bool repeats() const = 0;
  [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;
};
template <Sampler S>
struct ErasedSampler final : AnySampler {
  explicit ErasedSampler(S wrapped) : sampler(std::move(wrapped)) {}
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const override { return sampler.order(epoch); }
  [[nodiscard]] bool repeats() const override {
    if constexpr (requires { sampler.repeated(); }) return sampler.repeated() > 0;
    else return false;
  }
  [[nodiscard]] std::uint64_t fingerprint() const override {
    if constexpr (requires { sampler.fingerprint(); }) return static_cast<std::uint64_t>(sampler.fingerprint());
    else return 0;
  }
  S sampler;
};

/// Position of the next batch of a loop; shared by the loader and the loop's iterator.
struct NextBatch final : Counted {
  LoaderPosition position;
  explicit NextBatch(const LoaderPosition& at) : position(at) {}
};

}  // namespace detail

/// The batches of a data set on D; every begin() starts an epoch.
///
///     for (auto [images, labels] : data::loader<D>(digits.train, {.batch_size = 100, .shuffle = true})) ...
template <class S, class D>
class Loader {
  using Prepared = detail::prepared_t<S, D>;

 public:
  using dataset_type = S;
  using device_type = D;
  using Batch = detail::batch_t<S, D>;

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Iterator(Shared<detail::Epoch<S, D>> epoch, Shared<detail::NextBatch> next)
        : epoch_(std::move(epoch)), next_(std::move(next)) {
      ++*this;
    }
    // Not copyable: each copy would get only some of the batches.
    Iterator(Iterator&&) noexcept = default;
    Iterator& operator=(Iterator&&) noexcept = default;
    [[nodiscard]] const Batch& operator*() const { return batch_; }
    Iterator& operator++() {
      at_end_ = !epoch_->next(batch_);
      LoaderPosition& next = next_->position;
      next = at_end_ ? LoaderPosition{next.epoch + 1, 0} : LoaderPosition{next.epoch, next.batch + 1};
      return *this;
    }
    [[nodiscard]] bool operator==(std::default_sentinel_t) const { return at_end_; }

   private:
    Shared<detail::Epoch<S, D>> epoch_;
    Shared<detail::NextBatch> next_;
    Batch batch_;
    bool at_end_ = false;
  };

  /// throws ArgumentError for an empty data set or options out of range; CudaUnavailable
  Loader(S dataset, const LoaderOptions& options, D device)
      : dataset_(detail::hold(std::move(dataset))), options_(options), device_(device) {
    const std::int64_t size = dataset_->dataset.size();
    detail::require_valid(options, size);
    if constexpr (detail::Compacts<S, D>) prepared_ = detail::hold(dataset_->dataset.compact());
    else prepared_ = dataset_;
    if (options.seed == drawn_seed)
      options_.seed = locus::detail::draw_seed<detail::Orders>(locus::detail::stream_of_orders);
    if (options.shuffle) visit_as(RandomSampler{size, options_.seed});
    else visit_as(SequentialSampler{size});
  }
  /// Visits the samples of a sampler. throws ArgumentError if the sampler names none, or for `shuffle`, since the
  /// sampler decides the order
  template <Sampler Order>
  Loader(S dataset, Order sampler, const LoaderOptions& options, D device)
      : Loader(std::move(dataset), options, device) {
    if (options.shuffle)
      fail<ArgumentError>({"loader: shuffle with a sampler, which decides about the order; leave it out"});
    if (sampler.size() < 1) fail<ArgumentError>({"loader: the sampler names no samples"});
    visit_as(std::move(sampler));
  }

  /// throws ArgumentError if the sampler does not name size() samples; IndexError, from the loop over batches, if it
  /// names a sample that does not exist
  [[nodiscard]] Iterator begin() {
    presence_.require("Loader");
    if constexpr (is_present<D>) {
      const LoaderPosition first{epoch_, std::exchange(first_, 0)};
      auto dataset = prepared_;
      if constexpr (detail::HasEpochs<Prepared>) dataset = detail::at_epoch(prepared_, first.epoch);
      auto epoch = begin_epoch(std::move(dataset), next_order(first.batch));
      next_ = Shared(new detail::NextBatch(first));
      return Iterator(std::move(epoch), next_);
    } else {
      Backend<D>::refuse(device_);
    }
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

  [[nodiscard]] const S& dataset() const {
    presence_.require("Loader");
    return dataset_->dataset;
  }
  /// Batches of an epoch.
  [[nodiscard]] std::int64_t size() const {
    presence_.require("Loader");
    return detail::batches_of(samples_, options_);
  }
  [[nodiscard]] std::int64_t batch_size() const { return options_.batch_size; }
  /// Samples of an epoch.
  [[nodiscard]] std::int64_t samples() const {
    const std::int64_t whole = size() * batch_size();
    return options_.drop_last ? whole : samples_;
  }
  [[nodiscard]] D device() const { return device_; }

  /// Seed of the orders if `shuffle` is set; else 0.
  [[nodiscard]] std::uint64_t seed() const { return options_.shuffle ? options_.seed : 0; }

  /// A number of the sampler's settings, which io::resume_training compares; 0 for a sampler without fingerprint().
  [[nodiscard]] std::uint64_t fingerprint() const {
    presence_.require("Loader");
    return sampler_->fingerprint();
  }

  /// Number of the epoch that the next begin() starts, from 0; shuffled orders depend on it. begin() increments it;
  /// training that resumes in another process sets it.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  void set_epoch(std::uint64_t epoch) { set_position({epoch, 0}); }
  /// Position of the next batch of the loop that began last, until it ends. Within the body of a loop, the batch after
  /// the current one.
  [[nodiscard]] LoaderPosition position() const {
    presence_.require("Loader");
    return next_ ? next_->position : LoaderPosition{epoch_, first_};
  }
  /// Makes the next begin() start at `position`. throws ArgumentError unless its batch is 0 to size(); batch size() is
  /// the end of its epoch
  void set_position(const LoaderPosition& position) {
    check_position(position);
    const bool is_end = position.batch > 0 && position.batch == size();
    epoch_ = position.epoch + (is_end ? 1 : 0);
    first_ = is_end ? 0 : position.batch;
    next_ = {};
  }
  /// throws ArgumentError where set_position() would
  void check_position(const LoaderPosition& position) const {
    if (position.batch < 0 || position.batch > size())
      fail<ArgumentError>({"loader: a position at batch ", position.batch, "; an epoch has ", size()});
  }
  /// Whether ranks visit samples twice, so that all visit equally many: see DistributedSampler.
  [[nodiscard]] bool repeats_samples() const {
    presence_.require("Loader");
    return sampler_->repeats();
  }

 private:
  template <Sampler Order>
  void visit_as(Order sampler) {
    samples_ = sampler.size();
    sampler_ = Shared<const detail::AnySampler>(new detail::ErasedSampler<Order>(std::move(sampler)));
  }

  [[nodiscard]] Shared<detail::Epoch<S, D>> begin_epoch(Shared<const detail::Held<Prepared>> dataset,
                                                        std::vector<std::int64_t> order) {
    using Pinning = detail::staging_t<D>;
    using Pageable = std::conditional_t<std::is_same_v<D, Cuda>, Cpu, Pinning>;
    const auto in = [&]<class Place>(Place) {
      return Shared<detail::Epoch<S, D>>(
          new detail::StagedEpoch<S, D, Place>(std::move(dataset), options_, device_, std::move(order), workers()));
    };
    return options_.pinned ? in(Pinning{}) : in(Pageable{});
  }
  /// The threads that prepare batches, from the first epoch on; null if those that share loops do.
  [[nodiscard]] Shared<detail::WorkerThreads> workers() {
    if (options_.workers > 0 && !(workers_ && workers_->is_here()))
      workers_ = Shared(new detail::WorkerThreads(options_.workers));
    return workers_;
  }
  /// The order of the next epoch, without its first `batches` batches.
  [[nodiscard]] std::vector<std::int64_t> next_order(std::int64_t batches) {
    auto order = sampler_->order(epoch_++);
    if (static_cast<std::int64_t>(order.size()) != samples_)
      fail<ArgumentError>({"loader: the sampler names ", order.size(), " samples, but its size() is ", samples_});
    order.erase(order.begin(), order.begin() + batches * batch_size());
    return order;
  }

  locus::detail::Presence presence_;
  Shared<const detail::Held<S>> dataset_;
  Shared<const detail::Held<Prepared>> prepared_;
  LoaderOptions options_;
  D device_;
  std::uint64_t epoch_ = 0;
  std::int64_t first_ = 0;            ///< batch of the next begin()
  Shared<detail::NextBatch> next_{};  ///< of the loop that began last
  std::int64_t samples_ = 0;          ///< of an epoch
  Shared<const detail::AnySampler> sampler_;
  Shared<detail::WorkerThreads> workers_;
};

/// Loads the batches of a data set on D: aggregates if the data set names its tensors, otherwise Tuples.
template <Device D, Dataset S>
[[nodiscard]] Loader<S, D> loader(S dataset, const LoaderOptions& options = {}, D device = {}) {
  return Loader<S, D>(std::move(dataset), options, device);
}
/// Loads the samples of a sampler, in its order.
template <Device D, Dataset S, Sampler Order>
[[nodiscard]] Loader<S, D> loader(S dataset, Order sampler, const LoaderOptions& options = {}, D device = {}) {
  return Loader<S, D>(std::move(dataset), std::move(sampler), options, device);
}

#include <locus/refuse/data/loading/loader.inc>

}}}  // namespace locus::LOCUS_ABI::data
