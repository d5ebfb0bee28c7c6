#pragma once
// Tensors over existing memory: of another library, of a vector, or of a GPU. Nothing is copied.

#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// Memory that the program owns.
struct BorrowedMemory final : MemoryOwner {};
/// Memory that a deleter frees when the last tensor that uses it is destroyed.
template <class T, class F>
class GivenMemory final : public MemoryOwner {
 public:
  GivenMemory(T* data, F deleter) : data_(data), deleter_(std::move(deleter)) {}
  GivenMemory(const GivenMemory&) = delete;
  GivenMemory& operator=(const GivenMemory&) = delete;
  ~GivenMemory() override {
    if (is_ours_) deleter_(data_);
  }
  /// Takes ownership: the destructor calls the deleter.
  void take() { is_ours_ = true; }

 private:
  T* data_;
  F deleter_;
  bool is_ours_ = false;
};

/// The caller of bytes_of_blob, and its remedies.
struct BlobWords {
  std::string_view caller = "from_blob";
  std::string_view if_negative = "give the first element in memory, and flip the tensor";
  std::string_view if_shared = "give the memory as it lies, and repeat it by expand or unfold";
  std::string_view if_misaligned = "copy the memory to a tensor, with memcpy to x.data()";
  bool reads_any_strides = false;  ///< a tensor that is only copied may have negative strides, and shared elements
};

/// Number of bytes from the first element to the end of the last.
/// throws ShapeError for a negative extent, strides of another rank, or too many bytes; ArgumentError for negative
/// strides, elements that share memory, or a null or misaligned pointer
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::size_t bytes_of_blob(const void* data, const Layout& layout,
                                                                 std::size_t size, std::size_t alignment,
                                                                 const BlobWords& words) {
  const auto& [shape, strides] = layout;
  const std::string_view caller = words.caller;
  if (strides.rank() != shape.rank())
    fail<ShapeError>({caller, ": strides ", strides, " for shape ", shape, "; expected one for each dimension"});
  if (elements(shape) == 0) return 0;
  std::int64_t reach = 1;
  bool overflows = false;
  for (int d = 0; d < shape.rank(); ++d) {
    std::int64_t along = 0;
    if (strides[d] < 0 && !words.reads_any_strides)
      fail<ArgumentError>({caller, ": strides ", strides, "; expected none below 0: ", words.if_negative});
    overflows |= __builtin_mul_overflow(strides[d] < 0 ? 1 - shape[d] : shape[d] - 1, strides[d], &along) ||
                 __builtin_add_overflow(reach, along, &reach);
  }
  if (overflows || reach > INT64_MAX / static_cast<std::int64_t>(size))
    fail<ShapeError>({caller, ": shape ", shape, " with strides ", strides, " reaches over more than 2^63 bytes"});
  if (!words.reads_any_strides && layout.shares_elements())
    fail<ArgumentError>({caller, ": with strides ", strides, ", elements of shape ", shape,
                         " may share memory; expected one place for each: ", words.if_shared});
  if (!data) fail<ArgumentError>({caller, ": a null pointer for ", elements(shape), " elements of shape ", shape});
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0)
    fail<ArgumentError>({caller, ": a pointer that is no multiple of the ", alignment,
                         " bytes to which elements are aligned; ", words.if_misaligned});
  return static_cast<std::size_t>(reach) * size;
}

template <class T, class D>
[[nodiscard]] Tensor<T, D> tensor_over(T* data, const Layout& layout, D device, Shared<const MemoryOwner> owner,
                                       const BlobWords& words = {}) {
  const std::size_t bytes = bytes_of_blob(data, layout, sizeof(T), alignof(T), words);
  if constexpr (requires { Backend<D>::require_here(device, data, words.caller); }) {
    if (bytes > 0) Backend<D>::require_here(device, data, words.caller);
  }
  T* const lowest = bytes > 0 ? data + layout.span().begin : data;
  return Tensor<T, D>(Buffer<D>(device, lowest, bytes, owner), data, layout.shape, layout.strides);
}
template <class T, class F, class D>
[[nodiscard]] Tensor<T, D> tensor_over(T* data, const Layout& layout, F deleter, D device) {
  auto* const memory = new GivenMemory<T, F>(data, std::move(deleter));
  Tensor<T, D> result = tensor_over<T, D>(data, layout, device, Shared<const MemoryOwner>(memory));
  memory->take();
  return result;
}

template <class F, class T>
concept Deleter = std::is_invocable_v<F&, T*> && std::is_move_constructible_v<F>;

/// A writable range whose elements outlive the call: a std::span, or an lvalue such as a vector. R is the forwarded
/// type.
template <class R>
concept WritableElsewhere = (std::is_lvalue_reference_v<R> || requires(const std::remove_cvref_t<R>& values) {
                              requires !std::is_const_v<std::remove_reference_t<decltype(*std::data(values))>>;
                            }) && requires(std::remove_reference_t<R>& values) {
  std::size(values);
  requires DType<std::remove_reference_t<decltype(*std::data(values))>>;
};
}  // namespace detail

/// A tensor over memory that the program owns, as torch.from_blob: dense and row-major, read and written in place. The
/// memory, on `device`, must outlive every tensor, view and graph that uses it, and on a GPU the queued work as well.
/// After writing to the memory directly, call the tensor's changed(), so that a backward pass or an expression that
/// needs the old values throws StaleError.
/// gradient: none; variable(from_blob(...)) collects one, in separate memory
/// cost:  no copy
/// throws ShapeError for a negative extent; ArgumentError for a pointer that is null, not aligned to T, or, on Cuda, to
/// host memory; DeviceError for a pointer to memory of another GPU
///
///     float samples[6] = {1, 2, 3, 4, 5, 6};
///     auto x = from_blob(samples, {2, 3});   // x(0, 1) = 7 changes samples[1]
template <DType T, Device D = Cpu>
[[nodiscard]] Tensor<T, D> from_blob(T* data, const Shape& shape, D device = {}) {
  return detail::tensor_over<T, D>(data, {shape, row_major(shape)}, device,
                                   Shared<const MemoryOwner>(new detail::BorrowedMemory));
}
/// As above, with strides in elements: {1, rows} for a column-major matrix.
/// throws also for strides that are negative, of another rank, or make elements share memory
template <DType T, Device D = Cpu>
[[nodiscard]] Tensor<T, D> from_blob(T* data, const Shape& shape, const Strides& strides, D device = {}) {
  return detail::tensor_over<T, D>(data, {shape, strides}, device,
                                   Shared<const MemoryOwner>(new detail::BorrowedMemory));
}
/// As above, transferring ownership of the memory: deleter(data) is called when the last tensor, view or graph that
/// uses it is destroyed, in that thread, and must not throw. If from_blob throws, the deleter is not called, and the
/// program keeps ownership. On a GPU, launches that read the memory may still be queued in the current stream at that
/// time: the deleter has to free in stream order (cudaFreeAsync) or wait (cudaFree does).
///
///     auto x = from_blob(image.pixels, {3, 224, 224}, std::free);
///     auto y = from_blob(table->data(), {1000, 8}, [table](float*) {});   // holds a std::shared_ptr
template <DType T, detail::Deleter<T> F, Device D = Cpu>
[[nodiscard]] Tensor<T, D> from_blob(T* data, const Shape& shape, F deleter, D device = {}) {
  return detail::tensor_over<T, F, D>(data, {shape, row_major(shape)}, std::move(deleter), device);
}
template <DType T, detail::Deleter<T> F, Device D = Cpu>
[[nodiscard]] Tensor<T, D> from_blob(T* data, const Shape& shape, const Strides& strides, F deleter, D device = {}) {
  return detail::tensor_over<T, F, D>(data, {shape, strides}, std::move(deleter), device);
}
/// A tensor over the elements of a writable vector, array or std::span of numbers, in row-major order. They must live,
/// and a vector keep its size, as long as the tensor is used; from(values, shape) copies.
/// throws ShapeError unless the counts agree
///
///     std::vector<float> values(6);
///     auto x = from_blob(values, {2, 3});
template <class R>
  requires detail::WritableElsewhere<R&&>
[[nodiscard]] auto from_blob(R&& values, const Shape& shape) {
  if (static_cast<std::uint64_t>(elements(shape)) != std::size(values))
    fail<ShapeError>({"from_blob: ", std::size(values), " values for shape ", shape, ", which has ", elements(shape)});
  return locus::from_blob(std::data(values), shape);
}
#include <locus/refuse/tensor/from_blob.inc>

}}  // namespace locus::LOCUS_ABI
