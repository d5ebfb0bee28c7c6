// Moving a distributed model, and keeping it.
// because: its parameters would be without memory, and the reducer would look alive
// expect-error: to_D_of_a_model_which_would_stay_without_parameters|a model, which would stay without parameters
// expect-error: say_std_move_model_to_D|say std::move\(model\)\.to<D>\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(dist::Distributed<nn::Sequential<float, Cuda>>& parallel) {
#ifdef LOCUS_MUST_FAIL
  return parallel.to<Cpu>();
#else
  return std::move(parallel).to<Cpu>();
#endif
}
