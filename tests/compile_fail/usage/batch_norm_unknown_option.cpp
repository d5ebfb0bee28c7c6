// An option that BatchNorm2d lacks.
// group: Options
// because: an option that does not exist is an error, and the message lists those that do
// expect-error(gcc): options_are_eps_momentum_affine_track_running_stats
// expect-error(nvcc): options_are_eps_momentum_affine_track_running_stats
// expect-error(clang): are \.eps, \.momentum, \.affine, \.track_running_stats
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::BatchNorm2d<float, Cpu>{8, {.epsilon = 1e-3}};
#else
  return nn::BatchNorm2d<float, Cpu>{8, {.eps = 1e-3}};
#endif
}
