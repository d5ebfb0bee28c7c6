// The mean of integers over ranks.
// because: it is no integer
// expect-error: mean_of_integers|the tensor holds integers
// expect-error: sum_them_or_convert_with_as_float|convert with \.as<float>\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Communicator<Cpu>& comm, const Tensor<std::int64_t>& x) {
#ifdef LOCUS_MUST_FAIL
  comm.all_reduce(x, dist::mean);
#else
  comm.all_reduce(x, dist::sum);
#endif
}
