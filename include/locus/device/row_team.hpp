#pragma once
// Rows: what for_each_row hands to a functor, RowTeam, and what it asks of one, RowFunctor.

#include <locus/core/dtype.hpp>

#include <concepts>

namespace locus { inline namespace LOCUS_ABI {

/// A row as for_each_row's teams read it; stride in elements. A null row reads as zero.
template <class T>
struct RowInput {
  const T* data = nullptr;
  std::int64_t stride = 1;
};

/// A row as for_each_row's teams write it. With `accumulate`, values are added to what is there.
template <class T>
struct RowOutput {
  T* data = nullptr;
  std::int64_t stride = 1;
  bool accumulate = false;
};

/// What for_each_row sums over the rows, by a functor that asks for it: `out` has an element for each column; null: it
/// is not wanted. With `accumulate`, sums are added to what is there.
template <class T>
struct ColumnSum {
  T* out = nullptr;
  bool accumulate = false;
};
/// What an element of a row adds to the two sums of its column, and to the two totals of its row.
template <class R>
struct Addends {
  R column[2], row[2];
};
template <class R>
struct RowTotals {
  R first, second;
};

namespace detail {
struct ProbeFold {
  using Accumulator = float;
  float identity() const;
  float combine(float, float) const;
};
struct ProbeElement {
  template <class... X>
  float operator()(X...) const;
};

template <class Team, class Fragment>
concept WorksOnFragments =
    requires(Team& team, Fragment& x, const RowOutput<float>& out, const ProbeFold& op, const ProbeElement& f) {
      { team.reduce(op, f, x, x) } -> std::same_as<float>;
      team.update(f, x, x);
      { team.update_and_reduce(op, f, x, out) } -> std::same_as<float>;
      team.store(out, f, x, x);
    };
}  // namespace detail

/// The threads that share a row, as a RowFunctor sees them. A functor sees values and columns, never memory:
///
///     auto x = team.load(RowInput{logits + row * cols});
///     auto largest = team.reduce(Max<float>{}, [](float v, std::int64_t) { return v; }, x);
///     team.update([&](float v, std::int64_t) { return exp(v - largest); }, x);
///     team.store(RowOutput{out + row * cols}, [](float v, std::int64_t) { return v; }, x);
///
///   cols()                              the columns of the row
///   load(row)                           a fragment: the row as registers see it (compute_t), kept on chip where it
///                                       fits. Move-only at least; it lives as long as its team. Its row may be stored
///                                       to, and is not loaded again
///   reduce(op, map, x...)               folds map(x[c]..., c) over the columns; all threads get the same bits
///   update(f, x, others...)             x[c] = f(x[c], others[c]..., c)
///   update_and_reduce(op, f, x, out)    x[c] = f(x[c], c), and the fold of the new x. `out` is where x is stored next:
///                                       x may be kept there. It is the row that x was loaded from, or one that no
///                                       other fragment was
///   store(row, f, x...)                 row[c] = f(x[c]..., c)
///   write(pointer, value)               one value of the whole row
///
/// op has an Accumulator, identity() and combine(a, b), associative and commutative but for rounding. All threads of a
/// team make the same calls in the same order. Members are marked for the GPU where functors of the same source run
/// there.
template <class Team>
concept RowTeam = requires(Team& team, const RowInput<float>& in, const RowOutput<float>& out,
                           const detail::ProbeElement& f, float* target) {
  { team.cols() } -> std::same_as<std::int64_t>;
  requires detail::WorksOnFragments<Team, decltype(team.load(in))>;
  team.store(out, f);
  team.write(target, 0.0f);
};

/// A team whose rows may be in memory that is not on chip, where leaves_chip() says so: there, to read them once less
/// is worth computing more.
template <class Team>
concept MayLeaveChip = requires(const Team& team) {
  { team.leaves_chip() } -> std::same_as<bool>;
};

/// What for_each_row calls: f(row, team), for every row, with a RowTeam. `fragments` is how many rows a call loads at
/// most: devices have room for as many. It may say `fragment_bytes`, those of a value in a fragment (else 8), and
/// `resident_blocks`, of how many blocks of long rows a GPU's multiprocessor should have registers (else 1): 2 pays for
/// functors that need few, as one block then loads while the other computes. Its operator() is LOCUS_FN: what is not
/// inlined is compiled for one instruction set, not for each. On Cuda it is copied to the GPU, and so trivially
/// copyable: values and device pointers only.
template <class F>
concept RowFunctor = requires {
  { F::fragments } -> std::convertible_to<int>;
};

/// One that says how many bytes a launch loads and stores for each element of its rows. Launch traces tell it.
template <class F>
concept CountsBytes = RowFunctor<F> && requires {
  { F::bytes_per_element } -> std::convertible_to<std::int64_t>;
};

/// One whose launches move more than they compute: where these bytes are more than the caches hold, a device may write
/// rows by non-temporal stores.
template <class F>
concept WaitsForMemory = CountsBytes<F> && requires { requires F::waits_for_memory; };

}}  // namespace locus::LOCUS_ABI
