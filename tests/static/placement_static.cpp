// Placement is checked first and is detectable: for every operation and pair of places, `requires`, std::is_invocable
// and void_t give true or false, never a compile error.
#include <locus/locus.hpp>

namespace {

using namespace locus;

// An operation on std::declval<A&>() and std::declval<B&>(), detected in three ways.
#define LOCUS_OPERATION(name, ...)                                                                     \
  constexpr auto name = []<class A, class B>(A&, B&) -> decltype(__VA_ARGS__) { return __VA_ARGS__; }; \
  template <class A, class B>                                                                          \
  concept Has_##name = requires { __VA_ARGS__; };                                                      \
  template <class A, class B, class = void>                                                            \
  inline constexpr bool voids_##name = false;                                                          \
  template <class A, class B>                                                                          \
  inline constexpr bool voids_##name<A, B, std::void_t<decltype(__VA_ARGS__)>> = true;

// A formula of fuse.
constexpr auto product_of = [](auto x, auto y) { return x * y; };

LOCUS_OPERATION(add, std::declval<A&>() + std::declval<B&>())
LOCUS_OPERATION(subtract, std::declval<A&>() - std::declval<B&>())
LOCUS_OPERATION(multiply, std::declval<A&>() * std::declval<B&>())
LOCUS_OPERATION(divide, std::declval<A&>() / std::declval<B&>())
LOCUS_OPERATION(remainder, std::declval<A&>() % std::declval<B&>())
LOCUS_OPERATION(equal, std::declval<A&>() == std::declval<B&>())
LOCUS_OPERATION(unequal, std::declval<A&>() != std::declval<B&>())
LOCUS_OPERATION(less, std::declval<A&>() < std::declval<B&>())
LOCUS_OPERATION(at_most, std::declval<A&>() <= std::declval<B&>())
LOCUS_OPERATION(greater, std::declval<A&>() > std::declval<B&>())
LOCUS_OPERATION(at_least, std::declval<A&>() >= std::declval<B&>())
LOCUS_OPERATION(both, std::declval<A&>() && std::declval<B&>())
LOCUS_OPERATION(either, std::declval<A&>() || std::declval<B&>())
LOCUS_OPERATION(smaller, minimum(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(larger, maximum(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(least, min(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(most, max(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(power, pow(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(clamped_below, clamp(std::declval<A&>(), std::declval<B&>(), 1))
LOCUS_OPERATION(clamped_above, clamp(std::declval<A&>(), 0, std::declval<B&>()))
LOCUS_OPERATION(chosen, where(std::declval<A&>() > 0.f, std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(fused, fuse(product_of, std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(own, elementwise(functor::Maximum{}, std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(product, matmul(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(layer, linear(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(joined, concat(0, std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(stacked, stack(0, std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(squared_error, nn::mse_loss(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(absolute_error, nn::l1_loss(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(huber, nn::huber_loss(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(entropy_of_bits, nn::binary_cross_entropy_with_logits(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(increased, std::declval<A&>() += std::declval<B&>())
LOCUS_OPERATION(decreased, std::declval<A&>() -= std::declval<B&>())
LOCUS_OPERATION(scaled, std::declval<A&>() *= std::declval<B&>())
LOCUS_OPERATION(divided, std::declval<A&>() /= std::declval<B&>())
LOCUS_OPERATION(reduced_modulo, std::declval<A&>() %= std::declval<B&>())
LOCUS_OPERATION(dropped, dropout(std::declval<A&>(), 0.5, std::declval<B&>()))
LOCUS_OPERATION(copied, std::declval<A&>().copy_(std::declval<B&>()))

/// Whether the operation exists for these operands, detected in three ways that must agree.
#define LOCUS_AGREES(name, A, B) \
  (Has_##name<A, B> == std::is_invocable_v<decltype(name), A&, B&> && Has_##name<A, B> == voids_##name<A, B>)
#define LOCUS_CHECK_PAIR(name, A, B, expected) \
  static_assert(LOCUS_AGREES(name, A, B));     \
  static_assert(Has_##name<A, B> == (expected));

using OnCpu = Tensor<float, Cpu>;
using OnCuda = Tensor<float, Cuda>;
using InPinned = Tensor<float, Pinned>;
using Doubles = Tensor<double, Cpu>;
using InFlight = Pending<Tensor<float, Cuda>>;

// One place that computes: yes. Two places, or memory alone: no.
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
  LOCUS_CHECK_PAIR(name, OnCuda, InFlight, false)   \
  LOCUS_CHECK_PAIR(name, InFlight, OnCuda, false)
// Nor two element types.
#define LOCUS_CHECK_OPERANDS(name)              \
  LOCUS_CHECK_PLACES(name)                      \
  LOCUS_CHECK_PAIR(name, OnCpu, Doubles, false) \
  LOCUS_CHECK_PAIR(name, Doubles, OnCpu, false)

LOCUS_CHECK_OPERANDS(add)
LOCUS_CHECK_OPERANDS(subtract)
LOCUS_CHECK_OPERANDS(multiply)
LOCUS_CHECK_OPERANDS(divide)
LOCUS_CHECK_OPERANDS(remainder)
LOCUS_CHECK_OPERANDS(equal)
LOCUS_CHECK_OPERANDS(unequal)
LOCUS_CHECK_OPERANDS(less)
LOCUS_CHECK_OPERANDS(at_most)
LOCUS_CHECK_OPERANDS(greater)
LOCUS_CHECK_OPERANDS(at_least)
LOCUS_CHECK_OPERANDS(both)
LOCUS_CHECK_OPERANDS(either)
LOCUS_CHECK_OPERANDS(smaller)
LOCUS_CHECK_OPERANDS(larger)
LOCUS_CHECK_OPERANDS(least)
LOCUS_CHECK_OPERANDS(most)
LOCUS_CHECK_OPERANDS(power)
LOCUS_CHECK_OPERANDS(clamped_below)
LOCUS_CHECK_OPERANDS(clamped_above)
LOCUS_CHECK_OPERANDS(chosen)
LOCUS_CHECK_PLACES(fused)
LOCUS_CHECK_PLACES(own)
LOCUS_CHECK_OPERANDS(product)
LOCUS_CHECK_OPERANDS(layer)
LOCUS_CHECK_OPERANDS(joined)
LOCUS_CHECK_OPERANDS(stacked)
LOCUS_CHECK_OPERANDS(squared_error)
LOCUS_CHECK_OPERANDS(absolute_error)
LOCUS_CHECK_OPERANDS(huber)
LOCUS_CHECK_OPERANDS(entropy_of_bits)
LOCUS_CHECK_OPERANDS(increased)
LOCUS_CHECK_OPERANDS(decreased)
LOCUS_CHECK_OPERANDS(scaled)
LOCUS_CHECK_OPERANDS(divided)
LOCUS_CHECK_OPERANDS(reduced_modulo)

// Traced tensors and parameters obey the same rule in all combinations.
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
LOCUS_CHECK_ROLES(subtract)
LOCUS_CHECK_ROLES(multiply)
LOCUS_CHECK_ROLES(divide)
LOCUS_CHECK_ROLES(less)
LOCUS_CHECK_ROLES(at_most)
LOCUS_CHECK_ROLES(greater)
LOCUS_CHECK_ROLES(at_least)
LOCUS_CHECK_ROLES(both)
LOCUS_CHECK_ROLES(either)
LOCUS_CHECK_ROLES(smaller)
LOCUS_CHECK_ROLES(larger)
LOCUS_CHECK_ROLES(power)
LOCUS_CHECK_ROLES(product)
LOCUS_CHECK_ROLES(layer)
LOCUS_CHECK_ROLES(joined)
LOCUS_CHECK_ROLES(stacked)
LOCUS_CHECK_ROLES(squared_error)
LOCUS_CHECK_ROLES(absolute_error)
LOCUS_CHECK_ROLES(huber)
LOCUS_CHECK_ROLES(entropy_of_bits)

LOCUS_OPERATION(grouped, group_norm(std::declval<A&>(), 2, std::declval<B&>(), std::declval<B&>()))
LOCUS_CHECK_ROLES(grouped)
LOCUS_OPERATION(biased_in_groups, instance_norm(std::declval<A&>(), std::declval<A&>(), std::declval<B&>()))
LOCUS_CHECK_ROLES(biased_in_groups)
LOCUS_OPERATION(learned_slope, prelu(std::declval<A&>(), std::declval<B&>()))
LOCUS_CHECK_ROLES(learned_slope)

// Losses of labels.
using LabelsCpu = Tensor<std::int64_t, Cpu>;
using LabelsCuda = Tensor<std::int64_t, Cuda>;
LOCUS_OPERATION(entropy, cross_entropy(std::declval<A&>(), std::declval<B&>()))
LOCUS_CHECK_PAIR(entropy, OnCpu, LabelsCpu, true)
LOCUS_CHECK_PAIR(entropy, TracedCuda, LabelsCuda, true)
LOCUS_CHECK_PAIR(entropy, TracedCuda, LabelsCpu, false)
LOCUS_CHECK_PAIR(entropy, OnCpu, LabelsCuda, false)

LOCUS_OPERATION(scored, accuracy(std::declval<A&>(), std::declval<B&>()))
LOCUS_OPERATION(rows, index_select(std::declval<A&>(), 0, std::declval<B&>()))
LOCUS_OPERATION(elements_by_index, gather(std::declval<A&>(), 0, std::declval<B&>()))
LOCUS_OPERATION(looked_up, embedding(std::declval<A&>(), std::declval<B&>()))
#define LOCUS_CHECK_INDICES(name)                    \
  LOCUS_CHECK_PAIR(name, OnCpu, LabelsCpu, true)     \
  LOCUS_CHECK_PAIR(name, OnCuda, LabelsCuda, true)   \
  LOCUS_CHECK_PAIR(name, OnCuda, LabelsCpu, false)   \
  LOCUS_CHECK_PAIR(name, OnCpu, LabelsCuda, false)   \
  LOCUS_CHECK_PAIR(name, InPinned, LabelsCpu, false) \
  LOCUS_CHECK_PAIR(name, OnCpu, OnCpu, false)
LOCUS_CHECK_INDICES(entropy)
LOCUS_CHECK_INDICES(scored)
LOCUS_CHECK_INDICES(rows)
LOCUS_CHECK_INDICES(elements_by_index)
LOCUS_CHECK_INDICES(looked_up)

// Functions of one tensor: on every device, but not of a parameter alone. (The second operand is not used.)
#define LOCUS_CHECK_ALONE(name)                 \
  LOCUS_CHECK_PAIR(name, OnCpu, int, true)      \
  LOCUS_CHECK_PAIR(name, OnCuda, int, true)     \
  LOCUS_CHECK_PAIR(name, TracedCuda, int, true) \
  LOCUS_CHECK_PAIR(name, InPinned, int, false)  \
  LOCUS_CHECK_PAIR(name, WeightCpu, int, false)
LOCUS_OPERATION(negative_of, -std::declval<A&>())
LOCUS_OPERATION(inverse_of, !std::declval<A&>())
LOCUS_OPERATION(absolute_of, abs(std::declval<A&>()))
LOCUS_OPERATION(sign_of, sign(std::declval<A&>()))
LOCUS_OPERATION(square_of, square(std::declval<A&>()))
LOCUS_OPERATION(relu_of, relu(std::declval<A&>()))
LOCUS_OPERATION(exp_of, exp(std::declval<A&>()))
LOCUS_OPERATION(expm1_of, expm1(std::declval<A&>()))
LOCUS_OPERATION(log_of, log(std::declval<A&>()))
LOCUS_OPERATION(log1p_of, log1p(std::declval<A&>()))
LOCUS_OPERATION(sqrt_of, sqrt(std::declval<A&>()))
LOCUS_OPERATION(rsqrt_of, rsqrt(std::declval<A&>()))
LOCUS_OPERATION(reciprocal_of, reciprocal(std::declval<A&>()))
LOCUS_OPERATION(sin_of, sin(std::declval<A&>()))
LOCUS_OPERATION(cos_of, cos(std::declval<A&>()))
LOCUS_OPERATION(tanh_of, tanh(std::declval<A&>()))
LOCUS_OPERATION(erf_of, erf(std::declval<A&>()))
LOCUS_OPERATION(floor_of, floor(std::declval<A&>()))
LOCUS_OPERATION(ceil_of, ceil(std::declval<A&>()))
LOCUS_OPERATION(round_of, round(std::declval<A&>()))
LOCUS_OPERATION(sigmoid_of, sigmoid(std::declval<A&>()))
LOCUS_OPERATION(silu_of, silu(std::declval<A&>()))
LOCUS_OPERATION(softplus_of, softplus(std::declval<A&>()))
LOCUS_OPERATION(hardswish_of, hardswish(std::declval<A&>()))
LOCUS_OPERATION(mish_of, mish(std::declval<A&>()))
LOCUS_OPERATION(elu_of, elu(std::declval<A&>()))
LOCUS_OPERATION(isfinite_of, isfinite(std::declval<A&>()))
LOCUS_OPERATION(leaky_relu_of, leaky_relu(std::declval<A&>()))
LOCUS_OPERATION(gelu_of, gelu(std::declval<A&>()))
LOCUS_OPERATION(sum_of, sum(std::declval<A&>()))
LOCUS_OPERATION(mean_of, mean(std::declval<A&>()))
LOCUS_OPERATION(prod_of, prod(std::declval<A&>()))
LOCUS_OPERATION(all_of, all(std::declval<A&>()))
LOCUS_OPERATION(any_of, any(std::declval<A&>()))
LOCUS_OPERATION(max_of, max(std::declval<A&>()))
LOCUS_OPERATION(min_of, min(std::declval<A&>()))
LOCUS_OPERATION(argmax_of, argmax(std::declval<A&>()))
LOCUS_OPERATION(argmin_of, argmin(std::declval<A&>()))
LOCUS_OPERATION(var_of, var(std::declval<A&>()))
LOCUS_OPERATION(norm_of, norm(std::declval<A&>()))
LOCUS_OPERATION(softmax_of, softmax(std::declval<A&>(), 0))
LOCUS_OPERATION(log_softmax_of, log_softmax(std::declval<A&>(), 0))
LOCUS_OPERATION(logsumexp_of, logsumexp(std::declval<A&>(), 0))
LOCUS_OPERATION(cumsum_of, cumsum(std::declval<A&>(), 0))
LOCUS_CHECK_ALONE(negative_of)
LOCUS_CHECK_ALONE(inverse_of)
LOCUS_CHECK_ALONE(absolute_of)
LOCUS_CHECK_ALONE(sign_of)
LOCUS_CHECK_ALONE(square_of)
LOCUS_CHECK_ALONE(relu_of)
LOCUS_CHECK_ALONE(exp_of)
LOCUS_CHECK_ALONE(expm1_of)
LOCUS_CHECK_ALONE(log_of)
LOCUS_CHECK_ALONE(log1p_of)
LOCUS_CHECK_ALONE(sqrt_of)
LOCUS_CHECK_ALONE(rsqrt_of)
LOCUS_CHECK_ALONE(reciprocal_of)
LOCUS_CHECK_ALONE(sin_of)
LOCUS_CHECK_ALONE(cos_of)
LOCUS_CHECK_ALONE(tanh_of)
LOCUS_CHECK_ALONE(erf_of)
LOCUS_CHECK_ALONE(floor_of)
LOCUS_CHECK_ALONE(ceil_of)
LOCUS_CHECK_ALONE(round_of)
LOCUS_CHECK_ALONE(sigmoid_of)
LOCUS_CHECK_ALONE(silu_of)
LOCUS_CHECK_ALONE(softplus_of)
LOCUS_CHECK_ALONE(hardswish_of)
LOCUS_CHECK_ALONE(mish_of)
LOCUS_CHECK_ALONE(elu_of)
LOCUS_CHECK_ALONE(isfinite_of)
LOCUS_CHECK_ALONE(leaky_relu_of)
LOCUS_CHECK_ALONE(gelu_of)
LOCUS_CHECK_ALONE(sum_of)
LOCUS_CHECK_ALONE(mean_of)
LOCUS_CHECK_ALONE(prod_of)
LOCUS_CHECK_ALONE(all_of)
LOCUS_CHECK_ALONE(any_of)
LOCUS_CHECK_ALONE(max_of)
LOCUS_CHECK_ALONE(min_of)
LOCUS_CHECK_ALONE(argmax_of)
LOCUS_CHECK_ALONE(argmin_of)
LOCUS_CHECK_ALONE(var_of)
LOCUS_CHECK_ALONE(norm_of)
LOCUS_CHECK_ALONE(softmax_of)
LOCUS_CHECK_ALONE(log_softmax_of)
LOCUS_CHECK_ALONE(logsumexp_of)
LOCUS_CHECK_ALONE(cumsum_of)

// Training and evaluation, where the first operand is the model.
using NetworkCuda = nn::Sequential<float, Cuda>;
using SgdCuda = optim::Sgd<float, Cuda>;
using LoaderCpu = data::Loader<data::LabelledImages, Cpu>;
using LoaderCuda = data::Loader<data::LabelledImages, Cuda>;
LOCUS_OPERATION(evaluated, evaluate(std::declval<const A&>(), std::declval<B&>()))
LOCUS_CHECK_PAIR(evaluated, NetworkCuda, LoaderCuda, true)
LOCUS_CHECK_PAIR(evaluated, NetworkCuda, LoaderCpu, false)
template <class M, class O, class Train, class Valid>
concept Fits = requires(const M& model, O& optimizer, Train& train, Valid& valid, History& history) {
  fit(model, optimizer, train, valid, history);
};
static_assert(Fits<NetworkCuda, SgdCuda, LoaderCuda, LoaderCuda>);
static_assert(!Fits<NetworkCuda, SgdCuda, LoaderCpu, LoaderCpu>);
static_assert(!Fits<NetworkCuda, SgdCuda, LoaderCuda, LoaderCpu>);
static_assert(!Fits<NetworkCuda, optim::Sgd<float, Cpu>, LoaderCuda, LoaderCuda>);

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

// The generator of dropout has to be on the input's device.
LOCUS_CHECK_PAIR(dropped, TracedCpu, Generator<Cpu>, true)
LOCUS_CHECK_PAIR(dropped, OnCuda, Generator<Cuda>, true)
LOCUS_CHECK_PAIR(dropped, TracedCuda, Generator<Cpu>, false)
LOCUS_CHECK_PAIR(dropped, WeightCpu, Generator<Cpu>, false)
LOCUS_CHECK_PAIR(dropped, LabelsCpu, Generator<Cpu>, false)
LOCUS_CHECK_PAIR(dropped, InPinned, Generator<Cpu>, false)

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
static_assert(!std::is_constructible_v<OnCpu, const Doubles&> && !std::is_assignable_v<OnCpu&, Doubles>);
static_assert(!std::is_constructible_v<OnCpu, const TracedCpu&> && !std::is_convertible_v<OnCpu, TracedCpu>);
static_assert(std::is_constructible_v<TracedCpu, OnCpu> && !std::is_constructible_v<TracedCuda, const TracedCpu&>);
static_assert(!std::is_constructible_v<WeightCpu, const WeightCuda&>);
static_assert(!std::is_constructible_v<optim::Sgd<float, Cpu>, std::vector<Parameter<float, Cuda>>>);
static_assert(!std::is_constructible_v<nn::Module<float, Cpu>, nn::Linear<float, Cuda>>);
static_assert(std::is_constructible_v<nn::Module<float, Cuda>, nn::Linear<float, Cuda>>);

// Element access requires memory that the host can reach.
template <class X>
concept Indexable = requires(X& x) { x(0, 0); };
template <class X>
concept Iterable = requires(X& x) { x.begin(); };
template <class X>
concept Differentiable = requires(X& x) { x.backward(); };
static_assert(Indexable<OnCpu> && Indexable<InPinned> && !Indexable<OnCuda>);
static_assert(!Iterable<OnCuda>);
static_assert(Differentiable<TracedCuda> && !Differentiable<OnCuda> && !Differentiable<OnCpu>);

// Hooks take gradients on the parameter's device, and return void.
template <class W, class G>
concept HookedBy = requires(const W& w, void (*f)(const G&)) { w.on_gradient(f); };
static_assert(HookedBy<Parameter<float, Cuda>, OnCuda> && HookedBy<TracedCuda, OnCuda>);
static_assert(!HookedBy<Parameter<float, Cuda>, OnCpu> && !HookedBy<Parameter<float, Cpu>, OnCuda>);
static_assert(!HookedBy<TracedCuda, OnCpu> && !HookedBy<Parameter<double, Cpu>, OnCpu>);
template <class W, class G>
concept HookedByResult = requires(const W& w, G (*f)(const G&)) { w.on_gradient(f); };
static_assert(!HookedByResult<Parameter<float, Cuda>, OnCuda> && !HookedByResult<TracedCuda, OnCuda>);

// Asynchronous copies start or end in page-locked memory, run in a stream of the GPU, and are no tensors until ordered.
template <class X, class... Options>
concept CopiedAsync = requires(X& x, Options&... options) { copy_async(x, options...); };
static_assert(CopiedAsync<InPinned> && CopiedAsync<InPinned, Cuda> && CopiedAsync<InPinned, Stream<Cuda>>);
static_assert(CopiedAsync<OnCuda, Pinned> && CopiedAsync<OnCuda, Pinned, Stream<Cuda>>);
static_assert(!CopiedAsync<OnCpu> && !CopiedAsync<OnCpu, Cuda> && !CopiedAsync<OnCpu, Stream<Cuda>>);
static_assert(!CopiedAsync<InPinned, Stream<Cpu>> && !CopiedAsync<OnCuda, Pinned, Stream<Cpu>>);
static_assert(!CopiedAsync<TracedCuda, Pinned> && !CopiedAsync<InFlight>);
template <class X, class S>
concept OrderedOn = requires(X x, S& stream) { std::move(x).ordered(stream); };
static_assert(OrderedOn<InFlight, Stream<Cuda>> && !OrderedOn<InFlight, Stream<Cpu>>);
static_assert(!OrderedOn<Pending<InPinned>, Stream<Cuda>>);
static_assert(!std::is_constructible_v<OnCuda, InFlight> && !std::is_convertible_v<InFlight, OnCuda>);
static_assert(!std::is_assignable_v<OnCuda&, InFlight>);
static_assert(!Indexable<Pending<InPinned>> && !Iterable<Pending<InPinned>>);

// Windows are of floating-point numbers on a device that computes, and not of a parameter alone.
template <class X>
concept Pools = requires(const X& x) {
  max_pool2d(x, 2), avg_pool1d(x, 2), adaptive_avg_pool2d(x, 1), interpolate(x, {.size = 2});
};
template <class X, class W, class B>
concept Convolves = requires(const X& x, const W& w, const B& b) {
  conv2d(x, w), conv2d(x, w, b, {.stride = 2}), conv1d(x, w, {.padding = "same"}), conv_transpose2d(x, w, b);
};
static_assert(Convolves<OnCpu, OnCpu, OnCpu> && Convolves<TracedCuda, WeightCuda, WeightCuda>);
static_assert(Convolves<OnCpu, WeightCpu, OnCpu> && !Convolves<OnCpu, OnCuda, OnCpu> &&
              !Convolves<OnCpu, OnCpu, OnCuda>);
static_assert(!Convolves<LabelsCpu, LabelsCpu, LabelsCpu> && !Convolves<WeightCpu, WeightCpu, WeightCpu>);
static_assert(!Convolves<InPinned, InPinned, InPinned>);
template <class X>
concept Pads = requires(const X& x) {
  pad(x, {1, 1});
};
template <class X>
concept Unfolds = requires(const X& x) { unfold(x, 0, 2, 1); };
static_assert(Pools<OnCpu> && Pools<TracedCuda> && !Pools<LabelsCpu> && !Pools<InPinned> && !Pools<WeightCuda>);
static_assert(Pads<OnCuda> && Pads<LabelsCpu> && !Pads<InPinned> && !Pads<WeightCpu>);
static_assert(Unfolds<TracedCpu> && Unfolds<InPinned> && !Unfolds<WeightCpu>);

// Queries for user code.
static_assert(Device<Cpu> && Device<Cuda> && !Device<Pinned> && MemorySpace<Pinned>);
static_assert(SameDevice<OnCuda, TracedCuda> && !SameDevice<OnCpu, OnCuda> && !SameDevice<OnCpu, int>);
static_assert(can_access<Cpu, Cpu> && !can_access<Cpu, Cuda> && can_access<Cpu, Pinned>);
static_assert(CopyableTo<Cpu, Cuda> && CopyableTo<Pinned, Cuda> && CopyableTo<Cuda, Cpu>);
static_assert(SameDevice<Tensor<float, Cuda>, Tensor<double, Cuda>>);
static_assert(!SameDevice<Tensor<float, Cuda>, Tensor<float, Cpu>> && !SameDevice<int, Tensor<float>>);
static_assert(Combinable<Tensor<float>, Tensor<float>> && Combinable<Tensor<float>, double>);
static_assert(!Combinable<Tensor<float>, Tensor<double>> && !Combinable<Tensor<float>, Tensor<float, Cuda>>);
static_assert(!Combinable<Tensor<float, Pinned>, Tensor<float, Pinned>> && !Combinable<int, int>);
static_assert(std::is_same_v<device_of<WeightCuda>, Cuda> && std::is_same_v<value_of<LabelsCpu>, std::int64_t>);

// A user's overloads for roles, element types or whole models are still resolved.
struct Chosen {
  static char role(const Tensor<float>&);
  static int role(const Traced<float>&);
  static char elements(const Tensor<float>&);
  static int elements(const Tensor<double>&);
  static char model(const nn::Module<float, Cpu>&);
  static int model(const char*);
  static int model(const std::string&);
};
template <class A, class B>
using sum_t = decltype(std::declval<A&>() + std::declval<B&>());
static_assert(std::is_same_v<decltype(Chosen::role(std::declval<sum_t<OnCpu, OnCpu>>())), char>);
static_assert(std::is_same_v<decltype(Chosen::role(std::declval<sum_t<TracedCpu, OnCpu>>())), int>);
static_assert(std::is_same_v<decltype(Chosen::elements(std::declval<sum_t<OnCpu, OnCpu>>())), char>);
static_assert(std::is_same_v<decltype(Chosen::elements(std::declval<sum_t<Doubles, Doubles>>())), int>);
static_assert(std::is_same_v<decltype(Chosen::model(std::string())), int>);
static_assert(std::is_same_v<decltype(Chosen::model("file")), int>);
static_assert(std::is_same_v<decltype(Chosen::model(std::declval<const nn::Module<float, Cpu>&>())), char>);
static_assert(!std::is_constructible_v<nn::Module<float, Cpu>, std::string>);
static_assert(requires(const NetworkCpu& net, TracedCpu& x) { net.forward(x * 2.f); });

// A tensor is no condition; every use as a condition is refused.
static_assert(!std::is_constructible_v<bool, OnCpu> && !std::is_constructible_v<bool, TracedCuda>);
static_assert(!std::is_constructible_v<bool, sum_t<OnCpu, OnCpu>>);
static_assert(!std::is_constructible_v<float, OnCpu> && !std::is_convertible_v<TracedCuda, double>);

// A model may compute in another element type than its input's.
template <Device D>
struct HalfInside : nn::Layer<HalfInside<D>, half, D> {
  nn::Linear<half, D> inner{4, 4};
  auto forward(const auto& x) const { return inner(x.template as<half>()).template as<float>(); }
  void members(const auto& visit) const { visit("inner", inner); }
};
static_assert(requires(const HalfInside<Cpu>& model, LoaderCpu& batches) { evaluate(model, batches); });

// Layers without parameters compute on the input's place, which has to be a device.
LOCUS_CHECK_PAIR(called, nn::ReLU, OnCuda, true)
LOCUS_CHECK_PAIR(called, nn::ReLU, InPinned, false)
LOCUS_CHECK_PAIR(called, nn::ReLU, WeightCpu, false)
LOCUS_CHECK_PAIR(called, LinearCuda, WeightCuda, false)

// Loaders, evaluation and training read data sets, and nothing else.
LOCUS_OPERATION(loaded, data::loader<B>(std::declval<const A&>()))
LOCUS_CHECK_PAIR(loaded, data::LabelledImages, Cpu, true)
LOCUS_CHECK_PAIR(loaded, OnCpu, Cpu, false)
using Table = data::TensorDataset<float, float>;
LOCUS_CHECK_PAIR(loaded, Table, Cuda, true)
LOCUS_CHECK_PAIR(loaded, data::Mnist, Cpu, false)
static_assert(std::is_constructible_v<Table, OnCpu, OnCpu> && !std::is_constructible_v<Table, OnCuda, OnCpu>);
struct FirstOnCuda {
  OnCuda operator()(const OnCpu& x, const OnCpu&) const { return x.to<Cuda>(); }
};
struct First {
  OnCpu operator()(const OnCpu& x, const OnCpu&) const { return x; }
};
LOCUS_OPERATION(mapped, data::map(std::declval<const A&>(), std::declval<const B&>()))
LOCUS_CHECK_PAIR(mapped, Table, First, true)
LOCUS_CHECK_PAIR(mapped, Table, FirstOnCuda, false)
LOCUS_CHECK_PAIR(mapped, OnCpu, First, false)
LOCUS_OPERATION(lost, nn::MSELoss{}(std::declval<const A&>(), std::declval<const B&>()))
LOCUS_CHECK_PAIR(lost, OnCpu, OnCpu, true)
LOCUS_CHECK_PAIR(lost, OnCuda, OnCpu, false)
LOCUS_OPERATION(classified, nn::CrossEntropyLoss{}(std::declval<const A&>(), std::declval<const B&>()))
using LabelsCpu = Tensor<std::int64_t, Cpu>;
LOCUS_CHECK_PAIR(classified, OnCpu, LabelsCpu, true)
LOCUS_CHECK_PAIR(classified, OnCuda, LabelsCpu, false)
LOCUS_OPERATION(weighed, nn::CrossEntropyLoss<A>{std::declval<const A&>()}(std::declval<const B&>(), LabelsCpu()))
LOCUS_CHECK_PAIR(weighed, OnCpu, OnCpu, true)
LOCUS_CHECK_PAIR(weighed, OnCuda, OnCpu, false)
LOCUS_CHECK_PAIR(weighed, OnCpu, OnCuda, false)
LOCUS_CHECK_PAIR(weighed, Doubles, OnCpu, false)
LOCUS_CHECK_PAIR(weighed, Tensor<half>, OnCpu, true)  // as they are evaluated
LOCUS_CHECK_PAIR(evaluated, NetworkCpu, OnCpu, false)
LOCUS_CHECK_PAIR(evaluated, NetworkCpu, data::LabelledImages, true)
struct Function {
  auto operator()(const auto& x) const { return x.eval(); }
};
LOCUS_CHECK_PAIR(evaluated, Function, data::LabelledImages, false)
LOCUS_CHECK_PAIR(evaluated, Function, LoaderCpu, true)
static_assert(Fits<NetworkCpu, optim::Sgd<float, Cpu>, LoaderCpu, LoaderCpu>);
static_assert(!Fits<NetworkCpu, optim::Sgd<float, Cpu>, OnCpu, OnCpu>);
static_assert(!Fits<NetworkCpu, optim::Sgd<float, Cpu>, LoaderCpu, const LoaderCpu>);

}  // namespace
