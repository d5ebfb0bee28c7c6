// Runs on: host, cuda (data).
// fit and evaluate with any loss and metrics; schedules, early stopping, accumulation and clipping within fit.

#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/nn/activation.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/close.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>
#include <locus/tensor/random.hpp>
#include <locus/training/fit.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>
#include <set>

using namespace locus;
using namespace locus_test;

namespace {

/// y = 3 x - 1.
data::TensorDataset<float, float> line(std::int64_t count) {
  Generator<Cpu> generator{5};
  const Tensor x = rand({count, 1}, generator);
  return data::TensorDataset{x, x * 3.f - 1.f};
}

template <class D = Cpu>
struct Regression {
  nn::Linear<float, D> model{1, 1};
  optim::Sgd<float, D> optimizer{model.parameters(), {.lr = 0.2}};
  data::Loader<data::TensorDataset<float, float>, D> train =
      data::loader<D>(line(50), {.batch_size = 8, .shuffle = true, .seed = 1});
  data::Loader<data::TensorDataset<float, float>, D> valid = data::loader<D>(line(20), {.batch_size = 7});
  History history;
  explicit Regression(float weight = 0.5f) {
    model.parameters()[0].value().fill_(weight);
    model.parameters()[1].value().fill_(0);
  }
  [[nodiscard]] float weight() const { return model.parameters()[0].value().item(); }
};

/// A user-defined loss that ignores the label -1.
struct MeanOfTheGiven {
  auto operator()(const auto& logits, const auto& labels) const {
    return nn::cross_entropy(logits, labels, {.ignore_index = -1});
  }
  template <class D>
  Tensor<std::int64_t, D> counted(const Tensor<std::int64_t, D>& labels) const {
    return sum((labels != -1).template as<std::int64_t>());
  }
};

const auto mean_error = Metric{"mean error", nn::L1Loss{}};

/// A batch with names.
template <class D>
struct Named {
  Tensor<float, D> x, y;
};

}  // namespace

LOCUS_DEVICE_TEST("a regression learns its line, with metrics of the validation", D) {
  Regression<D> r;
  fit(r.model, r.optimizer, nn::MSELoss{}, r.train, r.valid, r.history, {.epochs = 60}, mean_error,
      Metric{"largest", [](const auto& p, const auto& y) { return static_cast<double>(max(abs(p - y)).item()); }});
  CHECK(r.history.records().size() == 60);
  CHECK(std::abs(r.weight() - 3) < 0.05);
  const EpochRecord& last = r.history.last();
  CHECK(last.valid_loss < 1e-3);
  CHECK(last.metric("mean error") < 0.05);
  CHECK(last.metric("largest") >= last.metric("mean error"));
  CHECK(std::isnan(last.valid_accuracy));
  CHECK_THROWS_WITH_AS((void)last.metric("r2"), "there is no metric 'r2'; there are: mean error, largest",
                       ArgumentError);
}

TEST_CASE("evaluate gives the mean over samples of loss and metrics, whatever the last batch holds") {
  const Regression r(0);
  auto whole = data::loader<Cpu>(line(20), {.batch_size = 20}), uneven = data::loader<Cpu>(line(20), {.batch_size = 7});
  const auto& [x, y] = line(20).tensors();
  const double squares = mean(square(y)).item(), errors = mean(abs(y)).item();
  for (auto* batches : {&whole, &uneven}) {
    const Evaluation score = evaluate(r.model, nn::MSELoss{}, *batches, mean_error);
    CHECK(score.loss == doctest::Approx(squares).epsilon(1e-6));
    CHECK(score.metric("mean error") == doctest::Approx(errors).epsilon(1e-6));
    const Evaluation summed = evaluate(r.model, nn::MSELoss{{.reduction = Reduction::sum}}, *batches);
    CHECK(summed.loss == doctest::Approx(squares).epsilon(1e-6));
  }
  CHECK(x.size(0) == 20);
  const nn::MSELoss elementwise{{.reduction = Reduction::none}};
  CHECK_THROWS_WITH_AS((void)evaluate(r.model, elementwise, whole), doctest::Contains("Reduction::none"),
                       ArgumentError);
  Regression trained;
  CHECK_THROWS_AS(fit(trained.model, trained.optimizer, elementwise, trained.train, trained.valid, trained.history),
                  ArgumentError);
  CHECK(evaluate(r.model, nn::MSELoss{}, data::loader<Cpu>(line(20))).loss == doctest::Approx(squares).epsilon(1e-6));
}

TEST_CASE("a batch of one tensor is its own target, and one of three gives the loss two") {
  const nn::Linear<float, Cpu> model{2, 2};
  auto alone = data::loader<Cpu>(data::TensorDataset{from({{1, 2}, {3, 4}})});
  const double expected = mean(square(model(from({{1, 2}, {3, 4}})) - from({{1, 2}, {3, 4}}))).item();
  CHECK(evaluate(model, nn::MSELoss{}, alone).loss == doctest::Approx(expected));
  const auto weighted = [](const auto& p, const auto& y, const auto& w) { return mean(square(p - y) * w); };
  auto three =
      data::loader<Cpu>(data::TensorDataset{from({{1, 2}, {3, 4}}), from({{1, 2}, {3, 4}}), from({{2, 2}, {2, 2}})});
  CHECK(evaluate(model, weighted, three).loss == doctest::Approx(2 * expected));
  optim::Sgd optimizer{model.parameters(), {.lr = 0.01}};
  History history;
  fit(model, optimizer, weighted, three, data::loader<Cpu>(three.dataset()), history, {.epochs = 2});
  CHECK(history.last().train_loss < history.records()[0].train_loss);
}

LOCUS_DEVICE_TEST("a step by any loss is a step of fit, on batches of any type", D) {
  const Tensor x = from({{1, 2}, {3, 4}}), y = from({{2, 1}, {0, 1}});
  const auto error = [](const auto& p, const auto& target) { return mean(square(p - target)); };
  const auto after = [&](const auto& step) {
    const nn::Linear<float, D> model{2, 2};
    for (const auto& parameter : model.parameters()) parameter.value().fill_(0.3f);
    optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
    std::vector<double> losses;
    for (int i = 0; i < 3; ++i) losses.push_back(static_cast<double>(step(model, optimizer).item()));
    return losses;
  };
  const auto of_fit = after([&](const auto& model, auto& optimizer) {
    const auto loss = error(model(trace(x.to<D>())), y.to<D>()).eval();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return loss.value();
  });
  const Tuple batch(x.to<D>(), y.to<D>());
  const auto steps_on = [&](const auto& loss, const auto& given) {
    return after([&](const auto& model, auto& optimizer) { return train_step(model, optimizer, loss, given); });
  };
  CHECK(of_fit[2] < of_fit[0]);
  CHECK(steps_on(nn::MSELoss{}, batch) == of_fit);
  CHECK(steps_on(error, std::pair(x.to<D>(), y.to<D>())) == of_fit);
  CHECK(steps_on(error, Named<D>{x.to<D>(), y.to<D>()}) == of_fit);
  CHECK(steps_on([](const auto& p, const auto& t, const auto& w) { return mean(square(p - t) * w); },
                 Tuple(x.to<D>(), y.to<D>(), ones<float, D>({2, 2}))) == of_fit);
}

LOCUS_DEVICE_TEST("a step trains an autoencoder, and a function of several inputs", D) {
  const nn::Linear<float, D> model{2, 2};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.05}};
  const Tensor x = from<float, D>({{1, 2}, {3, 4}});
  const double first = static_cast<double>(train_step(model, optimizer, nn::MSELoss{}, Tuple(x)).item());
  for (int i = 0; i < 5; ++i) (void)train_step(model, optimizer, nn::MSELoss{}, Tuple(x));
  CHECK(static_cast<double>(mean(square(model(x) - x)).item()) < first);

  const nn::Linear<float, D> other{2, 2};
  auto parameters = model.parameters();
  for (const auto& parameter : other.parameters()) parameters.push_back(parameter);
  optim::Sgd both{parameters, {.lr = 0.05}};
  const auto joined = [&](const auto& input) { return model(input) + other(input * 2.f); };
  const auto before = other.parameters()[0].value().clone();
  (void)train_step(joined, both, nn::L1Loss{}, Tuple(x, zeros<float, D>({2, 2})));
  CHECK_FALSE(allclose(before, other.parameters()[0].value()));
  const auto weights = model.parameters()[0].value().clone();
  CHECK_THROWS_AS((void)train_step(model, optimizer, nn::MSELoss{{.reduction = Reduction::none}}, Tuple(x)), Error);
  CHECK_CLOSE(max(abs(weights - model.parameters()[0].value())), 0, 0);
}

TEST_CASE("train_loss is the mean over samples") {
  Regression r;
  r.optimizer.set_lr(0);
  auto uneven = data::loader<Cpu>(line(9), {.batch_size = 8});
  fit(r.model, r.optimizer, nn::MSELoss{}, uneven, r.valid, r.history);
  CHECK(r.history.last().train_loss == doctest::Approx(evaluate(r.model, nn::MSELoss{}, uneven).loss).epsilon(1e-6));
}

TEST_CASE("early stopping ends training when nothing improves, and restores the best weights") {
  for (const bool restores : {true, false}) {
    Regression r(3);
    r.model.parameters()[1].value().fill_(-1);  // the optimum: training makes it worse
    auto wrong =
        data::loader<Cpu>(data::map(line(50), [](auto x, auto y) { return Tuple(x, y * 2.f); }), {.batch_size = 8});
    const double best_possible = evaluate(r.model, nn::MSELoss{}, r.valid).loss;
    r.optimizer.set_lr(1e-3);
    fit(r.model, r.optimizer, nn::MSELoss{}, wrong, r.valid, r.history,
        {.epochs = 50, .early_stopping = {.patience = 3, .restore_best = restores}});
    CHECK(r.history.records().size() == 4);  // the first epoch is the best
    CHECK(best_possible < r.history.records()[0].valid_loss);
    const double left = evaluate(r.model, nn::MSELoss{}, r.valid).loss;
    CHECK(left == doctest::Approx(r.history.records()[restores ? 0 : 3].valid_loss).epsilon(1e-6));
  }
}

TEST_CASE("early stopping restores buffers, too") {
  const nn::Sequential<float, Cpu> model{nn::BatchNorm1d<float, Cpu>{1}, nn::Linear<float, Cpu>{1, 1}};
  optim::Sgd optimizer{model.parameters(), {.lr = 1e-3}};
  auto train = data::loader<Cpu>(line(48), {.batch_size = 8}), valid = data::loader<Cpu>(line(20));
  History history;
  std::vector<float> means;
  const auto running_mean = [&] { return model.buffers()[0].value<float>().item(); };
  fit(model, optimizer, nn::MSELoss{}, train, valid, history,
      {.epochs = 9,
       .early_stopping = {.patience = 3, .metric = "falling", .maximize = true},
       .on_epoch = [&](const EpochRecord&) { means.push_back(running_mean()); }},
      Metric{"falling", [&](const auto&, const auto&) { return -static_cast<double>(means.size()); }});
  REQUIRE(means.size() == 4);
  CHECK(means[3] != means[0]);
  CHECK(running_mean() == means[0]);
}

TEST_CASE("a metric that is no number is never the best one") {
  Regression r;
  int epoch = 0;
  const double values[] = {NAN, 3, 2, NAN, 1};
  const Metric metric{"error", [&](const auto&, const auto&) { return values[epoch]; }};
  fit(r.model, r.optimizer, nn::MSELoss{}, r.train, r.valid, r.history,
      {.epochs = 5,
       .early_stopping = {.patience = 3, .metric = "error"},
       .on_epoch = [&](const EpochRecord&) { ++epoch; }},
      metric);
  CHECK(epoch == 5);
}

TEST_CASE("early stopping watches a metric, of which more may be better, and functions are restored, too") {
  const Parameter<float> weight(from({3}));
  const auto model = [&](const auto& x) { return x * seen_by(x, weight) - 1.f; };
  optim::Sgd optimizer{std::vector{weight}, {.lr = 0.01}};
  auto wrong = data::loader<Cpu>(data::map(line(50), [](auto x, auto y) { return Tuple(x, y * 2.f); }));
  auto valid = data::loader<Cpu>(line(20));
  History history;
  const Metric right{"right",
                     [](const auto& p, const auto& y) { return -static_cast<double>(mean(abs(p - y)).item()); }};
  fit(model, optimizer, nn::MSELoss{}, wrong, valid, history,
      {.epochs = 50, .early_stopping = {.patience = 2, .metric = "right", .maximize = true}}, right);
  CHECK(history.records().size() == 3);
  CHECK(evaluate(model, nn::MSELoss{}, valid).loss == doctest::Approx(history.records()[0].valid_loss).epsilon(1e-6));
  CHECK_THROWS_AS(fit(model, optimizer, nn::MSELoss{}, wrong, valid, history,
                      {.early_stopping = {.patience = 2, .metric = "left"}}, right),
                  ArgumentError);
  CHECK(history.records().size() == 3);  // before it trained
}

TEST_CASE("schedules move on by epoch or by step, and are given the validation loss") {
  Regression r;
  optim::Scheduler each_epoch{r.optimizer, optim::StepLR{.step_size = 1, .gamma = 0.5}};
  fit(r.model, r.optimizer, nn::MSELoss{}, r.train, r.valid, r.history, {.epochs = 3, .scheduler = each_epoch});
  CHECK(r.history.records()[0].learning_rate == doctest::Approx(0.2));
  CHECK(r.history.records()[2].learning_rate == doctest::Approx(0.05));
  CHECK(each_epoch.steps() == 3);

  Regression other;
  optim::Scheduler each_step{other.optimizer, optim::LinearLR{.start_factor = 0.5, .total_iters = 100}};
  fit(other.model, other.optimizer, nn::MSELoss{}, other.train, other.valid, other.history,
      {.epochs = 2, .scheduler = each_step, .schedule_every = Every::step});
  CHECK(each_step.steps() == 14);

  for (const bool linear :
       {false, true}) {  // as many steps as the cycle has; the scheduler also moves after the last one
    CAPTURE(linear);
    Regression cycled;
    const optim::OneCycleLR cycle{.max_lr = 0.25, .total_steps = 14, .linear = linear, .cycle_momentum = false};
    optim::Scheduler scheduler{cycled.optimizer, cycle};
    fit(cycled.model, cycled.optimizer, nn::MSELoss{}, cycled.train, cycled.valid, cycled.history,
        {.epochs = 2, .scheduler = scheduler, .schedule_every = Every::step});
    CHECK(scheduler.steps() == 14);
    CHECK(cycled.optimizer.lr() == doctest::Approx(0.25 / 25 / 1e4));
  }

  Regression flat;
  flat.optimizer.set_lr(0.5);
  optim::Scheduler plateau{flat.optimizer, optim::ReduceLROnPlateau{.patience = 0, .threshold = 1e9, .eps = 0}};
  fit(flat.model, flat.optimizer, nn::MSELoss{}, flat.train, flat.valid, flat.history,
      {.epochs = 3, .scheduler = plateau});
  CHECK(flat.optimizer.lr() < 0.05);
}

TEST_CASE("gradients of several batches make the step of one batch as large as they are") {
  const auto dataset = line(22);
  auto large = data::loader<Cpu>(dataset, {.batch_size = 12}), small = data::loader<Cpu>(dataset, {.batch_size = 4});
  for (const auto reduction : {Reduction::mean, Reduction::sum}) {
    const nn::MSELoss loss{{.reduction = reduction}};
    Regression<> one, three;
    one.optimizer.set_lr(0.01);
    three.optimizer.set_lr(0.01);
    fit(one.model, one.optimizer, loss, large, one.valid, one.history, {.epochs = 3});
    fit(three.model, three.optimizer, loss, small, three.valid, three.history, {.epochs = 3, .accumulate = 3});
    CHECK(three.weight() == doctest::Approx(one.weight()).epsilon(1e-5));
    CHECK(three.weight() != 0.5f);
    CHECK(three.history.last().train_loss == doctest::Approx(one.history.last().train_loss).epsilon(1e-5));
  }
}

TEST_CASE("a divergence counts in batches as its reduction says") {
  const Regression r;
  auto whole = data::loader<Cpu>(line(22), {.batch_size = 22}), small = data::loader<Cpu>(line(22), {.batch_size = 4});
  using Divergence = nn::DivergenceReduction;
  const auto loss = [](Divergence reduction) { return nn::KLDivLoss{{.reduction = reduction, .log_target = true}}; };
  const double one = evaluate(r.model, loss(Divergence::mean), whole).loss;
  CHECK(one > 0.01);
  for (const auto reduction : {Divergence::mean, Divergence::batchmean, Divergence::sum}) {
    CHECK(evaluate(r.model, loss(reduction), small).loss == doctest::Approx(one).epsilon(1e-5));
    Regression once;
    Regression thrice;
    auto large = data::loader<Cpu>(line(22), {.batch_size = 12});
    once.optimizer.set_lr(0.01), thrice.optimizer.set_lr(0.01);
    fit(once.model, once.optimizer, loss(reduction), large, once.valid, once.history, {.epochs = 2});
    fit(thrice.model, thrice.optimizer, loss(reduction), small, once.valid, thrice.history,
        {.epochs = 2, .accumulate = 3});
    CHECK(thrice.weight() == doctest::Approx(once.weight()).epsilon(1e-5));
    CHECK(thrice.history.last().train_loss == doctest::Approx(once.history.last().train_loss).epsilon(1e-5));
  }
  CHECK_THROWS_WITH_AS((void)evaluate(r.model, loss(Divergence::none), small), doctest::Contains("Reduction::none"),
                       ArgumentError);
}

TEST_CASE("gradients of several batches count the labels that one batch would count") {
  // Of three batches of four, the first has one label that counts, the second none, the third four.
  Generator<Cpu> generator{5};
  const Tensor x = randn({12, 3}, generator);
  const Tensor labels = from<std::int64_t>({-1, 2, -1, -1, -1, -1, -1, -1, 0, 1, 1, 2});
  const data::TensorDataset dataset{x, labels};
  auto large = data::loader<Cpu>(dataset, {.batch_size = 12}), small = data::loader<Cpu>(dataset, {.batch_size = 4});
  const auto check = [&](const auto& loss) {
    manual_seed(3);
    const nn::Linear<float, Cpu> one(3, 3), three = one.clone();
    optim::Sgd first{one.parameters(), {.lr = 0.3}}, second{three.parameters(), {.lr = 0.3}};
    const Tensor before = one.parameters()[0].value().clone();
    History once, thrice;
    fit(one, first, loss, large, large, once, {.epochs = 3});
    fit(three, second, loss, small, large, thrice, {.epochs = 3, .accumulate = 3});
    for (std::size_t i = 0; i < 2; ++i)
      CHECK_CLOSE(three.parameters()[i].value(), reference(one.parameters()[i].value()), 1e-6);
    CHECK(max(abs(one.parameters()[0].value() - before)).item() > 0.05f);
    CHECK(thrice.last().train_loss == doctest::Approx(once.last().train_loss).epsilon(1e-5));
    CHECK(evaluate(one, loss, small).loss == doctest::Approx(evaluate(one, loss, large).loss).epsilon(1e-5));
    CHECK(evaluate(one, loss, large).loss == doctest::Approx(thrice.last().valid_loss).epsilon(1e-5));
  };
  check(nn::CrossEntropyLoss{{.ignore_index = -1}});
  check(nn::CrossEntropyLoss{{.ignore_index = -1, .label_smoothing = 0.1}});
  check(nn::CrossEntropyLoss{from({1, 4, 0.5f}), {.ignore_index = -1}});
  check(MeanOfTheGiven{});
  check(nn::CrossEntropyLoss{from({1, 4, 0.5f}), {.reduction = Reduction::sum, .ignore_index = -1}});
}
TEST_CASE("batches in which no label counts change no weight") {
  const data::TensorDataset dataset{ones({4, 2}), full<std::int64_t>({4}, -100)};
  auto batches = data::loader<Cpu>(dataset, {.batch_size = 2});
  const nn::Linear<float, Cpu> model(2, 2);
  const Tensor before = model.parameters()[0].value().clone();
  optim::Sgd optimizer{model.parameters(), {.lr = 1}};
  History history;
  CHECK_THROWS_AS(fit(model, optimizer, nn::CrossEntropyLoss{}, batches, batches, history, {.accumulate = 2}),
                  NumericError);  // the mean of no losses
  CHECK_CLOSE(model.parameters()[0].value(), reference(before));
}
TEST_CASE("as many batches as there can be make one step of an epoch") {
  const auto dataset = line(22);
  auto whole = data::loader<Cpu>(dataset, {.batch_size = 22}), small = data::loader<Cpu>(dataset, {.batch_size = 4});
  Regression<> one, all;
  for (Regression<>* r : {&one, &all}) r->optimizer.set_lr(0.01);
  fit(one.model, one.optimizer, nn::MSELoss{}, whole, one.valid, one.history, {.epochs = 3});
  fit(all.model, all.optimizer, nn::MSELoss{}, small, all.valid, all.history,
      {.epochs = 3, .accumulate = std::numeric_limits<std::int64_t>::max()});
  CHECK(all.weight() == doctest::Approx(one.weight()).epsilon(1e-5));
}

TEST_CASE("what fit calls before each step may clip gradients, by their norm or by element") {
  const auto moved = [](const auto& clip) {
    Regression r(100);
    r.optimizer.set_lr(1);
    auto whole = data::loader<Cpu>(line(50), {.batch_size = 50});
    fit(r.model, r.optimizer, nn::MSELoss{}, whole, r.valid, r.history,
        {.before_step = [&] { clip(r.model.parameters()); }});
    const double by = 100 - r.weight(), bias = r.model.parameters()[1].value().item();
    return std::sqrt(by * by + bias * bias);
  };
  const auto by_norm = [](const auto& parameters) { optim::clip_grad_norm_(parameters, 0.5); };
  const auto by_element = [](const auto& parameters) { optim::clip_grad_value_(parameters, 0.25); };
  CHECK(moved(by_norm) == doctest::Approx(0.5).epsilon(1e-4));
  CHECK(moved(by_element) == doctest::Approx(0.25 * std::sqrt(2.0)).epsilon(1e-4));
  CHECK(moved([](const auto&) {}) > 10);
}

TEST_CASE("fit calls after each step, also of several batches, and a metric named accuracy is the accuracy") {
  for (const std::int64_t accumulate : {1, 3}) {
    CAPTURE(accumulate);
    Regression r;
    std::vector<float> weights{r.weight()};
    fit(r.model, r.optimizer, nn::MSELoss{}, r.train, r.valid, r.history,
        {.accumulate = accumulate, .after_step = [&] { weights.push_back(r.weight()); }},
        Metric{"accuracy", [](const auto&, const auto&) { return 0.25; }});
    CHECK(static_cast<std::int64_t>(weights.size()) == 1 + (accumulate == 1 ? 7 : 3));
    CHECK(std::set(weights.begin(), weights.end()).size() == weights.size());
    CHECK(weights.back() == r.weight());
    CHECK(r.history.last().valid_accuracy == 0.25);
    CHECK(r.history.table().find("accuracy") == r.history.table().rfind("accuracy"));
    r.history.add_metric("of another", 0.5);
    CHECK(r.history.last().metric("of another") == 0.5);
  }
  CHECK_THROWS_AS(History().add_metric("of none", 1), IndexError);
}

TEST_CASE("options of fit that make no sense are refused by name and number") {
  Regression r;
  const auto run = [&](const FitOptions& options) {
    fit(r.model, r.optimizer, nn::MSELoss{}, r.train, r.valid, r.history, options);
  };
  CHECK_THROWS_WITH_AS(run({.accumulate = 0}), doctest::Contains("accumulate is 0"), ArgumentError);
  CHECK_THROWS_WITH_AS(run({.early_stopping = {.patience = -2}}), doctest::Contains("patience is -2"), ArgumentError);
  CHECK_THROWS_WITH_AS(run({.early_stopping = {.min_delta = -2}}), doctest::Contains("min_delta is -2"), ArgumentError);
  const char* const no_patience = "is given, but the patience is 0";
  CHECK_THROWS_WITH_AS(run({.early_stopping = {.min_delta = 1}}), doctest::Contains(no_patience), ArgumentError);
  CHECK_THROWS_WITH_AS(run({.early_stopping = {.maximize = true}}), doctest::Contains(no_patience), ArgumentError);
  CHECK_THROWS_WITH_AS(run({.early_stopping = {.metric = "error"}}), doctest::Contains(no_patience), ArgumentError);
  CHECK_THROWS_WITH_AS(run({.early_stopping = {.patience = 1, .metric = "error"}}),
                       "fit: early_stopping.metric is 'error'; expected one that is measured: there is none",
                       ArgumentError);
  CHECK_THROWS_WITH_AS(fit(r.model, r.optimizer, nn::MSELoss{}, r.train, r.valid, r.history,
                           {.early_stopping = {.patience = 1, .metric = "eror"}}, Metric{"error", nn::L1Loss{}},
                           Metric{"sum", nn::MSELoss{}}),
                       "fit: early_stopping.metric is 'eror'; expected one that is measured: error, sum",
                       ArgumentError);
  const optim::Scheduler plateau{r.optimizer, optim::ReduceLROnPlateau{}};
  CHECK_THROWS_WITH_AS(run({.scheduler = plateau, .schedule_every = Every::step}),
                       doctest::Contains("expected Every::epoch"), ArgumentError);
  CHECK(r.history.empty());
  CHECK(r.weight() == 0.5f);  // nothing was trained
}
