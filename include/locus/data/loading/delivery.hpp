#pragma once
// Delivery of prepared batches to a device: where they are staged, and how they are copied.

#include <locus/data/dataset.hpp>
#include <locus/tensor/copy_async.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// Place where batches are prepared: D itself if the host writes it, pinned memory for Cuda, otherwise the host.
template <class D>
using staging_t = std::conditional_t<HostAccessible<D>, D, std::conditional_t<std::is_same_v<D, Cuda>, Pinned, Cpu>>;

/// A data set that is copied to devices in another form than its batches have: compact() is the data set that is
/// copied, and expand(tensors...) of it makes a batch from its tensors on D.
template <class S, class D>
concept Compacts = !HostAccessible<D> && requires(const S& dataset) {
  { dataset.compact() } -> Dataset;
};
template <class S, class D>
struct PreparedAs {
  using type = S;
};
template <class S, class D>
  requires Compacts<S, D>
struct PreparedAs<S, D> {
  using type = decltype(std::declval<const S&>().compact());
};
/// The data set whose samples are prepared for D.
template <class S, class D>
using prepared_t = typename PreparedAs<S, D>::type;

/// Makes a batch from tensors on D.
template <class S, class D, class... T>
[[nodiscard]] batch_t<S, D> delivered(const prepared_t<S, D>& dataset, Tuple<Tensor<T, D>...>&& tensors) {
  return unpack(tensors, [&](const auto&... tensor) -> batch_t<S, D> {
    if constexpr (Compacts<S, D>) return dataset.expand(tensor...);
    else return {tensor...};
  });
}

/// Brings batches of a data set that are prepared in Place to a device. take(staged) waits for the next batch and is
/// false at the end; is_ready() tells whether take() would return a batch without waiting.
template <class S, class D, class Place>
class Delivery {
  using Staged = tensors_t<prepared_t<S, D>, Place>;

 public:
  Delivery(Shared<const Held<prepared_t<S, D>>> dataset, D device) : dataset_(std::move(dataset)), device_(device) {}

  template <class Take, class IsReady>
  [[nodiscard]] bool next(batch_t<S, D>& batch, const Take& take, const IsReady&) {
    Staged staged;
    if (!take(staged)) return false;
    if constexpr (std::is_same_v<D, Place>) batch = delivered<S, D>(dataset_->dataset, std::move(staged));
    else batch = delivered<S, D>(dataset_->dataset, copied(staged));
    return true;
  }

 private:
  [[nodiscard]] tensors_t<prepared_t<S, D>, D> copied(const Staged& staged) const {
    return unpack(staged, [&](const auto&... tensor) {
      return tensors_t<prepared_t<S, D>, D>{tensor.template to<D>(device_)...};
    });
  }

  Shared<const Held<prepared_t<S, D>>> dataset_;
  D device_;
};

template <class X>
struct InFlight;
template <class... T>
struct InFlight<Tuple<Tensor<T, Pinned>...>> {
  using type = Tuple<Pending<Tensor<T, Cuda>>...>;
};

/// Copies the next batch to the GPU, in a separate stream, while the current batch is used.
template <class S>
class Delivery<S, Cuda, Pinned> {
  using Staged = tensors_t<prepared_t<S, Cuda>, Pinned>;
  using Arriving = typename InFlight<Staged>::type;

 public:
  Delivery(Shared<const Held<prepared_t<S, Cuda>>> dataset, Cuda device)
      : dataset_(std::move(dataset)), copies_(device) {}

  template <class Take, class IsReady>
  [[nodiscard]] bool next(batch_t<S, Cuda>& batch, const Take& take, const IsReady& is_ready) {
    if (!get<0>(arriving_).started() && !send(take)) return false;
    batch = delivered<S, Cuda>(dataset_->dataset, arrived(std::make_integer_sequence<int, Staged::size>{}));
    if (is_ready()) send(take);
    return true;
  }

 private:
  template <class Take>
  bool send(const Take& take) {
    Staged staged;
    if (!take(staged)) return false;
    Arriving arriving = unpack(staged, [&](const auto&... tensor) { return Arriving{copy_async(tensor, copies_)...}; });
    if (!last_) reserve(staged);
    arriving_ = std::move(arriving);
    before_last_.wait();  // limits copies in flight: page-locked memory is in use until its copy is done
    const Event<Cuda> sent = copies_.record();
    before_last_ = last_;
    last_ = sent;
    return true;
  }
  template <int... I>
  [[nodiscard]] tensors_t<prepared_t<S, Cuda>, Cuda> arrived(std::integer_sequence<int, I...>) {
    return {std::move(get<I>(arriving_)).ordered()...};
  }
  /// Allocates memory for the tensors that arrive while the current ones are in use, and frees it into the pool: later
  /// batches find it there, however early they are sent.
  void reserve(const Staged& staged) const {
    with_stream(copies_, [&] {
      (void)unpack(staged, [&]<class... T>(const Tensor<T, Pinned>&... tensor) {
        return Tuple<Tensor<T, Cuda>...>{Tensor<T, Cuda>(tensor.shape(), copies_.device())...};
      });
    });
  }

  Shared<const Held<prepared_t<S, Cuda>>> dataset_;
  Stream<Cuda> copies_;
  Event<Cuda> last_, before_last_;  ///< arrival of the last two batches that were sent
  Arriving arriving_;
};

}}}  // namespace locus::LOCUS_ABI::data::detail
