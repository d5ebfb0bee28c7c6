// `io::load_torch` without its header.
// group: Headers that locus.hpp leaves out
// because: programs that do not use it would pay for it as they are compiled
// expect-error(gcc): include_locus_interop_torch_file_hpp
// expect-error(nvcc): include_locus_interop_torch_file_hpp
// expect-error(clang): #include <locus/interop/torch_file\.hpp> is missing
#ifndef LOCUS_MUST_FAIL
#include <locus/interop/torch_file.hpp>
#endif
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model) {
  nn::load_state_dict(model, io::load_torch<Cpu>("resnet18.pth"));
}
