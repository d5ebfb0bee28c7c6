#pragma once
// One pass over a data set: its batches are prepared ahead, and delivered to a device.

#include <locus/data/loading/delivery.hpp>
#include <locus/data/loading/loader_options.hpp>
#include <locus/data/loading/preparation.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// One pass over a data set.
template <class S, class D>
class Epoch : public Counted {
 public:
  static constexpr const char* handle_name = "iterator of a Loader";
  virtual ~Epoch() = default;

  /// Puts the next batch into `batch`; false at the end, after which it must not be called again. Rethrows exceptions
  /// of preparation.
  [[nodiscard]] virtual bool next(batch_t<S, D>& batch) = 0;
};

/// A pass whose batches are prepared in Place.
template <class S, class D, class Place>
class StagedEpoch final : public Epoch<S, D>, private Preparation {
  using Prepared = prepared_t<S, D>;
  using Staged = tensors_t<Prepared, Place>;
  /// A step takes about 10 us; then a loop may need the thread.
  static constexpr std::int64_t elements_per_step = 1 << 14;
  static constexpr double seconds_per_step = 1e-5;

 public:
  StagedEpoch(Shared<const Held<Prepared>> dataset, const LoaderOptions& options, D device,
              std::vector<std::int64_t> order, Shared<WorkerThreads> workers)
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
  ~StagedEpoch() { end(); }

  [[nodiscard]] bool next(batch_t<S, D>& batch) override {
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
      room = room_for(fields_, &all, Place{});
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
    for (auto& batch : batches) batch = room_for(fields_, &batch == &batches.back() ? &rest : &size, Place{});
  }

  Shared<const Held<Prepared>> dataset_;
  fields_t<Prepared> fields_;
  LoaderOptions options_;
  std::vector<std::int64_t> order_;
  std::vector<Staged> ring_;
  Delivery<S, D, Place> delivery_;
};

}}}  // namespace locus::LOCUS_ABI::data::detail
