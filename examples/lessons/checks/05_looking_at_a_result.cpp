// expect-error: Cuda
// expect-error: copy_to_host_first_with_to_Cpu|copy it first with \.to<Cpu>\(\)
// lines: 13
#include LESSON

#include <locus/tensor/from.hpp>

#include <cstdio>
#include <sstream>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

static_assert(std::is_same_v<decltype(&::report), void (*)(std::ostream&, const Tensor<float, Cuda>&)>,
              "report takes the losses on Cuda");

int main() {
  std::ostringstream out;
  on_host::report(out, from({3, 1, 2}));
  if (out.str() == "2\n3\n1\n2\n") return 0;
  std::puts("report(out, losses) does not write the mean and every loss, one a line");
  return 1;
}
