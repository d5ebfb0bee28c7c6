// A sum over ranks is made twice.
#include <locus/distributed/distributed.hpp>
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

struct Grid;
struct Data : Along<Grid> {};

int main() {
  bool right = true;
  dist::launch<Cpu>(2, [&](dist::Communicator<Cpu> comm) {
    const dist::Mesh<Cpu, Data> mesh(comm, {comm.size()});
    const auto& data = mesh.along<Data>();
    const auto once = data.all_reduce(mesh.label<Partial<Data>>(Tensor<float>(sum(ones({1})))));
#ifdef MISTAKE
    const float total = data.all_reduce(once).item();
#else
  const float total = once.item();
#endif
    if (data.rank() == 0) right = total == 2;
  });
  passed();
  return verdict(right);
}
