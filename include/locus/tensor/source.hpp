#pragma once
// Sources that tensors are made of and copied from, and the mistakes in them.

#include <locus/device/place_queries.hpp>
#include <locus/refuse/mistake.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// How a tensor-like value takes part in differentiation.
enum class Role {
  plain,      ///< a tensor: nothing is recorded
  parameter,  ///< traced beside a traced operand, else plain
  traced,     ///< operations on it are recorded
};

template <class T, class D = Cpu>
class Tensor;

/// A handle to a copy in flight; see tensor/copy_async.hpp.
template <class X>
class Pending;

namespace detail {
template <class X>
struct IsPendingCopy : std::false_type {};
template <class X>
struct IsPendingCopy<Pending<X>> : std::true_type {};
template <class X>
concept InFlight = IsPendingCopy<bare_t<X>>::value;
struct InFlightMistake
    : MistakeOf<Wrong::in_flight,
                error::not_possible<error::tensor_is_still_being_copied, error::say_std_move_x_ordered_or_wait>> {};

template <class X>
struct IsTensor : std::false_type {};
template <class T, class D>
struct IsTensor<Tensor<T, D>> : std::true_type {};
template <class X, class T, class D>
concept EvaluatesTo = !IsTensor<X>::value && requires(const X& x) {
  { x.eval() } -> std::same_as<const Tensor<T, D>&>;
};
template <class X>
concept IsTraced = HasPlace<X> && requires { requires bare_t<X>::role == Role::traced; };
template <class X>
concept IsParameter = HasPlace<X> && requires { requires bare_t<X>::role == Role::parameter; };

/// A source that copy_() of a tensor on D takes; elements are converted.
template <class X, class D>
concept CopySource = HasPlace<X> && std::is_same_v<device_of<X>, D> && Device<D> && !IsTraced<X>;

/// A temporary expression that computes its elements directly into the target.
template <class X, class Target>
concept ComputesInto =
    std::is_rvalue_reference_v<X&&> && requires(X&& x, const Target& target) { std::move(x).compute_into(target); };

/// A pending expression. It converts only to a tensor of its own place, element type and role, so that overload
/// resolution among several is unambiguous: constructors that refuse it for its type or role are explicit.
template <class X>
concept IsPendingExpression = requires { typename X::result_type; };

#include <locus/refuse/tensor/source_mistakes.inc>

}  // namespace detail

}}  // namespace locus::LOCUS_ABI
