// Placement is checked before anything else and stays detectable: for every operation and pair of places, `requires`,
// std::is_invocable and void_t say yes or no, and never stop the compiler.
#include <locus/locus.hpp>

namespace {

using namespace locus;

// An operation on std::declval<A&>() and std::declval<B&>(), asked for in three ways.
#define LOCUS_OPERATION(name, ...)                                                                     \
  constexpr auto name = []<class A, class B>(A&, B&) -> decltype(__VA_ARGS__) { return __VA_ARGS__; }; \
  template <class A, class B>                                                                          \
  concept Has_##name = requires { __VA_ARGS__; };                                                      \
  template <class A, class B, class = void>                                                            \
  inline constexpr bool voids_##name = false;                                                          \
  template <class A, class B>                                                                          \
  inline constexpr bool voids_##name<A, B, std::void_t<decltype(__VA_ARGS__)>> = true;

LOCUS_OPERATION(add, std::declval<A&>() + std::declval<B&>())
LOCUS_OPERATION(subtract, std::declval<A&>() - std::declval<B&>())
LOCUS_OPERATION(multiply, std::declval<A&>() * std::declval<B&>())
LOCUS_OPERATION(divide, std::declval<A&>() / std::declval<B&>())
LOCUS_OPERATION(less, std::declval<A&>() < std::declval<B&>())
LOCUS_OPERATION(equal, std::declval<A&>() == std::declval<B&>())
LOCUS_OPERATION(smaller, minimum(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(power, pow(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(clamped, clamp(std::declval<A&>(), std::declval<B&>(), 1))
LOCUS_OPERATION(product, matmul(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(layer, linear(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(joined, concat(0, std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(squared_error, nn::mse_loss(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(updated, std::declval<A&>() += std::declval<B&>())
LOCUS_OPERATION(copied, std::declval<A&>().copy_(std::declval<B&>()))

/// Whether the operation exists for these operands, asked in three ways that must agree.
#define LOCUS_AGREES(name, A, B) \
  (Has_##name<A, B> == std::is_invocable_v<decltype(name), A&, B&> && Has_##name<A, B> == voids_##name<A, B>)
#define LOCUS_CHECK_PAIR(name, A, B, expected) \
  static_assert(LOCUS_AGREES(name, A, B));     \
  static_assert(Has_##name<A, B> == (expected));

using OnCpu = Tensor<float, Cpu>;
using OnCuda = Tensor<float, Cuda>;
using InPinned = Tensor<float, Pinned>;
using Doubles = Tensor<double, Cpu>;

// One place that computes: yes. Two places, or memory alone, or two element types: no.
#define LOCUS_CHECK_PLACES(name)                    \
  LOCUS_CHECK_PAIR(name, OnCpu, OnCpu, true)        \
  LOCUS_CHECK_PAIR(name, OnCuda, OnCuda, true)      \
  LOCUS_CHECK_PAIR(name, InPinned, InPinned, false) \
  LOCUS_CHECK_PAIR(name, OnCpu, OnCuda, false)      \
  LOCUS_CHECK_PAIR(name, OnCuda, OnCpu, false)      \
  LOCUS_CHECK_PAIR(name, OnCpu, InPinned, false)    \
  LOCUS_CHECK_PAIR(name, InPinned, OnCpu, false)    \
  LOCUS_CHECK_PAIR(name, OnCuda, InPinned, false)   \
  LOCUS_CHECK_PAIR(name, InPinned, OnCuda, false)   \
  LOCUS_CHECK_PAIR(name, OnCpu, Doubles, false)     \
  LOCUS_CHECK_PAIR(name, Doubles, OnCpu, false)

LOCUS_CHECK_PLACES(add)
LOCUS_CHECK_PLACES(subtract)
LOCUS_CHECK_PLACES(multiply)
LOCUS_CHECK_PLACES(divide)
LOCUS_CHECK_PLACES(less)
LOCUS_CHECK_PLACES(equal)
LOCUS_CHECK_PLACES(smaller)
LOCUS_CHECK_PLACES(power)
LOCUS_CHECK_PLACES(clamped)
LOCUS_CHECK_PLACES(product)
LOCUS_CHECK_PLACES(layer)
LOCUS_CHECK_PLACES(joined)
LOCUS_CHECK_PLACES(squared_error)
LOCUS_CHECK_PLACES(updated)

// Traced tensors and parameters obey the same rule, whatever they meet.
using TracedCpu = Traced<float, Cpu>;
using TracedCuda = Traced<float, Cuda>;
using WeightCpu = Parameter<float, Cpu>;
using WeightCuda = Parameter<float, Cuda>;
#define LOCUS_CHECK_ROLES(name)                        \
  LOCUS_CHECK_PAIR(name, TracedCuda, OnCuda, true)     \
  LOCUS_CHECK_PAIR(name, TracedCuda, WeightCuda, true) \
  LOCUS_CHECK_PAIR(name, OnCuda, WeightCuda, true)     \
  LOCUS_CHECK_PAIR(name, TracedCpu, OnCuda, false)     \
  LOCUS_CHECK_PAIR(name, OnCpu, TracedCuda, false)     \
  LOCUS_CHECK_PAIR(name, TracedCuda, WeightCpu, false) \
  LOCUS_CHECK_PAIR(name, WeightCpu, OnCuda, false)     \
  LOCUS_CHECK_PAIR(name, WeightCuda, WeightCuda, false)

LOCUS_CHECK_ROLES(add)
LOCUS_CHECK_ROLES(multiply)
LOCUS_CHECK_ROLES(less)
LOCUS_CHECK_ROLES(product)
LOCUS_CHECK_ROLES(layer)
LOCUS_CHECK_ROLES(joined)
LOCUS_CHECK_ROLES(squared_error)

// Losses of labels.
using LabelsCpu = Tensor<std::int64_t, Cpu>;
using LabelsCuda = Tensor<std::int64_t, Cuda>;
LOCUS_OPERATION(entropy, cross_entropy(std::declval<A&>(), std::declval<B&>()))
LOCUS_CHECK_PAIR(entropy, OnCpu, LabelsCpu, true)
LOCUS_CHECK_PAIR(entropy, TracedCuda, LabelsCuda, true)
LOCUS_CHECK_PAIR(entropy, TracedCuda, LabelsCpu, false)
LOCUS_CHECK_PAIR(entropy, OnCpu, LabelsCuda, false)

// Calls of layers.
LOCUS_OPERATION(called, std::declval<const A&>()(std::declval<B&>()))
using LinearCuda = nn::Linear<float, Cuda>;
using NetworkCpu = nn::Sequential<float, Cpu>;
LOCUS_CHECK_PAIR(called, LinearCuda, OnCuda, true)
LOCUS_CHECK_PAIR(called, LinearCuda, TracedCuda, true)
LOCUS_CHECK_PAIR(called, LinearCuda, OnCpu, false)
LOCUS_CHECK_PAIR(called, LinearCuda, TracedCpu, false)
LOCUS_CHECK_PAIR(called, NetworkCpu, TracedCpu, true)
LOCUS_CHECK_PAIR(called, NetworkCpu, TracedCuda, false)
LOCUS_CHECK_PAIR(called, NetworkCpu, InPinned, false)

// Copies between places happen by .to<D>() alone.
LOCUS_CHECK_PAIR(copied, OnCpu, OnCpu, true)
LOCUS_CHECK_PAIR(copied, OnCpu, OnCuda, false)
LOCUS_CHECK_PAIR(copied, OnCuda, InPinned, false)
static_assert(std::is_constructible_v<OnCpu, const OnCpu&>);
static_assert(!std::is_constructible_v<OnCpu, const OnCuda&>);
static_assert(!std::is_constructible_v<OnCuda, const OnCpu&>);
static_assert(!std::is_constructible_v<OnCuda, const InPinned&>);
static_assert(!std::is_convertible_v<OnCuda, OnCpu>);
static_assert(std::is_assignable_v<OnCpu&, OnCpu>);
static_assert(!std::is_constructible_v<optim::Sgd<float, Cpu>, std::vector<Parameter<float, Cuda>>>);
static_assert(!std::is_constructible_v<nn::Module<float, Cpu>, nn::Linear<float, Cuda>>);
static_assert(std::is_constructible_v<nn::Module<float, Cuda>, nn::Linear<float, Cuda>>);

// Elements, where the host can reach them.
template <class X>
concept Indexable = requires(X& x) { x(0, 0); };
template <class X>
concept Iterable = requires(X& x) { x.begin(); };
template <class X>
concept Differentiable = requires(X& x) { x.backward(); };
static_assert(Indexable<OnCpu> && Indexable<InPinned> && !Indexable<OnCuda>);
static_assert(!Iterable<OnCuda>);
static_assert(Differentiable<TracedCuda> && !Differentiable<OnCuda> && !Differentiable<OnCpu>);

// Questions that user code may ask.
static_assert(Device<Cpu> && Device<Cuda> && !Device<Pinned> && MemorySpace<Pinned>);
static_assert(SameDevice<OnCuda, TracedCuda> && !SameDevice<OnCpu, OnCuda> && !SameDevice<OnCpu, int>);
static_assert(can_access<Cpu, Cpu> && !can_access<Cpu, Cuda> && can_access<Cpu, Pinned>);
static_assert(can_copy<Cpu, Cuda> && can_copy<Pinned, Cuda> && can_copy<Cuda, Cpu>);
static_assert(same_device<Tensor<float, Cuda>, Tensor<double, Cuda>>);
static_assert(!same_device<Tensor<float, Cuda>, Tensor<float, Cpu>> && !same_device<int, Tensor<float>>);
static_assert(Combinable<Tensor<float>, Tensor<float>> && Combinable<Tensor<float>, double>);
static_assert(!Combinable<Tensor<float>, Tensor<double>> && !Combinable<Tensor<float>, Tensor<float, Cuda>>);
static_assert(!Combinable<Tensor<float, Pinned>, Tensor<float, Pinned>> && !Combinable<int, int>);
static_assert(std::is_same_v<device_of<WeightCuda>, Cuda> && std::is_same_v<value_of<LabelsCpu>, std::int64_t>);

}  // namespace
