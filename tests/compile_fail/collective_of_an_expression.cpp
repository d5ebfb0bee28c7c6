// Reducing an expression in place.
// because: it has no elements that could change
// expect-error: x_is_a_pending_expression_which_is_changed_in|x is a pending expression, which is changed in place
// expect-error: name_it_as_a_Tensor|name it as a Tensor
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const dist::Communicator<Cpu>& comm, const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  comm.all_reduce(2.f * x);
  return x;
#else
  return comm.all_reduced(2.f * x);
#endif
}
