// Counting predictions of a GPU against labels on the host.
// expect-error: input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>|the predictions are on Cuda, the labels are on Cpu
// expect-error: confusion_matrix.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>
#include <locus/training/confusion_matrix.hpp>

using namespace locus;

void mistake(const Tensor<std::int64_t, Cuda>& predictions, const Tensor<std::int64_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  const auto matrix = confusion_matrix(predictions, labels, 10);
#else
  const auto matrix = confusion_matrix(predictions.to<Cpu>(), labels, 10);
#endif
}
