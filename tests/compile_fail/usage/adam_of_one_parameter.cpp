// An optimizer of one parameter.
// group: Arguments
// because: an optimizer takes a list of parameters, which may have one
// expect-error(gcc): a_parameter_instead_of_a_list, locus::error::write_it_in_braces
// expect-error(nvcc): a_parameter_instead_of_a_list, locus::error::write_it_in_braces
// expect-error(clang): write it in braces, as in optim::Adam\{\{w\}
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Parameter<float>& w) {
#ifdef LOCUS_MUST_FAIL
  return optim::Adam{w, {.lr = 0.1}};
#else
  return optim::Adam{{w}, {.lr = 0.1}};
#endif
}
