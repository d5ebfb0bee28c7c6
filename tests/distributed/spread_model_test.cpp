// Runs on: host.
// A model whose gradients are averaged over ranks, called with values that say how they are spread over them.

#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/training/fit.hpp>

#include <doctest/doctest.h>

#include <support/spread_training.hpp>

using namespace locus;
using namespace locus_test;

namespace {
using Line = dist::Mesh<Cpu, Data>;
using Net = nn::Sequential<float, Cpu>;
using Parallel = dist::SpreadModel<dist::Distributed<Net>, Data>;
template <class T, class... S>
using Value = Over<Tensor<T>, S...>;
template <class... S>
using Recorded = Over<Traced<float, Cpu>, S...>;

static_assert(std::is_invocable_v<Parallel, Recorded<Varying<Data>>>);
static_assert(!std::is_invocable_v<Parallel, Recorded<>> && !std::is_invocable_v<Parallel, Recorded<Replicated<Data>>>);
static_assert(!std::is_invocable_v<Parallel, Recorded<Varying<Data>, Varying<Model>>>);
static_assert(!std::is_invocable_v<Parallel, Tensor<float>> &&
              !std::is_invocable_v<Parallel, Value<float, Partial<Data>>>);
static_assert(std::is_invocable_v<Parallel, Value<float>> &&
              std::is_invocable_v<Parallel, Value<float, Varying<Model>>>);

template <class F>
void on_line(int ranks, const F& f) {
  CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [&](const dist::Communicator<Cpu>& comm) { f(Line(comm, {comm.size()})); }));
}
Net of(const Problem<Cpu>& problem) { return Net{problem.first, nn::ReLU{}, problem.second}; }
Value<float, Varying<Data>> own(const Line& mesh, const Tensor<float>& whole) {
  return mesh.along<Data>().part(mesh.label<Replicated<Data>>(whole), 0);
}
}  // namespace

TEST_CASE("a model of ranks trains as one process does, from the loss of each rank and from their sum") {
  for (const bool from_sum : {false, true})
    on_line(4, [&](const Line& mesh) { check_model_of_ranks(mesh.communicator(), from_sum); });
}

TEST_CASE("a sharded model of ranks trains as one process does, from the loss of each rank and from their sum") {
  for (const bool from_sum : {false, true})
    on_line(2, [&](const Line& mesh) {
      const Problem<Cpu> problem, alone;
      const auto& data = mesh.along<Data>();
      const auto model = dist::sharded(of(problem), data);
      optim::Sgd sgd{model.parameters(), {.lr = 0.1}}, of_one{alone.parameters(), {.lr = 0.1}};
      const auto x = own(mesh, alone.x), y = own(mesh, alone.y);
      for (int step = 0; step < 3; ++step) {
        sgd.zero_grad();
        const auto loss = mean(square(model(trace(x)) - y));
        if (from_sum) data.partial(loss / static_cast<float>(data.size())).eval().backward();
        else model.backward(loss);
        sgd.step();
        of_one.zero_grad();
        alone.loss().backward();
        of_one.step();
      }
      std::size_t i = 0;
      model.local().for_each_whole([&](const std::string& name, const Tensor<float>& value) {
        const double off = distance(value, alone.parameters()[i++].value());
        if (!(off < 1e-6)) wrong(join(name, " is off by ", off));
      });
      if (i != 4) wrong(join(i, " parameters"));
    });
}

TEST_CASE("a model of ranks makes the launches of the untyped one, and gives the same bits") {
  on_line(2, [](const Line& mesh) {
    const Problem<Cpu> first, second;
    const auto untyped = dist::distributed(of(first), mesh.communicator());
    const auto typed = dist::distributed(of(second), mesh.along<Data>());
    const auto x = own(mesh, first.x), y = own(mesh, first.y);
    const auto launches = [](const auto& f) {
      f();  // the first pass agrees on buckets
      const LaunchLog log;
      f();
      return log.launches();
    };
    const auto of_untyped = launches([&] { mean(square(untyped(trace(x.local())) - y.local())).eval().backward(); });
    const auto of_typed = launches([&] { typed.backward(mean(square(typed(trace(x)) - y))); });
    if (of_typed != of_untyped) wrong(join(of_typed, " launches, expected ", of_untyped));
    for (std::size_t i = 0; i < 4; ++i)
      if (distance(first.parameters()[i].grad(), second.parameters()[i].grad()) != 0) wrong("other gradients");
  });
}

TEST_CASE("passes of a model of ranks are accumulated within no_sync, and weighed by samples") {
  on_line(2, [](const Line& mesh) {
    const auto& data = mesh.along<Data>();
    const Problem<Cpu> problem, reference;
    reference.loss().backward();
    const auto parallel = dist::distributed(of(problem), data);
    const auto x = own(mesh, problem.x), y = own(mesh, problem.y);
    const auto loss_of = [&](int begin) {
      return mean(square(parallel(trace(x.slice(0, begin, begin + 6))) - y.slice(0, begin, begin + 6))) / 2.f;
    };
    {
      const auto guard = parallel.no_sync();
      parallel.backward(loss_of(0));
    }
    data.partial(loss_of(6) / static_cast<float>(data.size())).eval().backward();
    for (std::size_t i = 0; i < 4; ++i)
      require_close("the distance of gradients",
                    distance(problem.parameters()[i].grad(), reference.parameters()[i].grad()), 0);
  });
  on_line(2, [](const Line& mesh) {
    const auto& data = mesh.along<Data>();
    const Problem<Cpu> problem, reference;
    reference.loss().backward();
    const auto parallel = dist::distributed(of(problem), data, {.weigh_by_samples = true});
    const auto part = [&](const Tensor<float>& whole) {
      return mesh.label<Varying<Data>>(data.rank() == 0 ? whole.slice(0, 0, 5) : whole.slice(0, 5));
    };
    const auto loss = mean(square(parallel(trace(part(problem.x))) - part(problem.y))).eval();
    CHECK_THROWS_WITH_AS(data.partial(loss / 2.f).eval().backward(), doctest::Contains("say model.backward(loss)"),
                         GraphError);
    mesh.communicator().barrier();
  });
  on_line(2, [](const Line& mesh) {
    const auto& data = mesh.along<Data>();
    const Problem<Cpu> problem, reference;
    reference.loss().backward();
    const auto parallel = dist::distributed(of(problem), data, {.weigh_by_samples = true});
    const auto part = [&](const Tensor<float>& whole) {
      return mesh.label<Varying<Data>>(data.rank() == 0 ? whole.slice(0, 0, 5) : whole.slice(0, 5));
    };
    parallel.backward(mean(square(parallel(trace(part(problem.x))) - part(problem.y))));
    for (std::size_t i = 0; i < 4; ++i)
      require_close("the distance of gradients",
                    distance(problem.parameters()[i].grad(), reference.parameters()[i].grad()), 0);
  });
}

TEST_CASE("of plain arguments, a model of ranks has results that are spread as the arguments are") {
  on_line(2, [](const Line& mesh) {
    const Problem<Cpu> problem;
    const auto parallel = dist::distributed(of(problem), mesh.along<Data>());
    const auto whole = parallel(mesh.label<Replicated<Data>>(problem.x));
    const auto parts = parallel(own(mesh, problem.x));
    static_assert(spread_of<decltype(whole), Data> == Spread::replicated);
    static_assert(spread_of<decltype(parts), Data> == Spread::varying);
    require_close("the distance of results", distance(mesh.along<Data>().all_gather(parts, 0).local(), whole.local()),
                  0);
  });
}

TEST_CASE("fit and evaluate take a model of ranks") {
  on_line(2, [](const Line& mesh) {
    const auto& comm = mesh.communicator();
    const Problem<Cpu> first, second;
    const auto untyped = dist::distributed(of(first), comm);
    const auto typed = dist::distributed(of(second), mesh.along<Data>());
    const data::TensorDataset samples(first.x, first.y);
    const auto losses = [&](const auto& model) {
      History history;
      optim::Sgd sgd{model.parameters(), {.lr = 0.1}};
      const data::DistributedSampler sampler(samples, comm, {.shuffle = false});
      const data::DistributedSampler each(samples, comm, {.shuffle = false, .remainder = data::Remainder::keep});
      auto train = data::loader<Cpu>(samples, sampler, {.batch_size = 4});
      fit(model, sgd, nn::MSELoss{}, train, data::loader<Cpu>(samples, each, {.batch_size = 4}), history, {.epochs = 2},
          Metric{"mean error", nn::L1Loss{}});
      auto valid = data::loader<Cpu>(samples, each, {.batch_size = 5});
      const Evaluation score = evaluate(model, nn::MSELoss{}, valid);
      return std::vector{history.last().train_loss, history.last().valid_loss, history.last().metrics[0].value,
                         score.loss};
    };
    if (losses(typed) != losses(untyped)) wrong("other losses");
  });
}

TEST_CASE("batch normalization of a model of ranks is synchronized along its axis") {
  on_line(2, [](const Line& mesh) {
    const auto& data = mesh.along<Data>();
    const auto model = [] {
      manual_seed(4);
      return Net{nn::Linear<float, Cpu>{12, 6}, nn::BatchNorm1d<float, Cpu>{6}};
    };
    const Problem<Cpu> problem;
    const Net whole = model(), mine = model();
    mean(square(whole(trace(problem.x)))).eval().backward();
    if (dist::synchronize_batch_norm(mine, data) != 1) wrong("another number of layers");
    const auto parallel = dist::distributed(mine, data);
    parallel.backward(mean(square(parallel(trace(own(mesh, problem.x))))));
    for (const char* name : {"1.running_mean", "1.running_var"})
      require_close(name, distance(nn::state_dict(whole).get<float>(name), nn::state_dict(mine).get<float>(name)), 0);
    for (std::size_t i = 0; i < 4; ++i)
      require_close("the distance of gradients", distance(mine.parameters()[i].grad(), whole.parameters()[i].grad()),
                    0);
  });
}

namespace {
/// Buffers of a batch normalization.
template <class... S>
struct Statistics {
  Over<nn::Buffer<float, Cpu>, S...> mean, var;
  Over<nn::Buffer<std::int64_t, Cpu>, S...> batches;
  explicit Statistics(const Line& mesh)
      : mean(mesh.label<typename Label<S...>::type>(nn::Buffer<float, Cpu>(zeros<float>({12})))),
        var(mesh.label<typename Label<S...>::type>(nn::Buffer<float, Cpu>(ones({12})))),
        batches(mesh.label<typename Label<S...>::type>(nn::Buffer<std::int64_t, Cpu>(zeros<std::int64_t>({})))) {}
  [[nodiscard]] auto running() const { return dist::running_statistics(mean, var, batches); }

 private:
  template <class... Q>
  struct Label : std::type_identity<Invariant<Data>> {};
  template <class Q>
  struct Label<Q> : std::type_identity<Q> {};
};
template <class... S>
using Running = decltype(std::declval<const Statistics<S...>&>().running());
template <class X, class Y>
concept Normalizes = requires(const X& x, const Y& running) { batch_norm(x, running); };

static_assert(Normalizes<Recorded<Varying<Data>>, Running<Varying<Data>>>);
static_assert(!Normalizes<Recorded<Varying<Data>>, Running<>> && !Normalizes<Recorded<>, Running<Varying<Data>>>);
static_assert(Normalizes<Recorded<>, Running<>> && Normalizes<Recorded<Replicated<Data>>, Running<>>);
static_assert(Normalizes<Value<float, Varying<Data>>, Running<>>);  // inference: nothing is updated
static_assert(!Normalizes<Recorded<Varying<Data>>, RunningStatistics<float, Cpu>>);
}  // namespace

TEST_CASE("running statistics are those of each rank's samples, or, synchronized, of all") {
  on_line(2, [](const Line& mesh) {
    const auto& data = mesh.along<Data>();
    const Problem<Cpu> problem;
    const auto x = own(mesh, problem.x);
    const Statistics<Varying<Data>> statistics(mesh);
    const nn::BatchNorm1d<float, Cpu> alone{12}, whole{12};
    const auto y = batch_norm(trace(x), statistics.running());
    (void)alone(trace(x.local()));
    static_assert(spread_of<decltype(y), Data> == Spread::varying);
    require_close("the mean", distance(statistics.mean.local().value(), alone.running_mean.value()), 0);

    const dist::SynchronizedBatchNorm<float, Cpu, Data> same(whole, data);
    const dist::SynchronizedBatchNorm<float, Cpu, Data, Replicated<Data>> replicated(whole, data);
    const auto input = variable(problem.x);
    (sum(square(whole(input) - 0.5f) * problem.x) / 24.f).eval().backward();
    const auto check = [&](const auto& layer) {
      const auto mine = variable(x);
      const auto z = layer.forward(data, mine);
      static_assert(spread_of<decltype(z), Data> == Spread::varying);
      data.partial(sum(square(z - 0.5f) * x) / 24.f).eval().backward();
      require_close("the gradient", distance(data.all_gather(mine.grad(), 0).local(), input.grad()), 0);
      require_close("the mean", distance(layer.running_mean.local().value(), whole.running_mean.value()), 0);
      require_close("the variance", distance(layer.running_var.local().value(), whole.running_var.value()), 0);
      const auto evaluated = data.all_gather(layer.forward(data, x), 0);
      require_close("inference", distance(evaluated.local(), whole(problem.x)), 0);
    };
    check(same), check(replicated);
    const auto gradient_of_weight = whole.weight.grad();
    require_close("the gradient of the weight", distance(same.weight.grad().local(), gradient_of_weight), 0);
    require_close("the gradient of the weight",
                  distance(data.all_reduce(replicated.weight.grad()).local(), gradient_of_weight), 0);
    const auto saved = dist::state_dict(same);
    if (saved.size() != 5 || !saved.contains("running_var")) wrong("another state");
    using Layer = dist::SynchronizedBatchNorm<float, Cpu, Data>;
    CHECK_THROWS_WITH_AS(Layer(nn::BatchNorm1d<float, Cpu>(12, {.affine = false}), data),
                         doctest::Contains("without weight and bias"), ArgumentError);
    mesh.communicator().barrier();
  });
}
