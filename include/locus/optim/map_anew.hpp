#pragma once
// Launches of optimizers whose steps are not elementwise: one map over tensors, by numbers that replays renew.

#include <locus/device/replay.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim::detail {

/// f(inputs..., out), whose inputs broadcast to the shape of out, by the functor f that make() returns; replays of a
/// captured step call make() again. An undefined input reads as 0. One launch.
template <class Make, class T, class D, class... In>
void map_anew_into(const Tensor<T, D>& out, const Make& make, const Tensor<In, D>&... inputs) {
  constexpr int n = static_cast<int>(sizeof...(In)) + 1;
  locus::detail::map_anew(
      out.device(), make_plan<n>(out.shape(), {locus::detail::operand_of(inputs)..., locus::detail::operand_of(out)}),
      make, Pack<const In*...>(inputs.data()...), Pack<T*>(out.data()));
}

}}}  // namespace locus::LOCUS_ABI::optim::detail
