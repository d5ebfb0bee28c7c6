// Epochs of a perceptron on MNIST, as a user of the library writes them: data loader, fit, Sgd.
//
//   cpu_training DATA [EPOCHS [SEED [LAYERS [BATCH [RATE]]]]]
//
// LAYERS: extents from the images to the classes, as 784-32-10. A line of JSON per epoch: seconds of training (loading
// included, validation not), loss, validation accuracy. cpu.py runs this in turns with peers/torch_mnist.cpp, which
// takes the same arguments.

#include <locus/locus.hpp>

#include <cstdlib>
#include <string>
#include <vector>

using namespace locus;

namespace {

void print(const EpochRecord& r) {
  std::printf("{\"epoch\": %d, \"seconds\": %.6f, \"loss\": %.6f, \"accuracy\": %.5f}\n", r.epoch, r.seconds,
              r.train_loss, r.valid_accuracy);
  std::fflush(stdout);
}

/// Reads a whole number at the beginning of `text`, followed by `ending`, and advances past both.
std::int64_t number(const char*& text, char ending) {
  char* end = nullptr;
  const auto value = std::strtoll(text, &end, 10);
  if (end == text || *end != ending || value < 0 || value > 1'000'000)
    fail<ArgumentError>({"'", text, "' does not begin with a whole number from 0 to 1000000"});
  text = *end ? end + 1 : end;
  return value;
}
std::int64_t number(const char* text) { return number(text, '\0'); }
/// A whole number of at least one.
std::int64_t count(const char* text, const char* what) {
  const std::int64_t value = number(text);
  if (value == 0) fail<ArgumentError>({what, " is 0; expected 1 or more"});
  return value;
}
double rate(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end) fail<ArgumentError>({"RATE is '", text, "'; expected a number, as 0.5"});
  return value;
}

nn::Sequential<float, Cpu> perceptron(const char* layers) {
  nn::Sequential<float, Cpu> model{nn::Flatten{}};
  for (std::int64_t inputs = number(layers, '-');;) {
    const bool last = std::string(layers).find('-') == std::string::npos;
    const std::int64_t outputs = number(layers, last ? '\0' : '-');
    model.push_back(nn::Linear<float, Cpu>{inputs, outputs});
    if (last) return model;
    model.push_back(nn::ReLU{});
    inputs = outputs;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 7) fail<ArgumentError>({"usage: cpu_training DATA [EPOCHS [SEED [LAYERS [BATCH [RATE]]]]]"});
  const auto argument = [&](int i, const char* otherwise) { return i < argc ? argv[i] : otherwise; };
  const auto epochs = static_cast<int>(count(argument(2, "5"), "EPOCHS"));
  const auto seed = static_cast<std::uint64_t>(number(argument(3, "0")));
  const auto batch_size = count(argument(5, "100"), "BATCH");

  manual_seed(seed);
  const auto digits = data::Mnist::open(argv[1], {.seed = seed});
  const auto model = perceptron(argument(4, "784-32-10"));
  optim::Sgd optimizer{model.parameters(), {.lr = rate(argument(6, "0.5"))}};
  auto train = data::loader<Cpu>(digits.train, {.batch_size = batch_size, .shuffle = true, .seed = seed});
  auto valid = data::loader<Cpu>(digits.valid, {.batch_size = 1000});
  History history;
  fit(model, optimizer, train, valid, history, {.epochs = epochs, .on_epoch = print});
} catch (const Error& error) {
  std::fprintf(stderr, "cpu_training: %s\n", error.what());
  return 1;
}
