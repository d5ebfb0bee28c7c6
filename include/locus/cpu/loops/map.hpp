#pragma once
// Cpu's map: f maps registers to registers over dense runs; the walk around them does not depend on f.

#include <locus/cpu/loops/map_short_rows.hpp>
#include <locus/cpu/tuning.hpp>

#include <array>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// The loop over one dense run. Pointers are separate parameters: otherwise compilers do not vectorize it. Maps without
/// inputs in memory, such as constants and random numbers, are compiled for one instruction set, unless the functor
/// says that it `takes_long`. `repeated`: a bit for each input that is the same for all elements of the run.
template <class F, class In, class Out, unsigned repeated = 0>
struct MapLoop;
template <class F, class... I, class... O, unsigned repeated>
struct MapLoop<F, Pack<I...>, Pack<O*...>, repeated> {
  static void run(const void* f, std::int64_t n, std::int64_t first, const void* const* in, void* const* out) {
    [&]<int... i, int... o>(std::integer_sequence<int, i...>, std::integer_sequence<int, o...>) {
      using Loops =
          Versions<&Loop<Pack<decltype(for_one_run(std::declval<loop_input_t<I, i, repeated>>()))...>, o...>::run>;
      const F& functor = *static_cast<const F*>(f);
      if constexpr (has_versions)
        Loops::call(functor, n, for_one_run(loop_input_t<I, i, repeated>(in[i], first))..., static_cast<O*>(out[o])...);
      else
        Loops::once(functor, n, for_one_run(loop_input_t<I, i, repeated>(in[i], first))..., static_cast<O*>(out[o])...);
    }(std::make_integer_sequence<int, sizeof...(I)>{}, std::make_integer_sequence<int, sizeof...(O)>{});
  }

 private:
  static constexpr bool has_versions = (!std::is_same_v<I, LinearIndex> || ...) || requires { requires F::takes_long; };

  template <class Inputs, int... o>
  struct Loop;
  template <class... In, int... o>
  struct Loop<Pack<In...>, o...> {
    LOCUS_FN static void run(const F& functor, std::int64_t n, In... in, O*... out) {
      const F f = functor;
      LOCUS_IVDEP
      for (std::int64_t k = 0; k < n; ++k) {
        Pack<compute_t<O>...> result;
        f(in[k]..., get<o>(result)...);
        ((out[k] = from_register<O>(get<o>(result))), ...);
      }
    }
  };
};

/// A copy is memcpy, which the C library tunes for each processor.
template <class T>
struct MapLoop<locus::detail::ConvertElement<T, T>, Pack<const T*>, Pack<T*>, 0> {
  static void run(const void*, std::int64_t n, std::int64_t, const void* const* in, void* const* out) {
    std::memcpy(out[0], in[0], static_cast<std::size_t>(n) * sizeof(T));
  }
};

template <class F>
inline constexpr bool is_copy = false;
template <class T>
inline constexpr bool is_copy<locus::detail::ConvertElement<T, T>> = true;

/// Halves: widens runs to float, a tile at a time, and runs the loop over floats, the only loop compiled.
template <class F, class In, class Out, unsigned repeated = 0>
struct WidenedLoop;
template <class F, class... I, class... O, unsigned repeated>
struct WidenedLoop<F, Pack<I...>, Pack<O*...>, repeated> {
  static void run(const void* f, std::int64_t n, std::int64_t first, const void* const* in, void* const* out) {
    static constexpr auto operands = [] {
      std::array<MaybeHalves, sizeof...(I) + sizeof...(O)> all{
          MaybeHalves{std::is_same_v<I, LinearIndex> ? 0 : sizeof(operand_t<I>), Widened<I>::is_half}...,
          MaybeHalves{sizeof(O), Widened<O*>::is_half}...};
      for (std::size_t i = 0; i < sizeof...(I); ++i)
        if ((repeated >> i & 1u) != 0) all[i].size = 0;
      return all;
    }();
    using Floats = MapLoop<F, Pack<typename Widened<I>::type...>, Pack<typename Widened<O*>::type...>, repeated>;
    run_widened(&Floats::run, operands.data(), sizeof...(I), sizeof...(O), f, n, first, in, out);
  }
};

/// Conversions need no loop over floats.
template <>
struct WidenedLoop<locus::detail::ConvertElement<half, float>, Pack<const half*>, Pack<float*>, 0> {
  static void run(const void*, std::int64_t n, std::int64_t, const void* const* in, void* const* out) {
    halves_to_floats(static_cast<float*>(out[0]), static_cast<const half*>(in[0]), n);
  }
};
template <>
struct WidenedLoop<locus::detail::ConvertElement<float, half>, Pack<const float*>, Pack<half*>, 0> {
  static void run(const void*, std::int64_t n, std::int64_t, const void* const* in, void* const* out) {
    floats_to_halves(static_cast<half*>(out[0]), static_cast<const float*>(in[0]), n);
  }
};

/// The loop of a map, and the loop for a plan along whose runs some inputs are repeated.
template <class F, class In, class Out>
struct MapLoopFor;
template <class F, class... I, class... O>
struct MapLoopFor<F, Pack<I...>, Pack<O...>> {
  static constexpr bool has_halves = (Widened<I>::is_half || ...) || (Widened<O>::is_half || ...);
  static constexpr unsigned repeated = repeated_inputs<F>;
  template <unsigned inputs>
  using loop = std::conditional_t<has_halves && !is_copy<F>, WidenedLoop<F, Pack<I...>, Pack<O...>, inputs>,
                                  MapLoop<F, Pack<I...>, Pack<O...>, inputs>>;
  using repeating = loop<repeated>;
  using type = loop<0>;
};

/// Number of parts into which a launch is split.
[[nodiscard]] inline std::int64_t parts_of(const MapCall& call) {
  std::int64_t bytes = 0;  // of an element of every operand
  for (int i = 0; i < call.plan.operands; ++i) bytes += call.operands[i].data ? call.operands[i].size : 0;
  const std::int64_t fitting = bytes_per_thread / locus::detail::larger<std::int64_t>(bytes, 1);
  return parts_for(call.plan.elements, locus::detail::smaller(elements_per_thread, fitting));
}

[[nodiscard]] LOCUS_COLD inline locus::detail::LaunchDescription describe(const MapCall& call) {
  const PlanView& plan = call.plan;
  locus::detail::LaunchDescription launch{"map", call.function, plan.extents()};
  for (int i = 0; i < plan.operands; ++i) launch.bytes += plan.touched_bytes(i, call.operands[i]);
  return launch;
}

LOCUS_OUT_OF_LINE inline void map(const MapCall& call) {
  locus::detail::HostTrace trace;
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin(describe(call));
  const std::int64_t elements = call.plan.elements, parts = parts_of(call);
  const auto run_all = [&](std::int64_t count, const auto& run) {
    parallel_for(parts, [&](std::int64_t part) {
      for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) run(i);
    });
  };
  if (call.copies) {
    if (const TransposingCopy copy(call.plan, call.operands); copy.applies())
      return run_all(copy.strips(), [&](std::int64_t strip) { copy.copy(strip); });
  }
  if (const TransposedMap map(call); map.applies())
    return run_all(map.blocks(), [&](std::int64_t block) { map.run(block); });
  if (const ShortRows rows(call); rows.applies()) {
    return parallel_for(parts,
                        [&](std::int64_t part) { rows.run(elements * part / parts, elements * (part + 1) / parts); });
  }
  auto* const range = copies_in_place(call) ? &copy_range : &map_range;
  if (parts <= 1) return range(call, 0, elements);
  parallel_for(parts, [&](std::int64_t part) { range(call, elements * part / parts, elements * (part + 1) / parts); });
}

template <class F, class... I, class... O>
void map(const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f, const Pack<I...>& in,
         const Pack<O*...>& out) {
  [&]<int... i, int... o>(std::integer_sequence<int, i...>, std::integer_sequence<int, o...>) {
    const ByteOperand operands[] = {byte_operand(get<i>(in))..., byte_operand(get<o>(out))...};
    using Loop = MapLoopFor<F, Pack<I...>, Pack<O*...>>;
    MapCall call{locus::detail::type_text<F>(),
                 plan.elements,
                 plan,
                 static_cast<int>(sizeof...(I)),
                 operands,
                 &Loop::type::run,
                 &f,
                 is_copy<F>};
    if constexpr (Loop::repeated != 0) {
      if (repeats_along(call.plan, operands, Loop::repeated)) {
        call.run = &Loop::repeating::run;
        call.repeated = Loop::repeated;
      }
    }
    map(call);
  }(std::make_integer_sequence<int, sizeof...(I)>{}, std::make_integer_sequence<int, sizeof...(O)>{});
}

}}}  // namespace locus::LOCUS_ABI::cpu
LOCUS_LOOPS_END
