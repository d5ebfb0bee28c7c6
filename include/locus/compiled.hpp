#pragma once
// For programs that link Locus's compiled library: what it holds is not compiled again. locus.hpp includes this where
// LOCUS_COMPILED is defined, as the name of the LOCUS_ABI that the library was compiled for.

#include <locus/data/loader.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/training/fit.hpp>

namespace locus::inline LOCUS_ABI {

#ifdef LOCUS_COMPILED
static_assert(std::string_view(LOCUS_TEXT_OF(LOCUS_COMPILED)) == LOCUS_TEXT_OF(LOCUS_ABI),
              "this file is compiled for " LOCUS_TEXT_OF(LOCUS_ABI) ", the compiled library of Locus for " LOCUS_TEXT_OF(
                  LOCUS_COMPILED) ": give both the same -march, -fopenmp, -DLOCUS_CUDA, -DLOCUS_CBLAS and "
                                  "-DLOCUS_ZLIB, or use the headers alone, without -DLOCUS_COMPILED");
#define LOCUS_INSTANCE extern template
#define LOCUS_INSTANCE_DEVICE Cpu
#include <locus/instances.inc>
#if LOCUS_CUDA
#define LOCUS_INSTANCE extern template
#define LOCUS_INSTANCE_DEVICE Cuda
#include <locus/instances.inc>
#endif
#endif

}  // namespace locus::inline LOCUS_ABI
