// Runs on: host.
#include <locus/models/gpt2.hpp>
#include <locus/models/mlp.hpp>
#include <locus/models/resnet.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/training/optimizer_state.hpp>
#include <locus/training/step_memory.hpp>

#include <doctest/doctest.h>

#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {

[[nodiscard]] std::int64_t allocated() { return memory_stats(Cpu{}).allocated_bytes; }

/// Bytes above `before` at the peak of the second of two training steps on a batch.
template <class M, class Optimizer, class L, class... X>
[[nodiscard]] std::int64_t peak_of_step(std::int64_t before, const M& model, Optimizer& optimizer, const L& loss,
                                        const X&... batch) {
  for (int i = 0; i < 2; ++i) {
    reset_peak_memory_stats(Cpu{});
    (void)detail::train_step_on(model, optimizer, loss, Tuple(batch...));
  }
  return memory_stats(Cpu{}).peak_bytes - before;
}
/// Compares a step's memory with the peaks of steps of other sizes. draw(n) is a batch.
template <class M, class Optimizer, class L, class Draw>
void check_peaks_of(const StepMemory& memory, std::int64_t before, const M& model, Optimizer& optimizer, const L& loss,
                    std::initializer_list<std::int64_t> others, const Draw& draw) {
  for (const std::int64_t other : others) {
    INFO("batch of ", other);
    const std::int64_t peak = detail::unpack(
        draw(other), [&](const auto&... x) { return peak_of_step(before, model, optimizer, loss, x...); });
    CHECK(std::abs(static_cast<double>(memory.peak(other) - peak)) < 0.02 * static_cast<double>(peak));
    CHECK(peak > memory.fixed() + memory.activations.at(other));
  }
}
/// The same with step_memory() of a batch of `size` samples.
template <class M, class Optimizer, class L, class Draw>
void check_peaks(std::int64_t before, const M& model, Optimizer& optimizer, const L& loss, std::int64_t size,
                 std::initializer_list<std::int64_t> others, const Draw& draw) {
  const std::int64_t fixed = allocated() - before;
  const StepMemory memory =
      detail::unpack(draw(size), [&](const auto&... x) { return step_memory(model, optimizer, loss, x...); });
  CHECK(memory.fixed() == fixed);
  CHECK(memory.batch_size == size);
  CHECK(allocated() - before == fixed);
  check_peaks_of(memory, before, model, optimizer, loss, others, draw);
}

/// x = x - lr sign(g), of parameters outside flat memory: zero_grad() frees their gradients.
class SignDescent {
 public:
  using value_type = float;
  using device_type = Cpu;

  explicit SignDescent(std::vector<Parameter<float, Cpu>> parameters) : parameters_(std::move(parameters)) {}

  bool is_broken = false;  ///< zero_grad() throws
  [[nodiscard]] const std::vector<Parameter<float, Cpu>>& parameters() const { return parameters_; }
  [[nodiscard]] static double lr() { return 0.01; }
  void zero_grad() const {
    if (is_broken) throw Error("zero_grad is broken");
    for (const auto& parameter : parameters_) parameter.zero_grad();
  }
  void step() const {
    for (const auto& parameter : parameters_) parameter.value() -= 0.01f * sign(parameter.grad());
  }

 private:
  std::vector<Parameter<float, Cpu>> parameters_;
};

}  // namespace

TEST_CASE("the predicted peak of a step is the measured one at other batch sizes: a perceptron") {
  const std::int64_t before = allocated();
  const auto model = models::mlp<float>({256, 64, 10});
  optim::Adam optimizer{model.parameters(), {}};
  check_peaks(before, model, optimizer, nn::CrossEntropyLoss{}, 64, {16, 48, 100, 256, 500}, [](std::int64_t n) {
    return Tuple(randn({n, 256}), zeros<std::int64_t>({n}));
  });
}

TEST_CASE("the predicted peak of a step is the measured one at other batch sizes: a ResNet") {
  const std::int64_t before = allocated();
  const auto model = models::resnet18<float, Cpu>({.classes = 10, .small_images = true, .width = 8});
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1, .momentum = 0.9}};
  check_peaks(before, model, optimizer, nn::CrossEntropyLoss{}, 8, {4, 12, 24}, [](std::int64_t n) {
    return Tuple(randn({n, 3, 8, 8}), zeros<std::int64_t>({n}));
  });
}

TEST_CASE("the predicted peak of a step is the measured one at other batch sizes: GPT-2, as a function") {
  const std::int64_t before = allocated();
  const auto gpt = models::gpt2<float>({.vocab_size = 96, .n_positions = 32, .n_embd = 64, .n_layer = 2, .n_head = 2});
  optim::AdamW optimizer{gpt.parameters(), {}};
  const auto model = [&](const auto& tokens) { return gpt.transformer(tokens); };
  const auto loss = [&](const auto& x, const auto& next) {
    return linear_cross_entropy(x, gpt.transformer.wte.weight, next);
  };
  check_peaks(before, model, optimizer, loss, 8, {4, 12, 24}, [](std::int64_t n) {
    return Tuple(zeros<std::int64_t>({n, 32}), zeros<std::int64_t>({n, 32}));
  });
}

TEST_CASE("the predicted peak of a step is the measured one at other batch sizes: an optimizer of the user's own") {
  const std::int64_t before = allocated();
  const auto model = models::mlp<float>({256, 64, 10});
  SignDescent optimizer(model.parameters());
  const auto draw = [](std::int64_t n) { return Tuple(randn({n, 256}), zeros<std::int64_t>({n})); };
  (void)detail::train_step_on(model, optimizer, nn::CrossEntropyLoss{}, draw(2));
  const std::int64_t fixed = allocated() - before;
  const StepMemory memory =
      step_memory(model, optimizer, nn::CrossEntropyLoss{}, randn({64, 256}), zeros<std::int64_t>({64}));
  CHECK(memory.fixed() == fixed);
  CHECK(allocated() - before == fixed - memory.gradients);
  check_peaks_of(memory, before, model, optimizer, nn::CrossEntropyLoss{}, {16, 48, 128, 256}, draw);
}

TEST_CASE("the memory of a step counts masters of 16 bits and frozen parameters, and the optimizer behind a scaler") {
  const std::int64_t before = allocated();
  const auto model = models::mlp<half>({64, 128, 8});
  for (const auto& parameter : model.parameters()) parameter.requires_grad_(parameter.rank() == 2);
  optim::Adam optimizer{model.parameters(), {}};
  optim::GradScaler<Cpu> scaler;
  auto scaled = scaler.with(optimizer);
  const Tensor x = randn<half>({32, 64});
  const Tensor y = zeros<std::int64_t>({32});
  const StepMemory memory = step_memory(model, scaled, nn::CrossEntropyLoss{}, x, y);
  CHECK(memory.optimizer_state == 3 * detail::block_bytes(memory.parameters * 2));
  CHECK(memory.gradients == memory.parameters);
  CHECK(memory.buffers == 0);
  CHECK(memory.batch.at(32) == 64 * 32 * 2 + 32 * 8);
  CHECK(allocated() - before < memory.peak(32));
}

TEST_CASE("measuring a step changes no weight, buffer, state or random number, and keeps the program's peak") {
  manual_seed(3);
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{8, 16}, nn::BatchNorm1d<float, Cpu>{16},
                                         nn::Dropout{0.5}, nn::Linear<float, Cpu>{16, 2}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1, .momentum = 0.9}};
  const Tensor x = randn({12, 8});
  (void)detail::train_step_on(model, optimizer, nn::MSELoss{}, Tuple(x, zeros({12, 2})));
  const auto copies = [&] {
    std::vector<Tensor<std::uint8_t, Cpu>> all;
    for (const auto& entry : nn::state_dict(model)) all.push_back(entry.bytes.clone());
    for (const auto& entry : optim::state_dict(optimizer)) all.push_back(entry.bytes.clone());
    return all;
  };
  const auto known = copies();
  const auto numbers = detail::default_generator<Cpu>().generator.offset;
  { const Tensor<float, Cpu> large({1 << 20}); }
  const std::int64_t peak = memory_stats(Cpu{}).peak_bytes;
  const StepMemory memory = step_memory(model, optimizer, nn::MSELoss{}, x, zeros({12, 2}));
  CHECK(memory.buffers > 0);
  CHECK(memory_stats(Cpu{}).peak_bytes == peak);
  CHECK(detail::default_generator<Cpu>().generator.offset == numbers);
  const auto after = copies();
  REQUIRE(after.size() == known.size());
  REQUIRE(after.size() > 13);
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(all(after[i] == known[i]).item());
  for (const auto& parameter : model.parameters()) CHECK(!parameter.has_grad());
}

TEST_CASE("an error while a step is measured restores the buffers, even if gradients cannot be forgotten") {
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{8, 16}, nn::BatchNorm1d<float, Cpu>{16}};
  SignDescent optimizer(model.parameters());
  std::vector<Tensor<std::uint8_t, Cpu>> known;
  for (const auto& buffer : model.buffers()) known.push_back(buffer.bytes().clone());
  const auto loss = [&](const auto& y, const auto&) {
    optimizer.is_broken = true;
    if (y.size(0) > 0) throw ArgumentError("the loss is broken");
    return sum(y);
  };
  CHECK_THROWS_WITH_AS((void)step_memory(model, optimizer, loss, randn({4, 8}), zeros({4})), "the loss is broken",
                       ArgumentError);
  REQUIRE(known.size() == 3);
  for (std::size_t i = 0; i < known.size(); ++i) CHECK(all(model.buffers()[i].bytes() == known[i]).item());
}

TEST_CASE("the largest batch that fits is the last whose peak does; the text has both sizes") {
  StepMemory memory{.parameters = 1'000'000, .gradients = 1'000'000, .batch_size = 10};
  memory.batch = {0, 1'000};
  memory.activations = {0, 5'000};
  memory.forward = {50'000, 9'000};
  memory.backward = {0, 10'000};  // larger from 50 samples on
  CHECK(memory.peak(10) == 2'000'000 + 10'000 + 140'000);
  CHECK(memory.peak(100) == 2'000'000 + 100'000 + 1'000'000);
  CHECK(memory.largest_batch(2'000'000) == 0);
  CHECK(memory.largest_batch(memory.peak(77)) == 77);
  CHECK(memory.largest_batch(memory.peak(77) - 1) == 76);
  CHECK(memory.largest_batch(INT64_MAX) == INT64_MAX);
  CHECK(StepMemory{}.largest_batch(0) == INT64_MAX);
  CHECK(memory.text() ==
        "parameters 1.00 MB, gradients 1.00 MB, optimizer state 0.00 MB, buffers 0.00 MB\n"
        "step of 10 samples: batch 0.01 MB, activations 0.05 MB, peak 2.15 MB\n"
        "step of 20 samples, predicted: batch 0.02 MB, activations 0.10 MB, peak 2.25 MB\n");
}

TEST_CASE("the memory of a step needs two samples, and as many targets") {
  const nn::Linear<float, Cpu> model{3, 3};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
  const auto of = [&](const Shape& x, const Shape& y) {
    (void)step_memory(model, optimizer, nn::MSELoss{}, zeros(x), zeros(y));
  };
  CHECK_THROWS_WITH_AS(of({1, 3}, {1, 3}), doctest::Contains("shape (1, 3); expected two samples or more"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS(of({4, 3}, {5, 3}), doctest::Contains("(4, 3) and a target (5, 3)"), ShapeError);
  CHECK(step_memory(model, optimizer, nn::MSELoss{}, zeros({4, 3})).peak(4) > 0);  // its own target
}
