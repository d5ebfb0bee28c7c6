// A distributed model called with a tensor that a collective is still writing.
// because: the handle is no tensor until it is ordered or waited for
// expect-error: tensor_is_still_being_copied|still being copied
// expect-error: say_std_move_x_ordered_or_wait|std::move\(x\)\.ordered\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const dist::Distributed<nn::Sequential<float, Cuda>>& parallel, const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  auto all = parallel.communicator().all_reduced_async(x);
  return parallel(all);
#else
  auto all = parallel.communicator().all_reduced_async(x);
  return parallel(std::move(all).ordered());
#endif
}
