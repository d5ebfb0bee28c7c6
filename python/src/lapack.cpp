// LAPACK of SciPy. scipy.linalg.cython_lapack exports each function as a capsule with its address, which is a stable
// interface of SciPy. Here stand the symbols that cpu/lapack.hpp names; each jumps to SciPy's function.

#include "lapack.hpp"

#include <nanobind/nanobind.h>

#include <cstddef>

namespace locus::python {
namespace {

namespace nb = nanobind;

// The functions that cpu/lapack.hpp calls.
// clang-format off
#define LOCUS_EVERY_LAPACK(X)                                           \
  X(sgetrf) X(sgetrs) X(spotrf) X(sgeqrf) X(sorgqr) X(sgesdd) X(ssyevd) X(sgeev) \
  X(dgetrf) X(dgetrs) X(dpotrf) X(dgeqrf) X(dorgqr) X(dgesdd) X(dsyevd) X(dgeev)
// clang-format on

struct Addresses {
#define LOCUS_LAPACK_ADDRESS(name) void* name = nullptr;
  LOCUS_EVERY_LAPACK(LOCUS_LAPACK_ADDRESS)
#undef LOCUS_LAPACK_ADDRESS
};
Addresses addresses;
bool is_found = false;

[[nodiscard]] void* address_of(const nb::object& table, const char* name) {
  const nb::object capsule = table[name];
  void* const found = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
  if (!found) throw nb::python_error();
  return found;
}

}  // namespace

void require_lapack() {
  if (is_found) return;
  nb::object table;
  try {
    table = nb::module_::import_("scipy.linalg.cython_lapack").attr("__pyx_capi__");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    throw nb::import_error("locus.linalg calls LAPACK of SciPy, which is not installed; pip install scipy");
  }
#define LOCUS_LAPACK_ADDRESS(name) addresses.name = address_of(table, #name);
  LOCUS_EVERY_LAPACK(LOCUS_LAPACK_ADDRESS)
#undef LOCUS_LAPACK_ADDRESS
  is_found = true;
}

}  // namespace locus::python

// Fortran passes pointers, and behind them the lengths of texts: all integers of a register's size. SciPy's functions
// are written in C's calling convention without those lengths, which the called function then ignores.
#define LOCUS_LAPACK_SYMBOL(name, parameters, arguments)                           \
  extern "C" __attribute__((visibility("hidden"))) void name##_ parameters {       \
    reinterpret_cast<void(*) parameters>(locus::python::addresses.name) arguments; \
  }
#define LOCUS_LAPACK_OF(letter)                                                                                  \
  LOCUS_LAPACK_SYMBOL(letter##getrf, (void* a, void* b, void* c, void* d, void* e, void* f), (a, b, c, d, e, f)) \
  LOCUS_LAPACK_SYMBOL(                                                                                           \
      letter##getrs,                                                                                             \
      (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i, std::size_t length),     \
      (a, b, c, d, e, f, g, h, i, length))                                                                       \
  LOCUS_LAPACK_SYMBOL(letter##potrf, (void* a, void* b, void* c, void* d, void* e, std::size_t length),          \
                      (a, b, c, d, e, length))                                                                   \
  LOCUS_LAPACK_SYMBOL(letter##geqrf, (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h),   \
                      (a, b, c, d, e, f, g, h))                                                                  \
  LOCUS_LAPACK_SYMBOL(letter##orgqr,                                                                             \
                      (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i),         \
                      (a, b, c, d, e, f, g, h, i))                                                               \
  LOCUS_LAPACK_SYMBOL(letter##gesdd,                                                                             \
                      (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i, void* j, \
                       void* k, void* l, void* m, void* n, std::size_t length),                                  \
                      (a, b, c, d, e, f, g, h, i, j, k, l, m, n, length))                                        \
  LOCUS_LAPACK_SYMBOL(letter##syevd,                                                                             \
                      (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i, void* j, \
                       void* k, std::size_t first, std::size_t second),                                          \
                      (a, b, c, d, e, f, g, h, i, j, k, first, second))                                          \
  LOCUS_LAPACK_SYMBOL(letter##geev,                                                                              \
                      (void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i, void* j, \
                       void* k, void* l, void* m, void* n, std::size_t first, std::size_t second),               \
                      (a, b, c, d, e, f, g, h, i, j, k, l, m, n, first, second))
LOCUS_LAPACK_OF(s)
LOCUS_LAPACK_OF(d)
