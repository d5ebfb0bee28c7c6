#pragma once
// Questions about places that user code may ask at compile time, and the words in which the compiler answers mistakes.

#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI {

/// Whether code running on Exec may dereference memory of Mem.
template <class Exec, class Mem>
inline constexpr bool can_access = std::is_same_v<Exec, Mem>;
template <>
inline constexpr bool can_access<Cpu, Pinned> = true;
template <>
inline constexpr bool can_access<Cuda, Pinned> = true;

/// Whether the host may read and write the elements of memory of D.
template <class D>
concept HostAccessible = MemorySpace<D> && can_access<Cpu, D>;

/// Whether `.to<To>()` can bring a tensor of From there.
template <class From, class To>
concept CopyableTo =
    requires(From from, To to, void* data) { Transfer<From, To>::copy(from, data, to, data, std::size_t{}); };
template <class From, class To>
inline constexpr bool can_copy = CopyableTo<From, To>;

namespace detail {
template <class X>
using bare_t = std::remove_cvref_t<X>;
template <class X>
concept HasPlace = requires {
  typename bare_t<X>::device_type;
  typename bare_t<X>::value_type;
};
}  // namespace detail

/// The place of a tensor, traced tensor, parameter or expression.
template <detail::HasPlace X>
using device_of = typename detail::bare_t<X>::device_type;

/// The element type of a tensor, traced tensor, parameter or expression.
template <detail::HasPlace X>
using value_of = typename detail::bare_t<X>::value_type;

/// Whether two tensor-like types live in the same place.
template <class A, class B>
concept SameDevice = detail::HasPlace<A> && detail::HasPlace<B> && std::is_same_v<device_of<A>, device_of<B>>;
template <class A, class B>
inline constexpr bool same_device = SameDevice<A, B>;

}  // namespace locus::inline LOCUS_ABI

/// The vocabulary of compile errors: never defined, only read. The name of a deleted function's `why` says what is
/// wrong, which argument is where, and what to write instead.
namespace locus::error {

template <class What, class... Details>
struct device_mismatch;
template <class What, class... Details>
struct dtype_mismatch;
template <class What, class... Details>
struct not_possible;

template <class D>
struct left_is_on;
template <class D>
struct right_is_on;
template <class D>
struct source_is_on;
template <class D>
struct target_is_on;
template <class D>
struct tensor_is_on;
template <class D>
struct model_is_on;
template <class D>
struct input_is_on;
template <class D>
struct labels_are_on;
template <class D>
struct weights_are_on;
template <class D>
struct bias_is_on;
template <class D>
struct indices_are_on;
template <class T>
struct left_holds;
template <class T>
struct right_holds;
template <class T>
struct tensor_holds;
template <class T>
struct labels_hold;
template <class T>
struct indices_hold;

struct move_one_with_to_Cpu_or_to_Cuda;
struct copy_with_to_Cpu_or_to_Cuda;
struct move_the_input_with_to_D;
struct copy_to_host_first_with_to_Cpu;
struct pinned_memory_cannot_compute_move_with_to_Cpu_or_to_Cuda;
struct convert_one_with_as_T;
struct convert_with_as_float;
struct convert_with_as_std_int64_t;
struct refused;  ///< what clang's refused functions return: never defined
struct operation_on_parameters_alone;
struct say_trace_w_or_w_value_or_seen_by_x_w;
struct backward_of_a_plain_tensor;
template <class F>
struct scalar_function_without_a_derivative;
struct give_it_by_output_or_by_input_or_by_inputs_or_pullback;
template <class D>
struct network_is_on;
template <class D>
struct layer_is_on;
template <class D>
struct optimizer_is_on;
template <class D>
struct parameters_are_on;
struct make_all_layers_on_one_device;
struct make_the_optimizer_for_the_device_of_the_parameters;
struct trace_the_input_first_with_trace_x;
struct assignment_to_a_temporary_view;
struct write_through_a_view_with_copy_;
struct in_place_on_a_traced_tensor;
struct change_its_value_x_value;
struct copy_of_a_traced_source;
struct its_gradient_would_be_lost;
struct copy_its_value_x_value;
struct in_place_on_a_pending_expression;
struct name_it_as_a_Tensor;

}  // namespace locus::error

// clang does not print why a function was deleted, but prints a text of our own: LOCUS_REFUSED("...") after a
// declaration, between LOCUS_REFUSALS_BEGIN and LOCUS_REFUSALS_END; or LOCUS_UNAVAILABLE("..."), for constructors too,
// which begins with the function's name.
#if defined(__clang__) && !LOCUS_NVCC
#define LOCUS_CLANG_REFUSES 1
#define LOCUS_UNAVAILABLE(text) __attribute__((unavailable(text)))
#define LOCUS_REFUSED(text) __attribute__((diagnose_if(true, text, "error")))
#define LOCUS_REFUSALS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")
#define LOCUS_REFUSALS_END _Pragma("clang diagnostic pop")
#else
#define LOCUS_CLANG_REFUSES 0
#define LOCUS_REFUSALS_BEGIN
#define LOCUS_REFUSALS_END
#endif
