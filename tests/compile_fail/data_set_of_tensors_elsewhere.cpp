// A data set of tensors that are on the GPU already.
// because: batches are gathered on the host, while the GPU computes, and copied there
// expect-error: data_set_of_tensors_that_are_not_plain_ones_on<locus::Cpu>|tensors that are not plain ones on Cpu
// expect-error: copy_to_host_first_with_to_Cpu|copy with \.to<Cpu>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Cuda>& x, const Tensor<std::int64_t, Cuda>& y) {
#ifdef LOCUS_MUST_FAIL
  const data::TensorDataset<float, std::int64_t> dataset{x, y};
#else
  const data::TensorDataset<float, std::int64_t> dataset{x.to<Cpu>(), y.to<Cpu>()};
#endif
}
