#pragma once
// What can be wrong with operations that take indices or labels.

#include <locus/expr/operands.hpp>

namespace locus::inline LOCUS_ABI::detail {

/// A tensor-like operand of indices or labels: of int64, on a device that computes.
template <class X>
concept IndexOperand = TensorLike<X> && std::is_same_v<value_of<X>, std::int64_t> && Computes<X>;

/// Indices or labels of another type than int64. Hold is how g++ and nvcc call them, as in error::labels_hold<float>.
template <class I, template <class> class Hold>
struct IndexTypeMistake : NoMistake {};
template <TensorLike I, template <class> class Hold>
  requires(!std::is_same_v<value_of<I>, std::int64_t>)
struct IndexTypeMistake<I, Hold>
    : MistakeOf<Wrong::indices, error::dtype_mismatch<Hold<value_of<I>>, error::convert_with_as_std_int64_t>> {};
template <InFlight I, template <class> class Hold>
struct IndexTypeMistake<I, Hold> : InFlightMistake {};

}  // namespace locus::inline LOCUS_ABI::detail
