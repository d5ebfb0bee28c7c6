#pragma once
// What a device must be able to do. Everything above this file is written once, in terms of these verbs.
//
// A device is a small value (a tag, with an ordinal where there are several) plus a specialization of Backend:
//
//   memory        allocate, deallocate, memory_stats, synchronize; Transfer<From, To> copies between two places
//   map           the device loads registers, f computes, the device stores
//   for_each_row  one team per row; the row stays on chip between any number of reductions over it
//   reduce        folds what f produces over any axes, deterministically
//   gemm          matrix product with an epilogue on the hot tile
//
// cpu/backend.hpp reads as the specification of each verb.

#include <locus/core/chain_rule.hpp>
#include <locus/core/dtype.hpp>
#include <locus/core/pack.hpp>
#include <locus/core/place.hpp>
#include <locus/device/plan.hpp>

#include <cstddef>

namespace locus::inline LOCUS_ABI {

/// What an allocator did so far; bytes.
struct MemoryStats {
  std::int64_t requests = 0;            ///< tensors that asked for memory
  std::int64_t system_allocations = 0;  ///< of them, those the pool had nothing for
  std::int64_t allocated_bytes = 0;     ///< in use by tensors now
  std::int64_t peak_bytes = 0;          ///< largest allocated_bytes so far
  std::int64_t reserved_bytes = 0;      ///< held by the pool, in use or not
};

/// The implementation of a device or memory; specialize it to add one.
template <class D>
struct Backend;

/// Whether this program can compute on D: false for Cuda in a build without CUDA. There, calls are type-checked and
/// throw at run time, by Backend<D>::refuse(device); code of the library that does not affect their types is not
/// compiled.
template <class D>
inline constexpr bool is_present = !requires { requires Backend<D>::absent; };

/// Copies bytes between two places: `static void copy(From, const void* source, To, void* target, std::size_t bytes)`.
/// Returns when the source may be reused and the target read. Specialize it for every pair that can be copied.
template <class From, class To>
struct Transfer;

/// Inputs and outputs that one launch of map has at most.
inline constexpr int max_launch_operands = 32;

/// An input that reads as the row-major index of the element (in reduce: within the reduced dimensions).
struct LinearIndex {};

namespace detail {
template <class X>
struct OperandValue;
template <class T>
struct OperandValue<const T*> {
  using type = T;
};
template <class T>
struct OperandValue<T*> {
  using type = T;
};
template <>
struct OperandValue<LinearIndex> {
  using type = std::int64_t;
};

/// What a copy maps: output = converted input.
template <class From, class To>
struct ConvertElement {
  LOCUS_FN void operator()(compute_t<From> in, compute_t<To>& out) const {
    if constexpr (std::is_same_v<To, bool>) out = convert<bool>(in);
    else out = static_cast<compute_t<To>>(in);
  }
};
}  // namespace detail

/// Element type of an operand of a verb: T for (const) T*, int64 for LinearIndex.
template <class X>
using operand_t = typename detail::OperandValue<X>::type;

/// A matrix operand of gemm; strides in elements, either may be 1 (row-major, column-major) or neither.
template <class T>
struct MatrixRef {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 0;
};

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

/// How many products one gemm call makes, and how far apart their operands are (0: shared), in elements.
struct GemmBatch {
  std::int64_t count = 1;
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;
};

/// The epilogue of a matrix product: c = activation(product + bias[col]) (+ c where `accumulate`).
/// A null bias adds nothing. Applied while the product is in registers or cache.
template <class T, class Activation>
struct Epilogue {
  const T* bias = nullptr;
  bool accumulate = false;
  Activation activation{};

  /// The same with another activation: the one that a run-time choice stands for.
  template <class A>
  [[nodiscard]] constexpr Epilogue<T, A> with(const A& other) const {
    return {bias, accumulate, other};
  }
  [[nodiscard]] constexpr bool accumulates() const { return accumulate; }
  [[nodiscard]] LOCUS_FN compute_t<T> operator()(compute_t<T> product, compute_t<T> previous, std::int64_t,
                                                 std::int64_t col) const {
    const compute_t<T> shifted = bias ? product + load_as_register(bias[col]) : product;
    return activation(shifted) + previous;
  }
};

namespace detail {
template <class F, class R>
concept DerivedByOutput = requires(const F& f, R y) { f.by_output(y); };
/// An adjoint times the derivative of an activation, from its output if that tells, or else from its input.
template <class F, class R>
[[nodiscard]] LOCUS_FN R times_derivative(R adjoint, const F& f, R value) {
  if constexpr (DerivedByOutput<F, R>) return times_slope<F>(adjoint, f.by_output(value));
  else return times_slope<F>(adjoint, f.by_input(value));
}
}  // namespace detail

/// The epilogue of the product that is the gradient of y = activation(z): c = product * activation'(z), the gradient of
/// z.
template <class T, class Activation>
struct DerivativeEpilogue {
  Activation activation;
  const T* value;  ///< y or z, whichever the derivative is a function of: a matrix like c with dense rows
  std::int64_t row_stride;
  const void* kept = nullptr;  ///< what a device that KeepsForDerivatives kept of z

  template <class A>
  [[nodiscard]] constexpr DerivativeEpilogue<T, A> with(const A& other) const {
    return {other, value, row_stride, kept};
  }
  [[nodiscard]] constexpr bool accumulates() const { return false; }
  [[nodiscard]] LOCUS_FN compute_t<T> operator()(compute_t<T> product, compute_t<T>, std::int64_t row,
                                                 std::int64_t col) const {
    return detail::times_derivative(product, activation, load_as_register(value[row * row_stride + col]));
  }
};

namespace detail {
struct ProbeFunctor {
  template <class... X>
  void operator()(X&&...) const;
};
struct ProbeReduction {
  using Accumulator = float;
};
template <class T>
struct ProbeActivation {
  T operator()(T) const;
};
}  // namespace detail

/// A place where tensors can live. (Spelled out: std::copyable and its like cost g++ 10 ms for every type.)
template <class D>
concept MemorySpace = requires(D to, const D device, void* data, std::size_t bytes) {
  D{};
  D(device);
  to = device;
  { device == device } -> std::same_as<bool>;
  { Backend<D>::allocate(device, bytes) } -> std::same_as<void*>;
  { Backend<D>::deallocate(device, data, bytes) } noexcept;
  { Backend<D>::memory_stats(device) } -> std::same_as<MemoryStats>;
  { to_string(device) } -> std::same_as<std::string>;
};

/// What the allocator of a place did so far.
///
///     memory_stats(Cuda{}).peak_bytes   // torch.cuda.max_memory_allocated()
template <MemorySpace D>
[[nodiscard]] MemoryStats memory_stats(D place = {}) {
  return Backend<D>::memory_stats(place);
}

/// A place where tensors can be computed with.
template <class D>
concept Device = MemorySpace<D> && requires(D device, Plan<2> plan, ReducePlan<1> reduce_plan, MatrixRef<const float> a,
                                            MatrixRef<float> c, GemmBatch batch, detail::ProbeFunctor f) {
  Backend<D>::synchronize(device);
  Backend<D>::map(device, plan, f, Pack<const float*>{}, Pack<float*>{});
  Backend<D>::for_each_row(device, std::int64_t{}, std::int64_t{}, f);
  Backend<D>::reduce(device, reduce_plan, f, detail::ProbeReduction{}, Pack<const float*>{}, a.data, c.data);
  Backend<D>::gemm(device, batch, a, a, c, Epilogue<float, detail::ProbeActivation<float>>{});
};

/// An optional refinement: a device whose for_each_row also sums over the rows, in the same launch.
///
///     Backend<D>::for_each_row(device, rows, cols, f, sums)
///
/// fills the array of two sums. The team of f(row, team) then has team.add(map, x...), which adds the Addends that
/// map(x[c]..., c) gives to element c of both sums and to the totals of the row, and returns these. The order of
/// summing depends on rows and cols alone.
template <class D>
concept SumsColumns = requires(D device, detail::ProbeFunctor f, const ColumnSum<float>* sums) {
  Backend<D>::for_each_row(device, std::int64_t{}, std::int64_t{}, f, sums);
};

/// An optional refinement: a device whose product also sums the rows of its left factor, in one launch.
///
///     Backend<D>::gemm_and_sums(device, a, b, c, accumulate, sums, sum)
///
/// makes c = a b (+ c where `accumulate`) and sums[i] = sum over k of a(i, k). False, and then nothing happened, where
/// it cannot, or where the product alone and sum(), which launches what writes the sums, are faster.
template <class D>
concept SumsFactors = requires(D device, MatrixRef<const float> a, MatrixRef<float> c, void (*sum)()) {
  { Backend<D>::gemm_and_sums(device, a, a, c, bool{}, c.data, sum) } -> std::same_as<bool>;
};

/// An optional refinement: a device whose product with an activation keeps what the activation's derivative needs, and
/// whose product with a DerivativeEpilogue reads that. What it keeps has as many rows as c, of
///
///     Backend<D>::template kept_columns<T>(activation, c.cols)
///
/// elements, 0 where products apply no such derivative: always, unless Backend<D>::template keeps<T, Activation>. Where
/// the derivative follows from the activation's input, that is what is kept, at the beginning of each row.
///
///     Backend<D>::gemm_and_keep(device, a, b, c, epilogue, kept)          c = activation(a b + bias)
///     Backend<D>::gemm_and_column_sums(device, a, b, c, derivative_epilogue, sums, sum)
///
/// The latter also makes sums[j] = sum over i of c(i, j). False, and then nothing happened, where it cannot, or where
/// separate launches are faster: of the product, of its epilogue, and of sum(), which writes the sums.
template <class D>
concept KeepsForDerivatives =
    requires(D device, MatrixRef<const float> a, MatrixRef<float> c, void* kept,
             Epilogue<float, detail::ProbeActivation<float>> epilogue,
             DerivativeEpilogue<float, detail::ProbeActivation<float>> derivative, void (*sum)()) {
      { Backend<D>::template keeps<float, detail::ProbeActivation<float>> } -> std::convertible_to<bool>;
      { Backend<D>::template kept_columns<float>(epilogue.activation, c.cols) } -> std::same_as<std::int64_t>;
      { Backend<D>::gemm_and_keep(device, a, a, c, epilogue, kept) } -> std::same_as<bool>;
      { Backend<D>::gemm_and_column_sums(device, a, a, c, derivative, c.data, sum) } -> std::same_as<bool>;
    };

}  // namespace locus::inline LOCUS_ABI
