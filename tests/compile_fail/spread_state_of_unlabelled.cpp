// A file of a parameter that does not say how it is spread.
// expect-error(clang): the state of a model: a parameter or buffer does not say how it is spread over ranks; say mesh.same
// expect-error(clang19): the state of a model: a parameter or buffer does not say how it is spread over ranks; say mesh.same
// expect-error(gcc): a_parameter_or_buffer_does_not_say_how_it_is_spread_over_ranks.*say_mesh_same
// expect-error(nvcc): a_parameter_or_buffer_does_not_say_how_it_is_spread_over_ranks.*say_mesh_same
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
struct Network {
  Parameter<float> weight;
  Over<Parameter<float>> same;
  void members(const auto& visit) const {
#ifdef LOCUS_MUST_FAIL
    visit("weight", weight);
#else
    visit("weight", same);
#endif
  }
};

auto f(const Network& net) { return dist::state_dict(net); }
