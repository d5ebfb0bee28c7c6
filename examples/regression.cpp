// Predicts the last column of a table from the others, and stops training when unseen rows are predicted no better.
//
//     regression examples/support/houses.csv --device cpu

#include <locus/locus.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace locus;

/// The numbers of a file below its heading, (rows, columns).
Tensor<float> read_table(const char* path) {
  std::ifstream file(path);
  std::string line, cell;
  std::getline(file, line);
  const auto columns = static_cast<std::size_t>(1 + std::count(line.begin(), line.end(), ','));
  std::vector<float> numbers;
  for (int row = 2; std::getline(file, line); ++row) {
    if (line.find_first_not_of(" \r") == std::string::npos) continue;
    const std::size_t before = numbers.size();
    for (std::istringstream cells(line); std::getline(cells, cell, ',');) {
      char* end = nullptr;
      numbers.push_back(std::strtof(cell.c_str(), &end));
      if (end == cell.c_str() || end[std::strspn(end, " \r")])
        fail<DataError>(
            {"'", path, "' holds '", cell, "' in line ", row, "; expected numbers alone below the heading"});
    }
    if (numbers.size() - before != columns)
      fail<DataError>({"'", path, "' has ", numbers.size() - before, " columns in line ", row, "; expected ", columns,
                       ", as the heading has"});
  }
  if (numbers.empty()) fail<DataError>({"'", path, "' holds no table of numbers"});
  return from(numbers).reshape({-1, static_cast<std::int64_t>(columns)});
}

template <Device D>
bool train(const Tensor<float>& table, D device) {
  const Tensor scaled = (table - mean(table, 0)) / sqrt(var(table, 0));  // every column of mean 0 and variance 1
  const std::int64_t inputs = table.size(1) - 1;
  const data::TensorDataset rows{scaled.slice(1, 0, inputs), scaled.slice(1, inputs)};
  auto [known, unseen] = data::random_split(rows, 0.8);

  nn::Sequential<float, D> model{nn::Linear<float, D>{inputs, 16, true, device}, nn::Tanh{},
                                 nn::Linear<float, D>{16, 1, true, device}};
  optim::Adam optimizer{model.parameters(), {.lr = 0.01}};
  optim::Scheduler scheduler{optimizer, optim::CosineAnnealingLR{.t_max = 100}};
  auto batches = data::loader(known, {.batch_size = 16, .shuffle = true}, device);
  auto valid = data::loader(unseen, {}, device);
  History history;
  fit(model, optimizer, nn::MSELoss{}, batches, valid, history,
      {.epochs = 100, .scheduler = scheduler, .early_stopping = {.patience = 12}}, Metric{"mean error", nn::L1Loss{}});

  const Evaluation best = evaluate(model, nn::MSELoss{}, valid);  // of the best epoch's weights
  std::printf("%sunexplained variance of unseen rows: %.3f\n", history.table().c_str(), best.loss);
  return best.loss < 0.15;
}

int main(int argc, char** argv) try {
  if (argc < 2) fail<ArgumentError>({"usage: regression TABLE.csv [--device cpu|cuda|auto]"});
  manual_seed(0);
  const Tensor table = read_table(argv[1]);
  return with_device(device_from(argc, argv), [&]<Device D>(D device) { return train(table, device); }) ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "regression: %s\n", error.what());
  return 1;
}
