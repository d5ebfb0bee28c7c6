// Runs on: host.
// Models that ranks train together: equal to one process with the batches of all; refusals, and faults.

#include <support/distributed.hpp>

#include <support/thrown.hpp>

#include <atomic>
#include <optional>
#include <thread>

using namespace locus;
using namespace locus_test;

TEST_CASE("ranks end with the parameters of one process that has the batches of all") {
  for (const int ranks : {1, 2, 4}) {
    CAPTURE(ranks);
    check_as_one_process<Cpu>({.ranks = ranks});
  }
}
TEST_CASE("also where gradients of several passes are added before they are reduced") {
  for (const int ranks : {2, 4}) {
    CAPTURE(ranks);
    check_as_one_process<Cpu>({.ranks = ranks, .parts = 3});
  }
}
TEST_CASE("also where a parameter gets a gradient on some ranks, or on none") {
  for (const int ranks : {2, 4}) {
    CAPTURE(ranks);
    check_as_one_process<Cpu>({.ranks = ranks, .forks = true});
    check_as_one_process<Cpu>({.ranks = ranks, .parts = 2, .forks = true});
  }
}
TEST_CASE("also where batches differ in size, or a rank has none, if ranks count by their samples") {
  for (const int ranks : {2, 4}) {
    CAPTURE(ranks);
    Schooling plan{.ranks = ranks, .uneven = true};
    plan.options.weigh_by_samples = true;
    check_as_one_process<Cpu>(plan);
    plan.forks = true;
    check_as_one_process<Cpu>(plan);
  }
}
TEST_CASE("also in buckets of other sizes") {
  for (const auto& options : {dist::DistributedOptions{}, {.bucket_bytes = 1, .first_bucket_bytes = 1}})
    check_as_one_process<Cpu>({.ranks = 2, .steps = 10, .options = options});
}

namespace {

using Net = nn::Sequential<float, Cpu>;

/// Calls f(comm) on each rank; returns the message of the E that each threw, or nothing.
template <class E, class F>
std::vector<std::string> thrown_by_ranks(int ranks, const F& f, const dist::Options& options = {}) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  try {
    dist::spawn<Cpu>(
        ranks,
        [&](dist::Communicator<Cpu> comm) {
          try {
            f(comm);
          } catch (const E& error) {
            messages[static_cast<std::size_t>(comm.rank())] = error.what();
            throw;
          }
        },
        options);
  } catch (const std::exception&) {}
  return messages;
}
/// The models, made by build(rank), or the options of ranks differ: all throw the same error.
template <class E, class Build>
void check_refused(const char* text, const Build& build, const dist::DistributedOptions& of_rank_1 = {}) {
  std::vector<Net> models;
  for (int rank = 0; rank < 3; ++rank) models.push_back(build(rank));
  const auto messages = thrown_by_ranks<E>(3, [&](dist::Communicator<Cpu> comm) {
    (void)dist::distributed(models[static_cast<std::size_t>(comm.rank())], comm,
                            comm.rank() == 1 ? of_rank_1 : dist::DistributedOptions{});
  });
  for (const auto& message : messages) CHECK(message == text);
}
/// A buffer of one of two types.
struct Kept : nn::Layer<Kept, float, Cpu> {
  nn::Linear<float, Cpu> inner{6, 3};
  nn::Buffer<std::int64_t, Cpu> count{zeros<std::int64_t>({})};
  nn::Buffer<float, Cpu> size{zeros<float>({})};
  bool counts = true;
  auto forward(const auto& x) const { return inner(x); }
  void members(const auto& visit) const {
    visit("inner", inner);
    if (counts) visit("kept", count);
    else visit("kept", size);
  }
};

[[nodiscard]] Net net() { return Net{nn::Linear<float, Cpu>{6, 4}, nn::Tanh{}, nn::Linear<float, Cpu>{4, 3}}; }
[[nodiscard]] Tensor<float> batch(std::int64_t samples, std::uint64_t seed) {
  Generator<Cpu> generator{seed};
  return randn<float>({samples, 6}, generator);
}
/// f(comm, model) in two ranks, each with a model of its own.
template <class F>
void with_two(const F& f) {
  std::vector<Net> models{net(), net()};
  CHECK_NOTHROW(dist::spawn<Cpu>(
      2, [&](dist::Communicator<Cpu> comm) { f(comm, models[static_cast<std::size_t>(comm.rank())]); }));
}
[[nodiscard]] Tensor<float> flat_gradients(const Net& model) { return nn::flatten(model).gradients().clone(); }

}  // namespace

TEST_CASE("models that differ are named on every rank") {
  check_refused<ShapeError>(
      "distributed: '2.weight' is float32 of shape (5, 4) on rank 2, and float32 of shape (3, 4) on rank 0; build the "
      "same model on all ranks",
      [](int rank) {
        return Net{nn::Linear<float, Cpu>{6, 4}, nn::Tanh{}, nn::Linear<float, Cpu>{4, rank == 2 ? 5 : 3}};
      });
  check_refused<ArgumentError>(
      "distributed: the model of rank 1 has '1.weight' where that of rank 0 has '2.weight'; build the same model on "
      "all "
      "ranks",
      [](int rank) {
        return rank == 0 ? net() : Net{nn::Linear<float, Cpu>{6, 4}, nn::Linear<float, Cpu>{4, 3}};
      });
  check_refused<ArgumentError>(
      "distributed: the model of rank 2 lacks '2.bias', which that of rank 0 has; build the same model on all ranks",
      [](int rank) {
        return Net{nn::Linear<float, Cpu>{6, 4}, nn::Tanh{}, nn::Linear<float, Cpu>{4, 3, rank != 2}};
      });
  check_refused<ArgumentError>(
      "distributed: the model of rank 1 has '2.weight', which that of rank 0 lacks; build the same model on all ranks",
      [](int rank) {
        return rank == 1 ? net() : Net{nn::Linear<float, Cpu>{6, 4}, nn::Tanh{}};
      });
  check_refused<ArgumentError>(
      "distributed: the options of rank 1 are {.bucket_bytes = 26214400, .first_bucket_bytes = 1048576, "
      ".broadcast_buffers = true, .weigh_by_samples = true, .static_graph = false, .reduce_in = "
      "ReduceIn::type_of_gradients}, those of rank 0 {.bucket_bytes = 26214400, "
      ".first_bucket_bytes = 1048576, .broadcast_buffers = true, .weigh_by_samples = false, .static_graph = false, "
      ".reduce_in = ReduceIn::type_of_gradients}; pass the same on all "
      "ranks",
      [](int) { return net(); }, {.weigh_by_samples = true});
  check_refused<ArgumentError>("distributed: buckets of 0 and 26214400 bytes on rank 1; expected 1 or more",
                               [](int) { return net(); }, {.first_bucket_bytes = 0});
  check_refused<ArgumentError>("distributed: the model of rank 0 has no parameters",
                               [](int) { return Net{nn::Tanh{}}; });
}
TEST_CASE("models of which other parameters are frozen are named on every rank") {
  check_refused<ArgumentError>(
      "distributed: '2.bias' is frozen on rank 1, and trained on rank 0; freeze the same parameters on all ranks, with "
      "requires_grad_(false)",
      [](int rank) {
        const Net model = net();
        if (rank == 1) model.requires_grad_(false, "2.bias");
        return model;
      });
  // Frozen later, on one rank alone: ranks send different gradients, and none waits for another.
  for (const std::int64_t bucket : {std::int64_t{1}, std::int64_t{1} << 20}) {
    std::vector<Net> models{net(), net()};
    const auto messages = thrown_by_ranks<Error>(2, [&](dist::Communicator<Cpu> comm) {
      const Net& model = models[static_cast<std::size_t>(comm.rank())];
      const auto parallel = dist::distributed(model, comm, {.bucket_bytes = bucket, .first_bucket_bytes = bucket});
      if (comm.rank() == 1) model.requires_grad_(false, "2.bias");
      sum(parallel(trace(batch(2, 1)))).backward();
    });
    for (const auto& message : messages) CHECK(message != "");
  }
}
TEST_CASE("frozen parameters are left out of what ranks reduce, whenever they are frozen and trained again") {
  for (const std::int64_t bucket : {std::int64_t{1}, std::int64_t{1} << 20}) {
    with_two([&](const dist::Communicator<Cpu>& comm, const Net& model) {
      model.requires_grad_(false, "0");
      const auto parallel = dist::distributed(model, comm, {.bucket_bytes = bucket, .first_bucket_bytes = bucket});
      const Net alone = model.clone();
      const Tensor x = batch(4, 11);
      const Tensor mine = x.slice(0, 2 * comm.rank(), 2 * comm.rank() + 2);
      const auto check = [&] {
        model.zero_grad(), alone.zero_grad();
        mean(parallel(trace(mine))).backward();
        mean(alone(trace(x))).backward();
        CHECK(max(abs(flat_gradients(model) - flat_gradients(alone))).item() < 1e-6f);
        for (std::size_t i = 0; i < model.parameters().size(); ++i)
          CHECK(model.parameters()[i].has_grad() == alone.parameters()[i].has_grad());
      };
      const auto set = [&](bool wanted, const char* names) {
        model.requires_grad_(wanted, names), alone.requires_grad_(wanted, names);
      };
      check();
      CHECK_FALSE(model.parameters()[0].has_grad());
      const auto sent = parallel.buckets();
      CHECK(sent == (bucket == 1 ? 2 : 1));
      set(true, "0");
      check();
      CHECK(model.parameters()[0].has_grad());
      set(false, "2.bias"), set(false, "0.bias");
      check();
      CHECK(parallel.buckets() == 2);  // parameters between them are not sent
      {
        const auto guard = parallel.no_sync();
        sum(parallel(trace(mine))).backward();
      }
      set(false, "0.weight"), set(false, "2.weight");  // drops the gradients of this rank alone, too
      set(true, "2.bias");
      check();
      const auto all = comm.all_gather(flat_gradients(model));
      CHECK(max(abs(all.select(0, 0) - all.select(0, 1))).item() == 0);
    });
  }
}
TEST_CASE("buffers of another type are another model") {
  const auto messages = thrown_by_ranks<ArgumentError>(2, [](dist::Communicator<Cpu> comm) {
    Kept model;
    model.counts = comm.rank() == 0;
    (void)dist::distributed(model, comm);
  });
  for (const auto& message : messages)
    CHECK(message ==
          "distributed: 'kept' is float32 of shape () on rank 1, and int64 of shape () on rank 0; build the "
          "same model on all ranks");
}

namespace {
/// An engine that counts collectives.
struct CountingEngine final : dist::Engine<Cpu> {
  explicit CountingEngine(const Shared<dist::Engine<Cpu>>& engine)
      : dist::Engine<Cpu>(engine->rank(), engine->size(), Cpu{}, engine->options()), to(engine) {}
  void run(const dist::Collective<Cpu>& call) override {
    ++calls;
    to->run(call);
  }
  void meet(const dist::Fingerprint& what, std::int64_t sequence) override { to->meet(what, sequence); }
  Shared<dist::Engine<Cpu>> split(dist::GroupChoice choice, std::int64_t sequence) override {
    return to->split(choice, sequence);
  }
  void send(const dist::Message& message) override { to->send(message); }
  bool has_come(const dist::Message& message, double waited) override { return to->has_come(message, waited); }
  void take(const dist::Message& message) override { to->take(message); }
  void leave(const char* why) noexcept override { to->leave(why); }
  Shared<dist::Engine<Cpu>> to;
  std::atomic<int> calls{0};
};
/// f(comm, the number of its collectives so far) on each of two ranks.
template <class F>
void with_counts(const F& f) {
  const auto engines = dist::LocalRanks<Cpu>::engines(2, dist::detail::from_environment({}));
  std::vector<std::thread> threads;
  std::string thrown[2];
  for (std::size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      try {
        const Shared engine(new CountingEngine(engines[rank]));
        f(dist::Communicator<Cpu>(Shared<dist::Engine<Cpu>>(engine.get())), engine->calls);
      } catch (const std::exception& error) {
        thrown[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : thrown) CHECK(error == "");
}
}  // namespace

TEST_CASE("with a static graph, ranks agree on the used parameters in the first pass alone") {
  with_counts([](const dist::Communicator<Cpu>& comm, const std::atomic<int>& calls) {
    const Forked<float, Cpu> model = forked_models(1)[0].clone();
    const auto parallel = dist::distributed(model, comm, {.broadcast_buffers = false, .static_graph = true});
    const auto head = static_cast<std::size_t>(comm.rank());  // ranks use different heads: each takes from the other
    const auto calls_of_pass = [&](std::size_t which) {
      const int before = calls;
      model.zero_grad();
      backward(parallel, batch(3, 7 + static_cast<std::uint64_t>(comm.rank())), which, 1);
      return calls - before;
    };
    CHECK(calls_of_pass(head) == static_cast<int>(parallel.buckets()) + 1);
    for (int pass = 0; pass < 2; ++pass) {
      CHECK(calls_of_pass(head) == static_cast<int>(parallel.buckets()));
      for (std::size_t used = 0; used < 2; ++used) CHECK(model.heads[used].weight.has_grad());
      CHECK(!model.heads[2].weight.has_grad());
      const auto all = comm.all_gather(flat_gradients(model));
      CHECK(max(abs(all.select(0, 0) - all.select(0, 1))).item() == 0);
    }
    CHECK(calls_of_pass(0) == static_cast<int>(parallel.buckets()));  // head 1 gets zeros from both
    CHECK(max(abs(model.heads[1].weight.grad())).item() == 0);
    const std::string refusal = message_of<GraphError>([&] { (void)calls_of_pass(2); });
    CHECK(contains(refusal, "got a gradient on rank"));
    CHECK(contains(refusal, "leave out .static_graph = true if passes differ"));
  });
  Schooling plan{.ranks = 2, .forks = true};
  plan.options.static_graph = true;
  plan.steps = 1;  // head 0 alone
  check_as_one_process<Cpu>(plan);
}

TEST_CASE("gradients reduced in bfloat16 are added in float, and rounded twice") {
  for (const bool weighs : {false, true}) {
    CAPTURE(weighs);
    const auto models = forked_models(1);
    dist::spawn<Cpu>(3, [&](const dist::Communicator<Cpu>& comm) {
      const Forked<float, Cpu> model = models[0].clone(), alone = models[0].clone();
      const auto parallel =
          dist::distributed(model, comm, {.weigh_by_samples = weighs, .reduce_in = dist::ReduceIn::bfloat16});
      const Tensor mine = batch(2 + comm.rank(), 7 + static_cast<std::uint64_t>(comm.rank()));
      backward(parallel, mine, 0, 1);
      backward(alone, mine, 0, 1);
      const double share = weighs ? (2. + comm.rank()) / 9 : 1;
      const Tensor own = flat_gradients(alone);
      const Tensor rounded = (own * static_cast<float>(share)).as<bfloat16>().as<float>();
      const Tensor exact = comm.all_reduced(rounded, dist::sum) / (weighs ? 1.f : 3.f);
      const Tensor reduced = flat_gradients(model);
      for (std::int64_t i = 0; i < exact.elements(); ++i) {
        const auto expected = static_cast<float>(bfloat16(exact(i)));
        // Gradients of the reduced parameters are a prefix of both.
        if (!(std::fabs(reduced(i) - expected) <= std::fabs(expected) * 0x1p-7f)) CHECK(reduced(i) == expected);
      }
      const Tensor in_float = comm.all_reduced(own * static_cast<float>(weighs ? share : 1. / 3));
      CHECK(max(abs(reduced - in_float)).item() < 0x1p-7f * max(abs(in_float)).item());
      CHECK(max(abs(reduced - in_float)).item() > 0);
      const auto all = comm.all_gather(reduced);
      CHECK(max(abs(all - reduced)).item() == 0);
    });
  }
  CHECK(contains(thrown_by_ranks<ArgumentError>(2,
                                                [](dist::Communicator<Cpu> comm) {
                                                  const nn::Linear<half, Cpu> model(2, 2);
                                                  (void)dist::distributed(model, comm,
                                                                          {.reduce_in = dist::ReduceIn::bfloat16});
                                                })[0],
                 "distributed: .reduce_in = ReduceIn::bfloat16 for gradients of float16 on rank 0"));
}

TEST_CASE("a model is distributed once at a time, and what is let go reduces no more") {
  with_two([](const dist::Communicator<Cpu>& comm, const Net& model) {
    {
      const auto parallel = dist::distributed(model, comm);
      CHECK(contains(message_of<ArgumentError>([&] { (void)dist::distributed(model, comm); }),
                     "'0.weight' of rank 0 is part of a distributed model already"));
      const auto copy = parallel;
    }
    sum(model(trace(batch(2, 1 + static_cast<std::uint64_t>(comm.rank()))))).backward();  // no collective
    if (comm.rank() == 0) sum(model(trace(batch(2, 3)))).backward();
    const auto again = dist::distributed(model, comm);
    model.zero_grad();
    sum(again(trace(batch(2, 1 + static_cast<std::uint64_t>(comm.rank()))))).backward();
    const auto all = comm.all_gather(flat_gradients(model));
    CHECK(max(abs(all.select(0, 0) - all.select(0, 1))).item() == 0);
  });
}

TEST_CASE("whatever calls backward() reduces: the model itself, a penalty, checkpoints") {
  with_two([](const dist::Communicator<Cpu>& comm, const Net& model) {
    const auto parallel = dist::distributed(model, comm);
    const Tensor x = batch(4, 11);
    const Tensor mine = x.slice(0, 2 * comm.rank(), 2 * comm.rank() + 2);
    const Net alone = model.clone();
    const auto check = [&](const auto& of_ranks, const auto& of_one) {
      model.zero_grad(), alone.zero_grad();
      of_ranks(), of_one();
      CHECK(max(abs(flat_gradients(model) - flat_gradients(alone))).item() < 1e-6f);
    };
    const auto one = [&] { mean(alone(trace(x))).backward(); };
    check([&] { mean(parallel(trace(mine))).backward(); }, one);
    check([&] { mean(model(trace(mine))).backward(); }, one);
    check([&] { mean(checkpoint(parallel, trace(mine))).backward(); }, one);
    check([&] { mean(parallel(frozen(trace(mine)))).backward(); }, one);
    check([&] { sum(square(trace(model.parameters()[0]))).backward(); },
          [&] { sum(square(trace(alone.parameters()[0]))).backward(); });
    for (int pass = 0; pass < 2; ++pass) mean(parallel(trace(mine))).backward(), one();  // adds to reduced gradients
    CHECK(max(abs(flat_gradients(model) - flat_gradients(alone))).item() < 1e-6f);
  });
}

TEST_CASE("hooks see the gradient of their rank, whenever they were made") {
  with_two([](const dist::Communicator<Cpu>& comm, const Net& model) {
    const auto weight = model.parameters()[0];
    std::vector<float> seen;
    const auto see = [&](const auto& gradient) { seen.push_back(sum(gradient).item()); };
    const auto before = weight.on_gradient(see);
    const auto parallel = dist::distributed(model, comm, {.bucket_bytes = 1, .first_bucket_bytes = 1});
    const auto after = weight.on_gradient(see);
    const auto twice = weight.on_gradient([](const auto& gradient) { gradient.copy_(gradient * 2.f); });
    const Tensor mine = batch(2, 21 + static_cast<std::uint64_t>(comm.rank()));
    const Net alone = model.clone();
    sum(alone(trace(mine))).backward();
    const float local = sum(alone.parameters()[0].grad()).item();
    sum(parallel(trace(mine))).backward();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0] == local);
    CHECK(seen[1] == local);
    const float expected = 2 * comm.all_reduced(full({}, local), dist::mean).item();
    CHECK(sum(weight.grad()).item() == doctest::Approx(expected));
  });
}

TEST_CASE("gradients that are not reduced are refused by optimizers and clipping") {
  with_two([](const dist::Communicator<Cpu>& comm, const Net& model) {
    const auto parallel = dist::distributed(model, comm);
    optim::Sgd optimizer{parallel.parameters(), {.lr = 0.1}};
    const Tensor mine = batch(2, 31 + static_cast<std::uint64_t>(comm.rank()));
    const auto refusal = [&] { return message_of<GraphError>([&] { optimizer.step(); }); };
    {
      std::optional<decltype(parallel.no_sync())> guard;
      guard.emplace(parallel.no_sync());  // as in a loop, of some batches
      CHECK(refusal() == "");             // nothing to step with
      mean(parallel(trace(mine))).backward();
      CHECK(contains(refusal(), "optimizer: gradients are those of this rank alone, as backward() was called within"));
    }
    const std::string text = refusal();
    CHECK(contains(text, "call backward() once outside of it, which reduces their sum, or drop them with zero_grad()"));
    CHECK_THROWS_AS(optimizer.step(full<bool>({}, false)), GraphError);
    CHECK_THROWS_AS((void)optim::clip_grad_norm_(parallel.parameters(), 1), GraphError);
    CHECK_THROWS_AS(optim::clip_grad_value_(parallel.parameters(), 1), GraphError);
    optimizer.zero_grad();
    CHECK(refusal() == "");
    mean(parallel(trace(mine))).backward();
    CHECK(refusal() == "");
    {
      const auto guard = parallel.no_sync();
      CHECK(contains(refusal(), "called within no_sync(), where gradients are not reduced over ranks"));
    }
    CHECK(refusal() == "");
    std::string in_hook;
    const auto hook = model.parameters()[0].on_gradient([&](const auto&) { in_hook = refusal(); });
    mean(parallel(trace(mine))).backward();
    CHECK(contains(in_hook, "gradients are still being reduced over ranks; call this after backward() has returned"));
    const auto all = comm.all_gather(nn::flatten(model).values());
    CHECK(max(abs(all.select(0, 0) - all.select(0, 1))).item() == 0);
  });
}

TEST_CASE("weights are those of options, and no others") {
  with_two([](const dist::Communicator<Cpu>& comm, const Net& model) {
    {
      const auto parallel = dist::distributed(model, comm);
      CHECK(contains(message_of<ArgumentError>([&] { parallel.weigh(2); }), "say .weigh_by_samples = true"));
    }
    const auto parallel = dist::distributed(model, comm, {.weigh_by_samples = true});
    CHECK(contains(message_of<ArgumentError>([&] { parallel.weigh(-1); }), "weigh: a weight of -1; expected a finite"));
    CHECK_THROWS_AS(parallel.weigh(NAN), ArgumentError);
    const Net alone = model.clone();
    const Tensor x = batch(4, 41);  // 1 sample here, 3 there
    const Tensor mine = comm.rank() == 0 ? x.slice(0, 0, 1) : x.slice(0, 1, 4);
    mean(alone(trace(x))).backward();
    (void)parallel(mine);  // plain: no samples to be trained with
    mean(checkpoint(parallel, trace(mine))).backward();
    CHECK(max(abs(flat_gradients(model) - flat_gradients(alone))).item() < 1e-6f);
    model.zero_grad();
    for (int i = 0; i < static_cast<int>(mine.size(0)); ++i) {
      const auto guard = parallel.no_sync();
      (mean(parallel(trace(mine.slice(0, i, i + 1)))) / static_cast<float>(mine.size(0))).eval().backward();
    }
    parallel.weigh(static_cast<double>(mine.size(0)));
    sum(parallel(trace(mine.slice(0, 0, 1))) * 0.f).backward();
    CHECK(max(abs(flat_gradients(model) - flat_gradients(alone))).item() < 1e-6f);
    for (const bool clears_late : {false, true}) {
      for (int run = 0; run < 2; ++run) {
        const auto guard = parallel.no_sync();
        sum(parallel(trace(batch(comm.rank() == 0 ? 5 : 1, 43)))).backward();
        if (run == 0) model.zero_grad();
      }
      if (!clears_late) model.zero_grad();
      const auto loss = mean(parallel(trace(mine))).eval();
      if (clears_late) model.zero_grad();
      loss.backward();
      CHECK(max(abs(flat_gradients(model) - flat_gradients(alone))).item() < 1e-6f);
    }
    const auto head = model.parameters()[2];
    {
      const auto guard = parallel.no_sync();
      model.zero_grad();
      (mean(parallel(trace(mine))) / 2.f).eval().backward();
      head.zero_grad();  // the samples still count for other parameters
    }
    (mean(parallel(trace(mine.slice(0, 0, 1)))) * 0.f).eval().backward();
    const float share = comm.rank() == 0 ? 2.f / 6 : 4.f / 6;
    const Net own = net();
    nn::load_state_dict(own, nn::state_dict(model));
    (mean(own(trace(mine))) * (share / 2.f)).eval().backward();
    const auto bias = own.parameters()[1].grad(), of_ranks = model.parameters()[1].grad();
    CHECK(max(abs(of_ranks - comm.all_reduced(bias))).item() < 1e-6f);
    model.zero_grad();
    parallel.weigh(0);
    sum(parallel(trace(mine))).backward();  // of no rank: zeros, and no NaN
    CHECK(max(abs(flat_gradients(model))).item() == 0);
  });
}

TEST_CASE("buffers are those of rank 0 after each pass, and from the beginning") {
  for (const bool broadcast : {true, false}) {
    std::vector<nn::BatchNorm1d<float, Cpu>> layers;
    for (int rank = 0; rank < 3; ++rank) layers.emplace_back(6);
    dist::spawn<Cpu>(3, [&](dist::Communicator<Cpu> comm) {
      const auto rank = static_cast<std::uint64_t>(comm.rank());
      const auto& model = layers[static_cast<std::size_t>(rank)];
      (void)model.running_mean.value().fill_(static_cast<float>(rank + 1));
      const auto parallel = dist::distributed(model, comm, {.broadcast_buffers = broadcast});
      CHECK(model.running_mean.value()(0) == 1);
      nn::BatchNorm1d<float, Cpu> of_rank_0 = model.clone();
      for (std::uint64_t step = 0; step < 3; ++step) {
        sum(parallel(trace(batch(4, 100 * step + rank)))).backward();
        (void)of_rank_0(trace(batch(4, 100 * step)));
      }
      const bool same = broadcast || rank == 0;
      CHECK((max(abs(model.running_mean.value() - of_rank_0.running_mean.value())).item() == 0) == same);
      CHECK((max(abs(model.running_var.value() - of_rank_0.running_var.value())).item() == 0) == same);
      CHECK(model.num_batches_tracked.value().item() == 3);
    });
  }
}

TEST_CASE("names are the model's own: states of one are loaded into the other, copies are models alone") {
  with_two([](const dist::Communicator<Cpu>& comm, const Net& model) {
    auto parallel = dist::distributed(model, comm);
    const auto state = nn::state_dict(parallel).clone();
    std::vector<std::string> names;
    for (const auto& entry : state) names.push_back(entry.name);
    CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
    Net other = net();
    nn::load_state_dict(other, state);
    const Tensor x = batch(2, 51);
    CHECK(max(abs(other(x) - parallel(x))).item() == 0);
    nn::load_state_dict(parallel, nn::state_dict(net()));  // each rank another one
    CHECK(parallel.children().size() == 3);
    CHECK(parallel.module().parameters()[0] == model.parameters()[0]);
    const Net copy = parallel.clone();
    CHECK_FALSE(copy.parameters()[0] == model.parameters()[0]);
    CHECK(parallel.template as<double>().parameters()[0].elements() == 24);
    CHECK_THROWS_AS((void)nn::Sequential{parallel}.clone(), ArgumentError);
    CHECK(std::move(parallel).to<Cpu>().parameters()[0] == model.parameters()[0]);
  });
}

TEST_CASE("parameters of 16 bits, tied ones, inputs of integers, and optimizers that were there before") {
  struct Model {
    nn::Embedding<bfloat16, Cpu> words{10, 8};
    nn::Linear<bfloat16, Cpu> out{8, 10, false};
  };
  std::vector<nn::Sequential<bfloat16, Cpu, std::int64_t>> models;
  for (int rank = 0; rank < 2; ++rank) {
    Model model;
    model.out.weight = model.words.weight;
    models.emplace_back(model.words, model.out);
  }
  std::vector<Tensor<bfloat16>> values(2);
  dist::spawn<Cpu>(2, [&](dist::Communicator<Cpu> comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    const auto& model = models[rank];
    REQUIRE(model.parameters().size() == 1);
    optim::AdamW optimizer{model.parameters(), {.lr = 0.01}};
    const auto parallel = dist::distributed(model, comm);
    for (int step = 0; step < 5; ++step) {
      const auto words = from<std::int64_t>({comm.rank(), 2, 3 + step});
      const auto loss = nn::cross_entropy(parallel(trace(words)), words);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    }
    values[rank] = model.parameters()[0].value().clone();
  });
  CHECK(all(values[0] == values[1]).item());
}

TEST_CASE("fit trains over ranks: groups, clipping, batches that are added up, uneven last ones") {
  const Tensor x = batch(50, 61);
  const Tensor y = sin(x.slice(1, 0, 3));
  for (const int accumulate : {1, 3}) {
    CAPTURE(accumulate);
    const auto trained = [&](const auto& model, const auto& train_data, std::int64_t batch_size) {
      std::vector<Parameter<float, Cpu>> weights, biases;
      for (const auto& p : model.parameters()) (p.rank() > 1 ? weights : biases).push_back(p);
      optim::AdamW optimizer{{optim::Group{weights, {.weight_decay = 0.1}}, optim::Group{biases, {.lr = 0.01}}},
                             {.lr = 0.02}};
      auto train = data::loader<Cpu>(train_data, {.batch_size = batch_size, .shuffle = false});
      auto valid = data::loader<Cpu>(data::TensorDataset{x, y}, {.batch_size = 50});
      History history;
      fit(model, optimizer, nn::MSELoss{}, train, valid, history,
          {.epochs = 4, .accumulate = accumulate, .before_step = [&](auto) {
             (void)optim::clip_grad_norm_(model.parameters(), 0.1);
           }});
      return history.last().valid_loss;
    };
    std::vector<Net> models{net(), net()};
    const Net alone = models[0].clone();
    const double loss = trained(alone, data::TensorDataset{x, y}, 8);
    dist::spawn<Cpu>(2, [&](dist::Communicator<Cpu> comm) {
      const auto parallel = dist::distributed(models[static_cast<std::size_t>(comm.rank())], comm,
                                              {.first_bucket_bytes = 1, .weigh_by_samples = true});
      // Of each 8 samples, 5 here and 3 there; of the last 2, one each.
      const std::int64_t first = comm.rank() == 0 ? 0 : 5, count = comm.rank() == 0 ? 5 : 3;
      std::vector<Tensor<float>> xs, ys;
      for (std::int64_t begin = 0; begin < 48; begin += 8) {
        xs.push_back(x.slice(0, begin + first, begin + first + count));
        ys.push_back(y.slice(0, begin + first, begin + first + count));
      }
      xs.push_back(x.slice(0, 48 + comm.rank(), 49 + comm.rank()));
      ys.push_back(y.slice(0, 48 + comm.rank(), 49 + comm.rank()));
      const double of_ranks = trained(parallel, data::TensorDataset{concat(xs), concat(ys)}, count);
      CHECK(of_ranks == doctest::Approx(loss).epsilon(1e-5));
    });
    CHECK(values_of(models[0]) == values_of(models[1]));
    CHECK(relative_distance(values_of(models[0]), values_of(alone)) < 2e-6);
  }
}

TEST_CASE("fit divides by the labels of all ranks that count, where it adds up batches of ranks that differ in size") {
  const Tensor x = batch(48, 71);
  const Tensor<std::int64_t> labels({48});
  for (std::int64_t i = 0; i < 48; ++i) labels(i) = i % 8 < 4 && i % 3 != 0 ? -100 : i % 3;
  const auto train = [&](const auto& model, const Tensor<float>& inputs, const Tensor<std::int64_t>& targets,
                         std::int64_t batch_size) {
    optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
    auto batches =
        data::loader<Cpu>(data::TensorDataset{inputs, targets}, {.batch_size = batch_size, .shuffle = false});
    auto valid = data::loader<Cpu>(data::TensorDataset{x, labels}, {.batch_size = 48});
    History history;
    fit(model, optimizer, nn::CrossEntropyLoss{}, batches, valid, history, {.epochs = 4, .accumulate = 3});
  };
  std::vector<Net> models{net(), net()};
  const Net alone = models[0].clone();
  train(alone, x, labels, 8);
  dist::spawn<Cpu>(2, [&](dist::Communicator<Cpu> comm) {
    const auto parallel =
        dist::distributed(models[static_cast<std::size_t>(comm.rank())], comm, {.weigh_by_samples = true});
    const std::int64_t first = comm.rank() == 0 ? 0 : 5, count = comm.rank() == 0 ? 5 : 3;
    std::vector<Tensor<float>> inputs;
    std::vector<Tensor<std::int64_t>> targets;
    for (std::int64_t begin = first; begin < 48; begin += 8) {
      inputs.push_back(x.slice(0, begin, begin + count));
      targets.push_back(labels.slice(0, begin, begin + count));
    }
    train(parallel, concat(inputs), concat(targets), count);
  });
  CHECK(values_of(models[0]) == values_of(models[1]));
  CHECK(relative_distance(values_of(models[0]), values_of(alone)) < 1e-6);
}

TEST_CASE("a rank that throws in the middle of a backward pass makes the others fail, and cannot go on") {
  for (int run = 0; run < 20; ++run) {
    const bool goes_on = run % 2 == 1, overlaps = run % 4 < 2;
    std::vector<Net> models{net(), net(), net()};
    std::vector<int> at_fault(3, -1);
    std::string refused, cause;
    try {
      dist::spawn<Cpu>(3,
                       [&](dist::Communicator<Cpu> comm) {
                         const auto rank = static_cast<std::size_t>(comm.rank());
                         const auto parallel = dist::distributed(
                             models[rank], comm, {.bucket_bytes = 1, .first_bucket_bytes = 1, .overlap = overlaps});
                         optim::Sgd optimizer{parallel.parameters(), {.lr = 0.1}};
                         const Tensor x = batch(2, rank);
                         const auto hook = models[rank].parameters()[static_cast<std::size_t>(run / 4 % 2)].on_gradient(
                             [&, passes = 0](const auto&) mutable {
                               if (++passes == 2 && rank == 1) throw std::runtime_error("out of luck");
                             });
                         try {
                           for (int step = 0; step < 3; ++step) {
                             try {
                               mean(parallel(trace(x))).backward();
                             } catch (const std::runtime_error& error) {
                               if (!goes_on || std::string(error.what()) != "out of luck") throw;
                               optimizer.step();  // the pass left no gradients
                               refused = message_of<CollectiveError>([&] { (void)parallel(trace(x)); });
                             }
                             optimizer.step();
                             optimizer.zero_grad();
                           }
                         } catch (const CollectiveError& error) {
                           at_fault[rank] = error.rank;
                           throw;
                         }
                       },
                       {.timeout = 20});
    } catch (const std::exception& error) {
      cause = error.what();
    }
    CHECK(at_fault[0] == 1);
    CHECK(at_fault[2] == 1);
    if (goes_on) CHECK(contains(refused, "rank 1 threw: it went on after a backward pass that threw in the middle"));
    else CHECK(cause == "out of luck");
  }
}

TEST_CASE("a rank that leaves out a pass is noticed") {
  const Stopwatch watch;
  std::vector<Net> models{net(), net()};
  const auto messages = thrown_by_ranks<CollectiveError>(2,
                                                         [&](dist::Communicator<Cpu> comm) {
                                                           const auto parallel = dist::distributed(
                                                               models[static_cast<std::size_t>(comm.rank())], comm);
                                                           const Tensor x = batch(2, 1);
                                                           mean(parallel(trace(x))).backward();
                                                           if (comm.rank() == 0) mean(parallel(trace(x))).backward();
                                                           else comm.barrier();
                                                         },
                                                         {.timeout = 20});
  for (const auto& message : messages) CHECK(contains(message, "rank 1 called barrier()"));
  CHECK(watch.seconds() < 15);
}

TEST_CASE("two passes within one, of which the second adds to what is being reduced, are refused") {
  std::vector<Net> models{net(), net()};
  const auto messages = thrown_by_ranks<GraphError>(2, [&](dist::Communicator<Cpu> comm) {
    const Net& model = models[static_cast<std::size_t>(comm.rank())];
    const Net outer = model.clone();
    const auto parallel = dist::distributed(model, comm, {.overlap = false});
    const Tensor x = batch(2, 1);
    const auto hook = outer.parameters()[0].on_gradient([&](const auto&) {
      for (int i = 0; i < 2; ++i) mean(parallel(trace(x))).backward();
    });
    mean(outer(trace(x))).backward();
  });
  for (const auto& message : messages) CHECK(contains(message, "got a gradient twice in one backward pass"));
}

TEST_CASE("ranks skip a step together, whichever rank's gradient overflows") { check_skips_together<Cpu>(); }
