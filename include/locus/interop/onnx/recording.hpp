#pragma once
// The place where a model is recorded as a graph. It computes as Cpu does; operations on traced tensors there are also
// written to the recorder of the thread.

#include <locus/cpu/backend.hpp>
#include <locus/device/capabilities.hpp>
#include <locus/device/place_queries.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace onnx {
/// The place of a model that is being recorded. Code written for any place runs on it unchanged.
struct Recording {
  friend constexpr bool operator==(Recording, Recording) = default;
};
[[nodiscard]] inline std::string to_string(Recording) { return "onnx"; }
}  // namespace onnx

/// The verbs of the host. The host may not access the memory, so that a program reads elements by a copy, which is
/// refused while a graph is recorded.
template <>
struct Backend<onnx::Recording> {
  using Self = onnx::Recording;
  using Host = Backend<Cpu>;

  [[nodiscard]] static void* allocate(Self, std::size_t bytes) { return Host::allocate({}, bytes); }
  static void deallocate(Self, void* data, std::size_t bytes) noexcept { Host::deallocate({}, data, bytes); }
  [[nodiscard]] static MemoryStats memory_stats(Self) { return Host::memory_stats({}); }
  static void synchronize(Self) {}

  template <class F, class... I, class... O>
  static void map(Self, const Plan<static_cast<int>(sizeof...(I) + sizeof...(O))>& plan, const F& f,
                  const Pack<I...>& inputs, const Pack<O*...>& outputs) {
    Host::map({}, plan, f, inputs, outputs);
  }
  template <class F>
  static void for_each_row(Self, std::int64_t rows, std::int64_t cols, const F& f) {
    Host::for_each_row({}, rows, cols, f);
  }
  template <class F, class Op, class... I, class T>
  static void reduce(Self, const ReducePlan<static_cast<int>(sizeof...(I))>& plan, const F& f, const Op& op,
                     const Pack<I...>& inputs, const T* previous, T* out) {
    Host::reduce({}, plan, f, op, inputs, previous, out);
  }
  template <class T, class E>
  static void gemm(Self, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                   const E& epilogue) {
    Host::gemm({}, batch, a, b, c, epilogue);
  }
};

/// Sorting on the host, for programs that include ops/sort.hpp.
template <>
struct Sorting<onnx::Recording> {
  template <class Key, class... N>
  static void order(onnx::Recording, Key* keys, std::uint32_t* positions, N... numbers) {
    Sorting<Host<Key>>::order(Cpu{}, keys, positions, numbers...);
  }
  template <class Flag>
  static void select(onnx::Recording, const Flag* flags, std::int64_t n, std::int64_t* places) {
    Sorting<Host<Flag>>::select(Cpu{}, flags, n, places);
  }

 private:
  /// Cpu, but dependent: that header defines Sorting<Cpu>.
  template <class T>
  using Host = std::conditional_t<std::is_void_v<T>, T, Cpu>;
};

namespace onnx::exporting {
/// Whether this thread records a graph, which does not follow elements that leave it.
inline thread_local bool is_recording = false;
}  // namespace onnx::exporting

/// From any place that the host copies from.
template <class D>
  requires CopyableTo<D, Cpu>
struct Transfer<D, onnx::Recording> {
  static void copy(D from, const void* source, onnx::Recording, void* target, std::size_t bytes) {
    Transfer<D, Cpu>::copy(from, source, Cpu{}, target, bytes);
  }
};
template <>
struct Transfer<onnx::Recording, onnx::Recording> {
  static void copy(onnx::Recording, const void* source, onnx::Recording, void* target, std::size_t bytes) {
    Transfer<Cpu, Cpu>::copy({}, source, {}, target, bytes);
  }
};
/// throws ArgumentError while a graph is recorded
template <>
struct Transfer<onnx::Recording, Cpu> {
  static void copy(onnx::Recording, const void* source, Cpu, void* target, std::size_t bytes) {
    if (onnx::exporting::is_recording)
      fail<ArgumentError>(
          {"onnx: the model copies a tensor to the host, by item() or to<Cpu>(); a graph does not follow a value that "
           "leaves it: compute with tensors, such as where(condition, x, y)"});
    Transfer<Cpu, Cpu>::copy({}, source, {}, target, bytes);
  }
};

static_assert(Device<onnx::Recording>);

}}  // namespace locus::LOCUS_ABI
