// Runs on: host.
// fit and evaluate of a model that several ranks train, against one process with all samples.

#include <locus/distributed/distributed.hpp>

#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/frozen.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/report/phases.hpp>
#include <locus/tensor/random.hpp>
#include <locus/training/fit.hpp>

#include <doctest/doctest.h>

#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>
#include <support/trace_events.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;
using data::DistributedSampler;
using data::Remainder;

namespace {
using Comm = dist::Communicator<Cpu>;
using Model = nn::Sequential<double, Cpu>;
constexpr std::int64_t known = 24, unseen = 11;

struct Samples {
  data::TensorDataset<double, double> train, valid;
};
Samples samples() {
  Generator<Cpu> generator{3};
  const Tensor<double> x = randn<double>({known + unseen, 3}, generator);
  const Tensor<double> y = sum(x * x, 1, true);
  return {data::TensorDataset(x.slice(0, 0, known), y.slice(0, 0, known)),
          data::TensorDataset(x.slice(0, known), y.slice(0, known))};
}
Model new_model() {
  const Model model{nn::Linear<double, Cpu>{3, 8}, nn::Tanh{}, nn::Linear<double, Cpu>{8, 1}};
  Generator<Cpu> generator{8};
  for (const auto& parameter : model.parameters())
    parameter.value().copy_(rand<double>(parameter.shape(), generator) - 0.5);
  return model;
}
std::vector<double> values_of(const Model& model) {
  std::vector<double> values;
  for (const auto& parameter : model.parameters())
    values.insert(values.end(), parameter.value().data(), parameter.value().data() + parameter.elements());
  return values;
}
struct Outcome {
  std::vector<double> values;
  History history;
};
void check_equal(const History& a, const History& b, double tolerance) {
  REQUIRE(a.records().size() == b.records().size());
  for (std::size_t i = 0; i < a.records().size(); ++i) {
    const EpochRecord &x = a.records()[i], &y = b.records()[i];
    CHECK(std::abs(x.train_loss - y.train_loss) <= tolerance);
    CHECK(std::abs(x.valid_loss - y.valid_loss) <= tolerance);
    REQUIRE(x.metrics.size() == y.metrics.size());
    for (std::size_t j = 0; j < x.metrics.size(); ++j)
      CHECK(std::abs(x.metrics[j].value - y.metrics[j].value) <= tolerance);
    CHECK(x.learning_rate == y.learning_rate);
  }
}

/// Results of training with `all` samples a step, shared by `ranks` ranks; 0: in one process without ranks. `scaled`:
/// with several ranks, through a scaler whose steps do not overflow.
Outcome trained(int ranks, std::int64_t all, FitOptions options, [[maybe_unused]] bool scaled = false) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks > 0 ? ranks : 1));
  const auto train_with = [&](const auto& model, auto batches, auto valid, Outcome& outcome) {
    optim::Sgd optimizer{model.parameters(), {.lr = 0.05, .momentum = 0.9}};
    optim::Scheduler scheduler{optimizer, optim::ReduceLROnPlateau{.patience = 0}};
    FitOptions mine = options;
    mine.scheduler = scheduler;
    const Metric error{"mean error", nn::L1Loss{}};
    if constexpr (detail::OfRanks<std::remove_cvref_t<decltype(model)>>) {
      if (scaled) {
        optim::GradScaler scaler{{.init_scale = 1024}};
        mine.before_step = [&] { (void)model.parameters()[0].grad(); };  // throws unless unscaled
        fit(model, scaler.with(optimizer), nn::MSELoss{}, batches, valid, outcome.history, mine, error);
        CHECK(scaler.state().growth_tracker == known / all / mine.accumulate * mine.epochs);
        return;
      }
    }
    fit(model, optimizer, nn::MSELoss{}, batches, valid, outcome.history, mine, error);
  };
  const auto [train, valid] = samples();
  if (ranks == 0) {
    const Model model = new_model();
    train_with(model, data::loader<Cpu>(train, {.batch_size = all}), data::loader<Cpu>(valid, {.batch_size = 3}),
               outcomes[0]);
    outcomes[0].values = values_of(model);
    return outcomes[0];
  }
  dist::spawn<Cpu>(ranks, [&, train = train, valid = valid](const Comm& comm) {
    Outcome& outcome = outcomes[static_cast<std::size_t>(comm.rank())];
    const Model model = new_model();
    const auto parallel = dist::distributed(model, comm);
    const DistributedSampler share{train, comm, {.shuffle = false}};
    const DistributedSampler exact{valid, comm, {.shuffle = false, .remainder = Remainder::keep}};
    train_with(parallel, data::loader<Cpu>(train, share, {.batch_size = all / ranks}),
               data::loader<Cpu>(valid, exact, {.batch_size = 2}), outcome);
    outcome.values = values_of(model);
  });
  for (const Outcome& other : outcomes) {  // bit for bit
    CHECK(other.values == outcomes[0].values);
    check_equal(other.history, outcomes[0].history, 0);
  }
  return outcomes[0];
}
void check_equal(const Outcome& a, const Outcome& b) {
  check_equal(a.history, b.history, 1e-12);
  REQUIRE(a.values.size() == b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) CHECK(a.values[i] == doctest::Approx(b.values[i]).epsilon(1e-10));
}
}  // namespace

TEST_CASE("fit of several ranks gives the model and the history of one process with the batches of all") {
  const Outcome alone = trained(0, 12, {.epochs = 4});
  for (const int ranks : {1, 2, 3, 4}) {
    CAPTURE(ranks);
    check_equal(trained(ranks, 12, {.epochs = 4}), alone);
  }
}

TEST_CASE("so it does with a scaler, also where it accumulates") {
  const Outcome alone = trained(0, 12, {.epochs = 4});
  check_equal(trained(2, 12, {.epochs = 4}, true), alone);
  check_equal(trained(2, 6, {.epochs = 4, .accumulate = 2}, true), alone);
}

TEST_CASE("so it does where it accumulates, and stops early with the best weights") {
  for (const int ranks : {2, 4}) {
    CAPTURE(ranks);
    check_equal(trained(ranks, 4, {.epochs = 3, .accumulate = 3}), trained(0, 4, {.epochs = 3, .accumulate = 3}));
    const FitOptions stopping{.epochs = 30, .early_stopping = {.patience = 1, .min_delta = 0.05}};
    const Outcome alone = trained(0, 12, stopping);
    CHECK(alone.history.records().size() < 30);
    check_equal(trained(ranks, 12, stopping), alone);
  }
}

TEST_CASE("so it does of a Frozen model, whichever is wrapped first") {
  const auto [train, valid] = samples();
  dist::spawn<Cpu>(2, [&, train = train, valid = valid](const Comm& comm) {
    const auto trained_as = [&](const Model& model, const auto& wrapped) {
      Outcome outcome;
      optim::Sgd optimizer{wrapped.parameters(), {.lr = 0.05}};
      const DistributedSampler share{train, comm, {.shuffle = false}};
      const DistributedSampler exact{valid, comm, {.shuffle = false, .remainder = Remainder::keep}};
      auto batches = data::loader<Cpu>(train, share, {.batch_size = 6});
      fit(wrapped, optimizer, nn::MSELoss{}, batches, data::loader<Cpu>(valid, exact), outcome.history, {.epochs = 2});
      outcome.values = values_of(model);
      return outcome;
    };
    const Model plain = new_model(), inside = new_model(), outside = new_model();
    const Outcome expected = trained_as(plain, dist::distributed(plain, comm));
    for (const Outcome& outcome : {trained_as(inside, dist::distributed(nn::Frozen{inside}, comm)),
                                   trained_as(outside, nn::Frozen{dist::distributed(outside, comm)})}) {
      CHECK(outcome.values == expected.values);
      check_equal(outcome.history, expected.history, 0);
    }
  });
}

TEST_CASE("a trace of two ranks has the phases of each, and the communication within their backward passes") {
  const TemporaryFolder folder;
  trace_to(folder.path / "trace.json");
  const Outcome outcome = trained(2, 12, {.epochs = 3});
  trace_to("");
  if (locus_test::traces_can_be_checked()) {
    const std::string checked = locus_test::checked_trace(folder.path / "trace.json");
    CAPTURE(checked);
    CHECK(locus_test::count_of(checked, "communication") > 0);
  }
  const auto phases = io::read_phases(folder.path / "trace.json");
  std::size_t steps = 0, within = 0;
  for (const auto& phase : phases) {
    steps += phase.name == "step";
    for (const auto& other : phases)
      within += phase.name == "backward" && other.name == "communication" && other.thread == phase.thread &&
                other.start >= phase.start && other.end() <= phase.end();
  }
  CHECK(steps == 2 * 3 * 2);  // of two ranks, in three epochs of two batches of 12
  CHECK(within >= steps);
  const auto shares = io::phase_shares(phases);
  REQUIRE(shares.size() == 6);
  CHECK(shares[4].name == "communication");
  CHECK(shares[4].share > 0);
  CHECK(outcome.history.last().batches == 2);
  CHECK(outcome.history.last().memory.requests > 0);
}

TEST_CASE("of several ranks, rank 0 alone tells of progress, all of epochs, and each can end the training") {
  const auto [train, valid] = samples();
  dist::spawn<Cpu>(3, [&, train = train, valid = valid](const Comm& comm) {
    const Model model = new_model();
    const auto parallel = dist::distributed(model, comm);
    optim::Sgd optimizer{parallel.parameters(), {.lr = 0.01}};
    auto batches = data::loader<Cpu>(train, DistributedSampler{train, comm}, {.batch_size = 2});
    History history;
    int progress = 0, epochs = 0;
    fit(parallel, optimizer, nn::MSELoss{}, batches, data::loader<Cpu>(valid), history,
        {.epochs = 9,
         .report_every = 1,
         .on_progress = [&] { ++progress; },
         .on_epoch =
             [&](const EpochRecord& epoch) {
               ++epochs;
               return comm.rank() != 1 || epoch.epoch < 2;
             }});
    CHECK(progress == (comm.rank() == 0 ? 2 * batches.size() : 0));
    CHECK(epochs == 2);
    CHECK(history.records().size() == 2);
    CHECK(batches.epoch() == 2);
  });
}

TEST_CASE("evaluation of several ranks counts every sample once") {
  const auto [train, valid] = samples();
  const Metric error{"mean error", nn::L1Loss{}};
  const Evaluation alone = evaluate(new_model(), nn::MSELoss{}, data::loader<Cpu>(valid), error);
  for (const int ranks : {2, 3, 11}) {
    CAPTURE(ranks);
    dist::spawn<Cpu>(ranks, [&, valid = valid](const Comm& comm) {
      const auto parallel = dist::distributed(new_model(), comm);
      const DistributedSampler exact{valid, comm, {.remainder = Remainder::keep}};
      const auto score = [&](auto loader) { return evaluate(parallel, nn::MSELoss{}, loader, error); };
      for (const Evaluation& together : {score(data::loader<Cpu>(valid, exact, {.batch_size = 2})),
                                         score(data::loader<Cpu>(valid, {.batch_size = 4}))}) {
        CHECK(together.loss == doctest::Approx(alone.loss).epsilon(1e-13));
        CHECK(together.metric("mean error") == doctest::Approx(alone.metric("mean error")).epsilon(1e-13));
      }
      const auto repeated = data::loader<Cpu>(valid, DistributedSampler{valid, comm});
      if (repeated.repeats_samples()) {
        CHECK(contains(message_of<ArgumentError>([&] { (void)score(repeated); }), "Remainder::keep"));
        CHECK_THROWS_AS(
            (void)evaluate(parallel.module(), nn::MSELoss{}, data::loader<Cpu>(valid, DistributedSampler{valid, comm})),
            ArgumentError);
      } else {
        CHECK(score(repeated).loss == doctest::Approx(alone.loss).epsilon(1e-13));
      }
      // Evaluating the inner module covers this rank's samples only.
      const Evaluation own = evaluate(parallel.module(), nn::MSELoss{}, data::loader<Cpu>(valid, exact));
      CHECK(own.loss != doctest::Approx(alone.loss).epsilon(1e-3));
    });
  }
}

TEST_CASE(
    "a classifier is evaluated on a data set by all ranks, each on its share, also where they outnumber samples") {
  Generator<Cpu> generator{5};
  for (const std::int64_t count : {2, 10}) {
    const data::TensorDataset set{randn<double>({count, 3}, generator), arange<std::int64_t>(0, count)};
    const auto classifier = [] {
      const Model model{nn::Linear<double, Cpu>{3, 10}};
      Generator<Cpu> numbers{8};
      for (const auto& parameter : model.parameters())
        parameter.value().copy_(randn<double>(parameter.shape(), numbers));
      return model;
    };
    const Evaluation alone = evaluate(classifier(), set);
    dist::spawn<Cpu>(3, [&](const Comm& comm) {
      const Evaluation together = evaluate(dist::distributed(classifier(), comm), set);
      CHECK(together.loss == doctest::Approx(alone.loss).epsilon(1e-13));
      CHECK(together.accuracy == alone.accuracy);
    });
  }
}

TEST_CASE("ranks with different numbers of batches, and a validation that repeats samples, are refused on all ranks") {
  const auto [train, valid] = samples();
  dist::spawn<Cpu>(2, [&, train = train, valid = valid](const Comm& comm) {
    const auto parallel = dist::distributed(new_model(), comm);
    optim::Sgd optimizer{parallel.parameters(), {.lr = 0.01}};
    History history;
    const auto refusal = [&](auto batches, auto checked) {
      return message_of<ArgumentError>([&] { fit(parallel, optimizer, nn::MSELoss{}, batches, checked, history); });
    };
    auto whole = data::loader<Cpu>(valid);
    CHECK(contains(refusal(data::loader<Cpu>(train, {.batch_size = 4 + comm.rank()}), whole),
                   "an epoch of rank 1 has 5 batches, one of rank 0 6"));
    CHECK(contains(refusal(data::loader<Cpu>(train), data::loader<Cpu>(valid, DistributedSampler{valid, comm})),
                   "Remainder::keep"));
    CHECK(history.empty());
  });
}

TEST_CASE("a loss that is infinite on one rank is an error on all") {
  const auto [train, valid] = samples();
  dist::spawn<Cpu>(2, [&, train = train, valid = valid](const Comm& comm) {
    const auto parallel = dist::distributed(new_model(), comm);
    optim::Sgd optimizer{parallel.parameters(), {.lr = 0.01}};
    History history;
    auto batches = data::loader<Cpu>(train, DistributedSampler{train, comm});
    const auto loss = [&](const auto& y, const auto& target) {
      return nn::mse_loss(y, target) * (comm.rank() == 1 ? HUGE_VAL : 1.0);
    };
    CHECK_THROWS_AS(fit(parallel, optimizer, loss, batches, data::loader<Cpu>(valid), history), NumericError);
  });
}

TEST_CASE("a loss that is NaN on the rank that tells of progress is an error on all, at the end of the epoch") {
  const auto [train, valid] = samples();
  dist::spawn<Cpu>(2, [&, train = train, valid = valid](const Comm& comm) {
    const auto parallel = dist::distributed(new_model(), comm);
    optim::Sgd optimizer{parallel.parameters(), {.lr = 0.01}};
    History history;
    int progress = 0;
    auto batches = data::loader<Cpu>(train, DistributedSampler{train, comm}, {.batch_size = 2});
    const auto loss = [&](const auto& y, const auto& target) {
      return nn::mse_loss(y, target) * (comm.rank() == 0 ? NAN : 1.0);
    };
    CHECK_THROWS_AS(
        fit(parallel, optimizer, loss, batches, data::loader<Cpu>(valid), history,
            {.report_every = 1, .on_progress = [&](const Progress& now) { progress += std::isnan(now.loss) ? 1 : 0; }}),
        NumericError);
    CHECK(progress == (comm.rank() == 0 ? batches.size() : 0));
  });
}

TEST_CASE("labels that are ignored count on no rank, however unevenly ranks have them") {
  Generator<Cpu> generator{4};
  const Tensor<double> x = randn<double>({known, 3}, generator);
  const Tensor<std::int64_t> labels({known});
  for (std::int64_t i = 0; i < known; ++i) labels(i) = (i % 2 == 0 && i < 12) || i % 5 == 0 ? -100 : i % 3;
  const data::TensorDataset all{x, labels};
  const auto classifier = [] {
    const Model model{nn::Linear<double, Cpu>{3, 3}};
    Generator<Cpu> numbers{8};
    for (const auto& parameter : model.parameters()) parameter.value().copy_(randn<double>(parameter.shape(), numbers));
    return model;
  };
  const auto train = [&](const auto& model, const auto& loss, auto batches, std::int64_t accumulate) {
    optim::Sgd optimizer{model.parameters(), {.lr = 0.5}};
    History history;
    fit(model, optimizer, loss, batches, data::loader<Cpu>(all), history, {.epochs = 2, .accumulate = accumulate});
    return history;
  };
  const auto check = [&](const auto& loss, std::int64_t accumulate, int ranks, bool weighs) {
    CAPTURE(accumulate);
    CAPTURE(ranks);
    CAPTURE(weighs);
    Outcome alone, first;
    const Model model = classifier();
    alone.history = train(model, loss, data::loader<Cpu>(all, {.batch_size = 6}), accumulate);
    alone.values = values_of(model);
    dist::spawn<Cpu>(ranks, [&](const Comm& comm) {
      const auto parallel = dist::distributed(classifier(), comm, {.weigh_by_samples = weighs});
      const DistributedSampler share{all, comm, {.shuffle = false}};
      const History history =
          train(parallel, loss, data::loader<Cpu>(all, share, {.batch_size = 6 / ranks}), accumulate);
      if (comm.rank() == 0) first = {values_of(parallel.module()), history};
    });
    check_equal(first, alone);
  };
  for (const int accumulate : {1, 3}) {
    for (const int ranks : {2, 3}) {
      check(nn::CrossEntropyLoss{}, accumulate, ranks, false);
      check(nn::CrossEntropyLoss{from<double>({1, 4, 0.5})}, accumulate, ranks, true);
    }
  }
}

TEST_CASE(
    "scaled gradients are reduced, all ranks skip what overflowed on one, and the others are steps of one process") {
  Generator<Cpu> generator{3};
  const Tensor<double> x = randn<double>({known, 3}, generator), y = sum(x * x, 1, true);
  const auto loss_of = [](const auto& model, const Tensor<double>& input, const Tensor<double>& target) {
    return nn::MSELoss{}(model(trace(input)), target);
  };
  const Model alone = new_model();
  optim::Adam<double, Cpu> plain{alone.parameters(), {.lr = 0.05}};
  for (int i = 0; i < 4; ++i) {
    plain.zero_grad();
    loss_of(alone, x, y).backward();
    optim::clip_grad_norm_(alone.parameters(), 0.5);
    plain.step();
  }
  std::vector<std::vector<double>> values(2);
  dist::spawn<Cpu>(2, [&, x = x, y = y](const Comm& comm) {
    const Model model = new_model();
    const auto parallel = dist::distributed(model, comm);
    optim::Adam<double, Cpu> optimizer{parallel.parameters(), {.lr = 0.05}};
    optim::GradScaler scaler{{.init_scale = 1024, .growth_interval = 100}};
    const std::int64_t half_of_all = known / 2, first = comm.rank() * half_of_all;
    for (int i = 0; i < 5; ++i) {
      Tensor<double> input = x.slice(0, first, first + half_of_all);
      if (i == 2 && comm.rank() == 1) input = input * std::numeric_limits<double>::infinity();
      optimizer.zero_grad();
      scaler.scale(loss_of(parallel, input, y.slice(0, first, first + half_of_all))).backward();
      if (i % 2 == 0) CHECK_THROWS_AS((void)model.parameters()[0].grad(), GraphError);
      scaler.unscale(optimizer);
      optim::clip_grad_norm_(parallel.parameters(), 0.5);
      scaler.step(optimizer);
      scaler.update();
    }
    CHECK(scaler.skipped_steps() == 1);
    CHECK(scaler.scale_factor() == 512);
    values[static_cast<std::size_t>(comm.rank())] = values_of(model);
  });
  CHECK(values[0] == values[1]);
  const std::vector<double> expected = values_of(alone);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(values[0][i] == doctest::Approx(expected[i]).epsilon(1e-10));
}
