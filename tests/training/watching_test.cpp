// Runs on: host.
#include <locus/data/loading/loader.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/conv.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/report/history_file.hpp>
#include <locus/training/fit.hpp>
#include <locus/training/peak.hpp>
#include <locus/training/progress_bar.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

using namespace locus;
using namespace locus_test;

namespace {

/// A line with points that are slow to read: five milliseconds for a batch of four.
struct SlowLine {
  [[nodiscard]] std::int64_t size() const { return 16; }
  [[nodiscard]] data::Fields<float, float> fields() const { return {{1}, {1}}; }
  void write(std::int64_t i, Span<float> x, Span<float> y) const {
    usleep(1250);
    x[0] = y[0] = static_cast<float>(i) / 16;
  }
};

// A stand-in for NVIDIA's management library.
int stand_in_status = 0;
int stand_in_init() { return stand_in_status; }
int stand_in_by_bus(const char* bus, void** device) {
  *device = &stand_in_status;
  return std::strcmp(bus, "0000:01:00.0");
}
int stand_in_rates(void* device, unsigned* percent) {
  percent[0] = 87;
  percent[1] = 12;
  return device == &stand_in_status ? 0 : 1;
}
int stand_in_temperature(void* device, int sensor, unsigned* degrees) {
  *degrees = 61;
  return device == &stand_in_status && sensor == 0 ? 0 : 1;
}
int stand_in_power(void* device, unsigned* milliwatts) {
  *milliwatts = 312'500;
  return device == &stand_in_status ? 0 : 1;
}
void* stand_in(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "nvmlInit_v2") return reinterpret_cast<void*>(&stand_in_init);
  if (wanted == "nvmlDeviceGetHandleByPciBusId_v2") return reinterpret_cast<void*>(&stand_in_by_bus);
  if (wanted == "nvmlDeviceGetUtilizationRates") return reinterpret_cast<void*>(&stand_in_rates);
  if (wanted == "nvmlDeviceGetTemperature") return reinterpret_cast<void*>(&stand_in_temperature);
  if (wanted == "nvmlDeviceGetPowerUsage") return reinterpret_cast<void*>(&stand_in_power);
  return nullptr;
}

/// Reads a line from a terminal, which delivers it in parts. Returns less if nothing more comes for ten seconds.
std::string shown_line(int terminal) {
  std::string shown;
  pollfd waiting{terminal, POLLIN, 0};
  while (!contains(shown, "\n") && poll(&waiting, 1, 10'000) > 0) {
    char part[1000];
    const auto count = read(terminal, part, sizeof part);
    if (count <= 0) break;
    shown.append(part, static_cast<std::size_t>(count));
  }
  return shown;
}

}  // namespace

TEST_CASE("fit records how long steps waited for data, memory and allocations, by epoch and in progress") {
  nn::Linear<float, Cpu> model{1, 1};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.125}};
  auto train = data::loader<Cpu>(SlowLine{}, {.batch_size = 4, .workers = 1});
  History history;
  std::vector<Progress> seen;
  const Tensor<float, Cpu> held({1'000'000});
  fit(model, optimizer, nn::MSELoss{}, train, data::loader<Cpu>(SlowLine{}, {.batch_size = 16}), history,
      {.epochs = 2, .report_every = 2, .on_progress = [&](const Progress& p) { seen.push_back(p); }});
  REQUIRE(history.records().size() == 2);
  for (const EpochRecord& r : history.records()) {
    CHECK(r.batches == 4);
    CHECK(r.data_seconds > 0.004);  // the first batch at least
    CHECK(r.data_seconds <= r.seconds);
    CHECK(r.memory.allocated_bytes >= 4'000'000);
    CHECK(r.memory.peak_bytes >= r.memory.allocated_bytes);
    CHECK(r.memory.requests > 4);
    CHECK(r.gpu_utilization != r.gpu_utilization);
    CHECK(r.operations == 16 * 4);  // of one weight: forward and its gradient, a multiply-add for each sample
    CHECK(r.share_of_peak() != r.share_of_peak());
  }
  CHECK(history.last().memory.system_allocations <= 1);  // the pool has the memory of the first epoch
  CHECK(history.last().memory.requests <= history.records()[0].memory.requests + 2);
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].learning_rate == 0.125);
  CHECK(seen[0].data_seconds > 0.004);
  CHECK(seen[1].data_seconds >= seen[0].data_seconds);
  CHECK(seen[1].seconds >= seen[1].data_seconds);
  CHECK(seen[1].memory.peak_bytes >= 4'000'000);
  CHECK(seen[1].memory.requests >= seen[0].memory.requests);
  CHECK(seen[0].operations == 8 * 4);
  CHECK(seen[1].operations == 16 * 4);
}

TEST_CASE("records and progress have the share of a peak that is given") {
  nn::Linear<float, Cpu> model{1, 1};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.125}};
  auto train = data::loader<Cpu>(SlowLine{}, {.batch_size = 16});
  auto valid = data::loader<Cpu>(SlowLine{}, {.batch_size = 16});
  History history;
  Progress seen{};
  const auto run = [&](double peak) {
    fit(model, optimizer, nn::MSELoss{}, train, valid, history,
        {.report_every = 1, .peak = peak, .on_progress = [&](const Progress& p) { seen = p; }});
  };
  run(1e6);
  const EpochRecord& r = history.last();
  CHECK(r.peak == 1e6);
  CHECK(r.share_of_peak() == r.operations / r.seconds / 1e6);
  CHECK(seen.share_of_peak() == seen.operations / seen.seconds / 1e6);
  CHECK(seen.share_of_peak() > 0);
  for (const double bad : {-1., __builtin_nan(""), __builtin_inf()})
    CHECK_THROWS_WITH_AS(run(bad), doctest::Contains("fit: peak is "), ArgumentError);
  const double measured = measured_peak<float>(Cpu{}, 64), again = measured_peak<float>(Cpu{}, 64);
  CHECK(measured > 1e6);
  CHECK(again > measured / 100);
  CHECK_THROWS_AS((void)measured_peak<float>(Cpu{}, 0), ArgumentError);
}

TEST_CASE("operations are those of products and convolutions, whatever computes them") {
  const auto counted = [](const auto& f) {
    const LaunchLog log;
    f();
    return log.counts().operations;
  };
  const auto x = randn({5, 7}), w = randn({7, 3});
  CHECK(counted([&] { (void)matmul(x, w).eval(); }) == 2 * 5 * 7 * 3);
  CHECK(counted([&] { (void)matmul(randn({2, 4, 5, 7}), w).eval(); }) == 2 * 8 * 5 * 7 * 3);
  CHECK(counted([&] { (void)(x + 1).eval(); }) == 0);
  CHECK(counted([&] { (void)matmul(zeros({0, 7}), w).eval(); }) == 0);
  const nn::Linear<float, Cpu> layer{7, 3};
  const auto inputs = variable(x);
  CHECK(counted([&] { sum(relu(layer(inputs))).eval().backward(); }) == 3 * 2 * 5 * 7 * 3);
  // By Winograd's tiles, products of windows, columns, planes and lanes: 64 windows of 3 x 3.
  for (const std::int64_t channels : {16, 3}) {
    const auto images = variable(randn({2, channels, 8, 8})), kernels = variable(randn({4 * channels, channels, 3, 3}));
    CHECK(counted([&] { sum(conv2d(images, kernels, {.padding = 1})).eval().backward(); }) ==
          3 * 2 * 2 * 64 * 9 * channels * 4 * channels);
    const auto planes = variable(randn({channels, 1, 3, 3}));
    CHECK(counted([&] { sum(conv2d(images, planes, {.padding = 1, .groups = channels})).eval().backward(); }) ==
          3 * 2 * 2 * 64 * 9 * channels);
  }
}

TEST_CASE("LOCUS_ADVISE=1 names extents that fit products badly, once, before the first step") {
  const TemporaryFolder folder;
  const std::string path = folder.write("stderr", "");
  nn::Linear<float, Cpu> model{1, 1};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.125}};
  auto train = data::loader<Cpu>(SlowLine{}, {.batch_size = 15});
  const auto told = [&](const char* advise, int runs) {
    detail::advice_was_given.store(false);
    const int errors = dup(STDERR_FILENO), file = open(path.c_str(), O_WRONLY | O_TRUNC);
    dup2(file, STDERR_FILENO);
    setenv("LOCUS_ADVISE", advise, 1);
    std::string refusal;
    bool steps = false;
    for (int i = 0; i < runs; ++i) {
      History history;
      refusal = message_of<ArgumentError>([&] {
        fit(model, optimizer, nn::MSELoss{}, train, data::loader<Cpu>(SlowLine{}, {.batch_size = 16}), history,
            {.before_step = [&] { steps = steps || (std::fputs("first step\n", stderr), true); }});
      });
    }
    unsetenv("LOCUS_ADVISE");
    dup2(errors, STDERR_FILENO);
    for (const int each : {errors, file}) close(each);
    return refusal.empty() ? content_of(path) : refusal;
  };
  const std::string given = told("1", 2);
  CHECK(given.find("locus: advice: input: batch 15 -> 16, ") == 0);
  CHECK(given.find("\nlocus: advice: modelled: ") < given.find("\nlocus: advice: parameters 0.00 MB, gradients "));
  CHECK(given.find("\nlocus: advice: step of 30 samples, predicted: ") < given.find("\nfirst step\n"));
  CHECK(given.find("batch 15") == given.rfind("batch 15"));
  for (const char* const none : {"0", ""}) CHECK(told(none, 1) == "first step\n");
  for (const char* const other : {"2", "yes"})
    CHECK(told(other, 1) == join("LOCUS_ADVISE is \"", other, "\"; expected 1, or 0"));
}

TEST_CASE("LOCUS_ADVISE=1 leaves a training as it is, and says why it cannot measure a step") {
  const TemporaryFolder folder;
  const std::string path = folder.write("stderr", "");
  const auto trained = [&](const char* advise, std::int64_t batch_size) {
    manual_seed(5);
    const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{1, 8}, nn::BatchNorm1d<float, Cpu>{8},
                                           nn::Dropout{0.25}, nn::Linear<float, Cpu>{8, 1}};
    optim::Sgd optimizer{model.parameters(), {.lr = 0.125}};
    auto train = data::loader<Cpu>(SlowLine{}, {.batch_size = batch_size});
    detail::advice_was_given.store(false);
    const int errors = dup(STDERR_FILENO), file = open(path.c_str(), O_WRONLY | O_TRUNC);
    dup2(file, STDERR_FILENO);
    setenv("LOCUS_ADVISE", advise, 1);
    History history;
    fit(model, optimizer, nn::MSELoss{}, train, data::loader<Cpu>(SlowLine{}, {.batch_size = 16}), history,
        {.epochs = 2});
    unsetenv("LOCUS_ADVISE");
    dup2(errors, STDERR_FILENO);
    for (const int each : {errors, file}) close(each);
    return std::pair(history.last().train_loss, history.last().valid_loss);
  };
  CHECK(trained("1", 8) == trained("0", 8));
  (void)trained("1", 2);  // half of it is one sample, which has no variance
  CHECK(contains(content_of(path), "locus: advice: the memory of a step is not known: batch_norm"));
}

TEST_CASE("what training took as a table and as JSON; blank where it is not known") {
  History history;
  history.add({1, 0.5, 1.25, 1.5, 0.625, 2.0, 24000});
  EpochRecord r{2, 0.1, 0.75, 0.875, 0.8125, 2.5, 19200};
  r.batches = 100;
  r.data_seconds = 0.25;
  r.memory = {5000, 3, 12'300'000, 1'510'000'000, 1 << 30};
  history.add(r);
  CHECK(history.cost_table() ==
        "epoch   seconds   samples/s   wait/step   waiting     memory       peak   tensors   allocations\n"
        "    1      2.00       24000\n"
        "    2      2.50       19200    2.500 ms     10.0%    12.3 MB    1.51 GB      5000             3\n");
  history.add({3, 0.1, 0.75, 0.875, 0.8125, 2.5, 19200, {}, 0, 0, {}, 0.87});
  CHECK(contains(history.cost_table(), "allocations     GPU\n"));
  CHECK(contains(history.cost_table(), "19200     87%\n"));
  history.add({4, 0.1, 0.75, 0.875, 0.8125, 2.5, 19200, {}, 50, 0.5, {}, 0.5, 5e9, 8e9});
  CHECK(contains(history.cost_table(), "allocations   of peak     GPU\n"));
  CHECK(contains(history.cost_table(), "19200               87%\n"));
  CHECK(contains(history.cost_table(), "             0     25.0%     50%\n"));
  const TemporaryFolder folder;
  io::write_history(folder.path / "history.json", history);
  const std::string json = content_of(folder.path / "history.json");
  for (const char* member : {"\"batches\": 100", "\"data_seconds\": 0.25", "\"allocated_bytes\": 12300000",
                             "\"peak_bytes\": 1510000000", "\"requests\": 5000", "\"system_allocations\": 3",
                             "\"operations\": 5e+09", "\"peak\": 8e+09", "\"share_of_peak\": 0.25"}) {
    CAPTURE(member);
    CHECK(contains(json, member));
    CHECK(json.find(member) == json.rfind(member));
  }
}

TEST_CASE("a progress bar is one line that says what is known") {
  const ProgressBar bar("images");
  Progress p{2, 250, 500, 324517, 0.27584};
  CHECK(bar.line(p) == "epoch  2 [===============               ] loss 0.2758    324517 images/s");
  p.seconds = 2;
  p.data_seconds = 0.06;
  p.memory = {1, 1, 12'300'000, 15'100'000, 0};
  p.gpu_utilization = 0.87;
  CHECK(bar.line(p) ==
        "epoch  2 [===============               ] loss 0.2758    324517 images/s  waits 3 %  12.3 MB, peak 15.1 MB"
        "  GPU 87 %");
  p.operations = 3e9, p.peak = 1e10;
  CHECK(contains(bar.line(p), "peak 15.1 MB  15 % of peak  GPU 87 %"));
  CHECK(contains(bar.line({1, 0, 0, 0, 1e300}), "[                              ] loss 1"));
}

TEST_CASE("a progress bar writes its line anew on a terminal, and elsewhere a line per epoch alone") {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return;
  const int its_program = open(ptsname(terminal), O_RDWR | O_NOCTTY), errors = dup(STDERR_FILENO);
  REQUIRE(its_program >= 0);
  dup2(its_program, STDERR_FILENO);
  const ProgressBar bar;
  bar(Progress{1, 1, 2, 100, 0.5});
  bar(EpochRecord{1, 0.5, 0.25, 0.125, __builtin_nan(""), 2.0, 100});
  dup2(errors, STDERR_FILENO);
  CHECK(shown_line(terminal) ==
        "\repoch  1 [===============               ] loss 0.5000       100 samples/s\033[K"
        "\r\033[Kepoch  1: loss 0.2500, validation loss 0.1250, 100 samples/s\r\n");

  const TemporaryFolder folder;
  const std::string path = folder.write("stderr", "");
  const int file = open(path.c_str(), O_WRONLY);
  dup2(file, STDERR_FILENO);
  const ProgressBar quiet;
  quiet(Progress{1, 1, 2, 100, 0.5});
  quiet(EpochRecord{1, 0.5, 0.25, 0.125, 0.975, 2.0, 100});
  dup2(errors, STDERR_FILENO);
  CHECK(content_of(path) == "epoch  1: loss 0.2500, validation loss 0.1250, accuracy 97.50 %, 100 samples/s\n");
  for (const int each : {terminal, its_program, errors, file}) close(each);
}

TEST_CASE("utilization, temperature and power of a GPU are as NVML says; unknown without it, and where it fails") {
  using cuda::detail::Nvml;
  const auto is_unknown = [](double x) { return x != x; };
  CHECK(Nvml(stand_in).utilization("0000:01:00.0") == 0.87);
  CHECK(is_unknown(Nvml(stand_in).utilization("0000:02:00.0")));
  CHECK(Nvml(stand_in).temperature("0000:01:00.0") == 61);
  CHECK(Nvml(stand_in).power("0000:01:00.0") == 312.5);
  CHECK(is_unknown(Nvml(stand_in).temperature("0000:02:00.0")));
  CHECK(is_unknown(Nvml(stand_in).power("0000:02:00.0")));
  CHECK(is_unknown(Nvml([](const char*) -> void* { return nullptr; }).power("0000:01:00.0")));
  CHECK(is_unknown(cuda::temperature(Cuda{99})));
  CHECK(is_unknown(cuda::power(Cuda{99})));
  CHECK(is_unknown(Nvml([](const char*) -> void* { return nullptr; }).utilization("0000:01:00.0")));
  stand_in_status = 9;  // the driver is not loaded
  CHECK(is_unknown(Nvml(stand_in).utilization("0000:01:00.0")));
  stand_in_status = 0;
}
