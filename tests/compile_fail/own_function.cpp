// A function of the user's own, in a namespace of its own, called from a template with tensors of two devices.
// because: a function of your own refuses with the same words, through Combinable and refuse.inc
// expect-error: left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>|left operand is on Cpu, right operand is on Cuda
// expect-error: blend.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\))
#include <locus/locus.hpp>

namespace mine {
template <class X, class Y>
  requires locus::Combinable<X, Y>
auto blend(const X& x, const Y& y) {
  return 0.5f * x + 0.5f * y;
}
#define LOCUS_REFUSED blend(const L&, const R&)
#define LOCUS_REFUSED_CALL "blend(x, y)"
#include <locus/refuse/operands.inc>

template <class X, class Y>
locus::Tensor<float> blend_twice(const X& x, const Y& y) {
#ifdef LOCUS_MUST_FAIL
  return blend(x, y);
#else
  return blend(x, y.template to<locus::Cpu>());
#endif
}
}  // namespace mine

auto mistake(const locus::Tensor<float>& x, const locus::Tensor<float, locus::Cuda>& y) {
  return mine::blend_twice(x, y);
}
