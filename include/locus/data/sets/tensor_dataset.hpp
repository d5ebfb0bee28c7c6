#pragma once
// Tensors as a data set, and a function of every sample.

#include <locus/data/dataset.hpp>
#include <locus/expr/expr.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
template <class X>
concept HostTensor =
    TensorLike<X> && std::is_same_v<device_of<X>, Cpu> && locus::detail::bare_t<X>::role == Role::plain;
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// Tensors of the host, with equally many rows, as a data set: sample i is row i of each. Shares their memory; copies
/// tensors that are not dense.
///
///     auto batches = data::loader<D>(data::TensorDataset{x, y}, {.batch_size = 32, .shuffle = true});
///     for (auto [features, targets] : batches) ...
template <class... T>
class TensorDataset {
 public:
  /// throws ShapeError unless all have equally many rows
  explicit TensorDataset(const Tensor<T, Cpu>&... tensor)
    requires(sizeof...(T) > 0)
      : tensors_{tensor.contiguous()...} {
    const Shape* first = nullptr;
    for (const Shape* shape : {&tensor.shape()...}) {
      if (!first) first = shape;
      if (shape->rank() > 0 && (*shape)[0] == (*first)[0]) continue;
      fail<ShapeError>({"TensorDataset: tensors of shape ", *first, " and ", *shape,
                        "; expected a first dimension, the samples, of one length"});
    }
  }
#include <locus/refuse/data/sets/tensor_dataset.inc>

  [[nodiscard]] std::int64_t size() const {
    presence_.require("TensorDataset");
    return get<0>(tensors_).size(0);
  }
  [[nodiscard]] Fields<T...> fields() const {
    presence_.require("TensorDataset");
    return unpack(tensors_, [](const auto&... tensor) { return Fields<T...>{of_one(tensor.shape())...}; });
  }
  void write(Span<const std::int64_t> list, Span<const std::int64_t> /*next*/, Span<T>... to) const {
    presence_.require("TensorDataset");
    unpack(tensors_, [&](const auto&... tensor) { (copy_rows(tensor, list, to), ...); });
  }
  /// The tensors, as given.
  [[nodiscard]] const Tuple<Tensor<T, Cpu>...>& tensors() const& {
    presence_.require("TensorDataset");
    return tensors_;
  }
  [[nodiscard]] Tuple<Tensor<T, Cpu>...> tensors() && {
    const TensorDataset taken = std::move(*this);  // leaves this object moved-from
    return taken.tensors();
  }

 private:
  [[nodiscard]] static Shape of_one(Shape shape) {
    shape.erase(0);
    return shape;
  }
  template <class U>
  static void copy_rows(const Tensor<U, Cpu>& tensor, Span<const std::int64_t> list, Span<U> to) {
    const auto each = static_cast<std::int64_t>(to.size() / list.size());
    U* at = to.data();
    for (const std::int64_t i : list) {
      if (each == 1) *at = tensor.data()[i];
      else std::memcpy(static_cast<void*>(at), tensor.data() + i * each, static_cast<std::size_t>(each) * sizeof(U));
      at += each;
    }
  }

  locus::detail::Presence presence_;
  Tuple<Tensor<T, Cpu>...> tensors_;
};
LOCUS_REFUSALS_END
template <locus::detail::HasPlace... X>
TensorDataset(const X&...) -> TensorDataset<value_of<X>...>;

namespace detail {
/// The result of a function of a sample as a Tuple of tensors.
template <HostTensor X>
[[nodiscard]] Tuple<Tensor<value_of<X>, Cpu>> as_tensors(const X& x) {
  return Tuple<Tensor<value_of<X>, Cpu>>(x.eval());
}
template <HostTensor... X>
[[nodiscard]] Tuple<Tensor<value_of<X>, Cpu>...> as_tensors(const Tuple<X...>& results) {
  return unpack(results, [](const auto&... x) { return Tuple<Tensor<value_of<X>, Cpu>...>(x.eval()...); });
}
template <class F, class L>
struct ResultOf;
template <class F, class... T>
struct ResultOf<F, Fields<T...>> {
  using type = std::invoke_result_t<const F&, const Tensor<T, Cpu>&...>;
};
template <class S, class F>
concept TakesSamples = requires { typename ResultOf<F, fields_t<S>>::type; };
template <class S, class F>
concept MapsSamples =
    TakesSamples<S, F> && requires(const typename ResultOf<F, fields_t<S>>::type& result) { as_tensors(result); };
template <class... T>
[[nodiscard]] Fields<T...> fields_of(const Tuple<Tensor<T, Cpu>...>& tensors) {
  return unpack(tensors, [](const auto&... tensor) { return Fields<T...>{tensor.shape()...}; });
}
}  // namespace detail

/// A function f applied to the samples of a data set.
template <Dataset S, class F>
class Mapped {
  using Result = decltype(detail::fields_of(
      detail::as_tensors(std::declval<typename detail::ResultOf<F, detail::fields_t<S>>::type>())));

 public:
  Mapped(S dataset, F f) : Mapped(detail::hold(std::move(dataset)), std::move(f)) {}

  [[nodiscard]] std::int64_t size() const { return held_->dataset.size(); }
  [[nodiscard]] Result fields() const {
    (void)*held_;  // throws where the data set was moved from
    return fields_;
  }
  template <class... T>
  void write(std::int64_t i, Span<T>... to) const {
    unpack(result(i), [&](const auto&... tensor) {
      [[maybe_unused]] int field = 0;
      (copy(i, field++, tensor, to), ...);
    });
  }
  [[nodiscard]] Mapped at_epoch(std::uint64_t epoch) const
    requires detail::HasEpochs<S>
  {
    Mapped same = *this;
    same.held_ = detail::at_epoch(held_, epoch);
    return same;
  }

 private:
  Mapped(Shared<const detail::Held<S>> held, F f)
      : held_(std::move(held)), f_(detail::hold(std::move(f))), fields_(detail::fields_of(first_result())) {}

  [[nodiscard]] auto first_result() const {
    if (size() == 0)
      fail<IndexError>(
          {"map: the data set has no samples; expected at least one, which tells the shapes of the results"});
    return result(0);
  }
  [[nodiscard]] auto result(std::int64_t i) const {
    return unpack(detail::read_sample(held_->dataset, i),
                  [&](const auto&... tensor) { return detail::as_tensors(f_->dataset(tensor...)); });
  }
  template <class U>
  void copy(std::int64_t i, int field, const Tensor<U, Cpu>& tensor, Span<U> to) const {
    const Shape& expected = fields_.shapes[static_cast<std::size_t>(field)];
    if (!(tensor.shape() == expected))
      fail<ShapeError>({"map: tensor ", field, " of sample ", i, " has shape ", tensor.shape(), ", but ", expected,
                        " in sample 0; expected one shape for all samples"});
    const Tensor<U, Cpu> dense = tensor.contiguous();
    if (!to.empty()) std::memcpy(static_cast<void*>(to.data()), dense.data(), to.size() * sizeof(U));
  }

  Shared<const detail::Held<S>> held_;
  Shared<const detail::Held<F>> f_;
  Result fields_;
};

/// f(tensors of a sample...) for every sample, whenever it is loaded: a tensor of the host, or a Tuple of them, of one
/// shape for all samples. Threads call f at once. It is called here with sample 0, for the shapes.
/// throws IndexError for a data set without samples; ShapeError, from the loop over batches, for another shape
///
///     auto pairs = data::map(digits.train, [](auto image, auto) { return Tuple(image, image); });
template <Dataset S, class F>
  requires detail::MapsSamples<S, F>
[[nodiscard]] Mapped<S, F> map(S dataset, F f) {
  return {std::move(dataset), std::move(f)};
}

#include <locus/refuse/data/sets/map.inc>

}}}  // namespace locus::LOCUS_ABI::data
