// `model.to("cuda")`
// group: Names of PyTorch's models
// because: the place is part of the type, so that the moved model is another object
// expect-error(gcc): to_D_of_a_model_which_would_stay_without_parameters, locus::error::say_std_move_model_to_D
// expect-error(nvcc): to_D_of_a_model_which_would_stay_without_parameters, locus::error::say_std_move_model_to_D
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
