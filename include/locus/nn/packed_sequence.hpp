#pragma once
// Sequences of unequal lengths: padded in one tensor, or packed without the padding. Not part of locus/locus.hpp.

#include <locus/autograd/traced.hpp>
#include <locus/nn/packed_rows.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/recurrent/take_rows.hpp>
#include <locus/tensor/from.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// Sequences of unequal lengths without padding: the rows of step 0 of all sequences, the longest sequence first, then
/// those of step 1, and so on. Recurrent layers take it in place of a tensor. X is a Tensor or a Traced.
template <class X>
struct PackedSequence {
  using value_type = value_of<X>;
  using device_type = device_of<X>;

  X data;                                 ///< (rows of all steps, ...)
  std::vector<std::int64_t> batch_sizes;  ///< how many sequences reach each step
  std::vector<std::int64_t> order = {};   ///< the number of the sequence at each place; empty: 0, 1, 2, ...
  /// The same on the device, and the place of each sequence; empty with `order`, or to be made from it.
  Tensor<std::int64_t, device_of<X>> sorted_indices = {}, unsorted_indices = {};

  /// The same sequences with other rows: packed.with_data(embedding(packed.data)).
  /// throws ShapeError for another number of rows
  template <TensorLike Y>
    requires std::is_same_v<device_of<Y>, device_of<X>>
  [[nodiscard]] auto with_data(const Y& rows) const {
    const auto& handle = rows.eval();
    if (handle.rank() == 0 || handle.size(0) != data.size(0))
      fail<ShapeError>({"with_data: rows of shape ", handle.shape(), "; expected (", data.size(0), ", ...)"});
    return PackedSequence<std::remove_cvref_t<decltype(handle)>>{handle, batch_sizes, order, sorted_indices,
                                                                 unsorted_indices};
  }
  /// The sequences of f(data).
  template <class F> [[nodiscard]] auto transformed(const F& f) const { return with_data(f(data)); }
  /// A copy on another device. Of traced rows, the gradient comes back.
  template <Device E>
  [[nodiscard]] auto to(E device = {}) const {
    const auto moved = [&](const auto& indices) {
      return indices.buffer() ? indices.template to<E>(device) : Tensor<std::int64_t, E>();
    };
    return PackedSequence<std::remove_cvref_t<decltype(data.template to<E>(device))>>{
        data.template to<E>(device), batch_sizes, order, moved(sorted_indices), moved(unsorted_indices)};
  }
};

/// PyTorch's, with its defaults.
struct PackPaddedOptions {
  bool batch_first = false;    ///< (batch, steps, ...) rather than (steps, batch, ...)
  bool enforce_sorted = true;  ///< lengths must not increase; otherwise they are sorted
};
struct PadPackedOptions {
  bool batch_first = false;
  double padding_value = 0;
  std::int64_t total_length = 0;  ///< steps of the result; 0: as many as the longest sequence has
};
struct PackOptions {
  bool enforce_sorted = true;
};
struct PadOptions {
  bool batch_first = false;
  double padding_value = 0;
};

/// Padded sequences and their lengths, in the order in which they were before they were packed.
template <class X>
struct PaddedSequence {
  X output;
  std::vector<std::int64_t> lengths;
};

namespace detail {
template <class X>
using handle_t = std::remove_cvref_t<decltype(std::declval<const X&>().eval())>;
template <class X>
concept Packable = TensorLike<X> && locus::detail::bare_t<X>::role != Role::parameter && Device<device_of<X>>;

template <class D>
[[nodiscard]] Tensor<std::int64_t, D> indices_on(const std::vector<std::int64_t>& numbers, D device) {
  return from(numbers, {static_cast<std::int64_t>(numbers.size())}, device);
}
/// x with its first dimension divided into two.
template <class X>
[[nodiscard]] X with_steps(const X& x, std::int64_t steps, std::int64_t batch, bool batch_first) {
  Shape shape{steps, batch};
  for (int d = 1; d < x.rank(); ++d) shape.push_back(x.size(d));
  const X y = x.reshape(shape);
  return batch_first ? X(y.transpose(0, 1)) : y;
}
/// The rows of x, by number; -1 stands for a row of `fill`.
template <class X>
[[nodiscard]] X take_rows(const X& x, const std::vector<std::int64_t>& rows, double fill = 0) {
  const auto device = x.device();
  const operation::TakeRows<device_of<X>> take{indices_on(rows, device),
                                               indices_on(inverse_of(rows, x.size(0)), device), fill};
  return apply(take, x);
}

/// Order of packed sequences, on their device.
template <class D>
struct OrderOnDevice {
  Tensor<std::int64_t, D> sorted, unsorted;
};
/// throws ArgumentError for indices of another size than the order
template <class X>
[[nodiscard]] OrderOnDevice<device_of<X>> order_on_device(const PackedSequence<X>& packed) {
  const auto batch = static_cast<std::int64_t>(packed.order.size());
  const auto has = [&](const auto& indices) {
    if (!indices.buffer()) return false;
    if (indices.shape() != Shape{batch})
      fail<ArgumentError>({"packed sequences: indices of shape ", indices.shape(), " beside an order of ", batch,
                           " sequences; expected as many, or none"});
    return true;
  };
  if (batch == 0 || (has(packed.sorted_indices) && has(packed.unsorted_indices)))
    return {packed.sorted_indices, packed.unsorted_indices};
  const auto device = packed.data.device();
  return {indices_on(packed.order, device), indices_on(inverse_of(packed.order, batch), device)};
}

/// Packed rows, which `take(row)` names by sequence and step.
template <class X, class Row>
[[nodiscard]] PackedSequence<X> packed_rows(const X& x, const PackedRows& rows, const Row& row) {
  PackedSequence<X> packed{take_rows(x, rows.numbered(row)), rows.batch_sizes};
  if (rows.is_sorted) return packed;
  packed.order = rows.order;
  packed.sorted_indices = indices_on(rows.order, x.device());
  packed.unsorted_indices = indices_on(inverse_of(rows.order, rows.batch()), x.device());
  return packed;
}

/// Sequences one after the other.
template <class X>
struct JoinedSequences {
  X rows;
  std::vector<std::int64_t> begins, lengths;

  JoinedSequences(const char* name, const std::vector<X>& sequences) {
    if (sequences.empty()) fail<ArgumentError>({name, ": no sequences; expected at least one"});
    std::int64_t begin = 0;
    for (const X& sequence : sequences) {
      Shape rest = sequence.shape();
      if (rest.rank() == 0) fail<ShapeError>({name, ": a sequence of shape (); expected (length, ...)"});
      Shape expected = sequences.front().shape();
      expected[0] = rest[0];
      if (rest != expected)
        fail<ShapeError>({name, ": sequences of shapes ", sequences.front().shape(), " and ", rest,
                          "; expected extents that agree after the first"});
      begins.push_back(begin), lengths.push_back(rest[0]);
      begin += rest[0];
    }
    rows = concat(sequences, 0);
  }
};
}  // namespace detail

/// Padded sequences, packed for a recurrent layer.
/// shape:    (steps, batch, ...), or with batch_first (batch, steps, ...), and a length for each sequence -> data
///           (sum of the lengths, ...)
/// gradient: rows of g at their sources, 0 for padding
/// cost:     one launch, and copies of the rows' numbers to the device; backward one launch
/// throws ArgumentError unless lengths are 1 to the number of steps and, with enforce_sorted, do not increase;
///        ShapeError for fewer than two dimensions, no sequences, or another number of lengths than sequences
///
///     auto packed = nn::pack_padded_sequence(x, {5, 3, 2}, {.batch_first = true});
///     auto [output, state] = lstm(packed);
template <detail::Packable X>
[[nodiscard]] auto pack_padded_sequence(const X& x, const std::vector<std::int64_t>& lengths,
                                        const PackPaddedOptions& options = {}) {
  using H = detail::handle_t<X>;
  const H& given = x.eval();
  const char* const expected = options.batch_first ? "(batch, steps, ...)" : "(steps, batch, ...)";
  if (given.rank() < 2)
    fail<ShapeError>({"pack_padded_sequence: input of shape ", given.shape(), "; expected ", expected});
  const H padded = options.batch_first ? H(given.transpose(0, 1)) : given;
  const std::int64_t steps = padded.size(0), batch = padded.size(1);
  if (batch == 0)
    fail<ShapeError>({"pack_padded_sequence: input of shape ", given.shape(), " has no sequences; expected ", expected,
                      " with at least one"});
  if (batch != static_cast<std::int64_t>(lengths.size()))
    fail<ShapeError>({"pack_padded_sequence: input of shape ", given.shape(), " with ", lengths.size(),
                      " lengths; expected ", expected, " and a length for each sequence"});
  const detail::PackedRows rows("pack_padded_sequence", lengths, steps, options.enforce_sorted);
  Shape merged = padded.shape();
  merged.erase(0);
  merged[0] = steps * batch;
  return detail::packed_rows(H(padded.reshape(merged)), rows,
                             [&](std::int64_t sequence, std::int64_t step) { return step * batch + sequence; });
}

/// Packed sequences, padded, in the order in which they were packed.
/// shape:    data (rows, ...) -> (steps, batch, ...), or with batch_first (batch, steps, ...)
/// gradient: rows of g at their sources
/// cost:     one launch, and copies of the rows' numbers to the device; backward one launch
/// throws ArgumentError for a total_length that is less than the longest sequence, or batch_sizes that do not fit data
///
///     auto [output, lengths] = nn::pad_packed_sequence(packed, {.batch_first = true});
template <class X>
[[nodiscard]] auto pad_packed_sequence(const PackedSequence<X>& packed, const PadPackedOptions& options = {}) {
  detail::require_packed("pad_packed_sequence", packed.data.rank() > 0 ? packed.data.size(0) : 0, packed.batch_sizes,
                         packed.order);
  const auto longest = static_cast<std::int64_t>(packed.batch_sizes.size());
  if (options.total_length != 0 && options.total_length < longest)
    fail<ArgumentError>({"pad_packed_sequence: total_length is ", options.total_length, "; expected at least ", longest,
                         ", the length of the longest sequence, or 0"});
  const std::int64_t steps = options.total_length != 0 ? options.total_length : longest;
  const detail::PackedRows rows(packed.batch_sizes, packed.order);
  const auto sources =
      rows.numbered([&](std::int64_t sequence, std::int64_t step) { return step * rows.batch() + sequence; });
  const X padded =
      detail::take_rows(packed.data, detail::inverse_of(sources, steps * rows.batch()), options.padding_value);
  return PaddedSequence<X>{detail::with_steps(padded, steps, rows.batch(), options.batch_first), rows.lengths()};
}

/// Sequences of unequal lengths, packed for a recurrent layer.
/// shape:    (length, ...) each -> data (sum of the lengths, ...)
/// gradient: rows of g at their sources
/// cost:     concat, and one launch; backward the same
/// throws ShapeError for sequences whose other extents differ; ArgumentError for none, for empty ones, and, with
///        enforce_sorted, for lengths that increase
///
///     auto packed = nn::pack_sequence(std::vector{a, b, c});
template <detail::Packable X>
[[nodiscard]] auto pack_sequence(const std::vector<X>& sequences, const PackOptions& options = {}) {
  const detail::JoinedSequences<X> joined("pack_sequence", sequences);
  const detail::PackedRows rows("pack_sequence", joined.lengths, joined.rows.size(0), options.enforce_sorted);
  return detail::packed_rows(joined.rows, rows, [&](std::int64_t sequence, std::int64_t step) {
    return joined.begins[static_cast<std::size_t>(sequence)] + step;
  });
}

/// Sequences of unequal lengths side by side, with padding behind their ends.
/// shape:    (length, ...) each -> (steps, batch, ...), or with batch_first (batch, steps, ...)
/// gradient: the parts of g
/// cost:     concat, and one launch; backward the same
/// throws ShapeError for sequences whose other extents differ; ArgumentError for none
///
///     auto padded = nn::pad_sequence(std::vector{a, b, c}, {.batch_first = true});
template <detail::Packable X>
[[nodiscard]] auto pad_sequence(const std::vector<X>& sequences, const PadOptions& options = {}) {
  const detail::JoinedSequences<X> joined("pad_sequence", sequences);
  const auto batch = static_cast<std::int64_t>(sequences.size());
  std::int64_t steps = 0;
  for (const std::int64_t length : joined.lengths) steps = length > steps ? length : steps;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(steps * batch), -1);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = 0; t < joined.lengths[static_cast<std::size_t>(b)]; ++t)
      rows[static_cast<std::size_t>(t * batch + b)] = joined.begins[static_cast<std::size_t>(b)] + t;
  return detail::with_steps(detail::take_rows(joined.rows, rows, options.padding_value), steps, batch,
                            options.batch_first);
}

}}}  // namespace locus::LOCUS_ABI::nn
