#pragma once
// Batches of a data set on a device, prepared by other threads while the last ones are used. To a GPU, the next batch
// is copied while this one is used.

#include <locus/core/atomic.hpp>
#include <locus/core/bounds.hpp>
#include <locus/core/random.hpp>
#include <locus/cpu/threads/thread_team.hpp>
#include <locus/data/dataset.hpp>
#include <locus/expr/operators.hpp>
#include <locus/tensor/copy_async.hpp>

#include <sched.h>

#include <exception>

namespace locus::inline LOCUS_ABI::data {

/// Images as numbers in [0, 1], (n, channels, height, width), and their classes, (n).
template <class T, class D>
struct Batch {
  Tensor<T, D> images;
  Tensor<std::int64_t, D> labels;
};

/// In place of a seed: one is drawn, another for every loader, as manual_seed() determines.
inline constexpr std::uint64_t drawn_seed = ~std::uint64_t{0};

struct LoaderOptions {
  std::int64_t batch_size = 64;
  bool shuffle = false;             ///< a new order every epoch
  bool drop_last = false;           ///< leave out the last batch of an epoch if it is smaller
  std::uint64_t seed = drawn_seed;  ///< of the orders, which depend on it and the epoch; by default one is drawn
  std::int64_t ahead = 8;           ///< batches prepared in advance, at most 1024
};

namespace detail {

/// Loaders have a generator of their own, so that shuffling changes no other random number.
struct Orders {};
[[nodiscard]] inline std::uint64_t draw_seed() {
  const auto generator = locus::detail::draw_from_default<Orders>(2);
  Philox random(generator.seed, generator.offset, locus::detail::stream_of_orders);
  const std::uint64_t high = random();
  return high << 32 | random();
}

/// A sampler with its type erased.
struct AnySampler : Counted {
  virtual ~AnySampler() = default;
  [[nodiscard]] virtual std::vector<std::int64_t> order(std::uint64_t epoch) const = 0;
};
template <Sampler S>
struct ErasedSampler final : AnySampler {
  explicit ErasedSampler(S wrapped) : sampler(std::move(wrapped)) {}
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const override { return sampler.order(epoch); }
  S sampler;
};

/// Where batches are prepared: on the host itself, or in pinned memory for a device that copies from there.
template <class D>
using staging_t = std::conditional_t<HostAccessible<D>, D, Pinned>;

/// What is prepared: bytes, which become numbers on the device, or the numbers where the host shares its memory.
template <class T, class D>
using StagedBatch = Batch<std::conditional_t<HostAccessible<D>, T, std::uint8_t>, staging_t<D>>;

template <class T, class D>
[[nodiscard]] Batch<T, D> scaled(const Tensor<std::uint8_t, D>& bytes, Tensor<std::int64_t, D> labels) {
  return {elementwise(functor::Convert<T>{}, bytes) * (1.0 / 255.0), std::move(labels)};
}

/// Brings prepared batches to a device. take(staged) waits for the next one and is false at the end; is_ready() tells
/// whether it would wait.
template <class T, class D>
class Delivery {
 public:
  explicit Delivery(D device) : device_(device) {}

  template <class Take, class IsReady>
  [[nodiscard]] bool next(Batch<T, D>& batch, const Take& take, const IsReady&) {
    StagedBatch<T, D> staged;
    if (!take(staged)) return false;
    if constexpr (HostAccessible<D>) batch = std::move(staged);
    else batch = scaled<T>(staged.images.template to<D>(device_), staged.labels.template to<D>(device_));
    return true;
  }

 private:
  D device_;
};

/// The next batch is copied to the GPU, in a stream of its own, while this one is used.
template <class T>
class Delivery<T, Cuda> {
 public:
  explicit Delivery(Cuda device) : copies_(device) {}

  template <class Take, class IsReady>
  [[nodiscard]] bool next(Batch<T, Cuda>& batch, const Take& take, const IsReady& is_ready) {
    if (!images_.started() && !send(take)) return false;
    batch = scaled<T>(std::move(images_).ordered(), std::move(labels_).ordered());
    if (is_ready()) send(take);
    return true;
  }

 private:
  template <class Take>
  bool send(const Take& take) {
    StagedBatch<T, Cuda> staged;
    if (!take(staged)) return false;
    auto images = copy_async(staged.images, copies_);
    auto labels = copy_async(staged.labels, copies_);
    if (!last_) reserve(staged.labels);
    images_ = std::move(images);
    labels_ = std::move(labels);
    before_last_.wait();  // not further ahead than that: page-locked memory is in use until its copy is done
    const Event<Cuda> sent = copies_.record();
    before_last_ = last_;
    last_ = sent;
    return true;
  }
  /// Asks for memory for the labels that arrive while these are in use, and gives it back: they find it in the pool,
  /// however early they are sent. Images are in use, as bytes, only one batch at a time.
  void reserve(const Tensor<std::int64_t, Pinned>& labels) const {
    with_stream(copies_, [&] { (void)Tensor<std::int64_t, Cuda>(labels.shape(), copies_.device()); });
  }

  Stream<Cuda> copies_;
  Event<Cuda> last_, before_last_;  ///< when the last two batches that were sent have arrived
  Pending<Tensor<std::uint8_t, Cuda>> images_;
  Pending<Tensor<std::int64_t, Cuda>> labels_;
};

/// One pass over a data set. Batches are prepared ahead, by the threads that share loops; they arrive in order.
template <class T, class D>
class Epoch final : public Counted, private cpu::BackgroundWork {
  using Staged = value_of<decltype(StagedBatch<T, D>::images)>;
  using Place = staging_t<D>;
  using Team = cpu::detail::ThreadTeam;
  /// Some 10 us, after which a loop may need the thread.
  static constexpr std::int64_t pixels_per_step = 1 << 14;

 public:
  Epoch(const LabelledImages& dataset, const LoaderOptions& options, D device, std::vector<std::int64_t> order)
      : dataset_(dataset),
        options_(options),
        order_(std::move(order)),
        ring_(static_cast<std::size_t>(options.ahead)),
        delivery_(device) {
    Team::instance().add(*this);
  }
  ~Epoch() override { Team::instance().remove(*this); }

  /// Puts the next batch into `batch`; false at the end, after which it is not to be asked again. What preparing throws
  /// leaves through here.
  [[nodiscard]] bool next(Batch<T, D>& batch) {
    batch = {};  // its memory, first
    const auto take = [this](StagedBatch<T, D>& staged) { return this->take(staged); };
    const auto is_ready = [this] { return prepared_.load() != taken_.load(Order::relaxed); };
    if (delivery_.next(batch, take, is_ready)) return true;
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }

 private:
  /// Prepares what is missing of the next batch, or waits for the thread that does; false at the end of the epoch.
  [[nodiscard]] bool take(Batch<Staged, Place>& staged) {
    const std::uint32_t position = taken_.load(Order::relaxed);
    while (prepared_.load() == position)
      if (!help()) sched_yield();  // a step takes no longer than to fall asleep and to be woken
    staged = std::move(ring_[position % ring_.size()]);
    if (!staged.images.buffer()) return false;
    taken_.store(position + 1);
    Team::instance().offer_steps();
    const std::uint32_t ready = prepared_.load() - (position + 1);
    if (ready == ring_.size() / 2) Team::instance().wake();  // rarely
    return true;
  }

  [[nodiscard]] bool has_step() const override {
    return !ended_.load() && prepared_.load() - taken_.load() < static_cast<std::uint32_t>(ring_.size());
  }
  /// Prepares a part of a batch; an empty batch ends the epoch.
  void step() noexcept override {
    try {
      if (!continue_batch()) return;
    } catch (...) {
      failure_ = std::current_exception();
      unfinished_ = {};
    }
    ended_.store(!unfinished_.images.buffer());
    const std::uint32_t position = prepared_.load(Order::relaxed);
    ring_[position % ring_.size()] = std::move(unfinished_);
    prepared_samples_ = 0;
    prepared_.store(position + 1);
  }

  /// Fetches some more samples of the next batch. Whether it is whole: at the end it is empty.
  [[nodiscard]] bool continue_batch() {
    if (prepared_samples_ == 0) unfinished_ = next_batch();
    if (!unfinished_.images.buffer()) return true;
    const std::int64_t pixels = elements(dataset_.sample_shape()),
                       left = unfinished_.labels.elements() - prepared_samples_;
    const std::int64_t count =
        locus::detail::smaller(left, 1 + pixels_per_step / locus::detail::larger<std::int64_t>(pixels, 1));
    const Span<const std::int64_t> to_come(order_.data() + first_, order_.size() - static_cast<std::size_t>(first_));
    constexpr auto scale = static_cast<compute_t<Staged>>(std::is_same_v<Staged, std::uint8_t> ? 1.0 : 1.0 / 255.0);
    dataset_.gather(to_come.first(static_cast<std::size_t>(count)), scale,
                    unfinished_.images.data() + prepared_samples_ * pixels,
                    unfinished_.labels.data() + prepared_samples_, to_come.from(static_cast<std::size_t>(count)));
    first_ += count;
    prepared_samples_ += count;
    return count == left;
  }

  /// Room for the next batch; at the end an empty one.
  [[nodiscard]] Batch<Staged, Place> next_batch() {
    const auto total = static_cast<std::int64_t>(order_.size());
    const std::int64_t size = locus::detail::smaller(options_.batch_size, total);
    const std::int64_t count = locus::detail::smaller(size, total - first_);
    if (first_ == 0) reserve(size);
    if (count == 0 || (count < options_.batch_size && options_.drop_last)) return {};
    return empty_batch(count);
  }

  /// Asks for as much memory as ever is in use at once and gives it back: later batches find it in the pool, whether
  /// they are used up faster than they are prepared or slower.
  void reserve(std::int64_t size) const {
    const auto total = static_cast<std::int64_t>(order_.size());
    const std::int64_t whole = locus::detail::smaller(options_.ahead + 2, total / size);
    std::vector<Batch<Staged, Place>> batches(static_cast<std::size_t>(whole + 1));
    for (auto& batch : batches) batch = empty_batch(&batch == &batches.back() ? total % size : size);
  }

  [[nodiscard]] LOCUS_OUT_OF_LINE Batch<Staged, Place> empty_batch(std::int64_t count) const {
    Shape shape = dataset_.sample_shape();
    shape.insert(0, count);
    return {Tensor<Staged, Place>(shape), Tensor<std::int64_t, Place>({count})};
  }

  LabelledImages dataset_;
  LoaderOptions options_;
  std::vector<std::int64_t> order_;
  std::vector<Batch<Staged, Place>> ring_;
  std::int64_t first_ = 0;  ///< sample to prepare next
  Batch<Staged, Place> unfinished_;
  std::int64_t prepared_samples_ = 0;  ///< of it
  Atomic<std::uint32_t> prepared_{0};  ///< batches so far, with the empty one
  Atomic<std::uint32_t> taken_{0};     ///< of them; those between are in the ring
  Atomic<bool> ended_{false};
  std::exception_ptr failure_;  ///< set before the last batch, which is empty
  Delivery<T, D> delivery_;
};

/// On a device that the program is compiled without, no epoch ever begins.
template <class T, class D>
  requires(!is_present<D>)
class Epoch<T, D> final : public Counted {
 public:
  [[nodiscard]] bool next(Batch<T, D>&) { return false; }
};

}  // namespace detail

/// The batches of a data set on D; every begin() starts an epoch.
///
///     for (auto [images, labels] : data::loader<D>(digits.train, {.batch_size = 100, .shuffle = true})) ...
template <class T, class D>
class Loader {
  static_assert(FloatingDType<T>, "a loader delivers images as numbers in [0, 1]: T is a floating-point type");

 public:
  class Iterator {
   public:
    using value_type = Batch<T, D>;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Shared<detail::Epoch<T, D>> epoch) : epoch_(std::move(epoch)) { ++*this; }
    // Copies would each get some of the batches.
    Iterator(Iterator&&) noexcept = default;
    Iterator& operator=(Iterator&&) noexcept = default;
    [[nodiscard]] const Batch<T, D>& operator*() const { return batch_; }
    Iterator& operator++() {
      at_end_ = !epoch_->next(batch_);
      return *this;
    }
    [[nodiscard]] bool operator==(std::default_sentinel_t) const { return at_end_; }

   private:
    Shared<detail::Epoch<T, D>> epoch_;
    Batch<T, D> batch_;
    bool at_end_ = false;
  };

  /// throws ArgumentError for an empty data set or options out of range; CudaUnavailable
  Loader(LabelledImages dataset, const LoaderOptions& options, D device)
      : dataset_(std::move(dataset)), options_(options), device_(device) {
    if (dataset_.size() < 1) fail<ArgumentError>({"loader: the data set is empty"});
    if (options.batch_size < 1)
      fail<ArgumentError>({"loader: batch_size is ", options.batch_size, "; expected 1 or more"});
    if (options.ahead < 1 || options.ahead > 1024)
      fail<ArgumentError>({"loader: ahead is ", options.ahead, "; expected 1 to 1024 batches"});
    if (options.seed == drawn_seed) options_.seed = detail::draw_seed();
    if (options.shuffle) visit_as(RandomSampler{dataset_.size(), options_.seed});
    else visit_as(SequentialSampler{dataset_.size()});
  }
  /// The samples that a sampler names. throws ArgumentError if it names none, or for `shuffle`, which the sampler
  /// decides
  template <Sampler S>
  Loader(LabelledImages dataset, S sampler, const LoaderOptions& options, D device)
      : Loader(std::move(dataset), options, device) {
    if (options.shuffle)
      fail<ArgumentError>({"loader: shuffle with a sampler, which decides about the order; leave it out"});
    if (sampler.size() < 1) fail<ArgumentError>({"loader: the sampler names no samples"});
    visit_as(std::move(sampler));
  }

  /// throws ArgumentError where a sampler names other than size() samples; IndexError, from the loop over batches,
  /// where it names one that does not exist
  [[nodiscard]] Iterator begin() {
    using Epoch = detail::Epoch<T, D>;
    if constexpr (is_present<D>) return Iterator(Shared(new Epoch(dataset_, options_, device_, next_order())));
    else Backend<D>::refuse(device_);
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

  [[nodiscard]] const LabelledImages& dataset() const { return dataset_; }
  /// Batches of an epoch.
  [[nodiscard]] std::int64_t size() const {
    const bool rest = !options_.drop_last && samples_ % options_.batch_size != 0;
    return samples_ / options_.batch_size + rest;
  }
  [[nodiscard]] std::int64_t batch_size() const { return options_.batch_size; }

 private:
  template <Sampler S>
  void visit_as(S sampler) {
    samples_ = sampler.size();
    sampler_ = Shared<const detail::AnySampler>(new detail::ErasedSampler<S>(std::move(sampler)));
  }

  [[nodiscard]] std::vector<std::int64_t> next_order() {
    auto order = sampler_->order(epoch_++);
    if (static_cast<std::int64_t>(order.size()) != samples_)
      fail<ArgumentError>({"loader: the sampler names ", order.size(), " samples, but its size() is ", samples_});
    return order;
  }

  LabelledImages dataset_;
  LoaderOptions options_;
  D device_;
  std::uint64_t epoch_ = 0;
  std::int64_t samples_ = 0;  ///< of an epoch
  Shared<const detail::AnySampler> sampler_;
};

/// Batches of float images on D.
template <Device D>
[[nodiscard]] Loader<float, D> loader(const LabelledImages& dataset, const LoaderOptions& options = {}, D device = {}) {
  return Loader<float, D>(dataset, options, device);
}
/// The same for the samples that a sampler names, in its order.
template <Device D, Sampler S>
[[nodiscard]] Loader<float, D> loader(const LabelledImages& dataset, S sampler, const LoaderOptions& options = {},
                                      D device = {}) {
  return Loader<float, D>(dataset, std::move(sampler), options, device);
}

#include <locus/refuse/data/loader.inc>

}  // namespace locus::inline LOCUS_ABI::data

#include <locus/instances/data/loader.inc>
