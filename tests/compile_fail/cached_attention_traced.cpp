// Attention of traced queries to a cache.
// because: a cache holds numbers, so that gradients of the tokens that it holds would be lost
// expect-error(gcc): a_cache_holds_numbers_so_that_gradients_would_be_lost
// expect-error(nvcc): a_cache_holds_numbers_so_that_gradients_would_be_lost
// expect-error(clang): a cache holds numbers, so that gradients would be lost; train without a cache
#include <locus/locus.hpp>
#include <locus/nn/cached_attention.hpp>

using namespace locus;

auto attended(const Tensor<float>& x, const nn::CacheStep<float, Cpu>& step) {
#ifdef LOCUS_MUST_FAIL
  const auto q = trace(x);
#else
  const auto q = x;
#endif
  return nn::cached_attention(q, x, x, step, 0);
}
