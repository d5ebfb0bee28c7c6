// An option that a loader lacks.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): options_are_batch_size_shuffle_drop_last_seed_ahead_workers
// expect-error(nvcc): options_are_batch_size_shuffle_drop_last_seed_ahead_workers
// expect-error(clang): are \.batch_size, \.shuffle, \.drop_last, \.seed, \.ahead, \.workers
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const data::LabelledImages& images) {
#ifdef LOCUS_MUST_FAIL
  return data::loader<Cpu>(images, {.batchsize = 2});
#else
  return data::loader<Cpu>(images, {.batch_size = 2});
#endif
}
