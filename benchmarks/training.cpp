// Epochs of a perceptron on MNIST, as a user of the library writes them: data loader, fit, Sgd.
//
//   training DATA [EPOCHS [SEED [HIDDEN [BATCH]]]]
//
// A line of JSON per epoch: seconds of training (loading included, validation not), loss, validation accuracy.
// training.py runs this beside its peers, which take the same arguments.

#include <locus/locus.hpp>

#include <cstdlib>

using namespace locus;

namespace {

void print(const EpochRecord& r, void*) {
  std::printf("{\"epoch\": %d, \"seconds\": %.6f, \"loss\": %.6f, \"accuracy\": %.5f}\n", r.epoch, r.seconds,
              r.train_loss, r.valid_accuracy);
  std::fflush(stdout);
}

std::int64_t number(int argc, char** argv, int i, std::int64_t otherwise) {
  if (i >= argc) return otherwise;
  char* end = nullptr;
  const auto value = std::strtoll(argv[i], &end, 10);
  if (*end || end == argv[i] || value < 0 || value > 1'000'000) {
    fail<ArgumentError>({"'", argv[i], "' is not a whole number from 0 to 1000000"});
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 6) fail<ArgumentError>({"usage: training DATA [EPOCHS [SEED [HIDDEN [BATCH]]]]"});
  const auto epochs = static_cast<int>(number(argc, argv, 2, 5));
  const auto seed = static_cast<std::uint64_t>(number(argc, argv, 3, 0));
  const auto hidden = number(argc, argv, 4, 32), batch_size = number(argc, argv, 5, 100);

  manual_seed(seed);
  const auto digits = data::Mnist::open(argv[1], {.seed = seed});
  const nn::Sequential<float, Cpu> model{nn::Flatten{}, nn::Linear<float, Cpu>{784, hidden}, nn::ReLU{},
                                         nn::Linear<float, Cpu>{hidden, 10}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5}};
  auto train = data::loader<Cpu>(digits.train, {.batch_size = batch_size, .shuffle = true, .seed = seed});
  auto valid = data::loader<Cpu>(digits.valid, {.batch_size = 1000});
  History history;
  fit(model, optimizer, train, valid, history, {.epochs = epochs, .on_epoch = print});
} catch (const Error& error) {
  std::fprintf(stderr, "training: %s\n", error.what());
  return 1;
}
