// A file of a parameter that is a sum over ranks.
// expect-error(clang): the state of a model: a parameter is Partial and the true value is the sum over ranks; all_reduce it first
// expect-error(clang19): the state of a model: a parameter is Partial and the true value is the sum over ranks; all_reduce it first
// expect-error(gcc): a_parameter_is_Partial_and_the_true_value_is_the_sum_over_ranks.*all_reduce_it_first
// expect-error(nvcc): a_parameter_is_Partial_and_the_true_value_is_the_sum_over_ranks.*all_reduce_it_first
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
struct Network {
  Over<Parameter<float>, Partial<Data>> parts;
  Over<Parameter<float>> sum;
  void members(const auto& visit) const {
#ifdef LOCUS_MUST_FAIL
    visit("weight", parts);
#else
    visit("weight", sum);
#endif
  }
};

auto f(const Network& net) { return dist::state_dict(net); }
