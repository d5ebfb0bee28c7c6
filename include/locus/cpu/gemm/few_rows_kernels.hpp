#pragma once
// The innermost loops of products of a few rows with a large matrix, the weight of a layer. Such a product is as fast
// as memory delivers the weight: its elements are read once, in order, and 16-bit elements become floats in registers.

#include <locus/cpu/gemm/kernels.hpp>

#include <locus/cpu/unroll_begin.inc>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// sums(i, j) += sum over k < depth of left(i, k) * weight(k, j); strides are between rows.
template <class W>
struct WeightRows {
  const W* weight;
  std::int64_t weight_stride, depth, cols;
  const compute_t<W>* left;
  std::int64_t left_stride, rows;
  compute_t<W>* sums;
  std::int64_t sums_stride;
  bool in_order;  ///< whether to read one row of the weight after the other
};

/// The loops of one instruction set for weights of type W.
template <class W>
struct FewRowKernels {
  /// For weights whose rows lie along the depth of the product: y = x W.
  void (*add_rows)(const WeightRows<W>&);
  /// For weights whose rows are the columns of the product, as nn::Linear's: rows [first, end) of the weight.
  void (*multiply_vectors)(const DotProducts<compute_t<W>, W>&, std::int64_t first_row, std::int64_t end_row);
};

#define LOCUS_KERNEL_FILE <locus/cpu/gemm/few_rows_kernel.inc>
#include <locus/cpu/kernel_sets.inc>

/// The loops that go with kernels of products.
template <class W>
[[nodiscard]] const FewRowKernels<W>& few_row_kernels(const KernelSet<compute_t<W>>& products) {
  constexpr int float_lanes = static_cast<int>(sizeof(compute_t<W>) / sizeof(float));
  return of_lanes<FewRowKernels<W>>(products.lanes * float_lanes);
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail

#include <locus/cpu/unroll_end.inc>
