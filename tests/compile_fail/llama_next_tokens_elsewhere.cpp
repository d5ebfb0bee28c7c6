// Next tokens that stayed on the host, in the loss of Llama on the GPU.
// because: tokens and next tokens are two views of one text; moving one of them leaves the other behind
// expect-error(gcc): input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>
// expect-error(clang): model\.loss\(tokens, next\): the tokens are on Cuda, the next tokens are on Cpu
// expect-error(nvcc): labels_are_on<locus::Cpu>
#include <locus/locus.hpp>
#include <locus/models/llama.hpp>

using namespace locus;

auto loss(const models::Llama<float, Cuda>& model, const Tensor<std::int64_t, Cuda>& tokens,
          const Tensor<std::int64_t>& next) {
#ifdef LOCUS_MUST_FAIL
  return model.loss(trace(tokens), next);
#else
  return model.loss(trace(tokens), next.to<Cuda>());
#endif
}
