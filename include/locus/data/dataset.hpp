#pragma once
// Concept of a data set: the number of samples, the tensors of a sample, and a function that writes samples to host
// memory.

#include <locus/core/fields.hpp>
#include <locus/core/std/pack.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/core/std/span.hpp>
#include <locus/tensor/copy.hpp>

#include <array>
#include <concepts>
#include <cstring>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
template <class T>
using ShapeOf = Shape;  // one for each T
}  // namespace detail

/// Element types and shapes of the tensors of a sample: Fields<float, std::int64_t>{{3, 32, 32}, {}} is an image and a
/// number.
template <DType... T>
  requires(sizeof...(T) > 0 && sizeof...(T) <= 8)
struct Fields {
  static constexpr int size = sizeof...(T);
  std::array<Shape, sizeof...(T)> shapes;
  Fields(const detail::ShapeOf<T>&... shape) : shapes{shape...} {}
  [[nodiscard]] friend bool operator==(const Fields&, const Fields&) = default;
};

namespace detail {
template <class X>
inline constexpr bool is_fields = false;
template <class... T>
inline constexpr bool is_fields<Fields<T...>> = true;

template <class S>
concept HasSize = requires(const S& dataset) {
  { dataset.size() } -> std::convertible_to<std::int64_t>;
};
template <class S>
concept HasFields = requires(const S& dataset) { requires is_fields<decltype(dataset.fields())>; };
template <HasFields S>
using fields_t = decltype(std::declval<const S&>().fields());

template <class S, class L>
inline constexpr bool writes_samples_as = false;
template <class S, class... T>
inline constexpr bool writes_samples_as<S, Fields<T...>> =
    requires(const S& dataset) { dataset.write(std::int64_t{}, std::declval<Span<T>>()...); };
template <class S, class L>
inline constexpr bool writes_lists_as = false;
template <class S, class... T>
inline constexpr bool writes_lists_as<S, Fields<T...>> = requires(const S& dataset, Span<const std::int64_t> list) {
  dataset.write(list, list, std::declval<Span<T>>()...);
};
template <class S>
concept WritesLists = HasFields<S> && writes_lists_as<S, fields_t<S>>;
template <class S>
concept Writes = WritesLists<S> || (HasFields<S> && writes_samples_as<S, fields_t<S>>);

template <class S>
concept HasEpochs = requires(const S& dataset) {
  { dataset.at_epoch(std::uint64_t{}) } -> std::same_as<S>;
};
/// An at_epoch() with another signature, which no loader would call.
template <class S>
concept HasOtherEpochs = !HasEpochs<S> && requires(S& dataset) { dataset.at_epoch(std::uint64_t{}); };
}  // namespace detail

/// A data set, as loaders read it, with these members, all of them const:
///
///     std::int64_t size() const;                         // how many samples
///     data::Fields<float, std::int64_t> fields() const;  // the tensors of one
///     void write(std::int64_t i, Span<float> x, Span<std::int64_t> y) const;
///
/// write() fills memory of the host, dense and row-major, with sample i: a Span for each of the fields. Threads call it
/// concurrently, for different samples. Its exceptions arrive in the loop over the loader.
///
/// Instead, write(Span<const std::int64_t> list, Span<const std::int64_t> next, Span<T>...) may fill memory with all
/// samples of a list, one after another. `next` names a few samples that are likely to follow and may be prefetched.
///
/// If samples differ from epoch to epoch, a member at_epoch(std::uint64_t) const returns the data set of an epoch, as a
/// cheap copy. A loader calls it when an epoch begins.
///
/// A member `template <class D> struct Batch`, an aggregate, names the tensors of a batch; otherwise a batch is a
/// Tuple.
template <class S>
concept Dataset = detail::HasSize<S> && detail::HasFields<S> && detail::Writes<S> && !detail::HasOtherEpochs<S> &&
                  std::move_constructible<S>;

namespace detail {

template <class L, class D>
struct TensorsOf;
template <class... T, class D>
struct TensorsOf<Fields<T...>, D> {
  using Tensors = Tuple<Tensor<T, D>...>;
};
template <class S, class D>
struct BatchOf : TensorsOf<fields_t<S>, D> {
  using type = typename TensorsOf<fields_t<S>, D>::Tensors;
};
template <class S, class D>
  requires requires { typename S::template Batch<D>; }
struct BatchOf<S, D> : TensorsOf<fields_t<S>, D> {
  using type = typename S::template Batch<D>;
};
/// The tensors of a batch on D, as a Tuple.
template <class S, class D>
using tensors_t = typename TensorsOf<fields_t<S>, D>::Tensors;
/// The same with the names that the data set gives them.
template <class S, class D>
using batch_t = typename BatchOf<S, D>::type;

/// Base of a data set whose batches take the names of the batches of S, if S names them.
template <class S>
struct NamesOf {};
template <class S>
  requires requires { typename S::template Batch<Cpu>; }
struct NamesOf<S> {
  template <class D>
  using Batch = typename S::template Batch<D>;
};

/// The tensors of a batch of `count` tensors, as a Tuple of handles.
template <std::size_t count, class B>
[[nodiscard]] auto tensors_of(const B& batch) {
  return locus::detail::with_fields<count>(batch, [](const auto&... each) { return Tuple(each...); });
}

LOCUS_OUT_OF_LINE inline void require_sample(std::int64_t position, std::int64_t size) {
  if (position < 0 || position >= size)
    fail<IndexError>({"sample ", position, " of ", size, "; expected 0 to ", size - 1});
}

/// Writes the samples of a list, one after another, whichever way the data set writes. throws IndexError
template <class S, class... T>
void write_samples(const S& dataset, Span<const std::int64_t> list, Span<const std::int64_t> next, Span<T>... to) {
  const std::int64_t size = dataset.size();
  for (const std::int64_t position : list) require_sample(position, size);
  if constexpr (WritesLists<S>) {
    constexpr std::size_t most = 16;  // at most so many of `next`, up to the first that does not exist
    std::size_t known = 0;
    while (known < next.size() && known < most && next[known] >= 0 && next[known] < size) ++known;
    if (!list.empty()) dataset.write(list, next.first(known), to...);
  } else {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto of_sample = [&](auto all) {
        const std::size_t each = all.size() / list.size();
        return all.from(i * each).first(each);
      };
      dataset.write(list[i], of_sample(to)...);
    }
  }
}

/// Empty tensors for one sample, or for a number of them along a first dimension.
template <class... T, class D>
[[nodiscard]] Tuple<Tensor<T, D>...> room_for(const Fields<T...>& fields, const std::int64_t* count, D place) {
  const auto shape_of = [&](Shape shape) {
    if (count) shape.insert(0, *count);
    return shape;
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Tuple<Tensor<T, D>...>{Tensor<T, D>(shape_of(fields.shapes[I]), place)...};
  }(std::index_sequence_for<T...>{});
}

/// The memory of dense tensors, from sample `first` of each on.
template <class D, class... T>
[[nodiscard]] Tuple<Span<T>...> spans_of(const Tuple<Tensor<T, D>...>& tensors) {
  return unpack(tensors, [](const auto&... tensor) {
    return Tuple<Span<T>...>{Span<T>(tensor.data(), static_cast<std::size_t>(tensor.elements()))...};
  });
}

/// One sample as tensors of the host.
template <class S>
[[nodiscard]] tensors_t<S, Cpu> read_sample(const S& dataset, std::int64_t position) {
  const auto tensors = room_for(dataset.fields(), nullptr, Cpu{});
  const std::int64_t list[] = {position};
  unpack(spans_of(tensors), [&](const auto&... to) { write_samples(dataset, Span(list), {}, to...); });
  return tensors;
}

/// A data set that several parts, or epochs, own together: it is never copied.
template <class S>
struct Held : Counted {
  static constexpr const char* handle_name = "data set";
  explicit Held(S held) : dataset(std::move(held)) {}
  S dataset;
};
template <class S>
[[nodiscard]] Shared<const Held<S>> hold(S dataset) {
  return Shared<const Held<S>>(new Held<S>(std::move(dataset)));
}

/// The data set of an epoch.
template <HasEpochs S>
[[nodiscard]] Shared<const Held<S>> at_epoch(const Shared<const Held<S>>& held, std::uint64_t epoch) {
  return hold(held->dataset.at_epoch(epoch));
}

/// The samples that a part has of a whole data set, in order; initially all. Copies share the list.
class Selection {
 public:
  Selection() = default;
  explicit Selection(std::int64_t whole) : size_(whole) {}
  [[nodiscard]] std::int64_t size() const {
    presence_.require("data set");
    return size_;
  }
  /// Position in the whole of a sample of the part. throws IndexError
  [[nodiscard]] LOCUS_OUT_OF_LINE std::int64_t operator[](std::int64_t position) const {
    require_sample(position, size());
    return list_ ? list_->dataset[static_cast<std::size_t>(position)] : position;
  }
  /// The samples at these positions of this part. throws IndexError
  [[nodiscard]] LOCUS_OUT_OF_LINE Selection subset(Span<const std::int64_t> positions) const {
    std::vector<std::int64_t> list;
    list.reserve(positions.size());
    for (const std::int64_t position : positions) list.push_back((*this)[position]);
    Selection part(static_cast<std::int64_t>(list.size()));
    part.list_ = hold(std::move(list));
    return part;
  }

 private:
  locus::detail::Presence presence_;
  std::int64_t size_ = 0;
  Shared<const Held<std::vector<std::int64_t>>> list_;  ///< null: all, in order
};
}  // namespace detail

/// One sample as tensors of the host, named as in batches, without their first dimension. throws IndexError
///
///     auto [image, label] = data::sample(digits.train, 0);
template <Dataset S>
[[nodiscard]] detail::batch_t<S, Cpu> sample(const S& dataset, std::int64_t position) {
  return unpack(detail::read_sample(dataset, position),
                [](const auto&... tensor) { return detail::batch_t<S, Cpu>{tensor...}; });
}

#include <locus/refuse/data/dataset.inc>

}}}  // namespace locus::LOCUS_ABI::data
