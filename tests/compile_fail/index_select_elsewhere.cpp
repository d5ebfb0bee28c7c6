// Selecting rows by indices of another device.
// because: the kernel that reads the rows reads the indices too
// expect-error: tensor_is_on<locus::Cuda>.*indices_are_on<locus::Cpu>|the tensor is on Cuda, the indices are on Cpu
// expect-error: index_select.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Cuda>& table, const Tensor<std::int64_t>& rows) {
#ifdef LOCUS_MUST_FAIL
  (void)index_select(table, 0, rows);
#else
  (void)index_select(table, 0, rows.to<Cuda>());
#endif
}
