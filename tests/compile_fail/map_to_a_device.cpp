// A function that puts samples on the GPU, one by one.
// because: workers prepare samples on the host; a batch of them is copied at once
// expect-error: function_returns_no_tensor_of_the_host|f returns no tensor of the host
// expect-error: return_x_or_Tuple_x_y|return x, or Tuple\(x, y\)
#include <locus/locus.hpp>

using namespace locus;

struct Twice {
  Tensor<float> operator()(const Tensor<float>& x) const { return x * 2.f; }
};
struct TwiceOnCuda {
  Tensor<float, Cuda> operator()(const Tensor<float>& x) const { return (x * 2.f).eval().to<Cuda>(); }
};

void mistake(const data::TensorDataset<float>& dataset) {
#ifdef LOCUS_MUST_FAIL
  auto twice = data::map(dataset, TwiceOnCuda{});
#else
  auto twice = data::map(dataset, Twice{});
#endif
}
