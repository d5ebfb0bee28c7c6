// Arrays of other libraries, through DLPack.

#include "exchange.hpp"

#include <locus/core/printable.hpp>
#include <locus/interop/dlpack.hpp>

#include <nanobind/stl/pair.h>

#include <utility>

namespace locus::python {

namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

constexpr const char* old_name = "dltensor";
constexpr const char* versioned_name = "dltensor_versioned";

[[noreturn]] void refuse_object(const char* caller, nb::handle object) {
  throw nb::type_error(join(caller, ": an argument of type ", nb::inst_name(object).c_str(),
                            "; expected a tensor: a NumPy array, a PyTorch tensor or another object with __dlpack__; "
                            "locus.asarray makes one of numbers and lists")
                           .c_str());
}

// Whether a tensor of Locus can have these strides: none below 0, and a place for each element.
[[nodiscard]] bool is_plain(const DLTensor& tensor) {
  if (!tensor.strides || !tensor.shape) return true;  // from_dlpack refuses a shape that is missing
  Layout layout{{}, {}};
  bool is_empty = false, is_reversed = false;
  for (int d = 0; d < tensor.ndim; ++d) {
    is_empty |= tensor.shape[d] == 0;
    is_reversed |= tensor.strides[d] < 0;
    layout.shape.push_back(tensor.shape[d]);
    layout.strides.push_back(tensor.strides[d]);
  }
  return is_empty || !(is_reversed || layout.shares_elements());
}

// The tensor in a struct, of any of these types, on D; convert(tensor, is_read_only) makes the Array.
template <class D, class... T, class M, class F>
[[nodiscard]] Array array_over(const char* caller, Types<T...> types, dlpack::Owner<M> owner, const F& convert) {
  const dlpack::DLDataType type = owner.get()->dl_tensor.dtype;
  if (owner.get()->dl_tensor.ndim > max_rank)
    fail<ShapeError>(
        {caller, ": an array of ", owner.get()->dl_tensor.ndim, " dimensions; expected at most ", max_rank});
  const bool shares = is_plain(owner.get()->dl_tensor);
  bool read_only = false;
  if constexpr (dlpack::Versioned<M>) {  // the struct is ours: Array keeps the flag, and nothing writes to operands
    read_only = shares && (owner.get()->flags & dlpack::read_only) != 0;
    owner.get()->flags &= ~dlpack::read_only;
  }
  std::optional<Array> result;
  const auto attempt = [&]<class U>(std::type_identity<U>) {
    if (!(type == dlpack::data_type<U>)) return false;
    result =
        convert(shares ? from_dlpack<U, D>(std::move(owner)) : copy_from_dlpack<U, D>(std::move(owner)), read_only);
    return true;
  };
  (void)(attempt(std::type_identity<T>{}) || ...);
  if (!result) throw nb::type_error(join(caller, ": an array of ", type, "; expected ", names_of(types)).c_str());
  return std::move(*result);
}

// The capsule's managed tensor; from now on the capsule owns nothing.
template <class M>
[[nodiscard]] dlpack::Owner<M> taken_from(nb::handle capsule, const char* name, const char* used_name) {
  auto* const managed = static_cast<M*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (!managed || PyCapsule_SetName(capsule.ptr(), used_name) != 0) throw nb::python_error();
  return dlpack::Owner<M>(managed);
}

// The tensor in a capsule, on D.
template <class D, class F>
[[nodiscard]] Array array_in(const char* caller, nb::handle capsule, const F& convert) {
  if (PyCapsule_IsValid(capsule.ptr(), versioned_name)) {
    auto owner = taken_from<DLManagedTensorVersioned>(capsule, versioned_name, "used_dltensor_versioned");
    const auto version = owner.get()->version;
    if (version.major != 1)  // its other members may be others
      fail<ArgumentError>({caller, ": an array by DLPack ", version.major, ".", version.minor, "; expected version 1"});
    return array_over<D>(caller, Every{}, std::move(owner), convert);
  }
  if (PyCapsule_IsValid(capsule.ptr(), old_name))
    return array_over<D>(caller, Every{}, taken_from<DLManagedTensor>(capsule, old_name, "used_dltensor"), convert);
  throw nb::type_error(join(caller, ": __dlpack__ returned ", nb::inst_name(capsule).c_str(),
                            "; expected a capsule that was not used before")
                           .c_str());
}

// An object as an exporter: methods are looked up by these names.
struct Words {
  nb::str dlpack{"__dlpack__"}, device{"__dlpack_device__"};
  nb::object legacy_stream = nb::int_(static_cast<long>(cuda::legacy_stream));
  nb::object version = nb::make_tuple(1, 1);
};
[[nodiscard]] const Words& words() {
  static const Words* const words = new Words;  // never destroyed: Python may be gone by then
  return *words;
}

// has_stream: for a GPU, where CUDA's legacy stream is passed; the other library orders its work before that stream,
// and from_dlpack orders ours behind it.
[[nodiscard]] nb::object capsule_from(nb::handle object, bool has_stream) {
  const nb::object method = object.attr(words().dlpack);
  try {
    return has_stream ? method(nb::arg("stream") = words().legacy_stream, nb::arg("max_version") = words().version)
                      : method(nb::arg("max_version") = words().version);
  } catch (nb::python_error& error) {  // libraries of DLPack before 1.0
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return has_stream ? method(nb::arg("stream") = words().legacy_stream) : method();
}

template <class M>
[[nodiscard]] nb::object capsule_over(dlpack::Owner<M> owner, const char* name) {
  const auto destroy = [](PyObject* capsule) {
    const char* const own = dlpack::Versioned<M> ? versioned_name : old_name;
    if (!PyCapsule_IsValid(capsule, own)) return;  // somebody took it
    const dlpack::Owner<M> owned(static_cast<M*>(PyCapsule_GetPointer(capsule, own)));
  };
  PyObject* const capsule = PyCapsule_New(owner.get(), name, destroy);
  if (!capsule) throw nb::python_error();
  (void)owner.release();
  return nb::steal(capsule);
}

}  // namespace

std::string name_of(ElementType type) {
  constexpr const char* names[] = {"float32",  "float64", "int32", "int64",  "uint8",  "bool",  "float16",
                                   "bfloat16", "int8",    "int16", "uint16", "uint32", "uint64"};
  return names[static_cast<int>(type)];
}

ElementType Dtype::element_type(const char* caller) const {
  for (int i = 0; i <= static_cast<int>(ElementType::uint64); ++i)
    if (const auto type = static_cast<ElementType>(i); name == name_of(type)) return type;
  fail<ArgumentError>({caller, ": dtype is ", locus::detail::printable(name), "; expected ", names_of(Every{})});
}

bool is_one_place(const Place& a, const Place& b) {
  const auto kind = [](const Place& place) {
    if (place.kind == dlpack::kDLCUDAManaged) return static_cast<int>(dlpack::kDLCUDA);
    return place.kind == dlpack::kDLCUDAHost ? static_cast<int>(dlpack::kDLCPU) : place.kind;
  };
  return kind(a) == kind(b) && a.ordinal == b.ordinal;
}

Place place_of(const Array& array) {
  const dlpack::DLDevice device = dlpack::Place<Here>::of(array.place());
  return {static_cast<int>(device.device_type), device.device_id};
}

std::string to_string(const Place& place) {
  switch (place.kind) {
    case dlpack::kDLCPU: return "Cpu";
    case dlpack::kDLCUDAHost: return "Pinned";
    case dlpack::kDLCUDA:
    case dlpack::kDLCUDAManaged: return place.ordinal == 0 ? "Cuda" : join("Cuda{", place.ordinal, "}");
    default: return to_string(dlpack::DLDevice{static_cast<dlpack::DLDeviceType>(place.kind), place.ordinal});
  }
}

Place place_of(const char* caller, Operand operand) {
  Array* own = nullptr;
  if (nb::try_cast<Array*>(operand.object, own) && own) return place_of(*own);
  const nb::object method = nb::getattr(operand.object, words().device, nb::none());
  if (method.is_none()) refuse_object(caller, operand.object);
  const nb::object given = method();
  std::pair<int, int> place;
  if (!nb::try_cast(given, place))
    throw nb::type_error(join(caller, ": __dlpack_device__ returned ", nb::inst_name(given).c_str(),
                              "; expected the kind and the number of a device, as (1, 0)")
                             .c_str());
  return {place.first, place.second};
}

void require_here(const char* caller, const Place& place) {
  if (dlpack::Place<Here>::holds({static_cast<dlpack::DLDeviceType>(place.kind), place.ordinal})) return;
  const bool is_of_cuda = place.kind == dlpack::kDLCUDA || place.kind == dlpack::kDLCUDAManaged;
  const std::string found = join(caller, ": the tensor is on ", to_string(place));
  if (!on_gpu && is_of_cuda)
    fail<CudaUnavailable>({found,
                           ", and this function of locus is for Cpu; move it with .to(\"cpu\"), or call the function ",
                           "of locus.cuda"});
  const char* const expected = on_gpu ? "; expected Cuda; locus.cuda.asarray copies it there" : "; expected Cpu";
  throw nb::type_error((found + expected).c_str());
}

Array array_here(const char* caller, Operand operand) {
  Array* own = nullptr;
  if (nb::try_cast<Array*>(operand.object, own) && own) return *own;
  return taken(caller, capsule_from(operand.object, on_gpu));
}

Array taken(const char* caller, nb::handle capsule) {
  return array_in<Here>(
      caller, capsule, []<class T>(Tensor<T, Here> x, bool is_read_only) { return Array(std::move(x), is_read_only); });
}

#if LOCUS_PYTHON_CUDA
Array moved_here(const char* caller, Operand operand, Cuda device) {
  const nb::object capsule = capsule_from(operand.object, false);
  return array_in<Cpu>(caller, capsule, [&]<class T>(const Tensor<T, Cpu>& x, bool) {
    const nb::gil_scoped_release released;
    return Array(x.to(device));
  });
}

nb::object capsule_of_copy(const Array& array) {
  return std::visit(
      [](const auto& x) {
        const auto copied = [&] {
          const nb::gil_scoped_release released;
          return x.template to<Cpu>();
        };
        return capsule_over(to_dlpack<DLManagedTensorVersioned>(copied()), versioned_name);
      },
      array.plain);
}
#endif

nb::object capsule_of(const Array& array, bool versioned, std::intptr_t stream) {
  const auto refuse = [](const char* text) { throw nb::buffer_error(text); };
  if (array.is_recorded())
    refuse(
        "__dlpack__: the tensor is recorded for a backward pass, which other libraries do not see; export "
        ".detach()");
  const auto owner_of = [&]<class M>(std::type_identity<M>) {
    return std::visit([&](const auto& x) { return to_dlpack<M>(x, {.stream = stream}); }, array.plain);
  };
  if (versioned) {
    auto owner = owner_of(std::type_identity<DLManagedTensorVersioned>{});
    if (array.read_only) owner.get()->flags |= dlpack::read_only;
    return capsule_over(std::move(owner), versioned_name);
  }
  if (array.read_only)
    refuse(
        "__dlpack__: the memory is read-only, which only DLPack 1.0 can tell; ask for max_version=(1, 0), or export "
        ".clone()");
  return capsule_over(owner_of(std::type_identity<DLManagedTensor>{}), old_name);
}

}  // namespace locus::python
