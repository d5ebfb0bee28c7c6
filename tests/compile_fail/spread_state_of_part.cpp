// A file of a model of which this rank has a part.
// expect-error(clang): state_dict.model.: a parameter is Varying and this rank has a part of it; name the ranks along all its axes
// expect-error(clang19): state_dict.model.: a parameter is Varying and this rank has a part of it; name the ranks along all its axes
// expect-error(gcc): a_parameter_is_Varying_and_this_rank_has_a_part_of_it.*name_the_ranks_along_all_its_axes
// expect-error(nvcc): a_parameter_is_Varying_and_this_rank_has_a_part_of_it.*name_the_ranks_along_all_its_axes
// because: the file would have this rank's part under the name of the whole
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};

auto f(const dist::ColumnLinear<float, Cpu, Model>& net, [[maybe_unused]] const dist::Ranks<Model, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return dist::state_dict(net);
#else
  return dist::state_dict(net, model);
#endif
}
