// The compiled library: the instances that programs with LOCUS_COMPILED declare and do not compile. A C++ compiler
// builds it for Cpu, nvcc for Cuda too.

#include <locus/compiled.hpp>

#ifdef LOCUS_COMPILED
#error "the compiled library is compiled without -DLOCUS_COMPILED"
#endif

// After all definitions: members that are defined in another header than their class belong to it.
#define LOCUS_COMPILES_INSTANCES
#include <locus/instances/autograd/flat.inc>
#include <locus/instances/autograd/graph.inc>
#include <locus/instances/autograd/parameter.inc>
#include <locus/instances/autograd/traced.inc>
#include <locus/instances/data/loading/loader.inc>
#include <locus/instances/data/sets/labelled_images.inc>
#include <locus/instances/nn/activation.inc>
#include <locus/instances/nn/init.inc>
#include <locus/instances/nn/linear.inc>
#include <locus/instances/nn/loss.inc>
#include <locus/instances/nn/module.inc>
#include <locus/instances/nn/sequential.inc>
#include <locus/instances/ops/cross_entropy.inc>
#include <locus/instances/ops/linear.inc>
#include <locus/instances/optim/adadelta.inc>
#include <locus/instances/optim/adagrad.inc>
#include <locus/instances/optim/adam.inc>
#include <locus/instances/optim/lion.inc>
#include <locus/instances/optim/optimizer.inc>
#include <locus/instances/optim/rmsprop.inc>
#include <locus/instances/optim/sgd.inc>
#include <locus/instances/tensor/tensor.inc>
#include <locus/instances/training/fit.inc>
#include <locus/instances/training/metrics.inc>
#include <locus/instances/training/step.inc>
