// The class Tensor of Python: properties, exchange with other libraries, views, operators, and the backward pass.

#include "call.hpp"
#include "functions.hpp"

#include <locus/core/printable.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/print.hpp>

#include <nanobind/stl/pair.h>

namespace locus::python {

using namespace nb::literals;

namespace {

[[nodiscard]] std::string device_name(const Array& x) {
  const Place place = place_of(x);
  return place == Place{} ? "cpu" : join("cuda:", place.ordinal);
}

[[nodiscard]] nb::tuple tuple_of(const Dims& dims) {
  nb::list numbers;
  for (const auto number : dims) numbers.append(number);
  return nb::tuple(numbers);
}

// The GPU that "cuda" or "cuda:1" names.
[[nodiscard]] std::optional<int> gpu_in(std::string_view text) {
  if (text == "cuda") return 0;
  if (!text.starts_with("cuda:") || text.size() == 5 || text.size() > 8) return std::nullopt;
  int ordinal = 0;
  for (const char c : text.substr(5)) {
    if (c < '0' || c > '9') return std::nullopt;
    ordinal = 10 * ordinal + (c - '0');
  }
  return ordinal;
}

#if !LOCUS_PYTHON_CUDA
// locus._cuda, which a package may lack.
[[nodiscard]] nb::object module_of_gpus(const std::string& device) {
  try {
    return nb::module_::import_("locus._cuda");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ModuleNotFoundError)) throw;
  }
  fail<CudaUnavailable>({".to(\"", device,
                         "\"): this package was built for Cpu alone; build it with pip wheel ./python ",
                         "-Csetup-args=-Dcuda=enabled"});
}
#endif

// The tensor there, of this module's class or of the other's.
[[nodiscard]] nb::object moved(nb::pointer_and_handle<Array> self, const std::string& device) {
  const Array& x = *self.p;
  const auto gpu = gpu_in(device);
  if (device != "cpu" && !gpu)
    fail<ArgumentError>({".to(\"", locus::detail::printable(device),
                         "\"): no place of this name; expected \"cpu\", \"cuda\" or \"cuda:1\""});
  if (on_gpu ? gpu == place_of(x).ordinal : !gpu) return nb::borrow(self.h);
  if (x.is_recorded())
    fail<ArgumentError>({".to(\"", device, "\"): the tensor is recorded, and its copy would not be; move .detach()"});
#if LOCUS_PYTHON_CUDA
  if (!gpu) return nb::module_::import_("locus._core").attr("_taken")(capsule_of_copy(x));
  const auto there = [&] {
    const nb::gil_scoped_release released;
    return std::visit([&](const auto& y) { return Array(y.to(Cuda{*gpu})); }, x.plain);
  };
  return nb::cast(there());
#else
  return module_of_gpus(device).attr("_moved")(self.h, *gpu);
#endif
}

// Calls f with the tensor, plain or traced, of any element type.
template <class F>
[[nodiscard]] Array view_of(const Array& array, const F& f) {
  const auto of_traced = [&]<class X>(const X& x) -> Array {
    if constexpr (std::is_same_v<X, std::monostate>) return {};
    else return detail::result_of(f(x));
  };
  const auto of_plain = [&](const auto& x) { return detail::result_of(f(x)); };
  Array result = array.is_recorded() ? std::visit(of_traced, array.traced) : std::visit(of_plain, array.plain);
  result.protect_as(array);
  return result;
}

// Subscripts.

struct Part {
  std::int64_t start, stop, step;
};
[[nodiscard]] Part part_of(nb::slice slice, std::int64_t extent) {
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
  PySlice_AdjustIndices(extent, &start, &stop, step);
  if (step < 0)
    fail<ArgumentError>({"x[...]: the step of a slice is ", static_cast<std::int64_t>(step),
                         "; expected 1 or more: locus.flip reverses"});
  return {start, std::max(start, stop), step};
}

[[nodiscard]] Array subscripted(const Array& array, const nb::object& subscript) {
  const nb::tuple parts = nb::isinstance<nb::tuple>(subscript) ? nb::tuple(subscript) : nb::make_tuple(subscript);
  int named = 0, ellipses = 0;
  for (const nb::handle part : parts) {
    ellipses += part.is(nb::ellipsis());
    named += !part.is_none() && !part.is(nb::ellipsis());
  }
  if (named > array.shape().rank() || ellipses > 1)
    fail<IndexError>({"x[...]: ", named, " subscripts and ", ellipses, " ellipses for shape ", array.shape(),
                      "; expected at most one for each dimension, and one ellipsis"});
  Array result = array;
  int d = 0;
  for (const nb::handle part : parts) {
    if (part.is_none()) {
      result = view_of(result, [&](const auto& x) { return x.unsqueeze(d); });
      ++d;
    } else if (part.is(nb::ellipsis())) {
      d += array.shape().rank() - named;
    } else if (nb::isinstance<nb::slice>(part)) {
      const Part range = part_of(nb::borrow<nb::slice>(part), result.shape()[d]);
      result = view_of(result, [&](const auto& x) { return x.slice(d, range.start, range.stop, range.step); });
      ++d;
    } else if (nb::hasattr(part, "__index__") && !PyBool_Check(part.ptr()) && !nb::hasattr(part, "__dlpack__")) {
      const auto index = detail::integer_of(part);
      result = view_of(result, [&](const auto& x) { return x.select(d, index); });
    } else {
      throw nb::type_error(join("x[...]: a subscript of type ", nb::inst_name(part).c_str(),
                                "; expected integers, slices, None or ...; locus.take, locus.gather and "
                                "locus.masked_select read by tensors")
                               .c_str());
    }
  }
  return result;
}

// f(), during which other threads of Python run if it waits for a GPU.
template <class F>
[[nodiscard]] auto without_lock(const F& f) {
  if constexpr (on_gpu) {
    const nb::gil_scoped_release released;
    return f();
  } else return f();
}

[[nodiscard]] nb::object item_of(const Array& array) {
  return std::visit(
      []<class T>(const Tensor<T, Here>& x) -> nb::object {
        const T value = without_lock([&] { return x.item(); });
        if constexpr (std::is_same_v<T, bool>) return nb::bool_(value);
        else if constexpr (FloatingDType<T>) return nb::float_(convert<double>(value));
        else return nb::int_(value);
      },
      array.plain);
}

[[nodiscard]] std::string text_of(const Array& array) {
  std::string text = without_lock(
      [&] { return std::visit([](const auto& x) { return to_string(x.template to<Cpu>()); }, array.plain); });
  if constexpr (on_gpu) {  // the last line, "Tensor<float32, cpu> (2, 3)", is the copy's
    const auto at = text.rfind("cpu>");
    text.replace(at, 3, device_name(array));
  }
  return text;
}

[[nodiscard]] Array cloned(const Array& array) {
  if (array.is_recorded())
    fail<ArgumentError>({"clone: the tensor is recorded, and its copy would not be; clone .detach()"});
  const nb::gil_scoped_release released;
  return std::visit([](const auto& x) { return Array(x.clone()); }, array.plain);
}

[[nodiscard]] Array as_type(const Array& array, const Dtype& dtype) {
  const ElementType type = dtype.element_type("astype");
  if (type == array.type()) return array;
  const nb::gil_scoped_release released;
  return converted(array, type);
}

// The backward pass.

[[nodiscard]] Array variable_of(Operand operand) {
  const Array array = array_of("variable", operand);
  auto made = visit_types<Array>(Recordable{}, array, [](const auto& x) { return Array(variable(x)); });
  if (!made) refuse_type("variable", array.type(), names_of(Recordable{}));
  made->protect_as(array);
  return std::move(*made);
}

void backward(const Array& array, std::optional<Operand> cotangent, bool retain_graph) {
  std::optional<Array> given;
  if (cotangent) {
    given = array_of("backward", *cotangent);
    require_one_type("backward(cotangent)", array.type(), given->type());
  }
  const nb::gil_scoped_release released;
  std::visit(
      [&]<class X>(const X& x) {
        if constexpr (std::is_same_v<X, std::monostate>)
          fail<GraphError>({"backward: nothing this was computed from collects gradients; make it a locus.variable"});
        else if (given) x.backward(std::get<Tensor<value_of<X>, Here>>(given->plain), {.retain_graph = retain_graph});
        else x.backward({.retain_graph = retain_graph});
      },
      array.traced);
}

[[nodiscard]] std::optional<Array> gradient_of(const Array& array) {
  return std::visit(
      []<class X>(const X& x) -> std::optional<Array> {
        if constexpr (std::is_same_v<X, std::monostate>) return std::nullopt;
        else if (!x.node() || !x.node()->has_gradient()) return std::nullopt;
        else return Array(x.grad());
      },
      array.traced);
}

void add_properties(nb::class_<Array>& tensor) {
  tensor
      .def_prop_ro(
          "shape", [](const Array& x) { return tuple_of(x.shape()); }, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides", [](const Array& x) { return tuple_of(x.strides()); },
          nb::sig("def strides(self) -> tuple[int, ...]"), "In elements, as PyTorch's.")
      .def_prop_ro("ndim", [](const Array& x) { return x.shape().rank(); })
      .def_prop_ro(
          "size", [](const Array& x) { return elements(x.shape()); }, "The number of elements.")
      .def_prop_ro(
          "dtype", [](const Array& x) { return name_of(x.type()); }, "NumPy's name of the element type.")
      .def_prop_ro(
          "device", [](const Array& x) { return device_name(x); }, "\"cpu\", or \"cuda:0\" and so on.")
      .def_prop_ro(
          "read_only", [](const Array& x) { return x.read_only; },
          "Whether the memory belongs to an array that must not be written.")
      .def_prop_ro("requires_grad", &Array::is_recorded, "Whether operations on it are recorded.")
      .def_prop_ro("grad", &gradient_of, "The gradient that a variable collected; None before.")
      .def("__len__",
           [](const Array& x) {
             if (x.shape().rank() == 0) throw nb::type_error("len() of a tensor of shape ()");
             return x.shape()[0];
           })
      .def("__repr__", &text_of)
      .def("item", &item_of, "The only element as a number.", nb::sig("def item(self) -> float | int | bool"))
      .def("__float__", [](const Array& x) { return nb::float_(item_of(x)); })
      .def("__int__", [](const Array& x) { return nb::int_(item_of(x)); })
      .def("__bool__", [](const Array& x) { return nb::cast<bool>(nb::bool_(item_of(x))); });
}

// throws TypeError for a tensor on a GPU
void require_on_host(const char* caller, const Array& x) {
  if (on_gpu)
    throw nb::type_error(join(caller, ": the tensor is on ", to_string(place_of(x)),
                              ", and arrays of NumPy are on Cpu; say .to(\"cpu\") first")
                             .c_str());
}

void add_exchange(nb::class_<Array>& tensor) {
  tensor
      .def(
          "__dlpack__",
          [](const Array& x, std::optional<std::intptr_t> stream, std::optional<std::pair<int, int>> max_version,
             std::optional<std::pair<int, int>> dl_device, std::optional<bool> copy) {
            const Place place = place_of(x);
            if (dl_device && *dl_device != std::pair(place.kind, place.ordinal))
              throw nb::buffer_error(
                  join("__dlpack__: the tensor is on ", to_string(place), ", and another device was asked for")
                      .c_str());
            const bool versioned = max_version && max_version->first >= 1;
            const std::intptr_t followed = stream.value_or(cuda::legacy_stream);
            if (!copy.value_or(false) || x.is_recorded()) return capsule_of(x, versioned, followed);
            return capsule_of(cloned(x), versioned, followed);
          },
          nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(), "dl_device"_a = nb::none(),
          "copy"_a = nb::none(), "A capsule that shares the memory.")
      .def("__dlpack_device__", [](const Array& x) { return std::pair(place_of(x).kind, place_of(x).ordinal); })
      .def(
          "numpy",
          [](nb::pointer_and_handle<Array> self) {
            require_on_host("numpy", *self.p);
            return nb::module_::import_("numpy").attr("from_dlpack")(self.h);
          },
          "A NumPy array that shares the memory.", nb::sig("def numpy(self) -> numpy.ndarray"))
      .def(
          "__array__",
          [](nb::pointer_and_handle<Array> self, nb::object dtype, nb::object copy) {
            require_on_host("__array__", *self.p);
            const nb::object numpy = nb::module_::import_("numpy");
            const nb::object shared = numpy.attr("from_dlpack")(self.h);
            return numpy.attr("asarray")(shared, nb::arg("dtype") = dtype, nb::arg("copy") = copy);
          },
          "dtype"_a = nb::none(), "copy"_a = nb::none());
}

void add_views(nb::class_<Array>& tensor) {
  tensor.def("__getitem__", &subscripted, "subscript"_a.none(), "A view: integers, slices, None and ... as in NumPy.")
      .def(
          "reshape",
          [](const Array& x, Numerals shape) {
            return view_of(x, [&](const auto& x) { return x.reshape(shape.dims()); });
          },
          "shape"_a, "Another shape; a view if the strides allow it.")
      .def(
          "permute",
          [](const Array& x, Numerals order) {
            return view_of(x, [&](const auto& x) { return x.permute(order.dims()); });
          },
          "order"_a)
      .def(
          "transpose",
          [](const Array& x, int a, int b) { return view_of(x, [&](const auto& x) { return x.transpose(a, b); }); },
          "a"_a = -2, "b"_a = -1, "Two dimensions exchanged.")
      .def_prop_ro(
          "T",
          [](const Array& x) {
            Axes order;
            for (int d = x.shape().rank() - 1; d >= 0; --d) order.push_back(d);
            return view_of(x, [&](const auto& x) { return x.permute(order); });
          },
          "The dimensions in reverse order, as NumPy's: a matrix transposed.")
      .def(
          "expand",
          [](const Array& x, Numerals shape) {
            return view_of(x, [&](const auto& x) { return x.expand(shape.dims()); });
          },
          "shape"_a, "Repeated to a broadcast shape, without a copy.")
      .def(
          "squeeze",
          [](const Array& x, std::optional<int> axis) {
            return view_of(x, [&](const auto& x) { return axis ? x.squeeze(*axis) : x.squeeze(); });
          },
          "axis"_a = nb::none())
      .def(
          "unsqueeze",
          [](const Array& x, int axis) { return view_of(x, [&](const auto& x) { return x.unsqueeze(axis); }); },
          "axis"_a)
      .def("clone", &cloned, "A dense copy in new memory.")
      .def("astype", &as_type, "dtype"_a, "The elements converted; the tensor itself if it has the type.")
      .def("to", &moved, "device"_a, "On \"cpu\", \"cuda\" or \"cuda:1\"; the tensor itself if it is there.",
           nb::sig("def to(self, device: str) -> typing.Any"))
      .def(
          "detach",
          [](const Array& x) {
            Array plain = x;
            plain.traced = {};
            return plain;
          },
          "The tensor without its place in the graph, in the same memory.");
}

void add_gradients(nb::module_& m, nb::class_<Array>& tensor) {
  m.def("variable", &variable_of, "x"_a, "x, which collects a gradient: operations on it are recorded.");
  tensor
      .def("backward", &backward, "cotangent"_a = nb::none(), nb::kw_only(), "retain_graph"_a = false,
           "Adds the gradients of this scalar, or of a tensor weighted by a cotangent, to its variables.")
      .def("zero_grad", [](const Array& x) {
        std::visit(
            []<class X>(const X& x) {
              if constexpr (!std::is_same_v<X, std::monostate>) x.zero_grad();
            },
            x.traced);
      });
}

}  // namespace

Array converted(const Array& array, ElementType type) {
  const auto to = [&](const char* caller, auto types, const auto& x) {
    return with_type<Array>(caller, types, type, [&]<class U>() { return detail::result_of(x.template as<U>()); });
  };
  if (!array.is_recorded()) return std::visit([&](const auto& x) { return to("astype", Every{}, x); }, array.plain);
  return std::visit(
      [&]<class X>(const X& x) -> Array {
        if constexpr (std::is_same_v<X, std::monostate>) return {};
        else return to("astype of a recorded tensor (its .detach() takes every type)", Recordable{}, x);
      },
      array.traced);
}

void add_tensor(nb::module_& m) {
  nb::class_<Array> tensor(m, "Tensor", "A tensor of Locus. It shares memory with other libraries through DLPack.");
  tensor.attr("__array_ufunc__") = nb::none();  // so that array + tensor calls Tensor.__radd__
  add_properties(tensor);
  add_exchange(tensor);
  add_views(tensor);
  add_gradients(m, tensor);
  m.def(
      "from_dlpack", [](Operand x) { return array_of("from_dlpack", x); }, "x"_a,
      "A Tensor that shares the memory of an array: NumPy's, PyTorch's, JAX's or another one with __dlpack__.");
#if LOCUS_PYTHON_CUDA
  m.def(
      "_moved", [](Operand x, int gpu) { return moved_here("to", x, Cuda{gpu}); }, "x"_a, "gpu"_a);
#else
  m.def(
      "_taken", [](nb::object capsule) { return taken("to", capsule); }, "capsule"_a);
#endif
}

}  // namespace locus::python
