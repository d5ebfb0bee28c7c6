// Labels of a loss object that stayed on the host.
// expect-error: input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>|the logits are on Cuda, the labels are on Cpu
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Traced<float, Cuda> logits, Tensor<std::int64_t, Cpu> labels) {
  const nn::CrossEntropyLoss loss{{.label_smoothing = 0.1}};
#ifdef LOCUS_MUST_FAIL
  return loss(logits, labels);
#else
  return loss(logits, labels.to<Cuda>());
#endif
}
