// A scalar function that holds a container.
// because: a function is copied to where it runs, and the memory of a container stays on the host
// expect-error: function_holds_what_does_not_travel_to_a_kernel|holds what does not travel to a kernel
// expect-error: hold_numbers_and_pass_tensors_as_operands|hold numbers, and pass tensors as operands
#include <locus/locus.hpp>

using namespace locus;

struct Scaled {
#ifdef LOCUS_MUST_FAIL
  std::vector<float> factor{0.5f};
  float operator()(float x) const { return x * factor[0]; }
#else
  float factor = 0.5f;
  LOCUS_FN float operator()(float x) const { return x * factor; }
#endif
};

auto mistake(const Tensor<float, Cuda>& x) { return elementwise(Scaled{}, x); }
