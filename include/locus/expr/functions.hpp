#pragma once
// More elementwise functions, as in operators.hpp: pending expressions with a gradient. For float on the CPU, functions
// of one number are within 1 ulp and take about 1 ns per element and thread; lgamma, digamma and erfinv do not
// vectorize and take 40 ns. On a GPU they are the CUDA toolkit's. NaN gives NaN.

#include <locus/expr/functions/special.hpp>
#include <locus/expr/functions/trigonometric.hpp>
#include <locus/expr/operators.hpp>

namespace locus { inline namespace LOCUS_ABI {

#include <locus/refuse/expr/functions.inc>

}}  // namespace locus::LOCUS_ABI
