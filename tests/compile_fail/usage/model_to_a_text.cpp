// `model.to("cuda")`
// group: Names of PyTorch's models
// because: the place is part of the type, so that the moved model is another object
// expect-error(gcc): model_moved_without_std_move, locus::error::say_std_move_model_to_D
// expect-error(nvcc): model_moved_without_std_move, locus::error::say_std_move_model_to_D
// expect-error(clang): say std::move\(model\)\.to<D>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(nn::Linear<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return model.to("cuda");
#else
  return std::move(model).to<Cuda>();
#endif
}
