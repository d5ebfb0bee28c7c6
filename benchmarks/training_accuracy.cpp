// Accuracy of perceptrons on MNIST, asked for by benchmarks/measure_pages.py line by line:
//
//   THREADS OPTIMIZER RATE HIDDEN DEPTH IMAGES BATCH EPOCHS SEED  ->  a line of JSON
//
// 784 inputs, DEPTH hidden layers of HIDDEN outputs with ReLU, 10 classes; trained by fit() with cross-entropy.
// OPTIMIZER is sgd or adam, RATE its learning rate. IMAGES of the 60,000 are trained on, at equal distances in the
// file; the 10,000 test images are the validation. The answer has the losses and the accuracy after the last epoch, and
// the seconds of all epochs; null if the loss became NaN or infinite. The argument is the folder of MNIST; without it,
// digits are drawn. Compiled by nvcc, the program trains on GPU 0. The first line of JSON is the environment.

#include "support/json_lines.hpp"

#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/drawn_digits.hpp>
#include <locus/data/sets/mnist.hpp>
#include <locus/models/mlp.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/training/fit.hpp>

#include <cmath>
#include <iostream>

using namespace locus;

namespace {

using bench::D;

struct Request {
  static constexpr const char* form = "THREADS OPTIMIZER RATE HIDDEN DEPTH IMAGES BATCH EPOCHS SEED";
  int threads = 0;
  std::string optimizer{};
  double rate = 0;
  std::int64_t hidden = 0, depth = 0, images = 0, batch = 0;
  int epochs = 0;
  std::uint64_t seed = 0;
};
std::istream& operator>>(std::istream& in, Request& r) {
  return in >> r.threads >> r.optimizer >> r.rate >> r.hidden >> r.depth >> r.images >> r.batch >> r.epochs >> r.seed;
}

struct Digits {
  data::LabelledImages train, test;
};
[[nodiscard]] Digits digits_from(const char* folder) {
  if (folder) return {data::mnist(folder, data::Part::train), data::mnist(folder, data::Part::test)};
  const auto drawn = data::Mnist::draw(1000);
  return {drawn.train, drawn.valid};
}

/// `count` images at equal distances in the data set, or all, if it has fewer.
[[nodiscard]] data::LabelledImages spread(const data::LabelledImages& images, std::int64_t count) {
  if (count >= images.size()) return images;
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) positions[static_cast<std::size_t>(i)] = i * images.size() / count;
  return images.subset(positions);
}

[[nodiscard]] std::vector<std::int64_t> sizes_of(const Request& request) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(request.depth), request.hidden);
  sizes.insert(sizes.begin(), 784);
  sizes.push_back(10);
  return sizes;
}

template <class Optimizer>
[[nodiscard]] History trained(const Request& request, const Digits& digits) {
  manual_seed(request.seed);
  const auto model = models::mlp<float, D>(sizes_of(request));
  Optimizer optimizer(model.parameters(), {.lr = request.rate});
  auto train = data::loader<D>(spread(digits.train, request.images),
                               {.batch_size = request.batch, .shuffle = true, .seed = request.seed});
  auto test = data::loader<D>(digits.test, {.batch_size = 1000});
  History history;
  fit(model, optimizer, train, test, history, {.epochs = request.epochs});
  return history;
}

[[nodiscard]] History trained_by(const Request& request, const Digits& digits) {
  if (request.optimizer == "sgd") return trained<optim::Sgd<float, D>>(request, digits);
  if (request.optimizer == "adam") return trained<optim::Adam<float, D>>(request, digits);
  fail<ArgumentError>({"the optimizer is '", request.optimizer, "'; expected sgd or adam"});
}

void answer(const Request& request, const Digits& digits) {
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object().member("device", to_string(D{})).member("threads", request.threads);
  json.member("optimizer", request.optimizer).member("rate", request.rate).member("hidden", request.hidden);
  json.member("depth", request.depth).member("images", request.images).member("batch", request.batch);
  json.member("epochs", request.epochs).member("seed", static_cast<std::int64_t>(request.seed));
  cpu::set_max_threads(request.threads);
  double seconds = 0, loss = NAN, test_loss = NAN, accuracy = NAN;
  try {
    const History history = trained_by(request, digits);
    for (const EpochRecord& epoch : history.records()) seconds += epoch.seconds;
    loss = history.last().train_loss, test_loss = history.last().valid_loss, accuracy = history.last().valid_accuracy;
  } catch (const NumericError&) {  // it diverged
  }
  json.member("loss", loss).member("test_loss", test_loss).member("accuracy", accuracy).member("seconds", seconds);
  bench::print(json.end_object());
}

}  // namespace

int main(int count, char** arguments) try {
  const Digits digits = digits_from(count > 1 ? arguments[1] : nullptr);
  return bench::answer_lines<Request>("training_accuracy", [&](const Request& request) { answer(request, digits); });
} catch (const std::exception& error) {
  std::cerr << "training_accuracy: " << error.what() << "\n";
  return 1;
}
