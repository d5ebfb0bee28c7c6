// A tangent on another device than its input.
// because: the function is computed once, on values and tangents together
// expect-error(gcc): left_is_on<locus::Cuda>.*right_is_on<locus::Cpu>
// expect-error(clang): x is on Cuda, its tangent v is on Cpu
// expect-error(nvcc): left_is_on<locus::Cuda>
#include <locus/autograd/forward_mode.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto slope(const Tensor<float, Cuda>& x, const Tensor<float, Cpu>& v) {
  const auto f = [](const auto& of) { return exp(of); };
#ifdef LOCUS_MUST_FAIL
  return jvp(f, x, v);
#else
  return jvp(f, x, v.to<Cuda>());
#endif
}
