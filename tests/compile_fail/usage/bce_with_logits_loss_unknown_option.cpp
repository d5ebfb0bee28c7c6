// The weight of positive targets as an option.
// group: Options
// because: it is a tensor of a device, which is part of the type of the loss
// expect-error(gcc): make_it_of_nn_PosWeight_and_options_reduction
// expect-error(nvcc): make_it_of_nn_PosWeight_and_options_reduction
// expect-error(clang): make_it_of_nn_PosWeight_and_options_reduction
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& w) {
#ifdef LOCUS_MUST_FAIL
  return nn::BCEWithLogitsLoss{{.pos_weight = w}};
#else
  return nn::BCEWithLogitsLoss{nn::PosWeight{w}};
#endif
}
