// Shapes and axes in braces, of one extent or more, are taken; without braces they are refused.

#include <locus/locus.hpp>

namespace {
using namespace locus;

template <class... A>
concept MakeZeros = requires(A... a) { zeros(a...); };
template <class... A>
concept MakeOnes = requires(A... a) { ones<double>(a...); };
template <class... A>
concept MakeNormals = requires(A... a) { randn(a...); };
template <class X, class... A>
concept Reshapes = requires(const X& x, A... a) { x.reshape(a...); };

static_assert(MakeZeros<Shape> && MakeZeros<Shape, Cuda> && MakeOnes<Shape, Cpu> && MakeNormals<Shape>);
static_assert(!MakeZeros<int> && !MakeZeros<int, long> && !MakeOnes<int, int, Cuda> && !MakeNormals<long, long>);
static_assert(Reshapes<Tensor<float>, Shape> && !Reshapes<Tensor<float>, int> && !Reshapes<Traced<float>, int, long>);

template <class X, class... A>
concept HasSoftmax = requires(const X& x, A... a) { softmax(x, a...); };
template <class T, class... A>
concept Counts = requires(A... a) { arange<T>(a...); };

static_assert(HasSoftmax<Tensor<float>, int> && HasSoftmax<Traced<float, Cuda>, Axes> && !HasSoftmax<Tensor<float>>);
static_assert(!HasSoftmax<Traced<float, Cuda>> && !HasSoftmax<int>);
static_assert(Counts<int, int, long> && Counts<float, double, double> && Counts<double, int, double, float>);
static_assert(!Counts<int, double> && !Counts<int, int, int, double> && !Counts<std::int64_t, double, double, double>);

[[maybe_unused]] void shapes(const Tensor<float>& x, const Shape& shape, std::int64_t n, Generator<Cpu>& generator) {
  (void)zeros({});
  (void)zeros({3});
  (void)zeros({n, 2});
  (void)zeros<float, Cuda>({3}, Cuda{1});
  (void)zeros<int>(shape);
  (void)ones({n});
  (void)ones<double>({3}, Cpu{});
  (void)randn({4});
  (void)randn({n}, generator);
  (void)randn<double>(shape, generator);
  (void)x.reshape({12});
  (void)x.reshape({n});
  (void)x.reshape({});
  (void)x.expand({4});
  (void)x.permute({0});
  (void)(x + x).reshape({12});
  (void)trace(x).reshape({12});
  (void)trace(x).permute({0});
}
}  // namespace
