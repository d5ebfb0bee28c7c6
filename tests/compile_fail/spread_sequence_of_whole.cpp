// A layer along a Sequence, and the whole sequence.
// expect-error(clang): layer.forward.ranks, x.: a layer along a Sequence takes this rank's part of the sequence; say ranks.part
// expect-error(clang19): layer.forward.ranks, x.: a layer along a Sequence takes this rank's part of the sequence; say ranks.part
// expect-error(gcc): a_layer_along_a_Sequence_takes_this_rank_s_part_of_the_sequence.*say_ranks_part
// expect-error(nvcc): a_layer_along_a_Sequence_takes_this_rank_s_part_of_the_sequence.*say_ranks_part
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
using Layer = dist::ColumnLinear<float, Cpu, dist::Sequence<Model>>;

auto f(const Layer& layer, Over<Tensor<float>> x, const dist::Ranks<Model, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return layer.forward(model, x);
#else
  return layer.forward(model, model.part(x, -2));
#endif
}
