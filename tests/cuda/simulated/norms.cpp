// layer_norm and rms_norm on simulated threads: warps and blocks of a row, and the reductions over rows, as Cpu does
// it.

#include <locus/autograd/traced.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/ops/layer_norm.hpp>

#include <support/reference.hpp>

using namespace locus;
using locus_test::reference;
using locus_test::sample;

namespace {
/// What f gives of x, w and b, and the gradients that it gives them.
template <class D, class F>
std::vector<locus_test::Reference> results(const F& f, std::int64_t cols) {
  const auto x = variable(sample<float, D>({3, cols}, 1, 99, 101)), w = variable(sample<float, D>({cols}, 2)),
             b = variable(sample<float, D>({cols}, 3));
  const auto y = f(x, w, b);
  y.backward(sample<float, D>({3, cols}, 4));
  x.zero_grad();
  f(x, w, b).backward(sample<float, D>({3, cols}, 5));  // added to what there is
  return {reference(y), reference(x.grad()), reference(w.grad()), reference(b.grad())};
}
}  // namespace

TEST_CASE("normalized rows and their gradients are those of Cpu") {
  const auto f = [](const auto& x, const auto& w, const auto& b) {
    return rms_norm(layer_norm(x, {x.size(1)}, w, b), {x.size(1)}, w);
  };
  for (const std::int64_t cols : {7, 33, 257}) {
    CAPTURE(cols);
    const auto expected = results<Cpu>(f, cols), found = results<Cuda>(f, cols);
    for (std::size_t i = 0; i < 4; ++i)
      locus_test::check_empty(locus_test::difference_of(found[i], expected[i], 2e-5), __FILE__, __LINE__);
  }
}
