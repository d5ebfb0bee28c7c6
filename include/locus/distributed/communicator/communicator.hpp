#pragma once
// Communicator<D>: collectives of ranks that hold tensors on D.

#include <locus/distributed/communicator/handle.hpp>
#include <locus/distributed/communicator/rank_context.hpp>
#include <locus/distributed/engine/abort_on_throw.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// A plain tensor or expression on D.
template <class X, class D>
concept PlainOn = locus::detail::On<X, D> && TensorLike<X> && std::remove_cvref_t<X>::role == Role::plain;

#include <locus/refuse/distributed/communicator_mistakes.inc>
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// One rank of a group. A handle: copies share the rank, and when the last copy is destroyed, the other ranks learn
/// that it left. One thread at a time uses it. Every rank makes the same collectives in the same order.
///
/// Results are bit-identical on all ranks and from run to run. Elements are combined in rank order, except where
/// another order is faster: in a ring of large tensors on several GPUs, between several machines, and over NCCL. half
/// and bfloat16 are combined in float and rounded once; NCCL rounds them after each addition. Options::sums, or
/// with_sums(), asks for sums in rank order, of the same bits on every engine. Integers wrap around; sum of bool is
/// any, prod is all. Tensors may have any strides; tensors that are not dense are copied.
///
/// Calls that end in _async return a Handle: do not read or change the tensors before its wait() or ordered(). All
/// other calls return when the result may be used, on a GPU by work that is queued afterwards. Over NCCL the host waits
/// for no rank, except in a barrier and in recv; a failure of another rank is thrown by a later call, or by a later
/// call that waits for the GPU (item, copies to the host).
///
/// throws, from every call: CollectiveError if another rank threw, left, stalled or made a different call; ShapeError
/// and ArgumentError for mistakes that this rank can see alone, before other ranks see anything of the call;
/// DeviceError for a tensor on another ordinal than the communicator; CaptureError within a captured step, except for
/// collectives over NCCL
template <class D>
class Communicator {
 public:
  using device_type = D;

  explicit Communicator(Shared<Engine<D>> engine) : context_(new detail::RankContext<D>(std::move(engine))) {}
  explicit Communicator(Shared<detail::RankContext<D>> context) : context_(std::move(context)) {}

  [[nodiscard]] int rank() const { return engine().rank(); }
  [[nodiscard]] int size() const { return engine().size(); }
  [[nodiscard]] D device() const { return engine().device(); }

  /// A handle of the same rank whose collectives match only collectives of the same purpose.
  [[nodiscard]] Communicator with_purpose(Purpose purpose) const {
    Communicator same = *this;
    same.purpose_ = purpose;
    return same;
  }
  /// A handle of the same rank whose reductions make their sums so.
  ///
  ///     comm.with_sums(dist::Sums::in_rank_order).all_reduce(x);   // the same bits on every engine
  [[nodiscard]] Communicator with_sums(Sums sums) const {
    Communicator same = *this;
    same.sums_ = sums;
    return same;
  }
  [[nodiscard]] Sums sums() const { return sums_; }
  /// Options::debug, also as LOCUS_DIST_DEBUG sets it.
  [[nodiscard]] bool is_debugging() const { return engine().options().debug; }
  /// Whether its collectives, except barriers and messages, can be part of captured steps: over NCCL.
  [[nodiscard]] bool is_capturable() const { return engine().is_queued(Kind::all_reduce); }
  /// A handle of the same rank whose collectives match only collectives of the same unit of a sharded model, from 1 on.
  [[nodiscard]] Communicator of_unit(int unit) const {
    Communicator same = *this;
    same.unit_ = unit;
    return same;
  }
  /// From now on, backward passes may call collectives of this rank before they end. `distributed` then reduces
  /// gradients at the end of each pass, so that all ranks keep the same order even if some leave out parameters.
  void expect_calls_in_backward() const { context_->is_called_in_backward = true; }
  [[nodiscard]] bool is_called_in_backward() const { return context_->is_called_in_backward; }

  /// Reduces x over all ranks in place by `op`: sum, mean, min, max or prod.
  ///
  ///     comm.all_reduce(gradient, dist::mean);
  template <class T, ReduceOpOf<T> Op = op::Sum>
  void all_reduce(const Tensor<T, D>& x, Op op = {}) const {
    context_->now(in_place(Kind::all_reduce, x, -1, op));
  }
  template <class T, ReduceOpOf<T> Op = op::Sum>
  Handle<T, D> all_reduce_async(const Tensor<T, D>& x, Op op = {}) const {
    return context_->later(in_place(Kind::all_reduce, x, -1, op));
  }
  /// The same, out of place.
  /// shape: (...) -> (...)
  template <detail::PlainOn<D> X, ReduceOpOf<value_of<X>> Op = op::Sum>
  [[nodiscard]] Tensor<value_of<X>, D> all_reduced(const X& x, Op op = {}) const {
    return context_->now(out_of_place(Kind::all_reduce, given("all_reduced", x), Rows::same, op));
  }
  template <detail::PlainOn<D> X, ReduceOpOf<value_of<X>> Op = op::Sum>
  Handle<value_of<X>, D> all_reduced_async(const X& x, Op op = {}) const {
    return context_->later(out_of_place(Kind::all_reduce, given("all_reduced", x), Rows::same, op));
  }

  /// Reduces x over all ranks by `op` into x of rank `root`; x of the other ranks stays.
  template <class T, ReduceOpOf<T> Op = op::Sum>
  void reduce(const Tensor<T, D>& x, int root, Op op = {}) const {
    context_->now(in_place(Kind::reduce, x, root, op));
  }
  template <class T, ReduceOpOf<T> Op = op::Sum>
  Handle<T, D> reduce_async(const Tensor<T, D>& x, int root, Op op = {}) const {
    return context_->later(in_place(Kind::reduce, x, root, op));
  }

  /// Copies x of rank `root` to x of all ranks.
  template <class T>
  void broadcast(const Tensor<T, D>& x, int root = 0) const {
    context_->now(in_place(Kind::broadcast, x, root, None{}));
  }
  template <class T>
  Handle<T, D> broadcast_async(const Tensor<T, D>& x, int root = 0) const {
    return context_->later(in_place(Kind::broadcast, x, root, None{}));
  }

  /// Gathers x of all ranks: result.select(0, r) is x of rank r.
  /// shape: (...) -> (size(), ...)
  template <detail::PlainOn<D> X>
  [[nodiscard]] Tensor<value_of<X>, D> all_gather(const X& x) const {
    return context_->now(out_of_place(Kind::all_gather, given("all_gather", x), Rows::more, None{}));
  }
  template <detail::PlainOn<D> X>
  Handle<value_of<X>, D> all_gather_async(const X& x) const {
    return context_->later(out_of_place(Kind::all_gather, given("all_gather", x), Rows::more, None{}));
  }

  /// The same, written to out, (size(), ...), apart from x in memory.
  template <detail::PlainOn<D> X>
  void all_gather_into(const X& x, const Tensor<value_of<X>, D>& out) const {
    (void)context_->now(into("all_gather_into", Kind::all_gather, x, out, None{}));
  }
  template <detail::PlainOn<D> X>
  Handle<value_of<X>, D> all_gather_into_async(const X& x, const Tensor<value_of<X>, D>& out) const {
    return context_->later(into("all_gather_into", Kind::all_gather, x, out, None{}));
  }

  /// Reduces x over all ranks by `op`; this rank gets row rank() of the result.
  /// shape: (size(), ...) -> (...)
  template <detail::PlainOn<D> X, ReduceOpOf<value_of<X>> Op = op::Sum>
  [[nodiscard]] Tensor<value_of<X>, D> reduce_scatter(const X& x, Op op = {}) const {
    return context_->now(out_of_place(Kind::reduce_scatter, rows("reduce_scatter", x), Rows::one, op));
  }
  template <detail::PlainOn<D> X, ReduceOpOf<value_of<X>> Op = op::Sum>
  Handle<value_of<X>, D> reduce_scatter_async(const X& x, Op op = {}) const {
    return context_->later(out_of_place(Kind::reduce_scatter, rows("reduce_scatter", x), Rows::one, op));
  }

  /// The same, written to out, (...), apart from x in memory.
  template <detail::PlainOn<D> X, ReduceOpOf<value_of<X>> Op = op::Sum>
  void reduce_scatter_into(const X& x, const Tensor<value_of<X>, D>& out, Op op = {}) const {
    (void)context_->now(into("reduce_scatter_into", Kind::reduce_scatter, x, out, op));
  }
  template <detail::PlainOn<D> X, ReduceOpOf<value_of<X>> Op = op::Sum>
  Handle<value_of<X>, D> reduce_scatter_into_async(const X& x, const Tensor<value_of<X>, D>& out, Op op = {}) const {
    return context_->later(into("reduce_scatter_into", Kind::reduce_scatter, x, out, op));
  }

  /// Row r of the result is row rank() of the x of rank r.
  /// shape: (size(), ...) -> the same
  template <detail::PlainOn<D> X>
  [[nodiscard]] Tensor<value_of<X>, D> all_to_all(const X& x) const {
    return context_->now(out_of_place(Kind::all_to_all, rows("all_to_all", x), Rows::same, None{}));
  }
  template <detail::PlainOn<D> X>
  Handle<value_of<X>, D> all_to_all_async(const X& x) const {
    return context_->later(out_of_place(Kind::all_to_all, rows("all_to_all", x), Rows::same, None{}));
  }

  /// Sends x to rank `to`. Does not wait for recv: the elements are copied.
  template <detail::PlainOn<D> X>
  void send(const X& x, int to, int tag = 0) const {
    (void)context_->now(sent(x, to, tag));
  }
  template <detail::PlainOn<D> X>
  Handle<value_of<X>, D> send_async(const X& x, int to, int tag = 0) const {
    return context_->later(sent(x, to, tag));
  }
  /// Receives a message of rank `from` into x: as many elements, of the same type. Messages of a pair of ranks and a
  /// tag keep their order.
  template <class T>
  void recv(const Tensor<T, D>& x, int from, int tag = 0) const {
    context_->now(received(x, from, tag));
  }
  template <class T>
  Handle<T, D> recv_async(const Tensor<T, D>& x, int from, int tag = 0) const {
    return context_->later(received(x, from, tag));
  }

  /// Returns when all ranks have called it. (On a GPU, work that was queued before may still run.)
  void barrier() const { context_->now(meeting()); }
  Handle<void, D> barrier_async() const { return context_->later(meeting()); }

  /// A communicator of the ranks that give the same color, numbered in the order of their keys, and of their ranks
  /// where keys are equal. It has connections of its own, and this one's options and sums(). All ranks call it. Errors
  /// of the group name its `label`, at most 31 characters, and the number of the rank at fault in the whole run.
  ///
  ///     const auto row = comm.split(comm.rank() / columns, 0, "along a row");
  ///
  /// cost: two exchanges of a few bytes, and the start of an engine; over MPI, two of its communicators, which MPI
  /// keeps until it ends; over TCP, a connection for each other rank of the group
  /// throws ArgumentError for a color below 0; RendezvousError where the new connections fail
  [[nodiscard]] Communicator split(int color, int key = 0, std::string_view label = {}) const {
    if (color < 0)
      fail<ArgumentError>({"split: color ", color, "; expected 0 or more, the same on all ranks of a group"});
    require_uncaptured(Kind::split);
    GroupChoice choice{color, key, {}};
    label.copy(choice.label, sizeof choice.label - 1);
    return Communicator(context_->split(choice)).with_sums(sums_);
  }

  /// This rank gives up: from now on, each call on every rank throws a CollectiveError that names this rank.
  void abort(const char* why) const noexcept {
    if (context_) context_->engine->leave(why);
  }

#include <locus/refuse/distributed/communicator_class.inc>

 private:
  /// Stands in for the reduction of a collective without one.
  struct None {
    static constexpr const char* name = "";
  };
  /// The shape of a result: as x, with a leading dimension of size(), or without the leading dimension.
  enum class Rows { same, more, one };
  template <class T>
  using Prepared = detail::Prepared<T, D>;

  [[nodiscard]] const Engine<D>& engine() const { return *context_->engine; }

  /// Checks that need no other rank: device and `rank`.
  template <class T>
  void require(const char* name, const Tensor<T, D>& x, int rank, const char* role) const {
    if (x.buffer() && !(x.device() == device()))
      fail<DeviceError>({name, ": the tensor is on ", to_string(x.device()), ", the communicator of this rank on ",
                         to_string(device()), "; move the tensor with .to(", to_string(device()), ")"});
    if (rank < -1 || rank >= size() || (rank == -1 && *role))
      fail<ArgumentError>({name, ": ", role, " is ", rank, "; expected a rank, 0 to ", size() - 1});
  }
  /// throws CaptureError in a captured step unless such calls can be part of it
  void require_uncaptured(Kind kind) const {
    if (locus::detail::is_capturing() && !engine().is_queued(kind)) [[unlikely]]
      fail<CaptureError>({"capture: the step cannot be captured for replay, because of a collective (", name_of(kind),
                          "), for which ranks meet on the host; call it before or after the step"});
  }
  template <class T, class Op>
  [[nodiscard]] Collective<D> collective(Kind kind, int root, Op, std::int64_t count) const {
    require_uncaptured(kind);
    Collective<D> call;
    call.what.kind = kind;
    call.what.type = element_type<T>;
    for (int i = 0; Op::name[i]; ++i) call.what.op[i] = Op::name[i];
    call.what.root = root;
    call.what.count = count;
    call.what.purpose = purpose_;
    call.what.sums = sums_;
    call.what.unit = unit_;
    if constexpr (ReduceOp<Op>) call.reducer = &Reducer<D>::template of<T, Op>();
    return call;
  }

  template <class T, class Op>
  [[nodiscard]] Prepared<T> in_place(Kind kind, const Tensor<T, D>& x, int root, Op op) const {
    require(name_of(kind), x, root, kind == Kind::all_reduce ? "" : "the root");
    Prepared<T> prepared = writes(name_of(kind), x);
    prepared.call = collective<T>(kind, root, op, x.elements());
    prepared.call.source = prepared.call.target = prepared.target.data();
    prepared.source = prepared.target;
    return prepared;
  }
  template <class T, class Op>
  [[nodiscard]] Prepared<T> out_of_place(Kind kind, const Tensor<T, D>& x, Rows rows, Op op) const {
    Shape shape = x.shape();
    if (rows == Rows::more) shape.insert(0, size());
    if (rows == Rows::one) shape.erase(0);
    Prepared<T> prepared{{}, x, Tensor<T, D>(shape, device())};
    const std::int64_t count =
        kind == Kind::all_to_all ? x.elements() / size() : elements(rows == Rows::one ? shape : x.shape());
    prepared.call = collective<T>(kind, -1, op, count);
    prepared.call.source = x.data();
    prepared.call.target = prepared.target.data();
    return prepared;
  }
  /// throws ShapeError unless out has the shape of the result
  template <class X, class Op>
  [[nodiscard]] Prepared<value_of<X>> into(const char* name, Kind kind, const X& x, const Tensor<value_of<X>, D>& out,
                                           Op op) const {
    const bool gathers = kind == Kind::all_gather;
    const auto source = gathers ? given(name, x) : rows(name, x);
    Shape expected = source.shape();
    if (gathers) expected.insert(0, size());
    else expected.erase(0);
    if (!(out.shape() == expected))
      fail<ShapeError>({name, ": out has shape ", out.shape(), " for x of shape ", source.shape(), " among ", size(),
                        " ranks; expected ", expected});
    require(name, out, -1, "");
    Prepared<value_of<X>> prepared = writes(name, out);
    prepared.source = source;
    prepared.call = collective<value_of<X>>(kind, -1, op, gathers ? source.elements() : out.elements());
    prepared.call.source = source.data();
    prepared.call.target = prepared.target.data();
    return prepared;
  }
  /// The tensor that a call writes: x, or dense memory that is copied to x afterwards.
  template <class T>
  [[nodiscard]] Prepared<T> writes(const char* name, const Tensor<T, D>& x) const {
    x.layout().require_distinct_elements(name);
    Prepared<T> prepared{};
    prepared.target = x.contiguous();
    if (!x.is_contiguous()) prepared.strided = x;
    return prepared;
  }
  template <class X>
  [[nodiscard]] Tensor<value_of<X>, D> given(const char* name, const X& x) const {
    const Tensor<value_of<X>, D> value = x.eval().value();
    require(name, value, -1, "");
    return value.contiguous();
  }
  template <class X>
  [[nodiscard]] Tensor<value_of<X>, D> rows(const char* name, const X& x) const {
    const auto value = given(name, x);
    if (value.rank() == 0 || value.size(0) != size())
      fail<ShapeError>({name, ": a tensor of shape ", value.shape(), " among ", size(),
                        " ranks; expected a row for each rank, (", size(), ", ...)"});
    return value;
  }

  template <class X>
  [[nodiscard]] Prepared<value_of<X>> sent(const X& x, int to, int tag) const {
    using T = value_of<X>;
    const Tensor<T, D> value = x.eval().value();
    require("send", value, to, "the receiver");
    require_uncaptured(Kind::send);
    Prepared<T> prepared{};
    prepared.source = prepared.target = value.contiguous();
    prepared.message = {prepared.target.data(), value.elements(), element_type<T>, to, tag};
    prepared.call.what.kind = Kind::send;
    return prepared;
  }
  template <class T>
  [[nodiscard]] Prepared<T> received(const Tensor<T, D>& x, int from, int tag) const {
    require("recv", x, from, "the sender");
    require_uncaptured(Kind::recv);
    Prepared<T> prepared = writes("recv", x);
    prepared.message = {prepared.target.data(), x.elements(), element_type<T>, from, tag};
    prepared.call.what.kind = Kind::recv;
    return prepared;
  }
  [[nodiscard]] detail::Prepared<void, D> meeting() const {
    return {collective<std::uint8_t>(Kind::barrier, -1, None{}, 0), {}};
  }

  Shared<detail::RankContext<D>> context_;
  Purpose purpose_ = Purpose::any;
  std::int32_t unit_ = 0;
  Sums sums_ = engine().options().sums;
};
LOCUS_REFUSALS_END

namespace detail {
/// Calls f(comm). If it throws, the other ranks fail with the text of the exception.
template <class D, class F>
void call_as_rank(const Communicator<D>& comm, const F& f) {
  abort_on_throw([&] { f(Communicator<D>(comm)); }, [&](const char* why) { comm.abort(why); });
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::dist
