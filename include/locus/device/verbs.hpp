#pragma once
// The verbs: the operations that every device implements. Everything above this file is written once, in terms of them.
//
// A device is a small value (a tag, with an ordinal where there are several) plus a specialization of Backend:
//
//   memory        allocate, deallocate, memory_stats, synchronize; Transfer<From, To> copies between two places
//   map           the device loads registers, f computes, the device stores
//   for_each_row  one team per row; the row stays on chip between any number of reductions over it
//   reduce        folds the results of f over any axes, deterministically
//   gemm          matrix product with an epilogue on the hot tile
//
// The concept Device specifies the verbs, row_team.hpp the operations on rows, capabilities.hpp the optional
// capabilities. tests/support/reference_device.hpp implements all of them by plain loops, with which fast devices are
// compared.

#include <locus/core/chain_rule.hpp>
#include <locus/core/dtype.hpp>
#include <locus/core/place.hpp>
#include <locus/core/std/pack.hpp>
#include <locus/device/iteration_plan.hpp>
#include <locus/device/row_team.hpp>

#include <cstddef>

namespace locus { inline namespace LOCUS_ABI {

/// Statistics of an allocator; sizes in bytes.
struct MemoryStats {
  std::int64_t requests = 0;            ///< tensors that asked for memory
  std::int64_t system_allocations = 0;  ///< requests that the pool could not serve
  std::int64_t allocated_bytes = 0;     ///< in use by tensors now
  std::int64_t peak_bytes = 0;          ///< maximum of allocated_bytes, see reset_peak_memory_stats()
  std::int64_t reserved_bytes = 0;      ///< held by the pool, in use or not

  /// peak_bytes becomes `least`, or allocated_bytes if that is more.
  void restart_peak(std::int64_t least) { peak_bytes = least > allocated_bytes ? least : allocated_bytes; }
};

/// Memory of a device in bytes, of all programs.
struct MemoryInfo {
  std::int64_t free = 0;
  std::int64_t total = 0;
};

/// The implementation of a device or memory; specialize it to add one.
template <class D>
struct Backend;

/// Whether this program can compute on D: false for Cuda in a build without CUDA. There, calls are type-checked
/// and throw at run time, by Backend<D>::refuse(device); library code that does not affect their types is not compiled.
template <class D>
inline constexpr bool is_present = !requires { requires Backend<D>::absent; };

/// Copies bytes between two places: `static void copy(From, const void* source, To, void* target, std::size_t bytes)`.
/// Returns when the source may be reused and the target read. Specialize it for every pair that can be copied.
template <class From, class To>
struct Transfer;

/// Most inputs and outputs of one launch of map.
inline constexpr int max_launch_operands = 32;

/// An input that reads as the row-major index of the element (in reduce: within the reduced dimensions).
struct LinearIndex {};

/// Bit mask of the inputs of a functor of map or reduce that are usually constant over a run, such as the mean of a
/// channel: `static constexpr unsigned repeated = 0b110;`. A device may have a specialized loop for them.
template <class F>
inline constexpr unsigned repeated_inputs = [] {
  if constexpr (requires { typename std::integral_constant<unsigned, F::repeated>; }) return F::repeated;
  else return 0u;
}();

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

/// The functor of a copy: output = converted input.
template <class From, class To>
struct ConvertElement {
  LOCUS_FN void operator()(compute_t<From> in, compute_t<To>& out) const {
    if constexpr (std::is_same_v<To, bool>) out = convert<bool>(in);
    else out = register_of<To>(in);
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

/// Number of products of one gemm call, and the strides between their operands in elements (0: shared).
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

  /// The same epilogue with another activation: the one chosen at run time.
  template <class A>
  [[nodiscard]] constexpr Epilogue<T, A> with(const A& other) const {
    return {bias, accumulate, other};
  }
  [[nodiscard]] constexpr bool accumulates() const { return accumulate; }
  [[nodiscard]] LOCUS_FN compute_t<T> operator()(compute_t<T> product, compute_t<T> previous, std::int64_t,
                                                 std::int64_t col) const {
    const compute_t<T> shifted = bias ? product + load_as_register(bias[col]) : product;
    return detail::applied(activation, shifted) + previous;
  }
};

namespace detail {
struct ProbeFunctor {
  template <class... X>
  void operator()(X&&...) const;
};
struct ProbeRows : ProbeFunctor {
  static constexpr int fragments = 0;
};
struct ProbeReduction {
  using Accumulator = float;
};
template <class T>
struct ProbeActivation {
  T operator()(T) const;
};
}  // namespace detail

/// A place where tensors can live. (Spelled out, because std::copyable and similar concepts cost g++ 10 ms per type.)
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

/// A place that can compute with tensors. Its verbs, all members of Backend<D>:
///
///     synchronize(device)
///
/// returns when all work queued on the device before is done.
///
///     map(device, plan, f, inputs, outputs)
///
/// calls f(inputs as registers..., outputs as registers&...) for every element of the plan, whose operands are the
/// inputs and then the outputs. A null input reads as zero, a null output is discarded. An output may be an input,
/// provided that both have the same strides.
///
///     for_each_row(device, rows, cols, f)
///
/// calls f(row, team) for every row; see RowFunctor and RowTeam.
///
///     reduce(device, plan, f, op, inputs, previous, out)
///
/// computes out = op.finish(fold of f(inputs as registers...) with op) (+ previous, unless it is null) for every
/// element of the kept part of the plan; for bools, + is or. op has an Accumulator, identity(), combine(a, b), and
/// finish(a). The order of folding depends on the plan alone.
///
///     gemm(device, batch, a, b, c, epilogue)
///
/// computes c(i, j) = epilogue(sum over k of a(i, k) b(k, j), previous c(i, j) or 0, i, j), `batch.count` times; c is
/// read only where epilogue.accumulates(). Operands may have any strides; c must not overlap a or b. 16-bit floats are
/// summed in float at least, integers wrap around. throws ShapeError unless the extents fit
template <class D>
concept Device =
    MemorySpace<D> && requires(D device, Plan<2> plan, ReducePlan<1> reduce_plan, MatrixRef<const float> a,
                               MatrixRef<float> c, GemmBatch batch, detail::ProbeFunctor f, detail::ProbeRows on_rows) {
      Backend<D>::synchronize(device);
      Backend<D>::map(device, plan, f, Pack<const float*>{}, Pack<float*>{});
      Backend<D>::for_each_row(device, std::int64_t{}, std::int64_t{}, on_rows);
      Backend<D>::reduce(device, reduce_plan, f, detail::ProbeReduction{}, Pack<const float*>{}, a.data, c.data);
      Backend<D>::gemm(device, batch, a, a, c, Epilogue<float, detail::ProbeActivation<float>>{});
    };

}}  // namespace locus::LOCUS_ABI
