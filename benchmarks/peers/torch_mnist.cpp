// The program of ../cpu_training.cpp in libtorch, written for speed: the images are in memory, and a batch is one
// index_select of a random permutation, without a data loader.
//
//   torch_mnist DATA [EPOCHS [SEED [LAYERS [BATCH [RATE]]]]]
//
// TORCH_THREADS: threads within an operation (default: libtorch's own choice).
// TORCH_STORAGE: float (images converted once; default) or uint8 (each batch converted).

#include <torch/torch.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::vector<std::uint8_t> read_bytes(const std::string& path, std::size_t count) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) file = gzopen((path + ".gz").c_str(), "rb");
  if (!file) throw std::runtime_error("there is neither " + path + " nor " + path + ".gz");
  std::vector<std::uint8_t> bytes(count);
  const int read = gzread(file, bytes.data(), static_cast<unsigned>(count));
  gzclose(file);
  if (read != static_cast<int>(count)) throw std::runtime_error(path + " is shorter than MNIST's");
  return bytes;
}

struct Data {
  torch::Tensor images, labels;
};

Data read_mnist(const std::string& folder, bool as_float) {
  constexpr std::int64_t count = 60000, pixels = 784;
  auto images = read_bytes(folder + "/train-images-idx3-ubyte", 16 + count * pixels);
  auto labels = read_bytes(folder + "/train-labels-idx1-ubyte", 8 + count);
  auto x = torch::from_blob(images.data() + 16, {count, pixels}, torch::kUInt8);
  auto y = torch::from_blob(labels.data() + 8, {count}, torch::kUInt8);
  return {as_float ? x.to(torch::kFloat32).div_(255) : x.clone(), y.to(torch::kInt64)};
}

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

/// A perceptron with layer extents as 784-32-10.
torch::nn::Sequential perceptron(const std::string& layers) {
  torch::nn::Sequential model;
  std::istringstream extents(layers);
  char separator = 0;
  std::int64_t inputs = 0, outputs = 0;
  for (extents >> inputs; extents >> separator >> outputs; inputs = outputs) {
    if (!model->is_empty()) model->push_back(torch::nn::ReLU(torch::nn::ReLUOptions(true)));
    model->push_back(torch::nn::Linear(inputs, outputs));
  }
  if (model->is_empty()) throw std::runtime_error("expected layers as 784-32-10, got " + layers);
  return model;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 7) throw std::runtime_error("usage: torch_mnist DATA [EPOCHS [SEED [LAYERS [BATCH [RATE]]]]]");
  const auto argument = [&](int i, const char* otherwise) { return std::string(i < argc ? argv[i] : otherwise); };
  const std::int64_t epochs = std::stoll(argument(2, "5")), seed = std::stoll(argument(3, "0"));
  const std::int64_t batch_size = std::stoll(argument(5, "100"));
  const bool as_float = setting("TORCH_STORAGE", "float") == "float";
  if (const int threads = std::stoi(setting("TORCH_THREADS", "0"))) at::set_num_threads(threads);
  torch::manual_seed(static_cast<std::uint64_t>(seed));

  const Data all = read_mnist(argv[1], as_float);
  const auto split = torch::randperm(all.images.size(0));
  const auto part = [&](const torch::Tensor& at) {
    return Data{all.images.index_select(0, at), all.labels.index_select(0, at)};
  };
  const Data valid = part(split.slice(0, 0, 12000)), train = part(split.slice(0, 12000));
  const std::int64_t images = train.images.size(0);
  const auto ready = [&](torch::Tensor x) { return as_float ? x : x.to(torch::kFloat32).mul_(1.f / 255); };

  torch::nn::Sequential model = perceptron(argument(4, "784-32-10"));
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(std::stod(argument(6, "0.5"))));

  for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    const auto order = torch::randperm(images);
    auto loss_sum = torch::zeros({});
    std::int64_t batches = 0;
    for (std::int64_t first = 0; first < images; first += batch_size, ++batches) {
      const auto at = order.slice(0, first, std::min(first + batch_size, images));
      const auto x = ready(train.images.index_select(0, at)), y = train.labels.index_select(0, at);
      const auto loss = torch::nn::functional::cross_entropy(model->forward(x), y);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      loss_sum += loss.detach();
    }
    const double mean_loss = loss_sum.item<double>() / static_cast<double>(batches);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    const torch::NoGradGuard no_grad;
    const auto hits = model->forward(ready(valid.images)).argmax(1).eq(valid.labels).sum().item<std::int64_t>();
    std::printf("{\"epoch\": %d, \"seconds\": %.6f, \"loss\": %.6f, \"accuracy\": %.5f}\n", static_cast<int>(epoch),
                seconds, mean_loss, static_cast<double>(hits) / static_cast<double>(valid.labels.size(0)));
    std::fflush(stdout);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "torch_mnist: %s\n", error.what());
  return 1;
}
