// Predicts the last column of a table from the others, and stops training when the validation loss no longer improves.
//
//     regression examples/support/houses.csv --device cpu

#include "support/arguments.hpp"

#include <locus/io/csv.hpp>
#include <locus/locus.hpp>

#include <cstdio>

using namespace locus;

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
  const Arguments checked(argc, argv, {"--device"}, 2);
  manual_seed(0);
  const Tensor table = io::read_csv(argv[1]).numbers();  // throws for a cell that is no number, and names it
  if (table.size(0) < 2 || table.size(1) < 2)
    fail<DataError>(
        {"'", argv[1], "' holds a table of shape ", table.shape(), "; expected rows and columns, 2 or more"});
  return with_device(device_from(argc, argv), [&]<Device D>(D device) { return train(table, device); }) ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "regression: %s\n", error.what());
  return 1;
}
