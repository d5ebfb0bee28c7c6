// One-hot vectors of labels that are no integers.
// because: a class is a number to count with
// expect-error: labels_hold<float>|the labels are not int64
// expect-error: convert_with_as_std_int64_t|convert with \.as<std::int64_t>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& labels) {
#ifdef LOCUS_MUST_FAIL
  (void)one_hot(labels, 10);
#else
  (void)one_hot(labels.as<std::int64_t>(), 10);
#endif
}
