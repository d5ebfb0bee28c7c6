// A cache of keys and values on another device than the model.
// because: each step of the model reads the keys of the cache, so both are on one device
// expect-error: model_is_on<locus::Cpu>.*cache_is_on<locus::Cuda>|the model is on Cpu, the input is on Cuda
#include <locus/cuda/backend.hpp>
#include <locus/models/gpt2.hpp>

using namespace locus;

auto logits(const models::GPT2<float, Cpu>& model, const Tensor<std::int64_t>& tokens) {
#ifdef LOCUS_MUST_FAIL
  const nn::KeyValueCache<float, Cuda> cache({.layers = 12, .heads = 12, .head_width = 64, .capacity = 1024});
#else
  const auto cache = model.cache();
#endif
  return model(tokens, cache);
}
