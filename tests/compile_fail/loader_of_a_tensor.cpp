// A loader of a tensor, whose targets are elsewhere.
// because: a data set pairs samples and targets
// expect-error: a_tensor_is_no_data_set|a tensor is no data set
// expect-error: make_data_TensorDataset_x_y_of_tensors_on_the_host|make data::TensorDataset\{x, y\}
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x, const Tensor<std::int64_t>& y) {
#ifdef LOCUS_MUST_FAIL
  auto batches = data::loader<Cpu>(x, {.batch_size = 10});
#else
  auto batches = data::loader<Cpu>(data::TensorDataset{x, y}, {.batch_size = 10});
#endif
}
