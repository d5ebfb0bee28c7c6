#pragma once
// How values are spread over ranks, in their types: Over<Tensor<float, Cuda>, Varying<Data>>.

#include <locus/distributed/spread/batch_norm.hpp>
#include <locus/distributed/spread/functions.hpp>
#include <locus/distributed/spread/layers.hpp>
#include <locus/distributed/spread/mesh.hpp>
#include <locus/distributed/spread/model.hpp>
#include <locus/distributed/spread/optimizer.hpp>
#include <locus/distributed/spread/state.hpp>
