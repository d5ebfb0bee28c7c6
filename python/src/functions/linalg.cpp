// Linear algebra, by LAPACK of SciPy. The module locus.linalg gives these functions their names.

#include "../call.hpp"
#include "../functions.hpp"
#include "../lapack.hpp"

#include <locus/linalg/linalg.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
template <class F>
void add(nb::module_& m, const char* name, const char* formula, F f, const char* text) {
  m.def(
      name,
      [formula, f](Operand x) {
        require_lapack();
        return differentiable(formula, Floats{}, f, Main{x});
      },
      "x"_a, text);
}
}  // namespace

void add_linalg(nb::module_& m) {
  add(
      m, "linalg_inv", "linalg.inv", [](const auto& x) { return linalg::inv(x); }, "The inverses of matrices.");
  add(
      m, "linalg_det", "linalg.det", [](const auto& x) { return linalg::det(x); }, "The determinant of each matrix.");
  add(
      m, "linalg_cholesky", "linalg.cholesky", [](const auto& x) { return linalg::cholesky(x); },
      "The lower triangular L of x = L L^T.");
  add(
      m, "linalg_svdvals", "linalg.svdvals", [](const auto& x) { return linalg::svdvals(x.value()); },
      "The singular values, descending.");
  add(
      m, "linalg_eigvalsh", "linalg.eigvalsh", [](const auto& x) { return linalg::eigvalsh(x.value()); },
      "The eigenvalues of symmetric matrices, ascending.");
  m.def(
      "linalg_solve",
      [](Operand a, Operand b) {
        require_lapack();
        return differentiable(
            "linalg.solve(a, b)", Floats{}, [](const auto& a, const auto& b) { return linalg::solve(a, b); }, Main{a},
            Main{b});
      },
      "a"_a, "b"_a, "x of a x = b.");
  m.def(
      "linalg_slogdet",
      [](Operand x) {
        require_lapack();
        return named<"SignAndLog">(differentiable(
            "linalg.slogdet", Floats{},
            [](const auto& x) {
              const auto [sign, logabsdet] = linalg::slogdet(x);
              return std::tuple(sign, logabsdet);
            },
            Main{x}));
      },
      "x"_a, "Sign and logarithm of each determinant.");
  m.def(
      "linalg_qr",
      [](Operand x) {
        require_lapack();
        return named<"Qr">(call(
            "linalg.qr", Floats{},
            [](const auto& x) {
              const auto [q, r] = linalg::qr(x);
              return std::tuple(q, r);
            },
            Main{x}));
      },
      "x"_a, "x = q r, with orthonormal columns of q.");
  m.def(
      "linalg_svd",
      [](Operand x, bool full_matrices) {
        require_lapack();
        return named<"Svd">(call(
            "linalg.svd", Floats{},
            [=](const auto& x) {
              const auto [u, s, vh] = linalg::svd(x, {.full_matrices = full_matrices});
              return std::tuple(u, s, vh);
            },
            Main{x}));
      },
      "x"_a, "full_matrices"_a = false, "x = u diag(s) vh, thin unless full_matrices.");
  m.def(
      "linalg_eigh",
      [](Operand x) {
        require_lapack();
        return named<"Eigh">(call(
            "linalg.eigh", Floats{},
            [](const auto& x) {
              const auto [values, vectors] = linalg::eigh(x);
              return std::tuple(values, vectors);
            },
            Main{x}));
      },
      "x"_a, "Eigenvalues, ascending, and eigenvectors of symmetric matrices.");
  m.def(
      "linalg_lstsq",
      [](Operand a, Operand b) {
        require_lapack();
        return call(
            "linalg.lstsq(a, b)", Floats{}, [](const auto& a, const auto& b) { return linalg::lstsq(a, b).solution; },
            Main{a}, Main{b});
      },
      "a"_a, "b"_a, "The x of least |a x - b|, and among equals of least |x|.");
}

}  // namespace locus::python
