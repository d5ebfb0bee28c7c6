#pragma once
// A model that one process runs on several GPUs: PyTorch's DataParallel.

#include <locus/core/generator.hpp>
#include <locus/distributed/model/batch_norm.hpp>
#include <locus/distributed/model/model_wrapper.hpp>
#include <locus/distributed/model/replicas_node.hpp>
#include <locus/nn/flatten.hpp>
#include <locus/ops/join.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// The default places of replicas of a model on `first`: `first`, then, on Cuda, all other GPUs. The host is one place.
template <class D>
[[nodiscard]] std::vector<D> all_places(D first) {
  std::vector<D> places{first};
  if constexpr (std::is_same_v<D, Cuda>)
    for (int ordinal = 0; ordinal < cuda::device_count(); ++ordinal)
      if (ordinal != first.ordinal) places.push_back(Cuda{ordinal});
  return places;
}
/// The place of all parameters and buffers of a model. throws DeviceError if there are several
template <class M>
[[nodiscard]] device_of<M> place_of(const M& model) {
  using D = device_of<M>;
  const auto parameters = model.parameters();
  const auto buffers = model.buffers();
  const D place = !parameters.empty() ? parameters[0].device() : !buffers.empty() ? buffers[0].device() : D{};
  if (!nn::detail::is_all_in<value_of<M>, D>(model, place))
    fail<DeviceError>({"DataParallel: parameters or buffers of the model are on ", to_string(place),
                       " and on another device; move it as a whole first, std::move(model).to(", to_string(place),
                       ")"});
  return place;
}
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A model that splits batches along dimension 0 among places. Each part runs through a replica of the model in its
/// place, in a thread of its own; the results are joined in the model's place. Replica 0 is the model itself, with its
/// buffers. Before each pass, the other replicas copy values and buffers that changed; their own changes of buffers are
/// dropped. The backward pass adds the gradients of all replicas to the model's. It has the names, parameters and
/// buffers of the model, so that optimizers, checkpoints and `fit` treat it as the model. A handle: copies share the
/// replicas.
///
/// Without a list of places, all GPUs are used; the host is one place. A place may be named twice. With one place, or
/// for a batch of one, only the model itself runs. Random numbers of replicas follow from the seed, but differ from the
/// numbers of the model alone. Batch normalization takes each replica's part as a batch.
/// cost: of a pass, copies of the input, the result and their gradients, and of all values and gradients between places
///
///     dist::DataParallel parallel{model};                           // all GPUs
///     dist::DataParallel two{model, {Cuda{0}, Cuda{1}}};            // these; the model is on the first
///     optim::Sgd optimizer{parallel.parameters(), {.lr = 0.1}};
///
/// throws DeviceError for a model that is not on the first place; ArgumentError for no place, and for a model whose
/// batch normalization is synchronized over ranks. A call throws the exception of a replica that failed; ShapeError for
/// a result without a batch; CaptureError in a captured step
template <class M>
class DataParallel : public detail::ModelWrapper<DataParallel<M>, M> {
  using T = value_of<M>;
  using D = device_of<M>;

 public:
  explicit DataParallel(const M& model) : DataParallel(model, detail::all_places(detail::place_of(model))) {}
  DataParallel(const M& model, std::vector<D> places)
      : detail::ModelWrapper<DataParallel, M>(model), shared_(new Places(std::move(places))) {
    require_valid(detail::place_of(model));
    if (!model.parameters().empty()) (void)nn::flatten(model);
    for (std::size_t i = 1; i < this->places().size(); ++i)
      shared_->replicas.push_back(Shared(new detail::Replica<M>(model, this->places()[i])));
  }
#include <locus/refuse/distributed/data_parallel_class.inc>

  /// Where the replicas are.
  [[nodiscard]] const std::vector<D>& places() const { return shared_->places; }

  /// shape: (batch, ...) -> (batch, ...)
  template <class X>
  [[nodiscard]] auto forward(const X& x) const {
    using Result = std::remove_cvref_t<decltype(locus::detail::evaluated(this->module()(x)))>;
    const auto parts = parts_of(x);
    if (parts.size() < 2) return Result(locus::detail::evaluated(this->module()(x)));
    if (locus::detail::is_capturing())
      fail<CaptureError>(
          {"capture: the step cannot be captured for replay, because of a model on several places (DataParallel); its "
           "replicas are threads; capture the step of the model alone"});
    return split<Result>(parts);
  }

  /// A copy of the model, with replicas in the same places.
  [[nodiscard]] DataParallel clone() const { return DataParallel(this->module().clone(), places()); }

 private:
  struct Places : Counted {
    static constexpr const char* handle_name = "DataParallel";
    std::vector<D> places;
    std::vector<Shared<detail::Replica<M>>> replicas;  ///< from the second place on
    explicit Places(std::vector<D> of) : places(std::move(of)) {}
  };
  /// The input and the result of a replica.
  template <class X, class Result>
  struct Computed {
    X x{};            ///< the part, in the replica's place
    Result y{};       ///< the result, in the replica's place
    Result result{};  ///< the result, in the model's place
  };

  void require_valid(D place) const {
    if (places().empty())
      fail<ArgumentError>(
          {"DataParallel: no place was given; name one or several, or leave the list out for all GPUs"});
    if (!(places()[0] == place))
      fail<DeviceError>({"DataParallel: the model is on ", to_string(place), ", the first place is ",
                         to_string(places()[0]), "; name the place of the model first, or move it there with .to(",
                         to_string(places()[0]), ")"});
    nn::detail::for_each_batch_norm<T, D>(this->module(), [](const auto& layer) {
      if (layer.shares_batch())
        fail<ArgumentError>(
            {"DataParallel: a batch normalization of the model is synchronized over ranks; run one place "
             "in each rank, with dist::distributed(model, comm)"});
    });
  }
  /// The rows of x for each place, equally many but for the last; in a recorded pass, recorded. Empty: x is not split.
  template <class X>
  [[nodiscard]] std::vector<X> parts_of(const X& x) const {
    std::vector<X> parts;
    const auto places = static_cast<std::int64_t>(this->places().size());
    if (x.rank() == 0 || places < 2) return parts;
    const std::int64_t rows = x.size(0), size = (rows + places - 1) / places;
    for (std::int64_t begin = 0; begin < rows; begin += size)
      parts.push_back(X(x.slice(0, begin, begin + size < rows ? begin + size : rows)));
    return parts;
  }
  template <class Result>
  static void require_batch(const Result& result) {
    if (result.rank() == 0)
      fail<ShapeError>(
          {"DataParallel: the model gives a scalar, and the results of replicas are joined along dimension "
           "0; let it give (batch, ...), and compute the loss of that"});
  }

  /// Runs each replica on its part, in the replica's thread, and meanwhile the model on the first part, in this thread.
  template <class Result, class X>
  [[nodiscard]] Result split(const std::vector<X>& parts) const {
    using namespace locus::detail;
    constexpr bool is_traced = X::role == Role::traced;
    const D place = places()[0];
    const auto parameters = this->module().parameters();
    const auto buffers = this->module().buffers();
    std::vector<Computed<X, Result>> computed(parts.size() - 1);
    const std::uint64_t seed = draw_seed<D>(stream_of_ranks);
    const auto compute = [&, again = computes_again, is_unrecorded = unrecorded != nullptr](std::size_t i) {
      detail::Replica<M>& replica = *shared_->replicas[i];
      OutsideOperands forgotten;
      const Within noting(unrecorded, is_unrecorded ? &forgotten : nullptr);
      const Within repeating(computes_again, again);
      const ThreadRank draws(static_cast<int>(i), seed);
      Computed<X, Result>& mine = computed[i];
      mine.x = elsewhere(parts[i + 1], replica.device);
      mine.y = Result(evaluated(replica.model(mine.x)));
      require_batch(mine.y);
      if constexpr (Result::role == Role::traced)
        mine.result = Result(mine.y.value().to(place), {}, mine.y.is_frozen());
      else mine.result = mine.y.to(place);
    };
    Shared<GraphNode> older;
    if constexpr (is_traced && Result::role == Role::traced && FloatingDType<value_of<Result>>)
      older = Shared<GraphNode>(new Replicas<X, Result>(parameters, place, {parts.begin() + 1, parts.end()}));
    // Before the model runs, which may change its buffers.
    for (std::size_t i = 0; i < computed.size(); ++i) shared_->replicas[i]->follow(parameters, buffers);
    std::vector<Result> results;
    results.push_back(run_beside(compute, computed.size(), place, [&] {
      Result first(evaluated(this->module()(parts[0])));
      require_batch(first);
      return first;
    }));
    if constexpr (is_traced && Result::role == Role::traced && FloatingDType<value_of<Result>>)
      record(computed, Shared(static_cast<Replicas<X, Result>*>(older.get())));
    for (auto& one : computed) results.push_back(std::move(one.result));
    return Result(evaluated(concat(results, 0)));
  }
  template <class X, class Result>
  using Replicas = detail::ReplicasNode<M, value_of<X>, value_of<Result>>;

  /// Returns here(), while f(i) runs in the thread of each of `count` replicas. throws the exception of the first
  /// replica that failed
  template <class F, class Here>
  [[nodiscard]] auto run_beside(const F& f, std::size_t count, D place, const Here& here) const {
    const auto job_of = [&f](std::size_t i) { return [&f, i] { f(i); }; };
    using ReplicaJob = detail::StreamOrderedJob<D, decltype(job_of(0))>;
    struct Jobs {
      std::vector<Shared<ReplicaJob>> list{};
      ~Jobs() { join(); }
      void join() {
        for (const auto& job : list) job->join();
      }
    } jobs;
    for (std::size_t i = 0; i < count; ++i) {
      detail::Replica<M>& replica = *shared_->replicas[i];
      jobs.list.push_back(Shared(new ReplicaJob(place, replica.device, job_of(i))));
      try {
        replica.worker.add(Shared<detail::Job>(jobs.list.back().get()));
      } catch (...) {
        jobs.list.pop_back();  // no thread runs it
        throw;
      }
    }
    auto result = here();
    jobs.join();
    for (const auto& job : jobs.list) job->require_success();
    return result;
  }

  /// Copies a part of the input to the place of a replica; if it requires a gradient, the copy collects one, too.
  template <class X>
  [[nodiscard]] static X elsewhere(const X& x, D place) {
    if constexpr (X::role == Role::traced) {
      const auto value = x.value().to(place);
      if constexpr (FloatingDType<value_of<X>>)
        if (x.requires_gradient()) return X(value, variable(value).node(), x.is_frozen());
      return X(value, {}, x.is_frozen());
    } else {
      return x.to(place);
    }
  }
  /// Makes results that require a gradient nodes of the graph, younger than the nodes of replica 0.
  template <class X, class Result>
  void record(std::vector<Computed<X, Result>>& computed, const Shared<Replicas<X, Result>>& older) const {
    for (std::size_t i = 0; i < computed.size(); ++i) {
      auto& [x, y, result] = computed[i];
      if (!y.requires_gradient()) continue;
      older->set(i, shared_->replicas[i], x, y);
      using Node = detail::ReplicaResultNode<M, value_of<X>, value_of<Result>>;
      result = Result(result.value(), Shared<TensorNode<value_of<Result>, D>>(new Node(result.value(), older, i)),
                      result.is_frozen());
    }
  }

  Shared<Places> shared_;
};
LOCUS_REFUSALS_END
template <class M, class E>
DataParallel(const M&, std::initializer_list<E>) -> DataParallel<M>;

}}}  // namespace locus::LOCUS_ABI::dist
