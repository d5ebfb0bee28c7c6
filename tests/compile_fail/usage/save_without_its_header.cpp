// `io::save` without its header.
// group: Headers that locus.hpp leaves out
// because: programs that do not use it would pay for it as they are compiled
// expect-error(gcc): include_locus_io_safetensors_hpp
// expect-error(nvcc): include_locus_io_safetensors_hpp
// expect-error(clang): #include <locus/io/safetensors\.hpp> is missing
#ifndef LOCUS_MUST_FAIL
#include <locus/io/safetensors.hpp>
#include <locus/linalg/linalg.hpp>
#include <locus/models/mlp.hpp>
#include <locus/models/resnet.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/sort.hpp>
#include <locus/ops/unique.hpp>
#endif
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model) { io::save("weights.safetensors", nn::state_dict(model)); }
