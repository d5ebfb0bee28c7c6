// expect-error: tensor_is_on<locus::Cpu>.*communicator_is_on<locus::Cuda>|is on Cpu, the communicator.* on Cuda
#include LESSON

#include <locus/distributed/start/spawn.hpp>
#include <locus/tensor/factory.hpp>

#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

static_assert(
    std::is_same_v<decltype(&::mean_loss), float (*)(const dist::Communicator<Cuda>&, const Tensor<float, Cuda>&)>,
    "mean_loss() takes a communicator and a loss on Cuda, and returns a number");

int main() try {
  float means[3] = {};
  dist::spawn<Cpu>(3, [&](const dist::Communicator<Cpu>& comm) {
    means[comm.rank()] = on_host::mean_loss(comm, full({}, static_cast<float>(2 * comm.rank())));
  });
  for (const float mean : means) {
    if (mean == 2) continue;
    std::printf("the losses of three ranks are 0, 2 and 4; one of them says that their mean is %g\n", mean);
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
