// Training a distributed model on batches of the host.
// because: every batch would have to be copied again inside the loop
// expect-error: model_is_on<locus::Cuda>.*batches_are_on<locus::Cpu>|the model is on Cuda, the batches are on Cpu
// expect-error: make_the_loader_for_the_device_of_the_model|make the loader for the model, data::loader<Cuda>
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Distributed<nn::Sequential<float, Cuda>>& parallel, optim::Sgd<float, Cuda>& optimizer,
             const data::LabelledImages& digits, History& history) {
#ifdef LOCUS_MUST_FAIL
  data::Loader<data::LabelledImages, Cpu> train = data::loader<Cpu>(digits);
  fit(parallel, optimizer, train, train, history);
#else
  data::Loader<data::LabelledImages, Cuda> train = data::loader<Cuda>(digits);
  fit(parallel, optimizer, train, train, history);
#endif
}
