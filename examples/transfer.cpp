// Transfer learning: a ResNet-18 with weights of torchvision, all of it frozen except a new last layer.
// The same in PyTorch: pytorch/transfer.py.
//
//     transfer --weights resnet18.safetensors --device cuda --data folder/of/cifar10 --output tuned.safetensors
//
// The file, of the stem and the width that it has itself:
//
//     safetensors.torch.save_file(torchvision.models.resnet18(weights="DEFAULT").state_dict(), "resnet18.safetensors")

#include "support/arguments.hpp"
#include "support/cifar_images.hpp"

#include <locus/io/safetensors.hpp>
#include <locus/locus.hpp>
#include <locus/models/resnet.hpp>

#include <cstdio>

using namespace locus;

template <Device D>
bool train(const std::string& path, const CifarImages& images, int epochs, const std::string& output, D device) {
  const auto weights = io::load<D>(path, device);
  const Tensor stem = weights.template get<float>("conv1.weight"), head = weights.template get<float>("fc.weight");
  const bool small = stem.size(-1) == 3;  // the stem for images of 32 x 32
  auto model = models::resnet18<float>({.classes = head.size(0), .small_images = small, .width = stem.size(0)}, device);
  nn::load_state_dict(model, weights);
  model.requires_grad_(false);                                      // no gradient for these parameters
  model.fc = nn::Linear<float, D>{head.size(1), 10, true, device};  // a new layer is trained
  optim::Adam optimizer{model.fc.parameters(), {.lr = 0.01}};

  const auto as_trained = data::compose(data::Resize{small ? 32 : 224},
                                        data::Normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}});  // ImageNet's
  auto batches = data::loader(data::transformed(images.train, as_trained), {.batch_size = 64, .shuffle = true}, device);
  auto test = data::loader(data::transformed(images.test, as_trained), {.batch_size = 250}, device);
  const Evaluation before = evaluate(model, test);
  std::printf("before training: loss %.4f, accuracy %.2f %%\n", before.loss, 100 * before.accuracy);
  History history;
  fit(nn::Frozen{model}, optimizer, batches, test, history, {.epochs = epochs});  // batch norm as it was trained
  std::printf("%s", history.table().c_str());
  if (!output.empty()) io::save(output, nn::state_dict(model));
  return history.last().valid_loss < before.loss;
}

int main(int argc, char** argv) try {
  const Arguments given(argc, argv, {"--device", "--weights", "--data", "--epochs", "--images", "--output"});
  const int epochs = given.number("--epochs", "5", 1), images = given.number("--images", "0", 0);
  const std::string weights = given.text("--weights", ""), output = given.text("--output", "");
  if (weights.empty())
    fail<ArgumentError>({"no weights; expected --weights FILE, of a ResNet-18 in torchvision's names, as safetensors"});
  manual_seed(0);
  const CifarImages all = read_images(given.text("--data", ""), {.train = images, .test = images / 5});
  return with_device(device_from(argc, argv),
                     [&]<Device D>(D device) { return train(weights, all, epochs, output, device); })
             ? 0
             : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "transfer: %s\n", error.what());
  return 1;
}
