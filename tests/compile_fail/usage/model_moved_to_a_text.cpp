// `std::move(model).to("cuda")`
// group: Names of PyTorch's models
// because: the place is part of the type; a text is known as the program runs
// expect-error(gcc): place_chosen_at_run_time, locus::error::say_to_Cpu_or_to_Cuda_or_use_with_device
// expect-error(nvcc): place_chosen_at_run_time, locus::error::say_to_Cpu_or_to_Cuda_or_use_with_device
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
