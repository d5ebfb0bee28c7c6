#pragma once
// Batches of a data set on a device. Other threads prepare batches ahead; the next batch is copied to a GPU while the
// current one is used.

#include <locus/core/generator.hpp>
#include <locus/data/loading/delivery.hpp>
#include <locus/data/loading/distributed_sampler.hpp>
#include <locus/data/loading/preparation.hpp>
#include <locus/data/sampler.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Stands for a seed that is drawn: different for every loader, determined by manual_seed().
inline constexpr std::uint64_t drawn_seed = ~std::uint64_t{0};

/// The most workers of a loader.
inline constexpr int most_workers = 256;

/// A batch of an epoch; both are counted from 0.
struct LoaderPosition {
  std::uint64_t epoch = 0;
  std::int64_t batch = 0;
  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

struct LoaderOptions {
  std::int64_t batch_size = 64;
  bool shuffle = false;             ///< a new order every epoch
  bool drop_last = false;           ///< leave out the last batch of an epoch if it is smaller
  std::uint64_t seed = drawn_seed;  ///< orders depend on (seed, epoch); drawn by default
  std::int64_t ahead = 8;           ///< batches prepared in advance, at most 1024
  /// Threads that only prepare batches, at most 256: for samples that take long to read or to make. The loader keeps
  /// them from its first epoch on; of several loops at once, each further one creates its own. By default the threads
  /// that share loops prepare batches in between. data/loading/workers.hpp suggests a number.
  int workers = 0;
};

namespace detail {

/// Purpose: seeds of loaders, from a separate generator, so that shuffling changes no other random number.
struct Orders {};

/// throws ArgumentError for options out of range, and a data set without samples
inline void require_valid(const LoaderOptions& options, std::int64_t size) {
  if (size < 1) fail<ArgumentError>({"loader: the data set is empty"});
  if (options.batch_size < 1)
    fail<ArgumentError>({"loader: batch_size is ", options.batch_size, "; expected 1 or more"});
  if (options.ahead < 1 || options.ahead > 1024)
    fail<ArgumentError>({"loader: ahead is ", options.ahead, "; expected 1 to 1024 batches"});
  if (options.workers < 0 || options.workers > most_workers)
    fail<ArgumentError>({"loader: workers is ", options.workers, "; expected 0 to ", most_workers, " threads"});
}

/// Number of batches in an epoch of `samples` samples.
[[nodiscard]] inline std::int64_t batches_of(std::int64_t samples, const LoaderOptions& options) {
  const bool rest = !options.drop_last && samples % options.batch_size != 0;
  return samples / options.batch_size + rest;
}

/// A sampler with its type erased.
struct AnySampler : Counted {
  virtual ~AnySampler() = default;
  [[nodiscard]] virtual std::vector<std::int64_t> order(std::uint64_t epoch) const = 0;
  [[nodiscard]] virtual bool repeats() const = 0;
};
template <Sampler S>
struct ErasedSampler final : AnySampler {
  explicit ErasedSampler(S wrapped) : sampler(std::move(wrapped)) {}
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const override { return sampler.order(epoch); }
  [[nodiscard]] bool repeats() const override {
    if constexpr (requires { sampler.repeated(); }) return sampler.repeated() > 0;
    else return false;
  }
  S sampler;
};

/// Position of the next batch of a loop; shared by the loader and the loop's iterator.
struct NextBatch final : Counted {
  LoaderPosition position;
  explicit NextBatch(const LoaderPosition& at) : position(at) {}
};

/// One pass over a data set.
template <class S, class D>
class Epoch final : public Counted, private Preparation {
 public:
  static constexpr const char* handle_name = "iterator of a Loader";

 private:
  using Prepared = prepared_t<S, D>;
  using Staged = staged_t<S, D>;
  /// A step takes about 10 us; then a loop may need the thread.
  static constexpr std::int64_t elements_per_step = 1 << 14;
  static constexpr double seconds_per_step = 1e-5;

 public:
  Epoch(Shared<const Held<Prepared>> dataset, const LoaderOptions& options, D device, std::vector<std::int64_t> order,
        Shared<WorkerThreads> workers)
      : Preparation(batches_of(static_cast<std::int64_t>(order.size()), options), options.ahead, options.workers,
                    std::move(workers)),
        dataset_(std::move(dataset)),
        fields_(dataset_->dataset.fields()),
        options_(options),
        order_(std::move(order)),
        ring_(static_cast<std::size_t>(options.ahead)),
        delivery_(dataset_, device) {
    begin();
  }
  ~Epoch() { end(); }

  /// Puts the next batch into `batch`; false at the end, after which it must not be called again. Rethrows exceptions
  /// of preparation.
  [[nodiscard]] bool next(batch_t<S, D>& batch) {
    batch = batch_t<S, D>{};  // first frees its memory
    std::exception_ptr failure;
    const auto take = [&](Staged& staged) {
      try {
        const std::int64_t number = wait_for_next();
        if (number < 0) return false;
        staged = std::move(ring_[slot_of(number)]);
        this->take();
        return true;
      } catch (...) {
        failure = std::current_exception();
        return false;
      }
    };
    if (delivery_.next(batch, take, [this] { return is_ready(); })) return true;
    if (failure) std::rethrow_exception(failure);
    return false;
  }

 private:
  [[nodiscard]] bool continue_batch(std::int64_t batch, std::int64_t& samples) override {
    Staged& room = ring_[slot_of(batch)];
    const auto total = static_cast<std::int64_t>(order_.size());
    const std::int64_t size = locus::detail::smaller(options_.batch_size, total), first = batch * size;
    const std::int64_t all = locus::detail::smaller(size, total - first);
    if (samples == 0) {
      if (batch == 0) reserve(size);
      room = room_for(fields_, &all, staging_t<D>{});
    }
    if constexpr (WritesLists<Prepared>) {
      const std::int64_t each = locus::detail::larger<std::int64_t>(elements_of_sample(), 1);
      write(room, all, first, samples, locus::detail::smaller(all - samples, 1 + elements_per_step / each));
    } else {  // a sample may take any time
      const Stopwatch watch;
      do write(room, all, first, samples, 1);
      while (samples < all && watch.seconds() < seconds_per_step);
    }
    return samples == all;
  }

  /// Writes `count` samples of a batch of `all` samples, from number `samples` on; adds `count` to `samples`.
  void write(const Staged& room, std::int64_t all, std::int64_t first, std::int64_t& samples,
             std::int64_t count) const {
    const Span<const std::int64_t> to_come =
        Span<const std::int64_t>(order_).from(static_cast<std::size_t>(first + samples));
    const auto part = static_cast<std::size_t>(count);
    unpack(spans_of(room), [&](auto... span) {
      const auto of_these = [&](auto whole) {
        const std::size_t each = whole.size() / static_cast<std::size_t>(all);
        return whole.from(static_cast<std::size_t>(samples) * each).first(part * each);
      };
      write_samples(dataset_->dataset, to_come.first(part), to_come.from(part), of_these(span)...);
    });
    samples += count;
  }

  [[nodiscard]] std::int64_t elements_of_sample() const {
    std::int64_t sum = 0;
    for (const Shape& shape : fields_.shapes) sum += elements(shape);
    return sum;
  }

  /// Allocates the peak memory of the epoch and frees it into the pool: later batches find it there, whether they are
  /// used faster or slower than they are prepared.
  void reserve(std::int64_t size) const {
    const auto total = static_cast<std::int64_t>(order_.size());
    const std::int64_t whole = locus::detail::smaller(options_.ahead + 2, total / size), rest = total % size;
    std::vector<Staged> batches(static_cast<std::size_t>(whole + 1));
    for (auto& batch : batches) batch = room_for(fields_, &batch == &batches.back() ? &rest : &size, staging_t<D>{});
  }

  Shared<const Held<Prepared>> dataset_;
  fields_t<Prepared> fields_;
  LoaderOptions options_;
  std::vector<std::int64_t> order_;
  std::vector<Staged> ring_;
  Delivery<S, D> delivery_;
};

/// For a device that the program is compiled without: no epoch ever begins.
template <class S, class D>
  requires(!is_present<D>)
class Epoch<S, D> final : public Counted {
 public:
  [[nodiscard]] bool next(batch_t<S, D>&) { return false; }
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
    using Epoch = detail::Epoch<S, D>;
    if constexpr (is_present<D>) {
      const LoaderPosition first{epoch_, std::exchange(first_, 0)};
      auto dataset = prepared_;
      if constexpr (detail::HasEpochs<Prepared>) dataset = detail::at_epoch(prepared_, first.epoch);
      Shared epoch(new Epoch(std::move(dataset), options_, device_, next_order(first.batch), workers()));
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
