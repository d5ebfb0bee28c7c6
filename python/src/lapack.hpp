#pragma once
// LAPACK of SciPy: linear algebra calls the library that SciPy ships, so that the wheel contains none.

namespace locus::python {

/// Finds the functions of LAPACK, once. throws Python's ImportError where SciPy is not installed
void require_lapack();

}  // namespace locus::python
