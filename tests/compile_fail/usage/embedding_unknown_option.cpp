// An option that Embedding lacks.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): options_are_padding_idx
// expect-error(nvcc): options_are_padding_idx
// expect-error(clang): its options, in this order, are \.padding_idx
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Embedding<float, Cpu>{27, 16, {.padding_index = 0}};
#else
  return nn::Embedding<float, Cpu>{27, 16, {.padding_idx = 0}};
#endif
}
