// A layer named by its type after the conversion.
// group: Types that are not written
// because: layers are looked up by their types before the conversion
// expect-error(gcc): a_layer_is_named_as_it_is_after_the_move, locus::error::name_layers_as_they_are_before_it_as
// expect-error(nvcc): a_layer_is_named_as_it_is_after_the_move, locus::error::name_layers_as_they_are_before_it_as
// expect-error(clang): name layers as they are before it
#include <locus/locus.hpp>

using namespace locus;

auto mistake(nn::Linear<float, Cpu> model) {
#ifdef LOCUS_MUST_FAIL
  return model.as<double, nn::Linear<double, Cpu>>();
#else
  return model.as<double, nn::Linear<float, Cpu>>();
#endif
}
