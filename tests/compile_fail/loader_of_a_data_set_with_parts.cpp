// A loader of a data set that has parts, of which one is meant; with a sampler.
// expect-error: loader_of_something_else_than_labelled_images|of something else than labelled images
// expect-error: make_LabelledImages_of|make data::LabelledImages
#include <locus/locus.hpp>

using namespace locus;

void mistake(const data::Mnist& digits) {
  const data::SequentialSampler first{100};
#ifdef LOCUS_MUST_FAIL
  auto batches = data::loader<Cpu>(digits, first);
#else
  auto batches = data::loader<Cpu>(digits.train, first);
#endif
}
