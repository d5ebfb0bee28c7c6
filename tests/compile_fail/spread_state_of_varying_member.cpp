// A file of a layer that lists a part of a weight.
// expect-error(clang): the state of a model: a parameter is Varying and this rank has a part of it; name the ranks along all its axes
// expect-error(clang19): the state of a model: a parameter is Varying and this rank has a part of it; name the ranks along all its axes
// expect-error(gcc): a_parameter_is_Varying_and_this_rank_has_a_part_of_it.*name_the_ranks_along_all_its_axes
// expect-error(nvcc): a_parameter_is_Varying_and_this_rank_has_a_part_of_it.*name_the_ranks_along_all_its_axes
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
struct Network {
  Over<Parameter<float>, Varying<Model>> part;
  Over<Parameter<float>> whole;
  void members(const auto& visit) const {
#ifdef LOCUS_MUST_FAIL
    visit("weight", part);
#else
    visit("weight", whole);
#endif
  }
};

auto f(const Network& net) { return dist::state_dict(net); }
