// Lesson 5: looking at a result
//
// Goal: report() writes the mean of the losses, then every loss, one per line. They live on the GPU.
//
// In PyTorch this would work: `for loss in losses: print(loss.item())`. It is silently slow, for each turn of the loop
// waits for the GPU and copies one number. Here .item() does the same, visibly; a loop does not compile until the
// losses are on the host.
//
// hint: The host can look at memory of the host only.
// hint: Copy all losses there, once, before the loop looks at them.
#include <locus/cuda/backend.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/copy.hpp>

#include <ostream>

using namespace locus;

void report(std::ostream& out, const Tensor<float, Cuda>& losses) {
  out << mean(losses).item() << "\n";  // one number, one wait
  for (float loss : losses.to<Cpu>()) out << loss << "\n";
}
