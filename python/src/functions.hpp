#pragma once
// The families of functions of the module; each source of functions/ adds one.

#include <nanobind/nanobind.h>

namespace locus::python {

void add_tensor(nanobind::module_& m);
void add_activations(nanobind::module_& m);
void add_arithmetic(nanobind::module_& m);
void add_comparison(nanobind::module_& m);
void add_elementary(nanobind::module_& m);
void add_linalg(nanobind::module_& m);
void add_lookups(nanobind::module_& m);
void add_losses(nanobind::module_& m);
void add_normalization(nanobind::module_& m);
void add_order(nanobind::module_& m);
void add_products(nanobind::module_& m);
void add_random(nanobind::module_& m);
void add_reductions(nanobind::module_& m);
void add_scans(nanobind::module_& m);
void add_shapes(nanobind::module_& m);
void add_windows(nanobind::module_& m);

}  // namespace locus::python
