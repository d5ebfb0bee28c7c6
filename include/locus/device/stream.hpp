#pragma once
// Streams: queues of work on a device. The work of one stream runs in order; two streams run concurrently until an
// event orders them. Every thread has its own current stream on every device, into which its operations are queued.

#include <locus/refuse/mistake.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// An event: a point in a stream, complete when the work queued before it is done. A shared handle, which may be empty.
template <class D>
class Event;

/// A queue of work on D, for one thread at a time. Before a stream uses a tensor of another stream, it has to wait for
/// an event of that stream. Before the tensor is destroyed, the tensor's own stream has to wait for an event of the
/// using stream, or the host has to synchronize.
///
///     const Stream<Cuda> side;
///     side.wait(Stream<Cuda>::current().record());   // x was computed here
///     const Tensor<float, Cuda> y = with_stream(side, [&] { return (x * 2.f).eval(); });
///     Stream<Cuda>::current().wait(side.record());   // later work here runs after it
template <class D>
class Stream;

namespace detail {
/// Whether F returns an expression, which would be computed later, in the stream that is current then.
template <class F>
concept ReturnsExpression = requires { typename std::remove_cvref_t<std::invoke_result_t<F>>::result_type; };
}  // namespace detail

/// Returns f(), whose operations on the stream's device are queued in the stream.
template <class D, class F>
  requires(!detail::ReturnsExpression<F>)
decltype(auto) with_stream(const Stream<D>& stream, F&& f) {
  const typename Stream<D>::Current current(stream);
  return std::forward<F>(f)();
}
#include <locus/refuse/device/stream.inc>

}}  // namespace locus::LOCUS_ABI
