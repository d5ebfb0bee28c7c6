// A layer that does not say which dimension of its weight the ranks divide.
// expect-error(clang): the state of a model: a parameter is Varying and its layer does not say which dimension is divided; say visit
// expect-error(clang19): the state of a model: a parameter is Varying and its layer does not say which dimension is divided; say visit
// expect-error(gcc): a_parameter_is_Varying_and_its_layer_does_not_say_which_dimension_is_divided.*say_visit
// expect-error(nvcc): a_parameter_is_Varying_and_its_layer_does_not_say_which_dimension_is_divided.*say_visit
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
struct Network {
  Over<Parameter<float>, Varying<Model>> weight;
  void members(const auto& visit) const {
#ifdef LOCUS_MUST_FAIL
    visit("weight", weight);
#else
    visit("weight", weight, dist::Divided<Model>{.dim = 1});
#endif
  }
};

auto f(const Network& net, const dist::Ranks<Model, Cpu>& model) { return dist::state_dict(net, model); }
