#pragma once
// Data sets made of data sets: some of the samples, random parts, one after another.

#include <locus/core/std/bounds.hpp>
#include <locus/data/dataset.hpp>
#include <locus/data/sampler.hpp>

#include <initializer_list>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
template <class S>
class RandomPartition;
}

/// Samples of a data set, in a given order. Copies, and parts of parts, share the data set.
template <Dataset S>
class Subset : public detail::NamesOf<S> {
 public:
  /// throws IndexError for a position that is no sample
  Subset(S dataset, const std::vector<std::int64_t>& positions) : Subset(detail::hold(std::move(dataset)), positions) {}

  [[nodiscard]] std::int64_t size() const { return chosen_.size(); }
  [[nodiscard]] detail::fields_t<S> fields() const { return held_->dataset.fields(); }
  template <class... T>
  void write(Span<const std::int64_t> list, Span<const std::int64_t> next, Span<T>... to) const {
    constexpr std::size_t most = 64;
    std::int64_t now[most], then[most];
    for (std::size_t begin = 0; begin < list.size(); begin += most) {
      const std::size_t count = locus::detail::smaller(most, list.size() - begin);
      const auto rest = begin + count < list.size() ? list.from(begin + count) : next;
      const std::size_t known = locus::detail::smaller(most, rest.size());
      for (std::size_t i = 0; i < count; ++i) now[i] = chosen_[list[begin + i]];
      for (std::size_t i = 0; i < known; ++i) then[i] = chosen_[rest[i]];
      const auto of_these = [&](auto all) {
        const std::size_t each = all.size() / list.size();
        return all.from(begin * each).first(count * each);
      };
      detail::write_samples(held_->dataset, Span<const std::int64_t>(now, count), Span<const std::int64_t>(then, known),
                            of_these(to)...);
    }
  }

  [[nodiscard]] Subset at_epoch(std::uint64_t epoch) const
    requires detail::HasEpochs<S>
  {
    Subset same = *this;
    same.held_ = detail::at_epoch(held_, epoch);
    return same;
  }
  /// The samples at these positions of the subset. throws IndexError
  [[nodiscard]] Subset subset(Span<const std::int64_t> positions) const {
    Subset part = *this;
    part.chosen_ = chosen_.subset(positions);
    return part;
  }

 private:
  friend class detail::RandomPartition<S>;

  Subset(Shared<const detail::Held<S>> held, Span<const std::int64_t> positions)
      : held_(std::move(held)), chosen_(detail::Selection(held_->dataset.size()).subset(positions)) {}

  Shared<const detail::Held<S>> held_;
  detail::Selection chosen_;
};

namespace detail {
template <class S>
concept HasSubsets = requires(const S& dataset, Span<const std::int64_t> positions) { dataset.subset(positions); };

/// Deals parts out of a data set, one after another, in the order of a permutation.
template <class S>
class RandomPartition {
 public:
  RandomPartition(S dataset, std::uint64_t seed)
      : order_(RandomSampler{dataset.size(), seed}.order(0)), held_(hold(std::move(dataset))) {}
  [[nodiscard]] auto next(std::int64_t count) {
    const auto positions = Span<const std::int64_t>(order_).from(dealt_).first(static_cast<std::size_t>(count));
    dealt_ += positions.size();
    if constexpr (HasSubsets<S>) return held_->dataset.subset(positions);
    else return Subset<S>(held_, positions);
  }

 private:
  std::vector<std::int64_t> order_;
  Shared<const Held<S>> held_;
  std::size_t dealt_ = 0;
};
template <class S>
using part_t = decltype(std::declval<RandomPartition<S>&>().next(0));
}  // namespace detail

/// Two parts drawn at random: `fraction` of the samples, and the rest. Equal seeds draw equal parts.
/// throws ArgumentError unless 0 < fraction < 1 leaves a sample on both sides
///
///     auto [train, valid] = data::random_split(data::TensorDataset{x, y}, 0.8);
template <Dataset S>
[[nodiscard]] auto random_split(S dataset, double fraction, std::uint64_t seed = 0) {
  const std::int64_t size = dataset.size();
  const bool is_share = fraction > 0 && fraction < 1;
  const std::int64_t first = is_share ? __builtin_llround(static_cast<double>(size) * fraction) : 0;
  if (first < 1 || first >= size) {
    fail<ArgumentError>({"random_split: a fraction of ", fraction, " of ", size,
                         " samples; expected one between 0 and 1 that leaves samples on both sides"});
  }
  detail::RandomPartition<S> partition(std::move(dataset), seed);
  auto one = partition.next(first);
  return std::pair{std::move(one), partition.next(size - first)};
}

/// Parts of the given lengths, drawn at random. throws ArgumentError unless the lengths, none of them negative, add up
/// to the size of the data set
///
///     auto parts = data::random_split(dataset, {800, 100, 100});
template <Dataset S>
[[nodiscard]] std::vector<detail::part_t<S>> random_split(S dataset, std::initializer_list<std::int64_t> lengths,
                                                          std::uint64_t seed = 0) {
  const std::int64_t size = dataset.size();
  std::int64_t left = size;
  for (const std::int64_t length : lengths)
    if (length < 0) fail<ArgumentError>({"random_split: a length is ", length, "; expected 0 or more"});
  for (const std::int64_t length : lengths) {
    left = length > left ? -1 : left - length;
    if (left < 0) break;
  }
  if (left != 0)
    fail<ArgumentError>({"random_split: the lengths add up to ", left < 0 ? "more" : "less", " than the ", size,
                         " samples; expected all of them to be dealt"});
  detail::RandomPartition<S> partition(std::move(dataset), seed);
  std::vector<detail::part_t<S>> parts;
  for (const std::int64_t length : lengths) parts.push_back(partition.next(length));
  return parts;
}

/// Data sets concatenated in order.
template <Dataset S, Dataset... More>
class Concatenated : public detail::NamesOf<S> {
 public:
  explicit Concatenated(S first, More... more)
      : fields_(first.fields()), parts_{detail::hold(std::move(first)), detail::hold(std::move(more))...} {
    static_for<1 + sizeof...(More)>([&]<int I>() {
      const auto& part = get<I>(parts_)->dataset;
      ends_[I] = (I > 0 ? ends_[I > 0 ? I - 1 : 0] : 0) + part.size();
      const auto fields = part.fields();
      for (std::size_t i = 0; i < fields.shapes.size(); ++i) {
        if (fields.shapes[i] == fields_.shapes[i]) continue;
        fail<ShapeError>({"concat: tensor ", i, " of a sample has shape ", fields.shapes[i], " in data set ", I,
                          ", but ", fields_.shapes[i], " in the first one; expected one shape"});
      }
    });
  }

  [[nodiscard]] std::int64_t size() const {
    (void)*get<0>(parts_);  // throws where the data set was moved from
    return ends_[sizeof...(More)];
  }
  [[nodiscard]] detail::fields_t<S> fields() const {
    (void)*get<0>(parts_);
    return fields_;
  }
  template <class... T>
  void write(std::int64_t i, Span<T>... to) const {
    std::int64_t begin = 0;
    static_for<1 + sizeof...(More)>([&]<int I>() {
      const std::int64_t list[] = {i - begin};
      if (i >= begin && i < ends_[I]) detail::write_samples(get<I>(parts_)->dataset, Span(list), {}, to...);
      begin = ends_[I];
    });
  }
  [[nodiscard]] Concatenated at_epoch(std::uint64_t epoch) const
    requires(detail::HasEpochs<S> || ... || detail::HasEpochs<More>)
  {
    Concatenated same = *this;
    static_for<1 + sizeof...(More)>([&]<int I>() {
      auto& part = get<I>(same.parts_);
      if constexpr (requires { detail::at_epoch(part, epoch); }) part = detail::at_epoch(part, epoch);
    });
    return same;
  }

 private:
  detail::fields_t<S> fields_;
  Tuple<Shared<const detail::Held<S>>, Shared<const detail::Held<More>>...> parts_;
  std::int64_t ends_[1 + sizeof...(More)] = {};
};

/// Concatenates data sets in order. Their samples hold tensors of the same element types.
/// throws ShapeError where their samples have different shapes
template <Dataset S, Dataset... More>
  requires(std::is_same_v<detail::fields_t<S>, detail::fields_t<More>> && ...)
[[nodiscard]] Concatenated<S, More...> concat(S first, More... more) {
  return Concatenated<S, More...>(std::move(first), std::move(more)...);
}

#include <locus/refuse/data/sets/parts.inc>

}}}  // namespace locus::LOCUS_ABI::data
