// An optimizer whose device the compiler is to find, of groups on two.
// because: an optimizer lies on one device, beside its parameters
// expect-error: groups_on_several_devices|the groups are on several devices
// expect-error: make_an_optimizer_for_each|make an optimizer for each
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& body, const nn::Linear<float, Cuda>& head,
             const nn::Linear<float, Cpu>& on_host) {
#ifdef LOCUS_MUST_FAIL
  optim::Sgd optimizer{{optim::Group{body.parameters()}, optim::Group{on_host.parameters(), {.lr = 0.1}}}, {.lr = 1}};
#else
  optim::Sgd optimizer{{optim::Group{body.parameters()}, optim::Group{head.parameters(), {.lr = 0.1}}}, {.lr = 1}};
#endif
}
