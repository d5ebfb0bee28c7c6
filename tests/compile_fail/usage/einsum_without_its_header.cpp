// `einsum("ij,jk->ik", x, x)` without its header.
// group: Headers that locus.hpp leaves out
// because: programs that do not use it would pay for it as they are compiled
// expect-error(gcc): include_locus_ops_einsum_hpp
// expect-error(nvcc): include_locus_ops_einsum_hpp
// expect-error(clang): #include <locus/ops/einsum\.hpp> is missing
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

auto mistake(const Tensor<float>& x) { return einsum("ij,jk->ik", x, x); }
