// Distributing a layer that lists no members.
// because: its parameters would differ between ranks
// expect-error: distributed_model_comm_of_something_else_than_a|something else than a model that lists its members
// expect-error: pass_the_model_itself_and_write_void_members_const_auto|write void members\(const auto& visit\) const
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

struct Doubled : nn::Layer<Doubled, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4};
  auto forward(const auto& x) const { return inner(x) * 2.f; }
#ifndef LOCUS_MUST_FAIL
  void members(const auto& visit) const { visit("inner", inner); }
#endif
};

auto mistake(const dist::Communicator<Cpu>& comm) {
  const Doubled model;
  return dist::distributed(model, comm);
}
