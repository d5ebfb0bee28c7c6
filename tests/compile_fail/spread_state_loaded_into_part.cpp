// A file of a whole model, loaded into a part.
// expect-error(clang): load_state_dict.model, state.: a parameter is Varying and this rank has a part of it; name the ranks along all its axes
// expect-error(clang19): load_state_dict.model, state.: a parameter is Varying and this rank has a part of it; name the ranks along all its axes
// expect-error(gcc): a_parameter_is_Varying_and_this_rank_has_a_part_of_it.*name_the_ranks_along_all_its_axes
// expect-error(nvcc): a_parameter_is_Varying_and_this_rank_has_a_part_of_it.*name_the_ranks_along_all_its_axes
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};

void f(const dist::ColumnLinear<float, Cpu, Model>& net, const nn::StateDict<Cpu>& state,
       [[maybe_unused]] const dist::Ranks<Model, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  dist::load_state_dict(net, state, {});
#else
  dist::load_state_dict(net, state, {}, model);
#endif
}
