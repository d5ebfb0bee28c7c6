// A scheduler without an optimizer.
// group: Arguments
// because: a scheduler changes the learning rate of an optimizer
// expect-error(gcc): a_schedule_without_an_optimizer_before_it, locus::error::say_optim_Scheduler_optimizer_schedule
// expect-error(nvcc): a_schedule_without_an_optimizer_before_it, locus::error::say_optim_Scheduler_optimizer_schedule
// expect-error(clang): say optim::Scheduler\{optimizer, optim::StepLR
#include <locus/locus.hpp>

using namespace locus;

auto mistake(optim::Sgd<float, Cpu>& optimizer) {
#ifdef LOCUS_MUST_FAIL
  return (void)optimizer, optim::Scheduler{optim::StepLR{.step_size = 3}};
#else
  return optim::Scheduler{optimizer, optim::StepLR{.step_size = 3}};
#endif
}
