#pragma once
// The launches of lookups by index: picked elements, and gradients collected at their sources.

#include <locus/core/std/bounds.hpp>
#include <locus/ops/rows.hpp>
#include <locus/tensor/host_reads.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// throws IndexError for an index outside [0, extent), on a device that ChecksElements
template <class D>
void require_indices(std::string_view name, const Tensor<std::int64_t, D>& indices, std::int64_t extent) {
  check_elements(indices, [&](std::int64_t index, std::int64_t i) {
    if (index < 0 || index >= extent)
      fail<IndexError>({name, ": index ", index, " at position ", i, " is out of range; expected 0 to ", extent - 1});
  });
}

/// The number that an index out of range picks.
template <class T>
[[nodiscard]] constexpr compute_t<T> picked_by_no_index() {
  using R = compute_t<T>;
  if constexpr (std::is_integral_v<R>) return R(0);
  else return std::numeric_limits<R>::quiet_NaN();
}

/// Indices, with one of them replaced by none, which collects no gradient.
struct WithoutIndex {
  std::int64_t left_out;
  LOCUS_FN std::int64_t operator()(std::int64_t index) const { return index == left_out ? -1 : index; }
};

/// out row (outer, j) = x row (outer, indices[j])
template <class T>
struct PickRow {
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  const T* x;
  std::int64_t outer_stride, stride, inner_stride;
  const std::int64_t* indices;
  std::int64_t count, extent;
  T* out;
  compute_t<T> invalid = picked_by_no_index<T>();

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const std::int64_t outer = row / count, index = indices[row - outer * count];
    const bool valid = index >= 0 && index < extent;
    const R otherwise = invalid;
    const auto values =
        team.load(RowInput<T>{valid ? x + outer * outer_stride + index * stride : nullptr, inner_stride});
    team.store(
        RowOutput<T>{out + row * team.cols()}, [=](R v, std::int64_t) LOCUS_INLINED { return valid ? v : otherwise; },
        values);
  }
};

/// The sum of g's rows (outer, j) for the j from `first` on with indices[j] == index, in the order of j.
template <class T, class Team>
[[nodiscard]] LOCUS_FN auto sum_rows_of_index(Team& team, const T* g, const std::int64_t* indices, std::int64_t first,
                                              std::int64_t count, std::int64_t index) {
  using R = compute_t<T>;
  auto sum = team.load(RowInput<T>{});
  for (std::int64_t j = first; j < count; ++j) {
    if (indices[j] != index) continue;
    const T* const from = g + j * team.cols();
    team.update([=](R v, std::int64_t c) LOCUS_INLINED { return v + load_as_register(from[c]); }, sum);
  }
  return sum;
}

/// dx row (outer, v) = sum of g's rows (outer, j) with indices[j] == v. One row of work for every row of dx.
template <class T>
struct CollectRow {
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  const T* g;
  const std::int64_t* indices;
  std::int64_t count, extent;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t outer = row / extent;
    const auto sum = sum_rows_of_index(team, g + outer * count * team.cols(), indices, 0, count, row - outer * extent);
    team.store(
        RowOutput<T>{dx + row * team.cols(), 1, accumulate},
        [](compute_t<T> v, std::int64_t) LOCUS_INLINED { return v; }, sum);
  }
};

/// The same sums, added to dx, with one row of work for every row of g: the first row of an index collects for all.
template <class T>
struct CollectAtFirst {
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  const T* g;
  const std::int64_t* indices;
  std::int64_t count, extent;
  T* dx;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t outer = row / count, first = row - outer * count, index = indices[first];
    if (index < 0 || index >= extent) return;
    for (std::int64_t j = 0; j < first; ++j)
      if (indices[j] == index) return;
    const auto sum = sum_rows_of_index(team, g + outer * count * team.cols(), indices, first, count, index);
    team.store(
        RowOutput<T>{dx + (outer * extent + index) * team.cols(), 1, true},
        [](compute_t<T> v, std::int64_t) LOCUS_INLINED { return v; }, sum);
  }
};

/// Position of element `at` of a dense (outer, extent, inner) tensor.
struct AroundAxis {
  std::int64_t outer, along, inner;
  LOCUS_FN AroundAxis(std::int64_t at, std::int64_t extent, std::int64_t inner_count)
      : outer(inner_count == 1 ? at : at / inner_count), along(0), inner(at - outer * inner_count) {
    const std::int64_t before = outer / extent;
    along = outer - before * extent;
    outer = before;
  }
};

/// out(outer, j, inner) = x(outer, index(outer, j, inner), inner)
template <class T>
struct GatherElement {
  Rows<const T> x;
  std::int64_t extent, index_extent;
  compute_t<T> invalid = picked_by_no_index<T>();
  LOCUS_FN void operator()(std::int64_t index, std::int64_t at, compute_t<T>& out) const {
    const AroundAxis p(at, index_extent, x.inner_count);
    const bool valid = index >= 0 && index < extent;
    out = valid ? load_as_register(x.data[p.outer * x.outer_stride + p.inner * x.inner_stride + index * x.stride])
                : invalid;
  }
};

/// The same by rows of indices; each piece of a row is a row of work: no position is divided for every element.
template <class T>
struct PickRowElements {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T) + sizeof(std::int64_t);
  static constexpr std::int64_t longest_piece = 4096;
  const T* x;
  std::int64_t outer_stride, stride, inner_stride;
  const std::int64_t* indices;
  bool shares_indices;  ///< one row of indices for all
  std::int64_t cols, rows_per_outer, extent;
  T* out;
  T invalid = from_register<T>(picked_by_no_index<T>());

  [[nodiscard]] LOCUS_FN std::int64_t pieces_per_row() const { return (cols + longest_piece - 1) / longest_piece; }
  /// The elements of each piece but the last: pieces are as equal as possible.
  [[nodiscard]] LOCUS_FN std::int64_t piece() const {
    return cols <= longest_piece ? cols : (cols + pieces_per_row() - 1) / pieces_per_row();
  }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t at, Team& team) const {
    const std::int64_t row = cols <= longest_piece ? at : at / pieces_per_row();
    const std::int64_t first = (at - row * pieces_per_row()) * team.cols(), last = smaller(first + team.cols(), cols);
    const T* const from = x + row / rows_per_outer * outer_stride;
    const std::int64_t* const index = indices + (shares_indices ? 0 : row * cols);
    T* const to = out + row * cols;
    const std::int64_t step = inner_stride, along = stride, end = extent;
    const T otherwise = invalid;
    LOCUS_IVDEP
    for (std::int64_t c = first; c < last; ++c) {
      const std::int64_t i = index[c];
      to[c] = i >= 0 && i < end ? from[c * step + i * along] : otherwise;
    }
  }
};

/// dx(outer, v, inner) = previous + sum of g(outer, j, inner) with index(outer, j, inner) == v, in the order of j
template <class T>
struct CollectElement {
  const T* g;
  const std::int64_t* indices;
  std::int64_t extent, index_extent, inner_count;
  LOCUS_FN void operator()(std::int64_t at, compute_t<T> previous, compute_t<T>& out) const {
    const AroundAxis p(at, extent, inner_count);
    compute_t<T> sum = previous;
    for (std::int64_t j = 0; j < index_extent; ++j) {
      const std::int64_t source = (p.outer * index_extent + j) * inner_count + p.inner;
      if (indices[source] == p.along) sum += load_as_register(g[source]);
    }
    out = sum;
  }
};

/// Ranges of an extent, each of a power of two elements: rows of work then share no element.
struct IndexRanges {
  static constexpr std::int64_t most = 64;
  std::int64_t extent, count;
  int bits = 0;  ///< of the positions in a range
  IndexRanges(std::int64_t along, std::int64_t wanted) : extent(along) {
    while ((extent - 1) >> bits >= smaller(wanted, most)) ++bits;
    count = extent == 0 ? 1 : ((extent - 1) >> bits) + 1;
  }
};

/// The positions of the indices of each range, range by range, in their order: positions[begins[r], begins[r + 1]).
/// Indices out of range are left out. One row of work.
struct SplitByRange {
  static constexpr int fragments = 0;
  IndexRanges ranges;
  const std::int64_t* indices;
  std::int64_t count;
  std::int64_t *positions, *begins;
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t, Team&) const {
    std::int64_t next[IndexRanges::most + 1] = {};
    for (std::int64_t j = 0; j < count; ++j)
      if (indices[j] >= 0 && indices[j] < ranges.extent) ++next[(indices[j] >> ranges.bits) + 1];
    for (std::int64_t r = 0; r < ranges.count; ++r) begins[r] = next[r], next[r + 1] += next[r];
    begins[ranges.count] = next[ranges.count];
    for (std::int64_t j = 0; j < count; ++j)
      if (indices[j] >= 0 && indices[j] < ranges.extent) positions[next[indices[j] >> ranges.bits]++] = j;
  }
};

/// to[c] += from[c]
template <class T>
LOCUS_FN void add_row(compute_t<T>* to, const T* from, std::int64_t n) {
  LOCUS_IVDEP
  for (std::int64_t c = 0; c < n; ++c) to[c] = functor::Add{}(to[c], load_as_register(from[c]));
}

/// dx row (outer, indices[j]) += g row (outer, j), in the order of j: a row of work for each outer and range.
template <class T>
struct ScatterRange {
  static constexpr int fragments = 0;
  const T* g;
  const std::int64_t *indices, *positions, *begins;  ///< from SplitByRange; null if there is one range
  std::int64_t ranges, count, extent, inner;
  compute_t<T>* dx;
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team&) const {
    const std::int64_t outer = row / ranges, range = row - outer * ranges;
    const std::int64_t begin = begins ? begins[range] : 0, end = begins ? begins[range + 1] : count;
    const T* const from = g + outer * count * inner;
    compute_t<T>* const to = dx + outer * extent * inner;
    for (std::int64_t i = begin; i < end; ++i) {
      if (positions && i + ahead < end) fetch(from + positions[i + ahead] * inner);
      const std::int64_t j = positions ? positions[i] : i, index = indices[j];
      if (index >= 0 && index < extent) add_row(to + index * inner, from + j * inner, inner);
    }
  }

 private:
  static constexpr std::int64_t ahead = 8;  ///< rows to prefetch
  LOCUS_FN void fetch(const T* row) const {
#if !LOCUS_ON_DEVICE
    const auto* const first = reinterpret_cast<const char*>(row);
    const std::int64_t bytes = smaller(inner * std::int64_t{sizeof(T)}, std::int64_t{256});
    for (std::int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(first + byte);
#else
    (void)row;
#endif
  }
};

/// dx(outer, index(outer, j, inner), inner) += g(outer, j, inner), in the order of j: by rows of work that share no
/// element of dx, for every `outer` and every few of inner.
template <class T>
struct ScatterRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t side_by_side = 16;  ///< of inner, whose elements share cache lines
  const T* g;
  const std::int64_t* indices;
  std::int64_t count, extent, inner;
  compute_t<T>* dx;

  [[nodiscard]] LOCUS_FN std::int64_t rows_per_outer() const { return (inner + side_by_side - 1) / side_by_side; }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team&) const {
    const std::int64_t outer = row / rows_per_outer(), first = row % rows_per_outer() * side_by_side;
    const std::int64_t width = smaller(inner - first, side_by_side);
    const T* from = g + outer * count * inner + first;
    const std::int64_t* index = indices + outer * count * inner + first;
    compute_t<T>* const to = dx + outer * extent * inner + first;
    for (std::int64_t j = 0; j < count; ++j, from += inner, index += inner) {
      for (std::int64_t c = 0; c < width; ++c)
        if (index[c] >= 0 && index[c] < extent) add_row(to + index[c] * inner + c, from + c, 1);
    }
  }
};

template <class T>
struct OneHotRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = sizeof(T);
  const std::int64_t* labels;
  T* out;
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t label = labels[row];
    team.store(RowOutput<T>{out + row * team.cols()},
               [=](std::int64_t c) LOCUS_INLINED { return compute_t<T>(c == label); });
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
