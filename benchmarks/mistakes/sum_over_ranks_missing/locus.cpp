// A part of a sum over ranks is read as the sum.
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
    const auto part = mesh.label<Partial<Data>>(Tensor<float>(sum(ones({1}))));
#ifdef MISTAKE
    const float total = part.item();
#else
  const float total = data.all_reduce(part).item();
#endif
    if (data.rank() == 0) right = total == 2;
  });
  passed();
  return verdict(right);
}
