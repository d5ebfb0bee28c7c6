// `model.half()`
// group: Names of PyTorch's models
// because: the element type is part of the type
// expect-error(gcc): say_std_move_model_as_half
// expect-error(nvcc): say_std_move_model_as_half
// expect-error(clang): std::move\(model\)\.as<half>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(nn::Sequential<float, Cpu> model) {
#ifdef LOCUS_MUST_FAIL
  model.half();
#else
  auto model16 = std::move(model).as<half>();
#endif
}
