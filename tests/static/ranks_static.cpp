// What a communicator takes is asked for by `requires`: yes or no, and never an error.
#include <locus/dist/dist.hpp>
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

// Tensors of the communicator's device, and no others.
static_assert(Reduces<Comm<Cpu>, Tensor<float, Cpu>> && Reduces<Comm<Cuda>, Tensor<float, Cuda>>);
static_assert(!Reduces<Comm<Cuda>, Tensor<float, Cpu>> && !Reduces<Comm<Cpu>, Tensor<float, Cuda>>);
static_assert(!Reduces<Comm<Cuda>, Tensor<float, Pinned>> && !Gathers<Comm<Cpu>, Tensor<float, Cuda>>);
static_assert(Sends<Comm<Cpu>, Tensor<half, Cpu>> && !Sends<Comm<Cpu>, Tensor<half, Cuda>>);
static_assert(Receives<Comm<Cuda>, Tensor<bool, Cuda>> && !Receives<Comm<Cuda>, Tensor<bool, Cpu>>);

// An expression has no elements that change in place.
using Doubled = decltype(2.f * std::declval<const Tensor<float>&>());
static_assert(!Reduces<Comm<Cpu>, Doubled> && !Receives<Comm<Cpu>, Doubled>);
static_assert(Gathers<Comm<Cpu>, Doubled> && Sends<Comm<Cpu>, Doubled>);

// Nothing that records.
static_assert(!Reduces<Comm<Cpu>, Traced<float, Cpu>> && !Gathers<Comm<Cpu>, Traced<float, Cpu>>);
static_assert(!Reduces<Comm<Cpu>, Parameter<float, Cpu>> && !Sends<Comm<Cpu>, Parameter<float, Cpu>>);

// There is no mean of integers, nor of bool.
static_assert(ReducesWith<Comm<Cpu>, Tensor<std::int64_t>, dist::op::Sum>);
static_assert(ReducesWith<Comm<Cpu>, Tensor<bfloat16>, dist::op::Mean>);
static_assert(!ReducesWith<Comm<Cpu>, Tensor<std::int64_t>, dist::op::Mean>);
static_assert(!ReducesWith<Comm<Cpu>, Tensor<bool>, dist::op::Mean>);
static_assert(!ReducesWith<Comm<Cpu>, Tensor<float>, int>);

// A handle is no tensor, and gives its own only where it is used up.
using Handle = dist::Handle<float, Cpu>;
static_assert(!Reduces<Comm<Cpu>, Handle> && !Gathers<Comm<Cpu>, Handle>);
template <class H>
concept Waits = requires(H&& handle) { static_cast<H&&>(handle).wait(); };
static_assert(Waits<Handle> && !Waits<Handle&> && !std::is_copy_constructible_v<Handle>);

}  // namespace
