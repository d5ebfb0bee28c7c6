// Runs on: host; race.
#include <locus/data/sets/mnist.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/frozen.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/report/history_file.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/training/fit.hpp>
#include <locus/training/optimizer_state.hpp>

#include <optim/recorded.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <climits>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

using namespace locus;
using namespace locus_test;

namespace {

nn::Sequential<float, Cpu> perceptron() {
  return {nn::Flatten{}, nn::Linear<float, Cpu>{784, 32}, nn::ReLU{}, nn::Linear<float, Cpu>{32, 10}};
}

/// Two classes that differ in one pixel.
data::LabelledImages dots(std::int64_t count) {
  const Tensor<std::uint8_t> images({count, 1, 1, 2});
  const Tensor<std::int64_t> labels({count});
  images.fill_(0);
  for (std::int64_t i = 0; i < count; ++i) {
    labels(i) = i % 2;
    images(i, 0, 0, i % 2) = 255;
  }
  return {images, labels, 2};
}

struct Calls {
  std::vector<Progress> progress;
  std::vector<EpochRecord> epochs;
  [[nodiscard]] auto on_progress() {
    return [this](const Progress& p) { progress.push_back(p); };
  }
  [[nodiscard]] auto on_epoch() {
    return [this](const EpochRecord& r) { epochs.push_back(r); };
  }
};

struct Small {
  nn::Sequential<float, Cpu> model{nn::Flatten{}, nn::Linear<float, Cpu>{2, 2}};
  optim::Sgd<float, Cpu> optimizer{model.parameters(), {.lr = 1}};
  data::Loader<data::LabelledImages, Cpu> train = data::loader<Cpu>(dots(50), {.batch_size = 8});
  data::Loader<data::LabelledImages, Cpu> valid = data::loader<Cpu>(dots(10), {.batch_size = 4});
  History history;
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("digits are learned in a few epochs") {
  manual_seed(0);
  const auto digits = data::Mnist::draw(4000);
  const auto model = perceptron();
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5, .momentum = 0.5}};
  auto train = data::loader<Cpu>(digits.train, {.batch_size = 50, .shuffle = true});
  auto valid = data::loader<Cpu>(digits.valid, {.batch_size = 1000});
  History history;
  fit(model, optimizer, train, valid, history, {.epochs = 12});
  CHECK(history.records().size() == 12);
  CHECK(history.last().valid_accuracy > 0.9);
  CHECK(history.last().train_loss < history.records()[0].train_loss);
  const Evaluation test = evaluate(model, digits.test);
  CHECK(test.accuracy > 0.9);
  CHECK(test.loss < 0.5);
}

TEST_CASE("the last layer of a Frozen model learns, and everything else stays as it is, running statistics included") {
  manual_seed(0);
  const nn::Linear<float, Cpu> head{4, 2};
  const nn::Sequential<float, Cpu> model{nn::Flatten{}, nn::Linear<float, Cpu>{2, 4}, nn::BatchNorm1d<float, Cpu>{4},
                                         nn::ReLU{}, head};
  model.requires_grad_(false);
  head.requires_grad_();
  const auto before = nn::state_dict(model).clone();
  optim::Sgd optimizer{head.parameters(), {.lr = 1}};
  auto train = data::loader<Cpu>(dots(50), {.batch_size = 8});
  History history;
  fit(nn::Frozen{model}, optimizer, train, data::loader<Cpu>(dots(10)), history, {.epochs = 8});
  CHECK(history.last().valid_accuracy == 1);
  std::string changed;
  auto then = before.begin();
  for (const auto& now : nn::state_dict(model)) {
    if (!std::equal(now.bytes.data(), now.bytes.data() + now.bytes.elements(), then->bytes.data()))
      changed += now.name + " ";
    ++then;
  }
  CHECK(changed == "4.weight 4.bias ");
}

TEST_CASE("the same seeds give the same losses") {
  const auto train_once = [] {
    manual_seed(3);
    Small s;
    fit(s.model, s.optimizer, s.train, s.valid, s.history, {.epochs = 2});
    return s.history.last().train_loss;
  };
  CHECK(train_once() == train_once());
}

TEST_CASE("fit reports batches and epochs, and goes on counting where it is told to") {
  Small s;
  Calls calls;
  FitOptions options{.epochs = 2, .report_every = 3, .on_progress = calls.on_progress(), .on_epoch = calls.on_epoch()};
  fit(s.model, s.optimizer, s.train, s.valid, s.history, options);
  CHECK(calls.progress.size() == 6);  // batches 3, 6 and 7 of seven, twice
  CHECK(calls.progress[0].batch == 3);
  CHECK(calls.progress[2].batch == 7);
  CHECK(calls.progress[2].batches == 7);
  CHECK(calls.progress[2].epoch == 1);
  CHECK(calls.progress[5].epoch == 2);
  CHECK(calls.progress[0].samples_per_second > 0);
  CHECK(calls.epochs.size() == 2);
  CHECK(calls.epochs[1].epoch == 2);
  CHECK(calls.epochs[1].valid_accuracy == 1);

  s.optimizer.set_lr(0.5);
  options.first_epoch = 3;
  options.epochs = 1;
  fit(s.model, s.optimizer, s.train, s.valid, s.history, options);
  CHECK(s.history.records().size() == 3);
  CHECK(s.history.last().epoch == 3);
  CHECK(s.history.last().learning_rate == 0.5);
  fit(s.model, s.optimizer, s.train, s.valid, s.history, {.epochs = 0});
  CHECK(s.history.records().size() == 3);
}

TEST_CASE("what on_epoch returns ends training, and a function that returns nothing does not") {
  Small s;
  int calls = 0;
  fit(s.model, s.optimizer, s.train, s.valid, s.history,
      {.epochs = 5, .on_epoch = [&](const EpochRecord& epoch) { return ++calls, epoch.epoch < 2; }});
  CHECK(calls == 2);
  CHECK(s.history.records().size() == 2);
  fit(s.model, s.optimizer, s.train, s.valid, s.history,
      {.epochs = 3, .first_epoch = 3, .on_epoch = [&](const EpochRecord&) { ++calls; }});
  CHECK(calls == 5);
  CHECK(s.history.last().epoch == 5);
  CHECK_THROWS_AS(fit(s.model, s.optimizer, s.train, s.valid, s.history,
                      {.on_epoch = [](const EpochRecord&) { throw std::length_error("of the caller"); }}),
                  std::length_error);
}

TEST_CASE("a loss that is no number ends training") {
  Small s;
  s.model.parameters()[0].value().fill_(NAN);
  CHECK_THROWS_WITH_AS(fit(s.model, s.optimizer, s.train, s.valid, s.history), doctest::Contains("in epoch 1"),
                       NumericError);
  CHECK(s.history.empty());

  Small early;
  Calls calls;
  early.model.parameters()[0].value().fill_(INFINITY);
  CHECK_THROWS_AS(fit(early.model, early.optimizer, early.train, early.valid, early.history,
                      {.report_every = 1, .on_progress = calls.on_progress()}),
                  NumericError);
  CHECK(calls.progress.empty());
}

TEST_CASE("fit and evaluate refuse loaders without a batch, and options that make no sense") {
  Small s;
  auto nothing = data::loader<Cpu>(dots(4), {.batch_size = 8, .drop_last = true});
  CHECK_THROWS_AS(fit(s.model, s.optimizer, nothing, s.valid, s.history), ArgumentError);
  CHECK_THROWS_AS((void)evaluate(s.model, nothing), ArgumentError);
  CHECK_THROWS_AS(fit(s.model, s.optimizer, s.train, s.valid, s.history, {.epochs = -1}), ArgumentError);
  CHECK_THROWS_AS(fit(s.model, s.optimizer, s.train, s.valid, s.history, {.report_every = 0}), ArgumentError);
  for (const int first : {INT_MAX, INT_MAX - 1, 0, INT_MIN})
    CHECK_THROWS_AS(fit(s.model, s.optimizer, s.train, s.valid, s.history, {.epochs = 2, .first_epoch = first}),
                    ArgumentError);
  CHECK(s.history.empty());
  fit(s.model, s.optimizer, s.train, s.valid, s.history, {.epochs = 2, .first_epoch = INT_MAX - 2});
  CHECK(s.history.records().size() == 2);
  CHECK(s.history.last().epoch == INT_MAX - 1);
}

TEST_CASE("accuracy counts rows whose largest logit stands at the label") {
  const auto logits = tensor<float, Cpu>({4, 3}, {5, 1, 2, 0, 1, 2, 0, 3, 2, 9, 8, 7});
  CHECK(correct(logits, tensor<std::int64_t, Cpu>({4}, {0, 2, 1, 1})).item() == 3);
  CHECK(accuracy(logits, tensor<std::int64_t, Cpu>({4}, {0, 2, 1, 1})) == 0.75);
}

TEST_CASE("accuracy refuses labels that are no class") {
  const auto logits = zeros({3, 4});
  for (const int label : {-1, 4, -100, INT_MIN, INT_MAX}) {
    CAPTURE(label);
    const auto labels = tensor<std::int64_t, Cpu>({3}, {0, static_cast<double>(label), 3});
    CHECK_THROWS_WITH_AS((void)accuracy(logits, labels),
                         join("accuracy: label ", label, " at position 1 is not a class; expected 0 to 3").c_str(),
                         IndexError);
    CHECK_THROWS_AS((void)correct(logits, labels), IndexError);
  }
}

TEST_CASE("evaluate weighs samples, not batches, and records nothing") {
  Small s;
  const auto dataset = dots(10);
  auto even = data::loader<Cpu>(dataset, {.batch_size = 10}), uneven = data::loader<Cpu>(dataset, {.batch_size = 7});
  const Evaluation a = evaluate(s.model, even), b = evaluate(s.model, uneven), c = evaluate(s.model, dataset);
  CHECK(a.loss == doctest::Approx(b.loss).epsilon(1e-6));
  CHECK(a.accuracy == b.accuracy);
  CHECK(a.loss == doctest::Approx(c.loss).epsilon(1e-6));
  CHECK_FALSE(s.model.parameters()[0].has_grad());
}

TEST_CASE("losses of 16-bit models are computed and added up in single precision") {
  using T = bfloat16;
  const nn::Sequential<T, Cpu> model{nn::Flatten{}, nn::Linear<T, Cpu>{2, 2}};
  for (const auto& parameter : model.parameters()) parameter.value().fill_(T(0));
  optim::Sgd optimizer{model.parameters(), {.lr = 0}};
  auto train = data::loader<Cpu>(dots(2000).as<T>(), {.batch_size = 1});
  auto valid = data::loader<Cpu>(dots(2000).as<T>(), {.batch_size = 2000});
  History history;
  fit(model, optimizer, train, valid, history);
  CHECK(history.last().valid_loss == doctest::Approx(std::log(2.0)).epsilon(1e-6));
  CHECK(history.last().train_loss == doctest::Approx(std::log(2.0)).epsilon(1e-5));
  CHECK(history.last().valid_accuracy == 0.5);
}

namespace {
/// A mean loss in which each sample counts 1.0038.
struct CountedMean {
  auto operator()(const auto& y, const auto&) const { return mean(y); }
  Tensor<float> counted(const auto&) const { return full({}, 1.0038f); }
};
}  // namespace

TEST_CASE("what gradients of 16 bits are weighed by, they are divided by") {
  using T = bfloat16;  // rounds 1.0038 to 1
  const nn::Linear<T, Cpu> model{1, 1};
  model.bias.value().fill_(T(0));
  optim::Sgd optimizer{model.parameters(), {.lr = 1}};
  const Tensor<T> x = full<T>({2, 1}, T(1));
  auto batches = data::loader<Cpu>(data::TensorDataset{x, x}, {.batch_size = 1});
  History history;
  fit(model, optimizer, CountedMean{}, batches, data::loader<Cpu>(data::TensorDataset{x, x}), history,
      {.epochs = 1, .accumulate = 2});
  CHECK(static_cast<float>(model.bias.value()(0)) == -1);
}

namespace {
/// A classifier of half, and a scale so large that the first steps overflow, and again after each growth.
struct InHalf {
  nn::Sequential<half, Cpu> model = seeded();
  optim::Adam<half, Cpu> optimizer{model.parameters(), {.lr = 0.01}};
  optim::GradScaler<Cpu> scaler{{.init_scale = 1 << 22, .growth_interval = 2}};
  static nn::Sequential<half, Cpu> seeded() {
    manual_seed(4);
    return nn::Sequential<float, Cpu>{nn::Flatten{}, nn::Linear<float, Cpu>{2, 2}}.as<half>();
  }
};
}  // namespace

TEST_CASE("fit of half with a scaler makes the steps that are written by hand, bit for bit") {
  constexpr std::int64_t samples = 50, batch = 8;
  for (const std::int64_t accumulate : {1, 3})
    for (const bool clips : {false, true}) {
      CAPTURE(accumulate);
      CAPTURE(clips);
      InHalf fitted, by_hand;
      auto train = data::loader<Cpu>(dots(samples).as<half>(), {.batch_size = batch});
      auto valid = data::loader<Cpu>(dots(10).as<half>(), {.batch_size = 4});
      History history;
      const auto clip = [](const InHalf& run) { optim::clip_grad_norm_(run.model.parameters(), 0.05); };
      FitOptions options{.epochs = 3, .report_every = 1, .accumulate = accumulate};
      if (clips) options.before_step = [&] { clip(fitted); };
      options.on_progress = [](const Progress& progress) { CHECK(progress.loss < 2); };
      fit(fitted.model, fitted.scaler.with(fitted.optimizer), train, valid, history, options);

      std::vector<double> losses;
      for (int epoch = 0; epoch < 3; ++epoch) {
        double sum = 0;
        std::int64_t i = 0;
        for (const auto& [images, labels] : train) {
          const auto loss = cross_entropy(by_hand.model(trace(images)).as<float>(), labels);
          if (i % accumulate == 0) by_hand.optimizer.zero_grad();
          const std::int64_t left = samples - i / accumulate * accumulate * batch;
          const auto together = static_cast<double>(std::min(accumulate * batch, left));
          const auto share = static_cast<float>(static_cast<double>(images.size(0)) / together);
          by_hand.scaler.scale(loss * (accumulate == 1 ? 1 : share)).backward();
          sum += static_cast<double>(loss.value().item()) * static_cast<double>(images.size(0));
          if (++i % accumulate != 0 && i != train.size()) continue;
          if (clips) {
            by_hand.scaler.unscale(by_hand.optimizer);
            clip(by_hand);
          }
          by_hand.scaler.step(by_hand.optimizer);
          by_hand.scaler.update();
        }
        losses.push_back(sum / samples);
      }
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(same_bits(fitted.model.parameters()[i].value(), by_hand.model.parameters()[i].value()));
        for (int k = 0; k <= 2; ++k) CHECK(same_bits(fitted.optimizer.state(i, k), by_hand.optimizer.state(i, k)));
        CHECK(history.records()[i].train_loss == doctest::Approx(losses[i]).epsilon(1e-6));
      }
      CHECK(fitted.optimizer.steps() == by_hand.optimizer.steps());
      CHECK(fitted.optimizer.steps()[0] > 0);
      CHECK(fitted.scaler.skipped_steps() == by_hand.scaler.skipped_steps());
      CHECK(fitted.scaler.skipped_steps() > 1);
      CHECK(fitted.scaler.scale_factor() == by_hand.scaler.scale_factor());
      CHECK(history.last().valid_loss < history.records()[0].valid_loss);

      if (accumulate > 1) continue;
      const auto next = *train.begin();
      const Tensor<float> loss = train_step(fitted.model, fitted.scaler.with(fitted.optimizer), next);
      CHECK(same_bits(loss, cross_entropy(by_hand.model(next.images).as<float>(), next.labels)));

      InHalf resumed;  // of the states that a file would have
      (void)nn::load_state_dict(resumed.model, nn::state_dict(fitted.model).clone());
      optim::load_state_dict(resumed.optimizer, optim::state_dict(fitted.optimizer).clone());
      optim::load_state_dict(resumed.scaler, optim::state_dict(fitted.scaler));
      for (InHalf* run : {&fitted, &resumed})
        fit(run->model, run->scaler.with(run->optimizer), train, valid, history, {.epochs = 2});
      CHECK(same_bits(resumed.optimizer.state(0, 2), fitted.optimizer.state(0, 2)));
      CHECK(resumed.scaler.scale_factor() == fitted.scaler.scale_factor());
      CHECK(resumed.optimizer.steps() == fitted.optimizer.steps());
    }
}

TEST_CASE("a scale that no step helps ends training") {
  InHalf run;
  optim::GradScaler scaler{{.init_scale = 1e-20, .backoff_factor = 1e-9}};
  auto train = data::loader<Cpu>(dots(50).as<half>(), {.batch_size = 8});
  History history;
  const auto steep = [](const auto& y, const auto&) {
    return sum(sqrt(abs(y) * 0));
  };  // a loss of 0 with a gradient of NaN
  CHECK_THROWS_WITH_AS(fit(run.model, scaler.with(run.optimizer), steep, train, train, history),
                       doctest::Contains("the scale fell to"), NumericError);
  CHECK(history.records().empty());
  CHECK(run.optimizer.steps()[0] == 0);
}

TEST_CASE("a history as a table, as JSON and as curves") {
  History history;
  CHECK(history.empty());
  CHECK_THROWS_AS((void)history.last(), IndexError);
  history.add({1, 0.5, 1.25, 1.5, 0.625, 2.0, 24000});
  history.add({2, 0.1, 0.75, 0.875, 0.8125, 2.5, 19200});
  CHECK(history.table() ==
        "epoch      lr   train loss   valid loss   valid accuracy   seconds   samples/s\n"
        "    1     0.5       1.2500       1.5000           62.50%      2.00       24000\n"
        "    2     0.1       0.7500       0.8750           81.25%      2.50       19200\n");

  const auto folder = std::filesystem::temp_directory_path() / join("locus-history-", getpid());
  std::filesystem::create_directories(folder);
  io::write_history(folder / "history.json", history);
  const std::string json = text_of(folder / "history.json");
  for (const char* member : {"\"epoch\": 2", "\"learning_rate\": 0.1", "\"train_loss\": 0.75", "\"valid_loss\": 0.875",
                             "\"valid_accuracy\": 0.8125", "\"seconds\": 2.5", "\"samples_per_second\": 19200"}) {
    CAPTURE(member);
    CHECK(json.find(member) != std::string::npos);
  }
  io::plot_history(folder / "history.svg", history, "Digits");
  const std::string svg = text_of(folder / "history.svg");
  CHECK(svg.find("<svg") != std::string::npos);
  CHECK(svg.find("Digits") != std::string::npos);
  CHECK(svg.find("81.25") != std::string::npos);
  CHECK(svg.find(">lr 0.1<") != std::string::npos);
  io::plot_history(folder / "named.svg", history, "Digits",
                   {.data = "drawn digits", .model = "784-32-10", .test_accuracy = 0.79});
  CHECK(text_of(folder / "named.svg")
            .find(">784-32-10 on drawn digits · test accuracy 79.00 % · final validation accuracy 81.25 %<") !=
        std::string::npos);
  io::plot_history(folder / "empty.svg", History(), "Nothing yet");
  CHECK_THROWS_AS(io::write_history(folder / "nowhere" / "history.json", history), DataError);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a history of metrics as a table, as JSON, and as curves without accuracy") {
  History history;
  history.add({1, 0.5, 1.25, 1.5, locus::detail::no_accuracy, 2.0, 24000, {{"mean error", 0.5}}});
  CHECK(history.table() ==
        "epoch      lr   train loss   valid loss   mean error   seconds   samples/s\n"
        "    1     0.5       1.2500       1.5000       0.5000      2.00       24000\n");
  const auto folder = std::filesystem::temp_directory_path() / join("locus-metrics-", getpid());
  std::filesystem::create_directories(folder);
  io::write_history(folder / "history.json", history);
  io::plot_history(folder / "history.svg", history, "Line");
  const std::string json = text_of(folder / "history.json"), svg = text_of(folder / "history.svg");
  CHECK(json.find("\"mean error\": 0.5") != std::string::npos);
  CHECK(json.find("valid_accuracy") == std::string::npos);
  CHECK(svg.find("ccuracy") == std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a history of several fits has the metrics of all, blank where an epoch has none") {
  constexpr double none = locus::detail::no_accuracy;
  History history;
  history.add({1, 0.5, 1.25, 1.5, none, 2.0, 24000, {{"mean error", 0.5}, {"accuracy", 0.25}}});
  history.add({2, 0.5, 1.25, 1.5, none, 2.0, 24000, {{"mean error", 0.25}, {"largest error", 2}}});
  history.add({3, 0.5, 1.25, 1.5, 0.625, 2.0, 24000, {{"accuracy", 0.625}}});
  CHECK(
      history.table() ==
      "epoch      lr   train loss   valid loss   valid accuracy   mean error     accuracy   largest error   seconds   "
      "samples/s\n"
      "    1     0.5       1.2500       1.5000                        0.5000       0.2500                      2.00    "
      "   "
      "24000\n"
      "    2     0.5       1.2500       1.5000                        0.2500                       2.0000      2.00    "
      "   "
      "24000\n"
      "    3     0.5       1.2500       1.5000           62.50%                    0.6250                      2.00    "
      "   "
      "24000\n");
  const auto folder = std::filesystem::temp_directory_path() / join("locus-fits-", getpid());
  std::filesystem::create_directories(folder);
  io::write_history(folder / "history.json", history);
  io::plot_history(folder / "history.svg", history, "Line");
  const std::string json = text_of(folder / "history.json"), svg = text_of(folder / "history.svg");
  CHECK(json.find("null") == std::string::npos);
  CHECK(json.find("\"largest error\": 2") != std::string::npos);
  CHECK(json.find("\"valid_accuracy\": 0.625") != std::string::npos);
  CHECK(svg.find("ccuracy") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("the columns of a table stay in line when training diverges") {
  History history;
  history.add({1, 0.5, 1.25, 1.5, 0.625, 2.0, 24000});
  history.add({2, 1.234e-5, 1.5e31, -2.5e300, 0.1, 1e7, 123456789012.});
  history.add({12345, 1e-300, 123456.75, std::nan(""), 0, 99999.994, 1});
  const std::string table = history.table();
  CHECK(table ==
        "epoch      lr   train loss   valid loss   valid accuracy   seconds   samples/s\n"
        "    1     0.5       1.2500       1.5000           62.50%      2.00       24000\n"
        "    2 1.2e-05      1.5e+31    -2.5e+300           10.00%     1e+07   1.235e+11\n"
        "12345  1e-300  123456.7500          nan            0.00%  99999.99           1\n");
}

TEST_CASE("learning rates of a schedule that are too many to be read are not marked") {
  const auto folder = std::filesystem::temp_directory_path() / join("locus-schedule-", getpid());
  std::filesystem::create_directories(folder);
  History history;
  for (int epoch = 1; epoch <= 10; ++epoch) history.add({epoch, 1.0 / epoch, 1, 1, 0.5, 1, 1});
  io::plot_history(folder / "history.svg", history, "Digits", {.data = "MNIST"});
  const std::string svg = text_of(folder / "history.svg");
  CHECK(svg.find(">lr ") == std::string::npos);
  CHECK(svg.find(">MNIST · final validation accuracy 50.00 %<") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("accuracy takes a row of logits for every label, and no fewer and no more") {
  const auto logits = from({{1, 0}, {0, 1}, {1, 0}});
  CHECK(accuracy(logits, from<std::int64_t>({0, 1, 1})) == doctest::Approx(2.0 / 3));
  CHECK_THROWS_AS((void)accuracy(logits, from<std::int64_t>({{0}, {1}, {0}})), ShapeError);
  CHECK_THROWS_WITH_AS((void)accuracy(logits, from<std::int64_t>({0})),
                       "accuracy: logits of shape (3, 2) and labels of shape (1,); expected (n, classes) and (n,)",
                       ShapeError);
  CHECK_THROWS_AS((void)accuracy(zeros({0, 2}), zeros<std::int64_t>({0})), ArgumentError);
}

TEST_CASE("a validation loss that is no number ends the training, and is not recorded") {
  Small small;
  const auto all = dots(10);
  auto whole = data::loader<Cpu>(all, {.batch_size = 10});
  small.optimizer.set_lr(1e300);  // the first loss is finite, the weights after the step are not
  CHECK_THROWS_AS(fit(small.model, small.optimizer, whole, small.valid, small.history, {.epochs = 1}), NumericError);
  CHECK(small.history.empty());
}

TEST_CASE("the loss of an epoch is the mean over samples, whatever the last batch holds") {
  Small s;
  s.optimizer.set_lr(0);  // the model does not change
  Calls calls;
  s.model.parameters()[0].value().copy_(tensor<float, Cpu>({2, 2}, {3, 1, 0, 0}));
  s.model.parameters()[1].value().fill_(0);
  auto uneven = data::loader<Cpu>(dots(9), {.batch_size = 8});  // the ninth, of class 0, is a batch of its own
  fit(s.model, s.optimizer, uneven, s.valid, s.history, {.report_every = 1, .on_progress = calls.on_progress()});
  const double mean = evaluate(s.model, uneven).loss;
  CHECK(s.history.last().train_loss == doctest::Approx(mean).epsilon(1e-6));
  CHECK(calls.progress.back().loss == doctest::Approx(mean).epsilon(1e-6));
  CHECK(calls.progress.front().loss != doctest::Approx(mean).epsilon(1e-3));
}

TEST_CASE("the mean loss of an epoch takes one launch for each batch") {
  auto batches = data::loader<Cpu>(dots(50), {.batch_size = 8});
  const LaunchLog of_loader;
  for (const auto& batch : batches) CHECK(batch.labels.elements() > 0);
  REQUIRE(of_loader.launches() == 0);
  const Tensor<float> loss(Shape{});
  loss.fill_(2);
  struct GivesLoss {
    const Tensor<float>& loss;
    Tensor<float> operator()(const Tuple<Tensor<float>, Tensor<std::int64_t>>&) const { return loss; }
    Tensor<float> add(const Tuple<Tensor<float>, Tensor<std::int64_t>>&, const locus::detail::Share&) const {
      return loss;
    }
    Tensor<float> counted() const { return {}; }
  };
  struct HasRate {
    [[nodiscard]] double lr() const { return 1; }
  };
  GivesLoss gives_loss{loss};
  HasRate has_rate;
  const LaunchLog log;
  const auto no_model = [] {};
  CHECK(locus::detail::train_epoch(no_model, 1, has_rate, gives_loss, nn::CrossEntropyLoss{}, batches, {}).loss == 2);
  CHECK(log.launches() == batches.size());
}
