// Runs on: cuda (training).
// A network learns the same on Cuda as on Cpu, step by step, at the promised cost.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <locus/locus.hpp>
#include <locus/models/resnet.hpp>
#include <locus/nn/averaged_model.hpp>
#include <support/skip.hpp>
#include <vector>

namespace {
using namespace locus;

struct Steps {
  std::vector<float> losses;
  std::int64_t most_launches = 0, system_allocations_after_first = 0;
};

template <Device D>
Steps train(const data::Mnist& digits, int count, D device) {
  manual_seed(7);
  const nn::Sequential<float, D> model{nn::Flatten{}, nn::Linear<float, D>{784, 32, true, device}, nn::ReLU{},
                                       nn::Linear<float, D>{32, 10, true, device}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5}};
  Steps steps;
  std::int64_t allocations = 0;
  for (const auto& batch : data::loader(digits.train, {.batch_size = 100, .shuffle = true, .seed = 7}, device)) {
    const LaunchLog log;
    const auto loss = train_step(model, optimizer, batch);
    steps.most_launches = std::max(steps.most_launches, log.launches());
    steps.losses.push_back(loss.item());
    const MemoryStats memory = Backend<D>::memory_stats(device);
    if (steps.losses.size() == 1) allocations = memory.system_allocations;
    steps.system_allocations_after_first = memory.system_allocations - allocations;
    if (static_cast<int>(steps.losses.size()) == count) break;
  }
  return steps;
}

#ifdef LOCUS_SIMULATED_CUDA
constexpr int count = 40;  // a GPU simulated on the host takes a while
#else
constexpr int count = 100;
#endif

TEST_CASE("steps of the digits' perceptron: the losses of Cpu, 12 launches each, no new memory") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const auto digits = data::Mnist::draw(13000, {.seed = 7});
  const Steps cpu = train(digits, count, Cpu{}), gpu = train(digits, count, Cuda{});
  REQUIRE(gpu.losses.size() == static_cast<std::size_t>(count));
  REQUIRE(cpu.losses.size() == gpu.losses.size());
  for (std::size_t i = 0; i < gpu.losses.size(); ++i) {
    INFO("step ", i);
    CHECK(std::abs(gpu.losses[i] - cpu.losses[i]) < 1e-3f);
  }
  CHECK(gpu.losses.back() < 0.5f * gpu.losses.front());
  CHECK(gpu.most_launches <= 12);
  if (locus_test::memory_is_pooled()) CHECK(gpu.system_allocations_after_first == 0);
}

TEST_CASE("the predicted peak of a step on a GPU is the measured one at other batch sizes") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const nn::CrossEntropyLoss loss;
  const nn::Sequential<float, Cuda> model{nn::Linear<float, Cuda>{96, 64}, nn::ReLU{}, nn::Linear<float, Cuda>{64, 10}};
  optim::Adam optimizer{model.parameters(), {}};
  const auto batch = [](std::int64_t size) {
    return Tuple(zeros<float>({size, 96}, Cuda{}), zeros<std::int64_t>({size}, Cuda{}));
  };
  const auto [x, y] = batch(256);
  const StepMemory memory = step_memory(model, optimizer, loss, x, y);
  for (const std::int64_t size : {128, 384, 500}) {
    const std::int64_t before = memory_stats(Cuda{}).allocated_bytes;
    const auto other = batch(size);
    (void)detail::train_step_on(model, optimizer, loss, other);
    reset_peak_memory_stats(Cuda{});
    (void)detail::train_step_on(model, optimizer, loss, other);
    const std::int64_t peak = memory.fixed() + memory_stats(Cuda{}).peak_bytes - before;
    INFO("batch of ", size, ": predicted ", memory.peak(size), ", measured ", peak);
    CHECK(std::abs(static_cast<double>(memory.peak(size) - peak)) < 0.05 * static_cast<double>(peak));
  }
}

TEST_CASE("after its first batch a delivery takes no memory from the system, whether batches are ready early or late") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  if (!locus_test::memory_is_pooled()) SKIP_TEST("LOCUS_CUDA_POOL=0: no block is used again");
  for (const bool early : {false, true}) {
    INFO("the second is ready early: ", early);
    data::detail::Delivery<data::LabelledImages, Cuda, Pinned> delivery{
        data::detail::hold(data::LabelledImages().compact()), Cuda{}};
    const auto take =
        [early](data::detail::tensors_t<data::detail::prepared_t<data::LabelledImages, Cuda>, Pinned>& staged) {
          const std::int64_t samples = early ? 5001 : 9001;  // of sizes that nothing else asks for
          staged = {zeros<std::uint8_t, Pinned>({samples, 1}), zeros<std::int64_t, Pinned>({samples})};
          return true;
        };
    std::int64_t allocations = -1;
    for (int i = 0; i < 8; ++i) {
      data::Batch<float, Cuda> batch;
      REQUIRE(delivery.next(batch, take, [&] { return (i % 2 == 0) == early; }));
      const std::int64_t now = Backend<Cuda>::memory_stats({}).system_allocations;
      if (i == 0) allocations = now;
      CHECK(now == allocations);
    }
  }
}

/// Adds noise from the default generator; and, if it looks, waits for the GPU in between.
struct Noise {
  bool looks = false;
  auto forward(const auto& x) const {
    const auto y = (x + randn<float, Cuda>(x.shape()) * 0.01f).eval();
    if (looks) (void)sum(y.value()).item();
    return y;
  }
};

struct Fitted {
  History history;
  std::vector<Parameter<float, Cuda>> parameters;
  std::int64_t launches = 0, replays = 0;
};
Fitted fit_digits(const data::Mnist& digits, const Noise& noise, bool capture) {
  manual_seed(11);
  const nn::Sequential<float, Cuda> model{nn::Flatten{}, nn::Linear<float, Cuda>{784, 8}, nn::ReLU{}, noise,
                                          nn::Linear<float, Cuda>{8, 10}};
  optim::Adam optimizer{model.parameters(), {.lr = 0.01}};
  auto train = data::loader<Cuda>(digits.train, {.batch_size = 32, .shuffle = true, .seed = 3});
  auto valid = data::loader<Cuda>(digits.valid, {.batch_size = 50});
  Fitted fitted;
  const LaunchLog log;
  fit(model, optimizer, train, valid, fitted.history, {.epochs = 2, .capture = capture});
  fitted.launches = log.launches();
  fitted.replays = log.counts().replay;
  fitted.parameters = model.parameters();
  return fitted;
}

TEST_CASE("fit replays its steps, all but those on smaller batches, and learns the same bit for bit") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const auto digits = data::Mnist::draw(210, {.seed = 7});
  const std::int64_t batches = (digits.train.size() + 31) / 32;
  REQUIRE(digits.train.size() % 32 != 0);
  for (const bool looks : {false, true}) {
    INFO("looks: ", looks);
    const Fitted plain = fit_digits(digits, {looks}, false), replayed = fit_digits(digits, {looks}, true);
    CHECK(plain.replays == 0);
    CHECK(replayed.replays == (looks ? 0 : 2 * (batches - 1) - 1));
    if (!looks) CHECK(3 * replayed.launches < 2 * plain.launches);
    REQUIRE(replayed.history.records().size() == 2);
    for (std::size_t epoch = 0; epoch < 2; ++epoch) {
      CHECK(replayed.history.records()[epoch].train_loss == plain.history.records()[epoch].train_loss);
      CHECK(replayed.history.records()[epoch].valid_loss == plain.history.records()[epoch].valid_loss);
    }
    for (std::size_t i = 0; i < plain.parameters.size(); ++i) {
      const Tensor difference = max(abs(plain.parameters[i].value() - replayed.parameters[i].value()));
      CHECK(difference.item() == 0.f);
    }
  }
}

/// A regression with clipping, an average of weights, and a learning rate and a momentum that change with every step.
struct FittedLine {
  std::vector<double> losses;
  float weight = 0, bias = 0, average = 0;
  std::int64_t replays = 0, updates = 0;
};
FittedLine fit_line(bool capture, const FitOptions& others) {
  const Tensor x = from({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}});
  const data::TensorDataset line{x, x * 3.f - 1.f};
  const nn::Linear<float, Cuda> model(1, 1);
  for (const auto& parameter : model.parameters()) parameter.value().fill_(0.5f);
  optim::Sgd optimizer{model.parameters(), {.lr = 0.05, .momentum = 0.5}};
  auto train = data::loader<Cuda>(line, {.batch_size = 4, .shuffle = true, .seed = 2, .workers = 2});
  auto valid = data::loader<Cuda>(line);
  FitOptions options = others;
  options.capture = capture;
  options.epochs = 35;
  options.before_step = [&] { (void)optim::clip_grad_norm_(model.parameters(), 2.0); };
  const nn::AveragedModel average{model, {.decay = 0.9}};
  options.after_step = [&] { average.update(); };
  options.scheduler = optim::Scheduler{optimizer, optim::OneCycleLR{.max_lr = 0.05, .total_steps = 105}};
  options.schedule_every = Every::step;
  FittedLine fitted;
  History history;
  const LaunchLog log;
  fit(model, optimizer, nn::MSELoss{}, train, valid, history, options);
  fitted.replays = log.counts().replay;
  for (const auto& record : history.records()) {
    fitted.losses.push_back(record.train_loss);
    CHECK(record.operations == 10 * 4);  // of one weight and ten samples: forward, and its gradient
  }
  fitted.weight = model.parameters()[0].value().to<Cpu>().item();
  fitted.bias = model.parameters()[1].value().to<Cpu>().item();
  fitted.average = average.module().parameters()[0].value().to<Cpu>().item();
  fitted.updates = average.updates();
  return fitted;
}

TEST_CASE("a hundred steps with clipping and a schedule, replayed, learn the same bit for bit") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const FittedLine plain = fit_line(false, {}), replayed = fit_line(true, {});
  CHECK(plain.replays == 0);
  CHECK(replayed.replays > 60);  // batches of four, all but the first
  CHECK(plain.losses == replayed.losses);
  CHECK(plain.weight == replayed.weight);
  CHECK(plain.bias == replayed.bias);
  CHECK(plain.average == replayed.average);
  CHECK(plain.average != plain.weight);
  CHECK(plain.updates == 105);
  CHECK(replayed.updates == 105);
  CHECK(plain.losses.back() < 0.1 * plain.losses.front());
}

TEST_CASE("parts of a step are replayed, too: steps of several batches learn the same bit for bit") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  for (const std::int64_t together : {2, 3}) {  // of batches of 4, 4 and 2
    const FittedLine plain = fit_line(false, {.accumulate = together}),
                     replayed = fit_line(true, {.accumulate = together});
    CHECK(plain.replays == 0);
    CHECK(replayed.replays > 60);
    CHECK(plain.losses == replayed.losses);
    CHECK(plain.weight == replayed.weight);
    CHECK(plain.bias == replayed.bias);
  }
}

/// A classifier whose labels do not all count, by the steps of three batches.
std::vector<float> fit_ignoring(bool capture, std::int64_t& replays) {
  manual_seed(4);
  const data::TensorDataset points{randn({24, 3}), randint(-1, 3, {24})};
  const nn::Linear<float, Cuda> model(3, 3);
  optim::Adam optimizer{model.parameters(), {.lr = 0.05}};
  auto train = data::loader<Cuda>(points, {.batch_size = 4, .shuffle = true, .seed = 2});
  const nn::CrossEntropyLoss loss{from({1, 2, 0.5f}).to<Cuda>(), {.ignore_index = -1}};
  History history;
  const LaunchLog log;
  fit(model, optimizer, loss, train, train, history, {.epochs = 50, .capture = capture, .accumulate = 3});
  replays = log.counts().replay;
  const Tensor values = model.parameters()[0].value().to<Cpu>();
  return {values.data(), values.data() + values.elements()};
}

TEST_CASE("a hundred steps of three batches each, whose labels do not all count, are replayed bit for bit") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  std::int64_t none = 0, some = 0;
  const auto plain = fit_ignoring(false, none), replayed = fit_ignoring(true, some);
  CHECK(none == 0);
  CHECK(some > 280);
  CHECK(plain == replayed);
}

/// A line in half, through a scaler whose scale overflows at first and whenever it has grown.
struct FittedHalf {
  std::vector<double> losses;
  float weight = 0, master = 0;
  double scale = 0;
  std::int64_t replays = 0, skipped = 0, steps = 0;
};
FittedHalf fit_half(bool capture, std::int64_t together, bool clips) {
  const Tensor x = from({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}});
  const data::TensorDataset line{x.as<half>().eval(), (x * 3.f - 1.f).as<half>().eval()};
  const nn::Linear<half, Cuda> model(1, 1);
  for (const auto& parameter : model.parameters()) parameter.value().fill_(half(0.5f));
  optim::Adam optimizer{model.parameters(), {.lr = 0.05}};
  optim::GradScaler<Cuda> scaler{{.init_scale = 1 << 16, .growth_interval = 5}};
  auto train = data::loader<Cuda>(line, {.batch_size = 4, .shuffle = true, .seed = 2});
  FitOptions options{.epochs = 20, .capture = capture, .accumulate = together};
  if (clips) options.before_step = [&] { (void)optim::clip_grad_norm_(model.parameters(), 1.0); };
  FittedHalf fitted;
  History history;
  const LaunchLog log;
  fit(model, scaler.with(optimizer), nn::MSELoss{}, train, data::loader<Cuda>(line), history, options);
  fitted.replays = log.counts().replay;
  for (const auto& record : history.records()) fitted.losses.push_back(record.train_loss);
  fitted.weight = static_cast<float>(model.parameters()[0].value().to<Cpu>().item());
  fitted.master = optimizer.state(0, optimizer.states()).to<Cpu>().item();
  fitted.scale = scaler.scale_factor();
  fitted.skipped = scaler.skipped_steps();
  fitted.steps = optimizer.steps()[0];
  return fitted;
}

TEST_CASE("scaled steps of half are replayed bit for bit, also of several batches, clipped, and skipped") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  for (const auto& [together, clips] : {std::pair{1, false}, std::pair{3, true}}) {
    const FittedHalf plain = fit_half(false, together, clips), replayed = fit_half(true, together, clips);
    CHECK(plain.replays == 0);
    CHECK(replayed.replays > 30);
    CHECK(plain.losses == replayed.losses);
    CHECK(plain.weight == replayed.weight);
    CHECK(plain.master == replayed.master);
    CHECK(plain.scale == replayed.scale);
    CHECK(replayed.skipped > 2);
    CHECK(plain.skipped == replayed.skipped);
    CHECK(replayed.steps + replayed.skipped == 60 / together);
    CHECK(plain.losses.back() < plain.losses.front());
  }
}

/// A model's numbers: parameters and buffers of floating-point numbers, in float64.
std::vector<double> numbers_of(const auto& model) {
  std::vector<double> all;
  const auto append = [&](const Tensor<float, Cpu>& values) {
    all.insert(all.end(), values.data(), values.data() + values.elements());
  };
  for (const auto& parameter : model.parameters()) append(parameter.value().template to<Cpu>());
  for (const auto& buffer : model.buffers())
    if (buffer.type() == element_type<float>) append(buffer.template value<float>().template to<Cpu>());
  return all;
}

struct FittedAverage {
  std::vector<double> average, by_hand, model, valid_losses;
  std::int64_t replays = 0, updates = 0;
};
/// Trains residual blocks with batch norm, and averages them on the device and, after each batch, on the host.
FittedAverage fit_blocks(bool capture) {
  manual_seed(5);
  const data::TensorDataset images{randn({10, 3, 6, 6}), randint(0, 3, {10})};
  const nn::Sequential<float, Cuda> model{models::BasicBlock<float, Cuda>{3, 3},
                                          models::BasicBlock<float, Cuda>{3, 4, 2}, nn::Flatten{},
                                          nn::Linear<float, Cuda>{36, 3}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1, .momentum = 0.9}};
  const nn::AveragedModel average{model, {.decay = 0.8, .average_buffers = true}};
  auto train = data::loader<Cuda>(images, {.batch_size = 4, .shuffle = true, .seed = 2});
  auto valid = data::loader<Cuda>(images, {.batch_size = 10});
  FittedAverage fitted;
  History history;
  const LaunchLog log;
  fit(model, optimizer, train, valid, history,
      {.epochs = 4,
       .capture = capture,
       .report_every = 1,
       .after_step = [&] { average.update(); },
       .on_progress =
           [&] {
             const auto now = numbers_of(model);
             if (fitted.by_hand.empty()) fitted.by_hand = now;
             for (std::size_t i = 0; i < now.size(); ++i) fitted.by_hand[i] = 0.8 * fitted.by_hand[i] + 0.2 * now[i];
           },
       .on_epoch = [&] { fitted.valid_losses.push_back(evaluate(average.module(), valid).loss); }});
  fitted.replays = log.counts().replay;
  fitted.updates = average.updates();
  fitted.average = numbers_of(average.module());
  fitted.model = numbers_of(model);
  return fitted;
}

TEST_CASE("weights and statistics of residual blocks are averaged by replays as on the host") {
  if (!cuda::is_available()) SKIP_TEST("no CUDA device answers");
  const FittedAverage plain = fit_blocks(false), replayed = fit_blocks(true);
  CHECK(plain.replays == 0);
  CHECK(replayed.replays == 7);  // of 4 epochs of batches of 4, 4 and 2, all batches of 4 but the first
  CHECK(plain.average == replayed.average);
  CHECK(plain.model == replayed.model);
  CHECK(plain.valid_losses == replayed.valid_losses);
  double most = 0, moved = 0;
  REQUIRE(replayed.average.size() == replayed.by_hand.size());
  for (std::size_t i = 0; i < replayed.average.size(); ++i) {
    most = std::max(most, std::abs(replayed.average[i] - replayed.by_hand[i]));
    moved = std::max(moved, std::abs(replayed.average[i] - replayed.model[i]));
  }
  CHECK(most < 1e-6);
  CHECK(moved > 0.01);
  CHECK(replayed.updates == 12);
}

}  // namespace
