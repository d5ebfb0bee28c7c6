#pragma once
// Elements that the host reads before a launch, on devices whose cost model lets it: checks of given indices and
// counts, and scalars that control a launch.

#include <locus/device/cost_model.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Whether the host checks elements before a launch. On other devices no operation throws for an element.
template <class D>
concept ChecksElements = CostModel<D>::checks_indices;

/// Calls check(element, position) for each element in row-major order, on a device that ChecksElements. `check` throws.
template <class T, class D, class Check>
void check_elements([[maybe_unused]] const Tensor<T, D>& given, [[maybe_unused]] Check&& check) {
  if constexpr (ChecksElements<D>) {
    const Tensor<T, D> dense = given.contiguous();
    const T* const element = dense.data();
    for (std::int64_t i = 0, count = dense.elements(); i < count; ++i) check(element[i], i);
  }
}

/// f(number) with a scalar's number, on a device whose cost model lets the host read scalars. Returns whether f has
/// done the work: false on other devices, where the launch reads the scalar. f is a generic lambda, so that its
/// launches are not compiled for them.
template <class R, class D, class F>
[[nodiscard]] bool done_by_host([[maybe_unused]] const Tensor<R, D>& scalar, [[maybe_unused]] const F& f) {
  if constexpr (CostModel<D>::reads_scalars) return f(scalar.item());
  else return false;
}

}}}  // namespace locus::LOCUS_ABI::detail
