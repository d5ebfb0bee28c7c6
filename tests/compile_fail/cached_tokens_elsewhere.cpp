// Tokens on another device than the model and its cache.
// because: the embedding of the model looks up tokens where its weights lie
// expect-error(gcc): model_is_on<locus::Cuda>.*input_is_on<locus::Cpu>
// expect-error(nvcc): model_is_on<locus::Cuda>.*input_is_on<locus::Cpu>
// expect-error(clang): next_logits.*the model is on Cuda, the tokens or the cache are on Cpu
#include <locus/cuda/backend.hpp>
#include <locus/models/gpt2.hpp>

using namespace locus;

auto logits(const models::GPT2<float, Cuda>& model, const nn::KeyValueCache<float, Cuda>& cache,
            const Tensor<std::int64_t>& tokens) {
#ifdef LOCUS_MUST_FAIL
  return model.next_logits(tokens, cache);
#else
  return model.next_logits(tokens.to<Cuda>(), cache);
#endif
}
