#pragma once
// The mistakes of operands that are spread over ranks, as types.

#include <locus/distributed/spread/judge.hpp>
#include <locus/expr/operands.hpp>

/// Words of compile errors: never defined. A: the axis.
namespace locus::error {
template <class A>
struct an_operand_is_Partial_and_the_function_of_a_sum_is_not_the_sum_of_the_function;
template <class A>
struct both_operands_are_Partial_and_a_product_of_sums_is_not_the_sum_of_products;
template <class A>
struct a_Partial_operand_meets_a_Varying_one;
template <class A>
struct beside_a_Partial_operand_every_rank_would_add_what_is_the_same_on_all;
template <class A>
struct an_Invariant_operand_such_as_a_parameter_w_meets_one_that_is_not;
template <class M, class N>
struct the_operands_are_spread_over_axes_of_two_meshes;
struct a_tensor_does_not_say_how_it_is_spread_over_ranks;
template <class A>
struct running_statistics_are_spread_otherwise_than_the_batch_that_updates_them;
struct keep_Varying_ones_of_each_rank_or_say_dist_SynchronizedBatchNorm;
struct all_reduce_it_first;
struct all_reduce_one_first;
struct all_reduce_the_Partial_one_first;
struct all_reduce_the_Partial_one_first_or_say_ranks_share_x;
struct say_ranks_replicated_w_whose_backward_pass_sums_the_gradients_of_all_ranks;
struct say_mesh_label_of_Varying_or_Replicated_or_Invariant;
struct gather_one_first;
template <class D>
struct mesh_is_on;
struct move_the_tensor_or_make_the_mesh_for_its_device;
struct the_source_is_spread_otherwise_over_ranks_than_the_type_says;
struct all_reduce_it_where_it_is_Partial_all_gather_it_where_it_is_Varying;
struct the_result_is_spread_otherwise_over_ranks_than_the_target;
struct compute_a_new_value_or_all_reduce_or_all_gather_first;
}  // namespace locus::error

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// As locus::detail::NoMistake.
struct NothingUnsound {
  static constexpr Unsound unsound = Unsound::nothing;
  static constexpr bool refuses = false;
  using why = void;
};
template <Unsound reason, class Why>
struct UnsoundFor {
  static constexpr Unsound unsound = reason;
  static constexpr bool refuses = true;
  using why = Why;
};
template <Unsound reason, class What, class Remedy>
using NotPossible = UnsoundFor<reason, error::not_possible<What, Remedy>>;

template <class A, Unsound reason>
struct UnsoundAlong : NothingUnsound {};
template <class A>
struct UnsoundAlong<A, Unsound::nonlinear>
    : NotPossible<Unsound::nonlinear,
                  error::an_operand_is_Partial_and_the_function_of_a_sum_is_not_the_sum_of_the_function<A>,
                  error::all_reduce_it_first> {};
template <class A>
struct UnsoundAlong<A, Unsound::times>
    : NotPossible<Unsound::times, error::both_operands_are_Partial_and_a_product_of_sums_is_not_the_sum_of_products<A>,
                  error::all_reduce_one_first> {};
template <class A>
struct UnsoundAlong<A, Unsound::with_varying>
    : NotPossible<Unsound::with_varying, error::a_Partial_operand_meets_a_Varying_one<A>,
                  error::all_reduce_the_Partial_one_first> {};
template <class A>
struct UnsoundAlong<A, Unsound::counted>
    : NotPossible<Unsound::counted, error::beside_a_Partial_operand_every_rank_would_add_what_is_the_same_on_all<A>,
                  error::all_reduce_the_Partial_one_first_or_say_ranks_share_x> {};
template <class A>
struct UnsoundAlong<A, Unsound::invariant>
    : NotPossible<Unsound::invariant, error::an_Invariant_operand_such_as_a_parameter_w_meets_one_that_is_not<A>,
                  error::say_ranks_replicated_w_whose_backward_pass_sums_the_gradients_of_all_ranks> {};
template <class A>
struct UnsoundAlong<A, Unsound::updated>
    : NotPossible<Unsound::updated, error::running_statistics_are_spread_otherwise_than_the_batch_that_updates_them<A>,
                  error::keep_Varying_ones_of_each_rank_or_say_dist_SynchronizedBatchNorm> {};
template <class A>
struct UnsoundAlong<A, Unsound::unlabelled>
    : NotPossible<Unsound::unlabelled, error::a_tensor_does_not_say_how_it_is_spread_over_ranks,
                  error::say_mesh_label_of_Varying_or_Replicated_or_Invariant> {};

template <class... M>
struct FirstUnsound : NothingUnsound {};
template <class M, class... R>
struct FirstUnsound<M, R...>
    : std::conditional_t<M::refuses, std::type_identity<M>, std::type_identity<FirstUnsound<R...>>>::type {};

template <class F, class S>
struct MeshMistake
    : NotPossible<
          Unsound::meshes,
          error::the_operands_are_spread_over_axes_of_two_meshes<typename F::axis::mesh, typename S::axis::mesh>,
          error::gather_one_first> {};
template <class F, class S>
  requires std::is_same_v<typename F::axis::mesh, typename S::axis::mesh>
struct MeshMistake<F, S> : NothingUnsound {};

/// A tensor on another device than the mesh.
template <class X, class D>
struct MeshPlaceMistake : locus::detail::NoMistake {};
template <locus::detail::HasPlace X, class D>
  requires(!std::is_same_v<device_of<X>, D>)
struct MeshPlaceMistake<X, D>
    : locus::detail::MistakeOf<locus::detail::Wrong::places,
                               error::device_mismatch<error::tensor_is_on<device_of<X>>, error::mesh_is_on<D>,
                                                      error::move_the_tensor_or_make_the_mesh_for_its_device>,
                               device_of<X>, D> {};

/// The library's own mistakes, which do not depend on states: two places, two element types.
template <class M>
struct FromLibrary : NothingUnsound {};
template <class M>
  requires M::refuses
struct FromLibrary<M> : UnsoundFor<Unsound::library, typename M::why> {};
template <Linearity kind, class... X>
struct LibraryMistake : FromLibrary<locus::detail::PlacesAmong<X...>> {};
template <Linearity kind, class L, class R>
  requires((kind == Linearity::additive || kind == Linearity::bilinear) && TensorLike<L> && TensorLike<R>)
struct LibraryMistake<kind, L, R> : FromLibrary<locus::detail::Mistake<L, R>> {};

}}}  // namespace locus::LOCUS_ABI::dist::detail
