// Dropout of heads that are divided among ranks, by numbers that are the same on all of them.
// expect-error(clang): net.loss.ranks, tokens, next, alike, own.: dropout draws other numbers for the heads of each rank
// expect-error(clang19): net.loss.ranks, tokens, next, alike, own.: dropout draws other numbers for the heads of each rank
// expect-error(gcc): dropout_draws_other_numbers_for_the_heads_of_each_rank.*pass_mesh_generator
// expect-error(nvcc): dropout_draws_other_numbers_for_the_heads_of_each_rank.*pass_mesh_generator
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>
#include <locus/models/parallel_gpt2.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Net = models::ParallelGPT2<float, Cpu, Model>;
using Tokens = Over<Tensor<std::int64_t>>;

auto f(const Net& net, const dist::Ranks<Model, Cpu>& model, Tokens tokens, dist::SpreadGenerator<Cpu>& alike,
       [[maybe_unused]] dist::SpreadGenerator<Cpu, Varying<Model>>& own) {
#ifdef LOCUS_MUST_FAIL
  return net.loss(model, trace(tokens), tokens, alike);
#else
  return net.loss(model, trace(tokens), tokens, alike, own);
#endif
}
