// An optimizer of a parameter whose gradient is Partial.
// expect-error(clang): stepped.w.: the gradient of a Replicated parameter is Partial; make it Invariant, or use dist::Optimizer
// expect-error(clang19): stepped.w.: the gradient of a Replicated parameter is Partial; make it Invariant, or use dist::Optimizer
// expect-error(gcc): the_gradient_of_a_Replicated_parameter_is_Partial.*dist_Optimizer
// expect-error(nvcc): the_gradient_of_a_Replicated_parameter_is_Partial.*dist_Optimizer
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

using namespace locus;
struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class... S>
using Weight = Over<Parameter<float>, S...>;

auto f(Weight<Replicated<Data>> w, Weight<> whole) {
#ifdef LOCUS_MUST_FAIL
  return dist::stepped(w);
#else
  return dist::stepped(whole);
#endif
}
