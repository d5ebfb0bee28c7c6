#pragma once
// Arrays of other libraries, through DLPack: any object with __dlpack__ and __dlpack_device__ becomes an Array without
// a copy, and an Array becomes a capsule.

#include "array.hpp"

#include <locus/cuda/foreign_stream.hpp>

#include <nanobind/nanobind.h>

namespace locus::python {

namespace nb = nanobind;

/// An argument of a function: a Tensor of this module, or an array of another library.
struct Operand {
  nb::handle object;
};

/// The name of an element type, as given: "float32", numpy.float32, a NumPy dtype, torch.float32.
struct Dtype {
  std::string name;
  /// throws ArgumentError for a name that Locus lacks
  [[nodiscard]] ElementType element_type(const char* caller) const;
};

/// The place of an operand, without touching its memory.
struct Place {
  int kind = 1;  ///< as DLPack numbers them: 1 is the host
  int ordinal = 0;
  [[nodiscard]] friend bool operator==(const Place&, const Place&) = default;
};
[[nodiscard]] std::string to_string(const Place& place);
/// Whether operands in these places may meet: managed memory is a GPU's, page-locked memory the host's.
[[nodiscard]] bool is_one_place(const Place& a, const Place& b);

[[nodiscard]] Place place_of(const Array& array);
/// throws TypeError for an object that is no array
[[nodiscard]] Place place_of(const char* caller, Operand operand);

/// throws CudaUnavailable for a GPU where functions are for Cpu, TypeError for another place than theirs
void require_here(const char* caller, const Place& place);

/// The array that an operand is whose place is Here. Memory is shared; an array with strides below 0, or with repeated
/// elements, is copied. throws TypeError for an object that is no array, or an element type that Locus lacks;
/// ShapeError for more than eight dimensions
[[nodiscard]] Array array_here(const char* caller, Operand operand);
/// As array_here, for an operand anywhere. throws also as require_here
[[nodiscard]] inline Array array_of(const char* caller, Operand operand) {
  require_here(caller, place_of(caller, operand));
  return array_here(caller, operand);
}

/// The array in a capsule, whose place is Here. throws as array_here
[[nodiscard]] Array taken(const char* caller, nb::handle capsule);

#if LOCUS_PYTHON_CUDA
/// A copy on a GPU of an operand on the host.
[[nodiscard]] Array moved_here(const char* caller, Operand operand, Cuda device);
/// A capsule over a copy in the host's memory.
[[nodiscard]] nb::object capsule_of_copy(const Array& array);
#endif

/// A capsule for `__dlpack__`; `versioned`: of DLPack 1, which alone can tell that memory is read-only. stream: of the
/// library that asks, on a GPU; its later work follows that on the tensor.
/// throws BufferError for a recorded array, and for read-only memory unless versioned
[[nodiscard]] nb::object capsule_of(const Array& array, bool versioned, std::intptr_t stream = cuda::legacy_stream);

}  // namespace locus::python

namespace nanobind::detail {

template <>
struct type_caster<locus::python::Operand> {
  NB_TYPE_CASTER(locus::python::Operand, const_name("locus._types.ArrayLike"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = source;
    return !source.is_none();
  }
};

template <>
struct type_caster<locus::python::Dtype> {
  NB_TYPE_CASTER(locus::python::Dtype, const_name("locus._types.DtypeLike"))
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    try {
      if (!isinstance<str>(source))
        for (const char* attribute : {"name", "__name__"})
          if (hasattr(source, attribute)) return assign(object(source.attr(attribute)));
      return assign(str(source));
    } catch (...) {
      PyErr_Clear();
      return false;
    }
  }
  static handle from_cpp(const Value& dtype, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromStringAndSize(dtype.name.data(), static_cast<Py_ssize_t>(dtype.name.size()));
  }

 private:
  bool assign(const object& name) {
    value.name = str(name).c_str();
    if (value.name.starts_with("torch.")) value.name.erase(0, 6);
    return true;
  }
};

}  // namespace nanobind::detail
