#pragma once
// The order of rows in packed sequences, on the host.

#include <locus/core/check.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

[[nodiscard]] inline std::size_t as_index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// For each of so many rows its position in `rows`, or -1 for one that is not there.
[[nodiscard]] inline std::vector<std::int64_t> inverse_of(const std::vector<std::int64_t>& rows, std::int64_t count) {
  std::vector<std::int64_t> inverse(as_index(count), -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] >= 0) inverse[as_index(rows[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

/// throws ArgumentError unless these are the numbers of sequences that reach each step, for so many packed rows, and
/// the order names each sequence once
LOCUS_OUT_OF_LINE inline void require_packed(const char* name, std::int64_t rows,
                                             const std::vector<std::int64_t>& batch_sizes,
                                             const std::vector<std::int64_t>& order) {
  const std::int64_t batch = batch_sizes.empty() ? 0 : batch_sizes.front();
  std::int64_t sum = 0, last = batch;
  bool is_right = batch > 0;
  for (const std::int64_t size : batch_sizes) {
    is_right = is_right && size > 0 && size <= last && size <= rows - sum;
    if (is_right) sum += size;
    last = size;
  }
  if (!is_right || sum != rows)
    fail<ArgumentError>({name, ": packed sequences of ", rows, " rows whose ", batch_sizes.size(),
                         " batch_sizes begin with ", batch,
                         "; expected positive sizes that do not increase, whose sum ", "is the number of rows"});
  std::vector<bool> seen(as_index(batch), false);
  for (const std::int64_t sequence : order) {
    is_right = is_right && sequence >= 0 && sequence < batch && !seen[as_index(sequence)];
    if (is_right) seen[as_index(sequence)] = true;
  }
  if (!is_right || (!order.empty() && static_cast<std::int64_t>(order.size()) != batch))
    fail<ArgumentError>({name, ": packed sequences whose order has ", order.size(), " numbers for ", batch,
                         " sequences; expected each of 0 to ", batch - 1, " once, or none"});
}

/// Which sequence and step each row of packed sequences comes from.
struct PackedRows {
  std::vector<std::int64_t> batch_sizes;  ///< how many sequences reach each step
  std::vector<std::int64_t> order;        ///< the sequence at each place, longest first
  bool is_sorted = true;                  ///< whether the order is 0, 1, 2, ...

  /// throws ArgumentError unless lengths are 1 to `steps`, or if they increase and must not
  PackedRows(const char* name, const std::vector<std::int64_t>& lengths, std::int64_t steps, bool enforce_sorted) {
    for (std::size_t b = 0; b < lengths.size(); ++b) {
      if (lengths[b] < 1 || lengths[b] > steps)
        fail<ArgumentError>({name, ": sequence ", b, " has length ", lengths[b], "; expected 1 to ", steps});
      if (b > 0 && lengths[b] > lengths[b - 1]) is_sorted = false;
    }
    if (enforce_sorted && !is_sorted)
      fail<ArgumentError>({name, ": lengths ", text_of(lengths), " increase; sort the sequences by length, longest ",
                           "first, or pass {.enforce_sorted = false}"});
    sort(lengths);
  }
  PackedRows(std::vector<std::int64_t> sizes, std::vector<std::int64_t> its_order)
      : batch_sizes(std::move(sizes)), order(std::move(its_order)), is_sorted(order.empty()) {
    if (is_sorted && !batch_sizes.empty())
      for (std::int64_t b = 0; b < batch_sizes.front(); ++b) order.push_back(b);
  }

  [[nodiscard]] std::int64_t batch() const { return static_cast<std::int64_t>(order.size()); }
  /// row(sequence, step) for each packed row.
  template <class Row>
  [[nodiscard]] std::vector<std::int64_t> numbered(const Row& row) const {
    std::vector<std::int64_t> rows;
    for (std::size_t step = 0; step < batch_sizes.size(); ++step)
      for (std::int64_t place = 0; place < batch_sizes[step]; ++place)
        rows.push_back(row(order[as_index(place)], static_cast<std::int64_t>(step)));
    return rows;
  }
  [[nodiscard]] std::vector<std::int64_t> lengths() const {
    std::vector<std::int64_t> result(order.size(), 0);
    for (const std::int64_t batch : batch_sizes)
      for (std::int64_t place = 0; place < batch; ++place) ++result[as_index(order[as_index(place)])];
    return result;
  }

 private:
  [[nodiscard]] static std::string text_of(const std::vector<std::int64_t>& numbers) {
    std::string text = "{";
    for (const std::int64_t number : numbers) text += join(text.size() > 1 ? ", " : "", number);
    return text + "}";
  }
  /// The longest first; equal lengths keep their order.
  void sort(const std::vector<std::int64_t>& lengths) {
    std::int64_t longest = 0;
    for (const std::int64_t length : lengths) longest = length > longest ? length : longest;
    std::vector<std::int64_t> of_length(as_index(longest + 2), 0);  // then: of this length and longer
    for (const std::int64_t length : lengths) ++of_length[as_index(length)];
    for (std::int64_t length = longest - 1; length >= 0; --length)
      of_length[as_index(length)] += of_length[as_index(length + 1)];
    batch_sizes.assign(of_length.begin() + 1, of_length.end() - 1);
    order.resize(lengths.size());
    for (std::size_t b = 0; b < lengths.size(); ++b) {
      // Longer sequences come first; of_length[length + 1] counts the places that are taken.
      order[as_index(of_length[as_index(lengths[b] + 1)]++)] = static_cast<std::int64_t>(b);
    }
  }
};

}}}  // namespace locus::LOCUS_ABI::nn::detail
