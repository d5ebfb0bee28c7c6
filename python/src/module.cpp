// The extension modules locus._core, for Cpu, and locus._cuda: Locus's exceptions as Python's, the class Tensor, and
// the families of functions that the build lists in families.inc.

#include "functions.hpp"

#include <locus/core/check.hpp>

#include <exception>

namespace locus::python { namespace {

namespace nb = nanobind;

// The class in locus._errors for an exception; each is also one of Python's own, such as ValueError.
[[nodiscard]] const char* name_of(const Error& error) {
  if (dynamic_cast<const ShapeError*>(&error)) return "ShapeError";
  if (dynamic_cast<const ArgumentError*>(&error)) return "ArgumentError";
  if (dynamic_cast<const IndexError*>(&error)) return "IndexError";
  if (dynamic_cast<const NumericError*>(&error)) return "NumericError";
  if (dynamic_cast<const OutOfMemory*>(&error)) return "OutOfMemory";
  if (dynamic_cast<const CudaUnavailable*>(&error)) return "CudaUnavailable";
  if (dynamic_cast<const GraphError*>(&error)) return "GraphError";
  if (dynamic_cast<const StaleError*>(&error)) return "StaleError";
  return "Error";
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("locus._errors").attr(name_of(error));
    PyErr_SetString(type.ptr(), error.what());
  }
}

}}  // namespace locus::python

#if LOCUS_PYTHON_CUDA
NB_MODULE(_cuda, m) {
#else
NB_MODULE(_core, m) {
#endif
  using namespace locus::python;
  m.doc() = "Functions and the tensor of Locus.";
  nanobind::register_exception_translator(&translate);
  nanobind::set_leak_warnings(false);  // a traceback that is alive at exit keeps tensors: no fault of the program
  add_tensor(m);
#define LOCUS_FAMILY(name) add_##name(m);
#if LOCUS_PYTHON_CUDA
#define LOCUS_FAMILY_OF_HOST(name)
#else
#define LOCUS_FAMILY_OF_HOST(name) add_##name(m);
#endif
#include "families.inc"
}
