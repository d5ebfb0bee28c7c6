#pragma once
// Rows: RowTeam, which for_each_row passes to a functor, and RowFunctor, the requirements on the functor.

#include <locus/core/dtype.hpp>

#include <concepts>

namespace locus { inline namespace LOCUS_ABI {

/// A row that a team of for_each_row reads; stride in elements. A null row reads as zero.
template <class T>
struct RowInput {
  const T* data = nullptr;
  std::int64_t stride = 1;
};

/// A row that a team of for_each_row writes. With `accumulate`, values are added to the existing elements.
template <class T>
struct RowOutput {
  T* data = nullptr;
  std::int64_t stride = 1;
  bool accumulate = false;
};

/// A sum over the rows that for_each_row computes with a functor that calls add(): `out` has an element for each
/// column; null: not wanted. With `accumulate`, sums are added to the existing elements.
template <class T>
struct ColumnSum {
  T* out = nullptr;
  bool accumulate = false;
};
/// Summands of one element of a row: for the two sums of its column, and the two totals of its row.
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

/// The interface of the threads that share a row, for a RowFunctor. A functor works on values and columns, not memory:
///
///     auto x = team.load(RowInput{logits + row * cols});
///     auto largest = team.reduce(Max<float>{}, [](float v, std::int64_t) { return v; }, x);
///     team.update([&](float v, std::int64_t) { return exp(v - largest); }, x);
///     team.store(RowOutput{out + row * cols}, [](float v, std::int64_t) { return v; }, x);
///
///   cols()                              the number of columns of the row
///   load(row)                           a fragment: the row converted to compute_t, kept on chip where it
///                                       fits. Move-only at least; it lives as long as its team. Its row may be stored
///                                       to, and is not loaded again
///   reduce(op, map, x...)               folds map(x[c]..., c) over the columns; all threads get the same bits
///   update(f, x, others...)             x[c] = f(x[c], others[c]..., c)
///   update_and_reduce(op, f, x, out)    x[c] = f(x[c], c), and the fold of the new x. `out` is where x is stored next:
///                                       x may be kept there. It is the row that x was loaded from, or a row from
///                                       which no fragment was loaded
///   store(row, f, x...)                 row[c] = f(x[c]..., c)
///   write(pointer, value)               one value of the whole row
///
/// op has an Accumulator, identity() and combine(a, b), associative and commutative except for rounding. All threads of
/// a team make the same calls in the same order. Members are marked __device__ if functors of the same source run on
/// the GPU.
template <class Team>
concept RowTeam = requires(Team& team, const RowInput<float>& in, const RowOutput<float>& out,
                           const detail::ProbeElement& f, float* target) {
  { team.cols() } -> std::same_as<std::int64_t>;
  requires detail::WorksOnFragments<Team, decltype(team.load(in))>;
  team.store(out, f);
  team.write(target, 0.0f);
};

/// A team whose rows may exceed on-chip memory; leaves_chip() tells whether they do. Then a functor should recompute
/// values rather than read the row once more.
template <class Team>
concept MayLeaveChip = requires(const Team& team) {
  { team.leaves_chip() } -> std::same_as<bool>;
};

/// A team of a single thread, whose functors may keep tables of their own, for instance of counts.
template <class Team>
concept IsOneThread = requires { requires Team::is_one_thread; };

/// A team whose store() takes rows of memory, RowInput, beside fragments. They are read where they are used.
template <class Team>
concept StoresInputs = requires { requires Team::stores_inputs; };

/// A functor of for_each_row that names the rows it loads: for_each_input(row, visit) calls visit(RowInput) for each. A
/// device may prefetch those of a later call.
template <class F>
concept NamesInputs =
    requires(const F& f, const detail::ProbeElement& visit) { f.for_each_input(std::int64_t{}, visit); };

/// A functor of for_each_row, which calls f(row, team) for every row with a RowTeam. `fragments`: the most rows that a
/// call loads; devices reserve room for them. Optional `fragment_bytes`: bytes per value in a fragment (default 8).
/// Optional `resident_blocks`: the blocks of long rows for which a GPU's multiprocessor should have registers (default
/// 1); 2 pays for functors that need few registers, as one block then loads while the other computes. Its operator() is
/// LOCUS_FN, because code that is not inlined is compiled for one instruction set only. On Cuda it is copied to the
/// GPU, so it has to be trivially copyable: values and device pointers only.
template <class F>
concept RowFunctor = requires {
  { F::fragments } -> std::convertible_to<int>;
};

/// The bytes of a value in a fragment of F.
template <RowFunctor F>
inline constexpr int fragment_bytes = [] {
  if constexpr (requires { F::fragment_bytes; }) return static_cast<int>(F::fragment_bytes);
  else return 8;
}();

/// A RowFunctor that states the bytes that a launch loads and stores for each element of its rows, for launch traces.
template <class F>
concept CountsBytes = RowFunctor<F> && requires {
  { F::bytes_per_element } -> std::convertible_to<std::int64_t>;
};

/// A RowFunctor whose launches are memory-bound: if these bytes exceed the caches, a device may write rows by
/// non-temporal stores.
template <class F>
concept WaitsForMemory = CountsBytes<F> && requires { requires F::waits_for_memory; };

}}  // namespace locus::LOCUS_ABI
