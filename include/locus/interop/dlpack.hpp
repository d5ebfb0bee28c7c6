#pragma once
// Tensors from and to other libraries by DLPack: PyTorch, NumPy, CuPy, JAX, TVM. Nothing is copied.

#include <locus/cuda/foreign_stream.hpp>
#include <locus/interop/dlpack_structs.hpp>
#include <locus/tensor/from_blob.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct DlpackOptions {
  /// The other library's stream on a GPU: its handle, 1 for CUDA's legacy default stream, which is also PyTorch's and
  /// CuPy's, 2 for the per-thread default stream, -1 if the work is ordered already.
  std::intptr_t stream = cuda::legacy_stream;
};

namespace detail {

/// A place that DLPack can name.
template <class D>
concept NamedByDlpack = MemorySpace<D> && requires(D device) { dlpack::Place<D>::of(device); };

/// A tensor that DLPack describes, checked apart from its element type and device.
struct DlpackTensor {
  void* data;
  dlpack::DLDevice device;
  dlpack::DLDataType type;
  bool is_read_only;
  Layout layout;
};

/// throws ShapeError for ndim or extents that no tensor has, ArgumentError for a shape that is missing
[[nodiscard]] LOCUS_OUT_OF_LINE inline Layout layout_of(const dlpack::DLTensor& given, std::string_view caller) {
  if (given.ndim < 0 || given.ndim > max_rank)
    fail<ShapeError>({caller, ": a tensor of ", given.ndim, " dimensions; expected 0 to ", max_rank,
                      ": reshape it in the other library"});
  if (given.ndim > 0 && !given.shape)
    fail<ArgumentError>({caller, ": a null pointer to the shape of a tensor of ", given.ndim, " dimensions"});
  const auto rank = static_cast<std::size_t>(given.ndim);
  const Shape shape(Span<const std::int64_t>(given.shape, rank));
  for (const std::int64_t extent : shape)
    if (extent < 0) fail<ShapeError>({caller, ": shape ", shape, " has a negative extent; expected 0 or more"});
  return {shape, given.strides ? Strides(Span<const std::int64_t>(given.strides, rank)) : row_major(shape)};
}

/// throws ArgumentError for an offset past the end of the address space
[[nodiscard]] LOCUS_OUT_OF_LINE inline void* first_element(const dlpack::DLTensor& given, std::string_view caller) {
  std::uintptr_t address = 0;
  if (!given.data) return nullptr;
  if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(given.data), given.byte_offset, &address))
    fail<ArgumentError>({caller, ": the first element is ", given.byte_offset, " bytes behind the pointer, which is ",
                         "past the end of memory"});
  return static_cast<std::byte*>(given.data) + given.byte_offset;
}

/// throws ArgumentError for a struct that was used already, or of another major version; see layout_of, first_element
template <class M>
[[nodiscard]] DlpackTensor tensor_in(const dlpack::Owner<M>& managed, std::string_view caller) {
  const M* const given = managed.get();
  if (!given)
    fail<ArgumentError>(
        {caller, ": there is no tensor: a struct of DLPack is used once; ask the other library for ", "another one"});
  bool is_read_only = false;
  if constexpr (dlpack::Versioned<M>) {  // first, as other versions may have other members
    if (given->version.major != dlpack::version.major)
      fail<ArgumentError>({caller, ": a struct of DLPack ", given->version.major, ".", given->version.minor,
                           "; expected ", dlpack::version.major, ".x: ask the other library for it, as max_version"});
    is_read_only = (given->flags & dlpack::read_only) != 0;
  }
  const auto& [data, device, ndim, type, shape, strides, offset] = given->dl_tensor;
  const dlpack::DLTensor tensor{data,  {static_cast<dlpack::DLDeviceType>(device.device_type), device.device_id},
                                ndim,  {type.code, type.bits, type.lanes},
                                shape, strides,
                                offset};
  return {first_element(tensor, caller), tensor.device, tensor.dtype, is_read_only, layout_of(tensor, caller)};
}

LOCUS_OUT_OF_LINE inline void require_type(dlpack::DLDataType found, dlpack::DLDataType expected,
                                           std::string_view caller) {
  if (!(found == expected))
    fail<ArgumentError>({caller, ": the elements are ", found, ", and the tensor would hold ", expected, "; name the ",
                         "type of the elements, and convert with .as<T>(); with_dlpack finds the type"});
}
LOCUS_COLD inline void refuse_place(dlpack::DLDevice found, const std::string& expected, std::string_view caller) {
  fail<DeviceError>(
      {caller, ": the memory is on ", found, ", and the tensor would be on ", expected,
       "; copy it in the other library, as by x.cpu() of PyTorch, or name the place of the memory, as in ",
       "from_dlpack<float, Cuda>"});
}

/// Owns memory of another library.
template <class M, class D>
class ForeignMemory final : public MemoryOwner {
 public:
  explicit ForeignMemory(D device) : device_(device) {}
  ForeignMemory(const ForeignMemory&) = delete;
  ForeignMemory& operator=(const ForeignMemory&) = delete;
  ~ForeignMemory() override {
    if constexpr (std::is_same_v<D, Cuda>)
      if (managed_) cuda::settle_own_stream(device_);
  }
  void take(dlpack::Owner<M>&& managed) noexcept { managed_ = std::move(managed); }

 private:
  D device_;
  dlpack::Owner<M> managed_;
};

/// The tensor in a struct, which it takes over if nothing is thrown. `device`, unless null, is to be the memory's.
template <class T, class D, class M>
[[nodiscard]] Tensor<T, D> tensor_of_dlpack(dlpack::Owner<M>& managed, const D* device, const DlpackOptions& options,
                                            const BlobWords& words) {
  const DlpackTensor given = tensor_in(managed, words.caller);
  if (!dlpack::Place<D>::holds(given.device)) refuse_place(given.device, to_string(D{}), words.caller);
  require_type(given.type, dlpack::data_type<T>, words.caller);
  if (given.is_read_only && !words.reads_any_strides)
    fail<ArgumentError>({words.caller, ": the memory is read-only, and a tensor can write to its own; copy it, by ",
                         "copy_from_dlpack"});
  const D found = dlpack::Place<D>::at(given.device);
  const bool is_on_every_gpu = given.device.device_type == dlpack::kDLCUDAManaged;
  if (device && !(*device == found) && !is_on_every_gpu) refuse_place(given.device, to_string(*device), words.caller);
  const D place = device ? *device : found;
  auto* const memory = new ForeignMemory<M, D>(place);
  const Shared<const MemoryOwner> owner(memory);
  if constexpr (std::is_same_v<D, Cuda>) cuda::follow_stream(place, options.stream);
  auto result = tensor_over<T, D>(static_cast<T*>(given.data), given.layout, place, owner, words);
  memory->take(std::move(managed));
  return result;
}
inline constexpr BlobWords words_of_dlpack{
    .caller = "from_dlpack",
    .if_negative = "copy it, by copy_from_dlpack",
    .if_shared = "copy it, by copy_from_dlpack",
    .if_misaligned = "copy it in the other library",
};
inline constexpr BlobWords words_of_dlpack_copy{
    .caller = "copy_from_dlpack",
    .if_misaligned = "copy it in the other library",
    .reads_any_strides = true,
};

/// A struct together with the memory that it describes.
template <class M, class D>
struct Exported {
  M managed{};
  Buffer<D> buffer;
  Layout layout;
  std::intptr_t stream;

  static void release(M* managed) {
    auto* const exported = static_cast<Exported*>(managed->manager_ctx);
    if constexpr (std::is_same_v<D, Cuda>)  // another stream's handle may be invalid by now
      if (exported->stream == cuda::legacy_stream || exported->stream == cuda::per_thread_stream)
        cuda::settle_stream(exported->buffer.device(), exported->stream);
    delete exported;
  }
};
}  // namespace detail

/// The tensor in a struct of DLPack, in the same memory. The type says the element type and the place; both are
/// checked here, once. The last tensor, view or graph that uses the memory calls the struct's deleter, on a GPU after
/// the host has waited for this thread's stream. After another library wrote to the memory, call changed() of the
/// tensor. Page-locked memory arrives as Cpu. On a GPU, work that this thread queues from now on follows the work in
/// options.stream.
/// gradient: none; variable(x) collects one, in separate memory
/// cost:  no copy
/// throws DeviceError for memory elsewhere; ArgumentError for another element type, read-only memory, negative strides,
/// elements that share memory, a null or misaligned pointer, another major version of DLPack, or a struct that was used
/// already; ShapeError for more than eight dimensions or a negative extent. `managed` then still owns the struct.
///
///     dlpack::Owner managed(at::toDLPack(image));
///     auto x = from_dlpack<float, Cuda>(std::move(managed));
template <DType T, Device D = Cpu, dlpack::Managed M>
[[nodiscard]] Tensor<T, D> from_dlpack(dlpack::Owner<M>&& managed, const DlpackOptions& options = {}) {
  return detail::tensor_of_dlpack<T, D>(managed, static_cast<const D*>(nullptr), options, detail::words_of_dlpack);
}
/// As above; throws DeviceError also for memory of another GPU than `device`.
template <DType T, Device D, dlpack::Managed M>
[[nodiscard]] Tensor<T, D> from_dlpack(dlpack::Owner<M>&& managed, D device, const DlpackOptions& options = {}) {
  return detail::tensor_of_dlpack<T, D>(managed, &device, options, detail::words_of_dlpack);
}

/// A copy of the tensor in a struct of DLPack, dense and in memory of Locus. It also reads read-only memory, negative
/// strides, and elements that share memory, as views of NumPy may have them.
/// cost:  one launch; on a GPU the host waits for it
/// throws as from_dlpack for other mistakes, and OutOfMemory
template <DType T, Device D = Cpu, dlpack::Managed M>
[[nodiscard]] Tensor<T, D> copy_from_dlpack(dlpack::Owner<M>&& managed, const DlpackOptions& options = {}) {
  return detail::tensor_of_dlpack<T, D>(managed, static_cast<const D*>(nullptr), options, detail::words_of_dlpack_copy)
      .clone();
}

/// A struct of DLPack that shares the tensor's memory, and keeps it alive until its deleter is called. M is the struct,
/// ours or one of a dlpack.h, with a version or, for older libraries, DLManagedTensor. On a GPU, work that is queued in
/// options.stream from now on follows this thread's work. Any thread may call the deleter. It returns the memory in the
/// order of that stream if this is one of CUDA's default streams; of another stream, the work has to be done before.
/// After the other library wrote to the memory, call changed() of the tensor.
/// cost:  no copy
///
///     at::Tensor y = at::fromDLPack(to_dlpack<::DLManagedTensor>(x).release());
template <dlpack::Managed M = dlpack::DLManagedTensorVersioned, DType T, class D>
  requires detail::NamedByDlpack<D>
[[nodiscard]] dlpack::Owner<M> to_dlpack(const Tensor<T, D>& x, const DlpackOptions& options = {}) {
  detail::bring(x);
  x.buffer().require_readable();
  if constexpr (std::is_same_v<D, Cuda>) cuda::precede_stream(x.device(), options.stream);
  auto* const exported = new detail::Exported<M, D>{{}, x.buffer(), x.layout(), options.stream};
  M& managed = exported->managed;
  auto& given = managed.dl_tensor;
  const dlpack::DLDevice device = dlpack::Place<D>::of(x.device());
  if constexpr (dlpack::Versioned<M>) {
    managed.version.major = dlpack::version.major;
    managed.version.minor = dlpack::version.minor;
  }
  given.data = x.empty() ? nullptr : x.data();
  given.device.device_type = static_cast<decltype(given.device.device_type)>(device.device_type);
  given.device.device_id = device.device_id;
  given.ndim = x.rank();
  given.dtype = {dlpack::data_type<T>.code, dlpack::data_type<T>.bits, dlpack::data_type<T>.lanes};
  given.shape = exported->layout.shape.begin();
  given.strides = exported->layout.strides.begin();
  managed.manager_ctx = exported;
  managed.deleter = &detail::Exported<M, D>::release;
  return dlpack::Owner<M>(&managed);
}

namespace detail {
template <class... T>
struct ElementTypes {};
using AllElementTypes = ElementTypes<float, double, half, bfloat16, bool, std::int8_t, std::int16_t, std::int32_t,
                                     std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

/// The type of the only parameter of a function that is neither a template nor overloaded; else void.
template <class Call>
struct ParameterOf {
  using type = void;
};
template <class R, class C, class X, bool is_noexcept>
struct ParameterOf<R (C::*)(X) noexcept(is_noexcept)> : std::remove_cvref<X> {};
template <class R, class C, class X, bool is_noexcept>
struct ParameterOf<R (C::*)(X) const noexcept(is_noexcept)> : std::remove_cvref<X> {};
template <class R, class X, bool is_noexcept>
struct ParameterOf<R (*)(X) noexcept(is_noexcept)> : std::remove_cvref<X> {};
template <class F>
struct OnlyParameter : ParameterOf<F> {};
template <class F>
  requires requires { typename ParameterOf<decltype(&F::operator())>::type; }
struct OnlyParameter<F> : ParameterOf<decltype(&F::operator())> {};

/// Whether f can be called with an X itself: std::is_invocable counts conversions that clang only refuses in the call.
template <class F, class X>
inline constexpr bool takes =
    std::is_invocable_v<F&, X> && (std::is_void_v<typename OnlyParameter<std::decay_t<F>>::type> ||
                                   std::is_same_v<typename OnlyParameter<std::decay_t<F>>::type, X>);

/// The type that f returns for the first of these tensors that it takes.
template <class F, class... X>
struct ResultOfOne {};
template <class F, class X, class... Rest>
struct ResultOfOne<F, X, Rest...>
    : std::conditional_t<takes<F, X>, std::invoke_result<F&, X>, ResultOfOne<F, Rest...>> {};
template <class F, class Types>
struct ResultOfDispatch;
template <class F, class... T>
struct ResultOfDispatch<F, ElementTypes<T...>> : ResultOfOne<F, Tensor<T, Cpu>..., Tensor<T, Cuda>...> {};
/// A function that takes a tensor of some element type on Cpu or Cuda.
template <class F>
concept TakesSomeTensor = requires { typename ResultOfDispatch<F, AllElementTypes>::type; };

/// f with the tensor in a struct, if f takes it.
template <class R, class D, class F, class M, class T, class... Rest>
R call_with_dlpack(F& f, const DlpackTensor& given, dlpack::Owner<M>& managed, const DlpackOptions& options,
                   ElementTypes<T, Rest...>) {
  if constexpr (takes<F, Tensor<T, D>>) {
    static_assert(std::is_same_v<R, std::invoke_result_t<F&, Tensor<T, D>>>,
                  "with_dlpack(managed, f): f has to return the same type for every tensor");
    if (given.type == dlpack::data_type<T>) return f(from_dlpack<T, D>(std::move(managed), options));
  }
  if constexpr (sizeof...(Rest) > 0) return call_with_dlpack<R, D>(f, given, managed, options, ElementTypes<Rest...>{});
  else
    fail<ArgumentError>(
        {"with_dlpack: the function takes no tensor of ", given.type, " on ", given.device,
         "; let its parameter be a template, as in []<class T, class D>(const Tensor<T, D>& x), or convert the ",
         "elements in the other library"});
}
}  // namespace detail

/// Calls f with the tensor in a struct of DLPack, whose element type and place are known only when the program runs. f
/// is compiled for each element type and place, Cpu and Cuda, for which it can be called, and returns one type.
/// throws as from_dlpack; ArgumentError for a tensor that f does not take
///
///     double total = with_dlpack(std::move(managed), []<FloatingDType T>(const Tensor<T, Cpu>& x) {
///       return sum(x.template as<double>()).item();
///     });
template <dlpack::Managed M, detail::TakesSomeTensor F,
          class R = typename detail::ResultOfDispatch<F, detail::AllElementTypes>::type>
R with_dlpack(dlpack::Owner<M>&& managed, F&& f, const DlpackOptions& options = {}) {
  const detail::DlpackTensor given = detail::tensor_in(managed, "with_dlpack");
  if (dlpack::Place<Cpu>::holds(given.device))
    return detail::call_with_dlpack<R, Cpu>(f, given, managed, options, detail::AllElementTypes{});
  if (!dlpack::Place<Cuda>::holds(given.device)) detail::refuse_place(given.device, "cpu or cuda", "with_dlpack");
#if LOCUS_CUDA
  return detail::call_with_dlpack<R, Cuda>(f, given, managed, options, detail::AllElementTypes{});
#else
  cuda::require_device(given.device.device_id);
#endif
}

#include <locus/refuse/interop/dlpack.inc>

}}  // namespace locus::LOCUS_ABI
