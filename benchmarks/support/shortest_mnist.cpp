// The shortest program that trains on every device; compile_time.py measures its compile time.

#include <locus/locus.hpp>

#include <cstdio>

using namespace locus;

template <Device D>
void train(const data::Mnist& digits) {
  nn::Sequential<float, D> model{nn::Flatten{}, nn::Linear<float, D>{784, 32}, nn::ReLU{},
                                 nn::Linear<float, D>{32, 10}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5f}};
  for (auto [images, labels] : data::loader<D>(digits.train, {.batch_size = 100, .shuffle = true})) {
    auto loss = nn::cross_entropy(model(trace(images)), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  std::printf("accuracy %.4f\n", evaluate(model, digits.valid).accuracy);
}

int main(int argc, char** argv) {
  with_device(device_from(argc, argv), []<Device D>(D) { train<D>(data::Mnist::open("mnist")); });
}
