// An expression of one element type into a tensor of another.
// because: there is no implicit promotion, nor an implicit loss
// expect-error: left_holds<float>.*right_holds<double>|the source holds float, the target double
// expect-error: convert_one_with_as_T|convert with \.as<double>\(\)
#include <locus/locus.hpp>

using namespace locus;

Tensor<double> mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  Tensor<double> y(x * 2.f);
#else
  Tensor<double> y((x * 2.f).as<double>());
#endif
  return y;
}
