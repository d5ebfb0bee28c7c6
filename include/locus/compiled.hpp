#pragma once
// For programs that link Locus's compiled library: its instances are declared extern and not compiled again. locus.hpp
// includes this header if LOCUS_COMPILED is defined, as the name of the LOCUS_ABI that the library was compiled for.
// Headers include their own lists of instances, from locus/instances; the lists that need several headers are included
// here.

#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/labelled_images.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/adadelta.hpp>
#include <locus/optim/adagrad.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/lion.hpp>
#include <locus/optim/rmsprop.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/training/fit.hpp>

#ifdef LOCUS_COMPILED
static_assert(std::string_view(LOCUS_TEXT_OF(LOCUS_COMPILED)) == LOCUS_TEXT_OF(LOCUS_ABI),
              "this file is compiled for " LOCUS_TEXT_OF(LOCUS_ABI) ", the compiled library of Locus for " LOCUS_TEXT_OF(
                  LOCUS_COMPILED) ": give both the same -march, -fopenmp, -DLOCUS_CUDA, -DLOCUS_CBLAS and "
                                  "-DLOCUS_ZLIB, leave out -DLOCUS_DOUBLE_BACKWARD, or use the headers alone, without -DLOCUS_COMPILED");
#endif

#include <locus/instances/data/loading/loader.inc>
#include <locus/instances/nn/loss.inc>
#include <locus/instances/training/fit.inc>
#include <locus/instances/training/metrics.inc>
#include <locus/instances/training/step.inc>
