#pragma once
// ONNX: models in memory, and their files. models/onnx.hpp runs them.

#include <locus/interop/onnx/file.hpp>
#include <locus/interop/onnx/graph.hpp>
