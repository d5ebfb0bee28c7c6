// The program that launch_test.py starts in several ways: its first argument is the number of ranks (0: as many as
// there are); with a second argument, the last rank ends before it meets the others.

#include <locus/distributed/distributed.hpp>
#include <locus/tensor/factory.hpp>

#include <cstdio>

using namespace locus;

namespace {
bool is_last() {
  for (const auto& [rank, size] : {Tuple("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), Tuple("RANK", "WORLD_SIZE")})
    if (std::getenv(rank)) return std::atoi(std::getenv(rank)) + 1 == std::atoi(std::getenv(size));
  return false;
}
}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2 && is_last()) return 0;
    dist::launch<Cpu>(argc > 1 ? std::atoi(argv[1]) : 0, [](const dist::Communicator<Cpu>& comm) {
      const Tensor x = full({}, static_cast<float>(comm.rank()));
      comm.all_reduce(x);
      const auto backwards = comm.split(0, -comm.rank());  // which meets at another rank
      if (backwards.all_reduced(full({}, 1.f)).item() != static_cast<float>(comm.size())) std::printf("another sum\n");
      if (comm.rank() == 0) std::printf("%d ranks, whose sum is %g\n", comm.size(), static_cast<double>(x.item()));
    });
    return 0;
  } catch (const Error& error) {
    std::printf("refused: %s\n", error.what());
    return 1;
  }
}
