#pragma once
// Running sums on the host: one pass, four rows at a time if there are as many, so that additions need not wait for
// each other.

#include <locus/core/dtype.hpp>
#include <locus/core/math.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/cpu/loops/stage.hpp>
#include <locus/device/capabilities.hpp>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {

/// The sums of rows so far. Integers wrap around. Floating-point numbers are added in double: within blocks, then block
/// by block with their rounding errors, which are added back, so that errors do not grow with the length of a row.
template <class T, int most>
struct SumsOfRows {
  using R = compute_t<T>;
  static constexpr bool rounds = std::is_floating_point_v<R> || is_dual<R>;
  using Sum = std::conditional_t<rounds, locus::detail::wide_t<R>, math::wrapping_t<R>>;
  static constexpr std::int64_t block = 64;

  Sum blocks[most] = {}, lost[most] = {}, within[most] = {};

  LOCUS_FN T add(std::int64_t row, T element) {
    within[row] = static_cast<Sum>(within[row] + static_cast<Sum>(load_as_register(element)));
    return from_register<T>(static_cast<R>(static_cast<Sum>(blocks[row] + (lost[row] + within[row]))));
  }
  LOCUS_FN void end_block(std::int64_t rows) {
    LOCUS_IVDEP
    for (std::int64_t row = 0; row < rows; ++row) {
      const Sum before = blocks[row], added = within[row], sum = static_cast<Sum>(before + added);
      if constexpr (rounds) {  // Knuth's TwoSum
        const Sum part = sum - before, error = (before - (sum - part)) + (added - part);
        lost[row] += sum - sum == Sum(0) ? error : Sum(0);
      }
      blocks[row] = sum, within[row] = 0;
    }
  }
};

/// Running sums of up to `most` rows at once. Elements of a row are `step` apart, rows `apart`: 1 for many rows, which
/// then fill vectors.
template <class T, int most>
LOCUS_FN void add_running(const T* in, T* out, std::int64_t cols, std::int64_t step, std::int64_t rows_at_hand,
                          std::int64_t apart_if_few) {
  constexpr bool many = most > 4;
  const std::int64_t rows = many ? rows_at_hand : most, apart = many ? 1 : apart_if_few;
  using Sums = SumsOfRows<T, most>;
  Sums sums;
  for (std::int64_t col = 0; col < cols; col += Sums::block) {
    const std::int64_t end = locus::detail::smaller(col + Sums::block, cols);
    for (std::int64_t c = col; c < end; ++c) {
      LOCUS_IVDEP
      for (std::int64_t row = 0; row < rows; ++row)
        out[c * step + row * apart] = sums.add(row, in[c * step + row * apart]);
    }
    sums.end_block(rows);
  }
}

}  // namespace detail

/// out = the running sums of in along the second extent of (outer, cols, inner), both dense; from the end in reverse.
template <class T>
void running_sums(const T* in, T* out, std::int64_t outer, std::int64_t cols, std::int64_t inner, bool reverse) {
  constexpr int many = 128, some = 16, few = 4;
  constexpr std::int64_t elements_per_part = 16384;
  if (outer == 0 || cols == 0 || inner == 0) return;
  in += reverse ? (cols - 1) * inner : 0, out += reverse ? (cols - 1) * inner : 0;
  const std::int64_t step = reverse ? -inner : inner;
  // A task is a few rows along memory, or neighbouring rows across it.
  const std::int64_t blocks = inner == 1 ? 1 : (inner + many - 1) / many;
  const std::int64_t tasks = inner == 1 ? (outer + few - 1) / few : outer * blocks;
  const auto add = [&](std::int64_t task) {
    if (inner == 1) {
      std::int64_t row = task * few;
      const T* const from = in + row * cols;
      T* const to = out + row * cols;
      if (row + few <= outer) detail::add_running<T, few>(from, to, cols, step, few, cols);
      else
        for (; row < outer; ++row) detail::add_running<T, 1>(in + row * cols, out + row * cols, cols, step, 1, cols);
      return;
    }
    const std::int64_t begin = task % blocks * many, at = task / blocks * cols * inner + begin;
    const std::int64_t rows = locus::detail::smaller<std::int64_t>(many, inner - begin);
    if (rows <= some) Versions<&detail::add_running<T, some>>::call(in + at, out + at, cols, step, rows, 1);
    else Versions<&detail::add_running<T, many>>::call(in + at, out + at, cols, step, rows, 1);
  };
  const std::int64_t parts = locus::detail::smaller(tasks, parts_for(outer * cols * inner, elements_per_part));
  parallel_for(parts, [&](std::int64_t part) {
    for (std::int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) add(task);
  });
}

}}}  // namespace locus::LOCUS_ABI::cpu
LOCUS_LOOPS_END

namespace locus { inline namespace LOCUS_ABI {

template <>
struct RunningSums<Cpu> {
  template <class T>
  static void add(Cpu, const T* in, T* out, std::int64_t outer, std::int64_t cols, std::int64_t inner, bool reverse) {
    ++detail::launches.rows;
    detail::HostTrace trace;
    if (detail::launches_are_observed()) [[unlikely]]
      trace.begin(detail::describe_rows("running sums", outer * inner, cols, 2 * sizeof(T)));
    cpu::running_sums(in, out, outer, cols, inner, reverse);
  }
};

static_assert(AddsRunningSums<Cpu>);

}}  // namespace locus::LOCUS_ABI
