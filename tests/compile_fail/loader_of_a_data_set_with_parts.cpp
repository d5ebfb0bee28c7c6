// A loader of a data set that has parts, of which one is meant; with a sampler.
// expect-error: data_set_without_size<.*Mnist>|this is no data set, since it has no size\(\)
// expect-error: write_std_int64_t_size_const|or pass one of its parts
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
