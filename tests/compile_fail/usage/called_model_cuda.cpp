// `model.cuda()`
// group: Names of PyTorch's models
// because: the place is part of the type, so that the moved model is another object
// expect-error(gcc): say_auto_moved_std_move_model_to_Cuda
// expect-error(nvcc): say_auto_moved_std_move_model_to_Cuda
// expect-error(clang): say auto moved = std::move\(model\)\.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(nn::Sequential<float, Cpu> model) {
#ifdef LOCUS_MUST_FAIL
  model.cuda();
#else
  auto moved = std::move(model).to<Cuda>();
#endif
}
