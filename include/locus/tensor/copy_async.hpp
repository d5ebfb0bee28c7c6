#pragma once
// Asynchronous copies between page-locked memory and a GPU. copy_async returns a handle to a copy in flight; ordered()
// or wait() turns it into a tensor, so that it cannot be read too early.

#include <locus/cpu/streams.hpp>
#include <locus/cuda/streams.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// The mistake in using a stream of E for work on D.
template <class D, class E>
struct StreamMistake : NoMistake {};
template <class D, class E>
  requires(!std::is_same_v<D, E>)
struct StreamMistake<D, E> : MistakeOf<Wrong::places,
                                       error::device_mismatch<error::copy_is_on<D>, error::stream_is_on<E>,
                                                              error::make_the_stream_for_the_device_of_the_copy>,
                                       D, E> {};
template <class X, class D>
concept On = HasPlace<X> && std::is_same_v<device_of<X>, D>;
/// A tensor or expression on D without gradients.
template <class X, class D>
concept UntracedOn = On<X, D> && !IsTraced<X>;
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A handle to a copy in flight. ordered() or wait(), once, turns it into a tensor.
template <class T, class D>
class Pending<Tensor<T, D>> {
  using Source = Tensor<T, std::conditional_t<std::is_same_v<D, Pinned>, Cuda, Pinned>>;

 public:
  using value_type = T;

  /// Holds no copy.
  Pending() = default;
  Pending(Tensor<T, D> target, Source source, const Event<Cuda>& copied)
      : target_(std::move(target)), source_(std::move(source)), copied_(copied) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    let_go();
    target_ = std::move(other.target_);
    source_ = std::move(other.source_);
    copied_ = std::move(other.copied_);
    return *this;
  }
  ~Pending() { let_go(); }

  /// Whether it holds a copy, in flight or done, that has not become a tensor.
  [[nodiscard]] bool started() const { return static_cast<bool>(copied_); }
  /// Whether the copy is done. The host does not wait.
  [[nodiscard]] bool done() const { return copied_.done(); }

  /// The tensor; the host waits for the copy.
  [[nodiscard]] Tensor<T, D> wait() && {
    require_started("wait");
    copied_.wait();
    copied_ = {};
    source_ = {};
    return std::move(target_);
  }
  /// The tensor. Work that this thread queues on the device from now on runs after the copy. The host does not wait.
  [[nodiscard]] Tensor<T, D> ordered() &&
        requires Device<D>
  {
    require_started("ordered");
    return std::move(*this).ordered(Stream<D>::current(target_.device()));
  }
  /// As above, for work queued in `stream`. throws DeviceError for a stream of another GPU
  [[nodiscard]] Tensor<T, D> ordered(const Stream<D>& stream) &&
        requires Device<D>
  {
    require_started("ordered");
    if (!(stream.device() == target_.device())) {
      fail<DeviceError>({"ordered: the tensor is on ", to_string(target_.device()), ", the stream on ",
                         to_string(stream.device()), "; order it in a stream of its own GPU"});
    }
    stream.wait(copied_);
    copied_ = {};
    source_ = {};
    return std::move(target_);
  }

#include <locus/refuse/tensor/copy_async_pending.inc>

 private:
  void require_started(const char* what) const {
    if (!copied_)
      fail<ArgumentError>({what, "(): there is no copy in flight; each is ordered or waited for only once"});
  }
  /// Waits for a copy from a GPU that was neither ordered nor waited for, since target and source must outlive it.
  void let_go() noexcept {
    if constexpr (std::is_same_v<D, Pinned>) copied_.settle();
  }

  Tensor<T, D> target_;
  Source source_;
  Event<Cuda> copied_;
};
LOCUS_REFUSALS_END

/// Starts copying a tensor from page-locked memory to a GPU, in a stream, and returns. The source must not change until
/// the copy is done; its memory is not reused before, even if all handles are destroyed. throws ShapeError for a view
/// that is not dense, OutOfMemory, CudaUnavailable
///
///     const Stream<Cuda> copies;
///     auto arriving = copy_async(batch.to<Pinned>(), copies);   // overlaps with work that this thread queues
///     ...
///     const Tensor<float, Cuda> x = std::move(arriving).ordered();
template <detail::UntracedOn<Pinned> X>
[[nodiscard]] Pending<Tensor<value_of<X>, Cuda>> copy_async(const X& source, const Stream<Cuda>& stream) {
  using T = value_of<X>;
  const Tensor<T, Pinned> dense = detail::dense(source.eval().value());
  Tensor<T, Cuda> target =
      with_stream(stream, [&] { return Tensor<T, Cuda>(dense.shape(), dense.layout().format(), stream.device()); });
  const auto copied = stream.copy_to_device(dense.buffer().whole(), dense.data(), target.data(),
                                            static_cast<std::size_t>(dense.elements()) * sizeof(T));
  return {std::move(target), dense, copied};
}
/// As above, in this thread's current stream.
template <detail::UntracedOn<Pinned> X>
[[nodiscard]] Pending<Tensor<value_of<X>, Cuda>> copy_async(const X& source, Cuda device = {}) {
  return copy_async(source, Stream<Cuda>::current(device));
}

/// Starts copying a tensor from a GPU to page-locked memory, in a stream, after the work that this thread has queued,
/// and returns. The source must not change until the copy is done. throws OutOfMemory, CudaUnavailable
template <detail::UntracedOn<Cuda> X>
[[nodiscard]] Pending<Tensor<value_of<X>, Pinned>> copy_async(const X& source, Pinned place,
                                                              const Stream<Cuda>& stream) {
  using T = value_of<X>;
  const Tensor<T, Cuda> dense = detail::dense(source.eval().value());
  if (!(stream.device() == dense.device())) {
    fail<DeviceError>({"copy_async: the tensor is on ", to_string(dense.device()), ", the stream on ",
                       to_string(stream.device()), "; copy in a stream of the tensor's own GPU"});
  }
  stream.wait(Stream<Cuda>::current(dense.device()).record());
  Tensor<T, Pinned> target(dense.shape(), dense.layout().format(), place);
  const auto copied = stream.copy_to_pinned(target.buffer().whole(), dense.data(), target.data(),
                                            static_cast<std::size_t>(dense.elements()) * sizeof(T));
  return {std::move(target), dense, copied};
}
/// As above, in this thread's current stream.
template <detail::UntracedOn<Cuda> X>
[[nodiscard]] Pending<Tensor<value_of<X>, Pinned>> copy_async(const X& source, Pinned place) {
  return copy_async(source, place, Stream<Cuda>::current(source.device()));
}

#include <locus/refuse/tensor/copy_async.inc>

}}  // namespace locus::LOCUS_ABI
