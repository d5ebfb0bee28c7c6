// Running statistics of all ranks that each rank would update by its own samples.
// expect-error(clang): batch_norm: running statistics are spread otherwise than the batch that updates them; keep Varying ones of each rank, or say dist::SynchronizedBatchNorm
// expect-error(clang19): batch_norm: running statistics are spread otherwise than the batch that updates them; keep Varying ones of each rank, or say dist::SynchronizedBatchNorm
// expect-error(gcc): running_statistics_are_spread_otherwise_than_the_batch_that_updates_them.*dist_SynchronizedBatchNorm
// expect-error(nvcc): running_statistics_are_spread_otherwise_than_the_batch_that_updates_them.*dist_SynchronizedBatchNorm
// because: a file of rank 0 would have the statistics of its samples alone
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Recorded = Over<Traced<float, Cpu>, S...>;
template <class... S>
using Running = Over<RunningStatistics<float, Cpu>, S...>;

auto f(Recorded<Varying<Data>> x, [[maybe_unused]] Running<> whole, [[maybe_unused]] Running<Varying<Data>> own) {
#ifdef LOCUS_MUST_FAIL
  return batch_norm(x, whole);
#else
  return batch_norm(x, own);
#endif
}
