// A CTC loss whose label lengths are in another place.
// because: the launch that sums the paths reads the lengths
// expect-error(gcc): input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>
// expect-error(clang): ctc_loss.*the logarithms are on Cuda, labels or lengths are on Cpu
// expect-error(nvcc): labels_are_on<locus::Cpu>
#include <locus/locus.hpp>
#include <locus/nn/ctc_loss.hpp>

using namespace locus;

using Integers = Tensor<std::int64_t, Cuda>;
void mistake(const Traced<float, Cuda>& x, const Integers& labels, const Integers& times,
             const Tensor<std::int64_t, Cpu>& counts) {
#ifdef LOCUS_MUST_FAIL
  (void)nn::ctc_loss(x, labels, times, counts);
#else
  (void)nn::ctc_loss(x, labels, times, counts.to<Cuda>());
  static_assert(!std::is_invocable_v<nn::CTCLoss, const Traced<float, Cuda>&, const Integers&, const Integers&,
                                     const Tensor<std::int64_t, Cpu>&>);
#endif
}
