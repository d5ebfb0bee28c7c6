// Lesson 5: looking at a result
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: report() writes the mean of the losses, then every loss, one per line. They live on the GPU.
//
// In PyTorch this would work: `for loss in losses: print(loss.item())`. It is silently slow, for each turn of the loop
// waits for the GPU and copies one number. Here .item() does the same, visibly; a loop does not compile until the
// losses are on the host.
#include <locus/cuda/backend.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/copy.hpp>

#include <ostream>

using namespace locus;

void report(std::ostream& out, const Tensor<float, Cuda>& losses) {
  out << mean(losses).item() << "\n";             // one number, one wait
  for (float loss : losses) out << loss << "\n";  // <- mend this
}
