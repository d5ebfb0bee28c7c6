// Forecasts a noisy sum of sines: a GRU reads a window and predicts the number after each of its steps; then it goes on
// by itself, from its own predictions.
//
//     time_series --device cpu

#include "support/arguments.hpp"

#include <locus/locus.hpp>
#include <locus/nn/recurrent.hpp>

#include <cmath>
#include <cstdio>

using namespace locus;

constexpr std::int64_t window = 40, ahead = 20;

/// The series without noise: two sines.
double clean(std::int64_t t) {
  const double x = static_cast<double>(t);
  return 0.6 * std::sin(0.2 * x) + 0.4 * std::sin(0.31 * x + 1);
}

/// A GRU over the series, and a number for each of its steps.
template <Device D>
struct Forecaster : nn::Layer<Forecaster<D>, float, D> {
  nn::GRU<float, D> gru;
  nn::Linear<float, D> head;
  explicit Forecaster(D device) : gru(1, 32, {.batch_first = true}, device), head(32, 1, true, device) {}
  /// (batch, steps, 1) -> (batch, steps, 1)
  auto forward(const auto& x) const { return head(gru(x).output); }
  void members(const auto& visit) const {
    visit("gru", gru);
    visit("head", head);
  }
  /// The numbers after a series of (1, steps, 1).
  std::vector<float> continued(const Tensor<float, D>& series, std::int64_t count) const {
    std::vector<float> numbers;
    auto [output, state] = gru(series);
    Tensor<float, D> next = head(output.slice(1, output.size(1) - 1));
    for (std::int64_t i = 0; i < count; ++i) {
      numbers.push_back(next.item());
      auto [out, later] = gru(next, state);  // one step, from where the last one ended
      next = head(out), state = later;
    }
    return numbers;
  }
};

template <Device D>
bool train(D device) {
  const std::int64_t length = 600;
  std::vector<float> numbers;
  for (std::int64_t t = 0; t < length; ++t) numbers.push_back(static_cast<float>(clean(t)));
  const Tensor series = from(numbers) + randn({length}) * 0.05f;
  const Tensor windows = series.unfold(0, window + 1, 1).unsqueeze(-1);  // (windows, window + 1, 1)
  const data::TensorDataset pairs{windows.slice(1, 0, window), windows.slice(1, 1)};
  auto [known, unseen] = data::random_split(pairs, 0.9);

  const Forecaster<D> model{device};
  optim::Adam optimizer{model.parameters(), {.lr = 0.01}};
  auto batches = data::loader(known, {.batch_size = 64, .shuffle = true}, device);
  auto valid = data::loader(unseen, {}, device);
  History history;
  fit(model, optimizer, nn::MSELoss{}, batches, valid, history, {.epochs = 100});

  const Tensor<float, D> last = series.slice(0, length - window).reshape({1, window, 1}).template to<D>(device);
  double error = 0;
  std::printf("%s   t  series  forecast\n", history.table().c_str());
  const auto forecast = model.continued(last, ahead);
  for (std::int64_t i = 0; i < ahead; ++i) {
    const double expected = clean(length + i), found = forecast[static_cast<std::size_t>(i)];
    error += std::abs(found - expected) / static_cast<double>(ahead);
    if (i % 5 == 4) std::printf("%4d %7.3f %9.3f\n", static_cast<int>(length + i), expected, found);
  }
  std::printf("mean error of %d numbers ahead: %.3f\n", static_cast<int>(ahead), error);
  return error < 0.15;
}

int main(int argc, char** argv) try {
  const Arguments checked(argc, argv, {"--device"});
  manual_seed(0);
  return with_device(device_from(argc, argv), []<Device D>(D device) { return train(device); }) ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "time_series: %s\n", error.what());
  return 1;
}
