#pragma once
// A GPU that computes nothing: launches, streams and events become entries of the recording, and memory is address
// space that is never touched. So one process records a training step of a model that fits no machine at hand, with the
// launches, waits and allocations of the code that runs on Cuda.
//
// Elements are zero, except for those that the host copied, and a few integers, such as counts that ranks compare:
// these are computed. Code that branches on values of other elements takes the way of zeros.

#include "recording.hpp"

#include <locus/core/printable.hpp>
#include <locus/device/attention.hpp>
#include <locus/device/capabilities.hpp>
#include <locus/device/convolution.hpp>
#include <locus/device/stream.hpp>
#include <locus/device/trace/launch_trace.hpp>

#include <sys/mman.h>

namespace scaling {

struct Virtual {
  friend constexpr bool operator==(Virtual, Virtual) = default;
};
[[nodiscard]] inline std::string to_string(Virtual) { return "virtual"; }

inline locus::MemoryStats virtual_memory{};

/// Bytes of the operands of map and reduce that are not null.
template <class X>
[[nodiscard]] double bytes_of(const X* operand, int rank, const std::int64_t* extent, const std::int64_t* stride) {
  return operand ? static_cast<double>(locus::detail::touched_bytes(rank, extent, stride, sizeof(X))) : 0;
}
[[nodiscard]] inline double bytes_of(locus::LinearIndex, int, const std::int64_t*, const std::int64_t*) { return 0; }

/// Most elements of integers that map computes.
inline constexpr std::int64_t most_computed = 16;
template <class T>
[[nodiscard]] locus::compute_t<T> read_integer(const T* operand, std::int64_t i) {
  return operand ? locus::load_as_register(operand[i]) : locus::compute_t<T>{};
}
[[nodiscard]] inline std::int64_t read_integer(locus::LinearIndex, std::int64_t i) { return i; }

/// Bytes per element that a functor of rows reads and writes: stated by itself, or its rows and a result in float.
template <class F>
[[nodiscard]] constexpr double row_bytes() {
  if constexpr (locus::CountsBytes<F>) return static_cast<double>(F::bytes_per_element);
  else return 4. * (F::fragments + 1);
}

}  // namespace scaling

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Backend<scaling::Virtual> {
  using Self = scaling::Virtual;

  [[nodiscard]] static void* allocate(Self, std::size_t bytes) {
    void* const data =
        mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) fail<OutOfMemory>({"virtual: no address space for ", bytes, " bytes"});
    MemoryStats& stats = scaling::virtual_memory;
    ++stats.requests;
    stats.allocated_bytes += static_cast<std::int64_t>(bytes);
    stats.restart_peak(stats.peak_bytes);
    return data;
  }
  static void deallocate(Self, void* data, std::size_t bytes) noexcept {
    scaling::virtual_memory.allocated_bytes -= static_cast<std::int64_t>(bytes);
    munmap(data, bytes + 1);
  }
  [[nodiscard]] static MemoryStats memory_stats(Self) { return scaling::virtual_memory; }
  static void restart_peak(Self, std::int64_t least) { scaling::virtual_memory.restart_peak(least); }
  static void synchronize(Self) { scaling::recording.add({.what = scaling::Entry::What::device_waits}); }

  template <class F, class... I, class... O>
  static void map(Self, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f,
                  const Pack<I...>& inputs, const Pack<O*...>& outputs) {
    if (plan.elements == 0) return;
    if constexpr (sizeof...(O) == 1 && (std::is_same_v<O, std::int64_t> && ...))
      if (plan.elements <= scaling::most_computed && plan.rank == 1) compute(plan, f, inputs, get<0>(outputs));
    [&]<int... i, int... o>(std::integer_sequence<int, i...>, std::integer_sequence<int, o...>) {
      const auto bytes = [&](const auto& operand, int at) {
        return scaling::bytes_of(operand, plan.rank, plan.extent, plan.stride[at]);
      };
      scaling::recording.launch((0. + ... + bytes(get<i>(inputs), i)) +
                                    (0. + ... + bytes(get<o>(outputs), static_cast<int>(sizeof...(I)) + o)),
                                0);
    }(std::make_integer_sequence<int, sizeof...(I)>{}, std::make_integer_sequence<int, sizeof...(O)>{});
  }
  template <RowFunctor F>
  static void for_each_row(Self, std::int64_t rows, std::int64_t cols, const F&) {
    scaling::recording.launch(scaling::row_bytes<F>() * static_cast<double>(rows) * static_cast<double>(cols), 0);
  }
  template <RowFunctor F, class T>
  static std::true_type for_each_row(Self device, std::int64_t rows, std::int64_t cols, const F& f,
                                     const ColumnSum<T>*) {
    for_each_row(device, rows, cols, f);
    return {};
  }
  template <class F, class Op, class... I, class T>
  static void reduce(Self, const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F&, const Op&,
                     const Pack<I...>& inputs, const T*, T*) {
    if (plan.kept.elements == 0) return;
    [&]<int... i>(std::integer_sequence<int, i...>) {
      const auto bytes = [&](const auto& operand, int at) {
        return scaling::bytes_of(operand, plan.reduced.rank, plan.reduced.extent, plan.reduced.stride[at]) *
               static_cast<double>(
                   locus::detail::touched_bytes(plan.kept.rank, plan.kept.extent, plan.kept.stride[at], 1));
      };
      scaling::recording.launch(
          (0. + ... + bytes(get<i>(inputs), i)) + static_cast<double>(plan.kept.elements) * sizeof(T), 0);
    }(std::make_integer_sequence<int, sizeof...(I)>{});
  }
  template <class T, class E>
  static void gemm(Self, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T>, MatrixRef<T> c, const E&) {
    const auto m = static_cast<double>(c.rows), n = static_cast<double>(c.cols), k = static_cast<double>(a.cols);
    const auto count = static_cast<double>(batch.count);
    scaling::recording.launch(count * sizeof(T) * (m * k + k * n + m * n), 2 * count * m * n * k);
  }

 private:
  template <class P, class F, class... I>
  static void compute(const P& plan, const F& f, const Pack<I...>& inputs, std::int64_t* output) {
    [&]<int... i>(std::integer_sequence<int, i...>) {
      for (std::int64_t at = 0; output && at < plan.elements; ++at) {
        std::int64_t result = 0;
        f(scaling::read_integer(get<i>(inputs), at * plan.stride[i][0])..., result);
        output[at * plan.stride[sizeof...(I)][0]] = result;
      }
    }(std::make_integer_sequence<int, sizeof...(I)>{});
  }
};

namespace detail {
/// Copies with the host take place, as the host may read them.
struct VirtualCopy {
  static void run(const void* source, void* target, std::size_t bytes) {
    scaling::recording.add({.what = scaling::Entry::What::device_waits});
    if (bytes > 0) __builtin_memcpy(target, source, bytes);
  }
};
}  // namespace detail
template <>
struct Transfer<Cpu, scaling::Virtual> {
  static void copy(Cpu, const void* source, scaling::Virtual, void* target, std::size_t bytes) {
    detail::VirtualCopy::run(source, target, bytes);
  }
};
template <>
struct Transfer<scaling::Virtual, Cpu> {
  static void copy(scaling::Virtual, const void* source, Cpu, void* target, std::size_t bytes) {
    detail::VirtualCopy::run(source, target, bytes);
  }
};
template <>
struct Transfer<scaling::Virtual, scaling::Virtual> {
  static void copy(scaling::Virtual, const void*, scaling::Virtual, void*, std::size_t bytes) {
    scaling::recording.launch(2. * static_cast<double>(bytes), 0);
  }
};

template <>
class Event<scaling::Virtual> {
 public:
  Event() = default;
  [[nodiscard]] explicit operator bool() const { return number_ > 0; }
  void wait() const {
    if (number_ > 0) scaling::recording.add({.what = scaling::Entry::What::host_waits, .event = number_});
  }
  [[nodiscard]] bool done() const { return true; }

 private:
  friend class Stream<scaling::Virtual>;
  explicit Event(int number) : number_(number) {}
  int number_ = 0;
};

template <>
class Stream<scaling::Virtual> {
 public:
  using device_type = scaling::Virtual;
  class Current {
   public:
    explicit Current(const Stream& stream) { scaling::recording.stream = stream.number_; }
    ~Current() { scaling::recording.stream = before_; }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    int before_ = scaling::recording.stream;
  };
  explicit Stream(scaling::Virtual = {}) : Stream(scaling::recording.new_stream()) {}
  [[nodiscard]] static Stream current(scaling::Virtual = {}) { return Stream(scaling::recording.stream); }
  [[nodiscard]] scaling::Virtual device() const { return {}; }
  [[nodiscard]] Event<scaling::Virtual> record() const {
    return Event<scaling::Virtual>(scaling::recording.record(number_));
  }
  void wait(const Event<scaling::Virtual>& event) const {
    if (event) scaling::recording.add({.what = scaling::Entry::What::wait, .stream = number_, .event = event.number_});
  }
  void synchronize() const { scaling::recording.add({.what = scaling::Entry::What::device_waits}); }

 private:
  explicit Stream(int number) : number_(number) {}
  int number_;
};

/// One launch for each pass: of two products forward, and of five backward, where scores are computed again.
template <>
struct FusedAttention<scaling::Virtual> {
  template <class T, class Drop>
  [[nodiscard]] static bool forward(scaling::Virtual, const AttentionCall<T>& call, const Drop&,
                                    const AttentionHeads<T>&, const AttentionNumbers<compute_t<T>>&) {
    scaling::recording.launch(bytes(call), 2 * products(call));
    return true;
  }
  template <class T, class Drop, class Y, class G, class Gradient>
  [[nodiscard]] static bool backward(scaling::Virtual, const AttentionCall<T>& call, const Drop&, const Y&,
                                     const AttentionNumbers<compute_t<T>>&, const G&, const Gradient&, const Gradient&,
                                     const Gradient&) {
    scaling::recording.launch(2 * bytes(call), 5 * products(call));
    return true;
  }

 private:
  template <class T>
  [[nodiscard]] static double products(const AttentionCall<T>& call) {
    return 2 * call.pairs() * static_cast<double>(call.shape.width);
  }
  template <class T>
  [[nodiscard]] static double bytes(const AttentionCall<T>& call) {
    const AttentionShape& shape = call.shape;
    return sizeof(T) * static_cast<double>(shape.batch * shape.heads) *
           static_cast<double>((shape.rows + shape.keys) * (shape.width + shape.value_width));
  }
};

/// One launch for each pass.
template <>
struct Convolution<scaling::Virtual> {
  template <class T>
  [[nodiscard]] static bool forward(scaling::Virtual, const ConvShape& shape, const ConvImages<const T>&, const T*,
                                    const T*, const ConvImages<T>&, bool) {
    return pass<T>(shape);
  }
  template <class T>
  [[nodiscard]] static bool input_gradient(scaling::Virtual, const ConvShape& shape, const ConvImages<const T>&,
                                           const T*, const T*, const ConvImages<T>&, bool) {
    return pass<T>(shape);
  }
  template <class T>
  [[nodiscard]] static bool weight_gradient(scaling::Virtual, const ConvShape& shape, const ConvImages<const T>&,
                                            const ConvImages<const T>&, T*, bool) {
    return pass<T>(shape);
  }

 private:
  template <class T>
  [[nodiscard]] static bool pass(const ConvShape& shape) {
    const double images =
        static_cast<double>(shape.batch) * static_cast<double>(shape.in * shape.inputs() + shape.out * shape.outputs());
    const double products =
        static_cast<double>(shape.batch) * static_cast<double>(shape.outputs()) * static_cast<double>(shape.weights());
    scaling::recording.launch(sizeof(T) * (images + static_cast<double>(shape.weights())), 2 * products);
    return true;
  }
};

static_assert(StreamingDevice<scaling::Virtual> && AttendingDevice<scaling::Virtual, bfloat16> &&
              ConvolvingDevice<scaling::Virtual, bfloat16> && SumsColumns<scaling::Virtual>);

}}  // namespace locus::LOCUS_ABI
