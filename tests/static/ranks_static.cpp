// Arguments of a communicator are detectable by `requires`: true or false, never a compile error.
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

namespace {

using namespace locus;

template <class D>
using Comm = dist::Communicator<D>;
template <class C, class X>
concept Reduces = requires(const C& comm, X& x) { comm.all_reduce(x); };
template <class C, class X, class Op>
concept ReducesWith = requires(const C& comm, X& x, Op op) {
  comm.all_reduce(x, op);
  comm.all_reduced(x, op);
  comm.reduce(x, 0, op);
  comm.all_reduce_async(x, op);
};
template <class C, class X>
concept Gathers = requires(const C& comm, X& x) { comm.all_gather(x); };
template <class C, class X>
concept Sends = requires(const C& comm, X& x) { comm.send(x, 1); };
template <class C, class X>
concept Receives = requires(const C& comm, X& x) { comm.recv(x, 1); };

// Only tensors of the communicator's device.
static_assert(Reduces<Comm<Cpu>, Tensor<float, Cpu>> && Reduces<Comm<Cuda>, Tensor<float, Cuda>>);
static_assert(!Reduces<Comm<Cuda>, Tensor<float, Cpu>> && !Reduces<Comm<Cpu>, Tensor<float, Cuda>>);
static_assert(!Reduces<Comm<Cuda>, Tensor<float, Pinned>> && !Gathers<Comm<Cpu>, Tensor<float, Cuda>>);
static_assert(Sends<Comm<Cpu>, Tensor<half, Cpu>> && !Sends<Comm<Cpu>, Tensor<half, Cuda>>);
static_assert(Receives<Comm<Cuda>, Tensor<bool, Cuda>> && !Receives<Comm<Cuda>, Tensor<bool, Cpu>>);

// An expression has no elements that change in place.
using Doubled = decltype(2.f * std::declval<const Tensor<float>&>());
static_assert(!Reduces<Comm<Cpu>, Doubled> && !Receives<Comm<Cpu>, Doubled>);
static_assert(Gathers<Comm<Cpu>, Doubled> && Sends<Comm<Cpu>, Doubled>);

// No traced tensors or parameters.
static_assert(!Reduces<Comm<Cpu>, Traced<float, Cpu>> && !Gathers<Comm<Cpu>, Traced<float, Cpu>>);
static_assert(!Reduces<Comm<Cpu>, Parameter<float, Cpu>> && !Sends<Comm<Cpu>, Parameter<float, Cpu>>);

// There is no mean of integers, nor of bool.
static_assert(ReducesWith<Comm<Cpu>, Tensor<std::int64_t>, dist::op::Sum>);
static_assert(ReducesWith<Comm<Cpu>, Tensor<bfloat16>, dist::op::Mean>);
static_assert(!ReducesWith<Comm<Cpu>, Tensor<std::int64_t>, dist::op::Mean>);
static_assert(!ReducesWith<Comm<Cpu>, Tensor<bool>, dist::op::Mean>);
static_assert(!ReducesWith<Comm<Cpu>, Tensor<float>, int>);

// A handle is no tensor; only an rvalue handle gives its tensor.
using Handle = dist::Handle<float, Cpu>;
static_assert(!Reduces<Comm<Cpu>, Handle> && !Gathers<Comm<Cpu>, Handle>);
template <class H>
concept Waits = requires(H&& handle) { static_cast<H&&>(handle).wait(); };
static_assert(Waits<Handle> && !Waits<Handle&> && !std::is_copy_constructible_v<Handle>);

// Only models of the communicator's device; types without members are refused.
template <class M, class C>
concept Distributes = requires(const M& model, const C& comm) { dist::distributed(model, comm); };
template <class D>
using Net = nn::Sequential<float, D>;
static_assert(Distributes<Net<Cpu>, Comm<Cpu>> && Distributes<Net<Cuda>, Comm<Cuda>>);
static_assert(Distributes<nn::Linear<half, Cpu>, Comm<Cpu>> && Distributes<nn::Module<float, Cpu>, Comm<Cpu>>);
static_assert(!Distributes<Net<Cpu>, Comm<Cuda>> && !Distributes<Net<Cuda>, Comm<Cpu>>);
static_assert(!Distributes<std::vector<Parameter<float, Cpu>>, Comm<Cpu>> && !Distributes<nn::ReLU, Comm<Cpu>>);
static_assert(!Distributes<Tensor<float>, Comm<Cpu>> && !Distributes<Parameter<float, Cpu>, Comm<Cpu>>);
static_assert(!Distributes<optim::Sgd<float, Cpu>, Comm<Cpu>>);

// A distributed model takes the same inputs as the model.
template <class M, class... X>
concept Calls = requires(const M& model, const X&... x) { model(x...); };
template <class D>
using Parallel = dist::Distributed<Net<D>>;
static_assert(Calls<Parallel<Cuda>, Tensor<float, Cuda>> && Calls<Parallel<Cuda>, Traced<float, Cuda>>);
static_assert(!Calls<Parallel<Cuda>, Tensor<float, Cpu>> && !Calls<Parallel<Cpu>, Traced<float, Cuda>>);
static_assert(!Calls<Parallel<Cpu>, Tensor<double>> && !Calls<Parallel<Cpu>, Handle>);
template <class M, class D>
concept Moves = requires(M&& model) { static_cast<M&&>(model).template to<D>(); };
static_assert(Moves<Parallel<Cuda>, Cpu> && !Moves<Parallel<Cuda>&, Cpu>);
static_assert(std::is_same_v<decltype(std::declval<Parallel<Cuda>>().to<Cpu>()), Net<Cpu>>);
static_assert(std::is_same_v<decltype(std::declval<Parallel<Cpu>>().clone()), Net<Cpu>>);
using Replicated = dist::DataParallel<Net<Cuda>>;
static_assert(Calls<Replicated, Tensor<float, Cuda>> && !Calls<Replicated, Tensor<float, Cpu>>);
static_assert(Moves<Replicated, Cpu> && !Moves<Replicated&, Cpu>);
static_assert(std::is_same_v<decltype(std::declval<Replicated>().to<Cpu>()), Net<Cpu>>);
static_assert(std::is_same_v<decltype(std::declval<Replicated>().clone()), Replicated>);
template <class M, class D>
concept Loads = requires(const M& model, const nn::StateDict<D>& state) { nn::load_state_dict(model, state); };
static_assert(Loads<Parallel<Cuda>, Cuda> && !Loads<Parallel<Cuda>, Cpu>);
// A guard can be move-constructed, but not copied or assigned.
using Guard = decltype(std::declval<Parallel<Cpu>>().no_sync());
static_assert(!std::is_copy_constructible_v<Guard> && std::is_move_constructible_v<Guard> &&
              !std::is_move_assignable_v<Guard>);

}  // namespace
