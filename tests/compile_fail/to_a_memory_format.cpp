// Asking for a memory format as for a place, as x.to(memory_format=torch.channels_last) does.
// because: a place is part of the type, and how images lie in it is not
// expect-error: a_place_is_expected_not_a_memory_format|a place is expected, not a memory format
// expect-error: say_channels_last|say \.channels_last\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& images) {
#ifdef LOCUS_MUST_FAIL
  (void)images.to(MemoryFormat::channels_last);
#else
  (void)images.channels_last();
#endif
}
