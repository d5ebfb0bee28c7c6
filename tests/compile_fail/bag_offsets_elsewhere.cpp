// Bags of rows whose offsets live on another device.
// because: the device that sums the rows reads where each bag begins
// expect-error(gcc): tensor_is_on<locus::Cuda>.*indices_are_on<locus::Cpu>
// expect-error(clang): embedding_bag.*the table is on Cuda, the indices or offsets are on Cpu
// expect-error(nvcc): indices_are_on<locus::Cpu>
#include <locus/locus.hpp>
#include <locus/ops/embedding_bag.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& table, const Tensor<std::int64_t, Cuda>& words,
             const Tensor<std::int64_t>& offsets) {
#ifdef LOCUS_MUST_FAIL
  return embedding_bag(table, words, offsets);
#else
  return embedding_bag(table, words, offsets.to<Cuda>());
#endif
}
