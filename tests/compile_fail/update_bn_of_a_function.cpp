// Running statistics of a function.
// because: a function does not list its layers, so that its batch norms are not known
// expect-error: of_a_function_or_a_model_without_members|of a function or a model without members
// expect-error: pass_a_layer_that_lists_them|pass a layer that lists them
#include <locus/locus.hpp>
#include <locus/training/update_bn.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, const data::LabelledImages& digits) {
#ifdef LOCUS_MUST_FAIL
  nn::update_bn([&](const auto& x) { return model(x); }, data::loader<Cpu>(digits));
#else
  nn::update_bn(model, data::loader<Cpu>(digits));
#endif
}
