// `std::move(model).to("cuda")`
// group: Names of PyTorch's models
// because: the place is part of the type; a text is known as the program runs
// expect-error(gcc): to_of_a_model_the_place_is_part_of_the_type_not_chosen_at_run_time, locus::error::say_std
// expect-error(nvcc): to_of_a_model_the_place_is_part_of_the_type_not_chosen_at_run_time, locus::error::say_std
// expect-error(clang): say std::move\(model\)\.to<Cpu>\(\), \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(nn::Linear<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return std::move(model).to("cuda");
#else
  return std::move(model).to<Cuda>();
#endif
}
