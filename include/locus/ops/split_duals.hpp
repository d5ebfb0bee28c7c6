#pragma once
// Values and tangents of duals as two tensors, in one launch.

#include <locus/core/dual.hpp>
#include <locus/device/product.hpp>
#include <locus/expr/operands.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

template <class R, class D>
struct SplitTensor {
  Tensor<R, D> value, tangent;
};

template <class R, class D>
[[nodiscard]] SplitTensor<R, D> split_duals(const Tensor<Dual<R>, D>& x) {
  const SplitTensor<R, D> parts{Tensor<R, D>(x.shape(), x.layout().format(), x.device()),
                                Tensor<R, D>(x.shape(), x.layout().format(), x.device())};
  const auto plan = make_plan<3>(x.shape(), {operand_of(x), operand_of(parts.value), operand_of(parts.tangent)});
  if (plan.elements > 0)
    Backend<D>::map(x.device(), in_memory_order(plan), SplitDual{}, Pack<const Dual<R>*>(x.data()),
                    Pack<R*, R*>(parts.value.data(), parts.tangent.data()));
  return parts;
}

}}}  // namespace locus::LOCUS_ABI::detail
