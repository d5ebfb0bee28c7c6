#pragma once
// The reductions of all_reduce, reduce and reduce_scatter. 16-bit floats are computed in float and rounded once, except
// by NCCL; integers wrap around.

#include <locus/core/element_type.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/cuda/peers.hpp>
#include <locus/distributed/engine/collective_plan.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace op {
/// For bool, whether any is true.
struct Sum {
  static constexpr const char* name = "sum";
  template <class A>
  [[nodiscard]] LOCUS_FN static A combine(A a, A b) {
    if constexpr (std::is_same_v<A, bool>) return a || b;
    else if constexpr (std::is_integral_v<A>)
      return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else return a + b;
  }
  /// The result to store, from the sum over `ranks` ranks.
  template <class A> [[nodiscard]] LOCUS_FN static A finish(A sum, int) { return sum; }
};
/// The sum divided by the number of ranks; of floating-point numbers alone.
struct Mean : Sum {
  static constexpr const char* name = "mean";
  template <class A> [[nodiscard]] LOCUS_FN static A finish(A sum, int ranks) { return sum / static_cast<A>(ranks); }
};
/// For bool, whether all are true.
struct Prod : Sum {
  static constexpr const char* name = "prod";
  template <class A>
  [[nodiscard]] LOCUS_FN static A combine(A a, A b) {
    if constexpr (std::is_same_v<A, bool>) return a && b;
    else if constexpr (std::is_integral_v<A>)
      return static_cast<A>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else return a * b;
  }
};
/// NaN if any is.
struct Min : Sum {
  static constexpr const char* name = "min";
  template <class A> [[nodiscard]] LOCUS_FN static A combine(A a, A b) { return a < b || a != a ? a : b; }
};
/// NaN if any is.
struct Max : Sum {
  static constexpr const char* name = "max";
  template <class A> [[nodiscard]] LOCUS_FN static A combine(A a, A b) { return a > b || a != a ? a : b; }
};
}  // namespace op

inline constexpr op::Sum sum;
inline constexpr op::Mean mean;
inline constexpr op::Prod prod;
inline constexpr op::Min min;
inline constexpr op::Max max;

/// One of the reductions above.
template <class Op>
concept ReduceOp = std::is_same_v<Op, op::Sum> || std::is_same_v<Op, op::Mean> || std::is_same_v<Op, op::Prod> ||
                   std::is_same_v<Op, op::Min> || std::is_same_v<Op, op::Max>;
/// A reduction that elements of T have: there is no mean of integers.
template <class Op, class T>
concept ReduceOpOf = ReduceOp<Op> && DType<T> && (FloatingDType<T> || !std::is_same_v<Op, op::Mean>);

namespace detail {

LOCUS_LOOPS_BEGIN
/// Host loops. Sums are kept in compute_t<T>.
template <class T, class Op>
struct HostLoops {
  using A = compute_t<T>;
  LOCUS_FN static void load(const void* x, void* sum, std::int64_t count) {
    const T* const from = static_cast<const T*>(x);
    A* const to = static_cast<A*>(sum);
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = load_as_register(from[i]);
  }
  LOCUS_FN static void combine(const void* sum, const void* x, void* out, std::int64_t count) {
    const A* const before = static_cast<const A*>(sum);
    const T* const from = static_cast<const T*>(x);
    A* const to = static_cast<A*>(out);
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = Op::template combine<A>(before[i], load_as_register(from[i]));
  }
  LOCUS_FN static void store(const void* sum, void* out, std::int64_t count, int ranks) {
    const A* const from = static_cast<const A*>(sum);
    T* const to = static_cast<T*>(out);
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = from_register<T>(Op::template finish<A>(from[i], ranks));
  }
};
LOCUS_LOOPS_END

}  // namespace detail

/// A reduction with its types erased. A partial sum takes sum_bytes per element. Devices whose memory the host cannot
/// access have a specialization.
template <class D>
struct Reducer {
  std::int64_t element_bytes, sum_bytes;
  void (*load)(const void* x, void* sum, std::int64_t count);                               ///< sum = x
  void (*combine)(const void* sum, const void* x, void* out, std::int64_t count);           ///< out = sum op x
  void (*store)(const void* sum, void* out, std::int64_t count, int ranks);                 ///< out = sum, rounded
  void (*combine_sums)(const void* sum, const void* other, void* out, std::int64_t count);  ///< out = sum op other

  template <class T, class Op>
  [[nodiscard]] static const Reducer& of() {
    using Loops = detail::HostLoops<T, Op>;
    using OfSums = detail::HostLoops<compute_t<T>, Op>;
    static constexpr Reducer reducer{sizeof(T),
                                     sizeof(compute_t<T>),
                                     &cpu::Versions<&Loops::load>::call,
                                     &cpu::Versions<&Loops::combine>::call,
                                     &cpu::Versions<&Loops::store>::call,
                                     &cpu::Versions<&OfSums::combine>::call};
    return reducer;
  }
};

/// On GPUs.
template <>
struct Reducer<Cuda> {
  std::int64_t element_bytes, sum_bytes;
  decltype(&PeerMemory::combine<float, op::Sum>) combine;
  decltype(&PeerMemory::combine_partial<float, op::Sum>) combine_partial;
  const Reducer<Cpu>& (*on_host)();  ///< the same reduction on the host

  template <class T, class Op>
  [[nodiscard]] static const Reducer& of() {
    static constexpr Reducer reducer{sizeof(T), sizeof(compute_t<T>), &PeerMemory::combine<T, Op>,
                                     &PeerMemory::combine_partial<T, Op>, &Reducer<Cpu>::of<T, Op>};
    return reducer;
  }
};

namespace detail {
/// targets[i] = the elements of all sources, combined in their order. Tile by tile, so that sums stay in cache.
/// Targets may be sources.
template <class D>
void fold_on_host(const Reducer<D>& reducer, const void* const* sources, int ranks, void* const* targets,
                  int target_count, Range range) {
  constexpr std::int64_t tile = 1024;
  alignas(64) unsigned char sums[tile * 8];
  for (std::int64_t begin = range.begin; begin < range.end; begin += tile) {
    const std::int64_t count = range.end - begin < tile ? range.end - begin : tile, at = begin * reducer.element_bytes;
    const auto source = [&](int i) { return static_cast<const unsigned char*>(sources[i]) + at; };
    reducer.load(source(0), sums, count);
    for (int i = 1; i < ranks; ++i) reducer.combine(sums, source(i), sums, count);
    unsigned char* const first = static_cast<unsigned char*>(targets[0]) + at;
    reducer.store(sums, first, count, ranks);
    for (int i = 1; i < target_count; ++i)
      __builtin_memcpy(static_cast<unsigned char*>(targets[i]) + at, first,
                       static_cast<std::size_t>(count * reducer.element_bytes));
  }
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::dist
