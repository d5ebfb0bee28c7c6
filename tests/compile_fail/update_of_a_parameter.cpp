// Changing a parameter in place.
// because: an optimizer keeps state that follows its values
// expect-error: the_target_is_a_parameter|the target is a parameter
// expect-error: let_an_optimizer_change_it_or_change_its_value_w_value|change its value, w\.value\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Parameter<float, Cpu>& w, const Tensor<float>& gradient) {
#ifdef LOCUS_MUST_FAIL
  w -= 0.1f * gradient;
#else
  w.value() -= 0.1f * gradient;
#endif
}
