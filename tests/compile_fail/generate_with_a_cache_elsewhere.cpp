// Generation with a cache on another device than the model.
// because: each step of the model reads the keys of the cache, so both are on one device
// expect-error(gcc): model_is_on<locus::Cuda>.*cache_is_on<locus::Cpu>
// expect-error(nvcc): model_is_on<locus::Cuda>.*cache_is_on<locus::Cpu>
// expect-error(clang): generate\(model, cache, prompt\): the model is on Cuda, the cache is on Cpu
#include <locus/cuda/backend.hpp>
#include <locus/models/generate.hpp>
#include <locus/models/gpt2.hpp>

using namespace locus;

auto continued(const models::GPT2<float, Cuda>& model, const std::vector<std::int64_t>& prompt) {
#ifdef LOCUS_MUST_FAIL
  const nn::KeyValueCache<float, Cpu> cache({.layers = 12, .heads = 12, .head_width = 64, .capacity = 1024});
#else
  const auto cache = model.cache();
#endif
  return models::generate(model, cache, prompt);
}
