// Runs on: host, cuda (training).
#include <locus/models/resnet.hpp>

#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/ops/norm.hpp>
#include <locus/optim/sgd.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <golden/models.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// A training step of SGD.
template <class M>
void check_step(const std::string& golden_name, const M& model, std::int64_t extent) {
  golden::fill(model);
  const auto images = golden::images_for<device_of<M>>(golden_name, {2, 3, extent, extent});
  CHECK_CLOSE(model(images), golden::reference(golden_name + "_logits"), 1e-4);
  optim::Sgd optimizer{model.parameters(), {.lr = 0.01}};
  const auto logits = model(trace(images));
  CHECK_CLOSE(logits, golden::reference(golden_name + "_logits_in_training"), 1e-4);
  golden::check_gradients(golden_name, model, logits);
  for (const auto& [name, buffer] : model.named_buffers()) {
    if (buffer.shape().rank() == 1)
      golden::check_shown(golden_name + "_buffer_" + name, buffer.template value<float>());
    else CHECK(buffer.template value<std::int64_t>().template to<Cpu>().item() == 1);
  }
  optimizer.step();
  CHECK_CLOSE(model(images), golden::reference(golden_name + "_logits_after_the_step"), 1e-4);
}

/// The name and extents of each parameter and buffer, as in a line of model_names.txt.
template <class M>
std::vector<std::string> names_of(const M& model) {
  std::vector<std::string> names;
  for (const auto& entry : nn::state_dict(model)) {
    names.push_back(entry.name);
    for (int d = 0; d < entry.shape.rank(); ++d) names.back() += join(" ", entry.shape[d]);
  }
  return names;
}
std::vector<std::string> names_in_torchvision(const std::string& model) {
  std::ifstream file(golden::folder() + "model_names.txt");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(model + " ")) names.push_back(line.substr(model.size() + 1));
  return names;
}

using SmallResNet = models::ResNet<float, Cpu, models::BasicBlock>;

/// Gradients of the parameters, with rectify(z) in place of each relu(z).
template <class F>
std::vector<Tensor<float>> gradients(const SmallResNet& model, const Tensor<float>& images, const F& rectify) {
  model.zero_grad();
  Traced<float> x = rectify(model.bn1(model.conv1(trace(images))));
  for (const auto* const layer : {&model.layer1, &model.layer2, &model.layer3, &model.layer4})
    for (const auto& block : *layer) {
      const auto inner = block.conv2(rectify(block.bn1(block.conv1(x))));
      x = rectify(Traced<float>(block.bn2(inner) + block.downsample(x)));
    }
  sum(model.fc(flatten(adaptive_avg_pool2d(x, 1), 1))).backward();
  std::vector<Tensor<float>> all;
  for (const auto& parameter : model.parameters()) all.push_back(parameter.grad().clone());
  return all;
}

}  // namespace

TEST_CASE("gradients by Winograd's convolutions are the exact ones but for signs of relu's inputs next to zero") {
  const bool allowed = cpu::winograd_is_allowed();
  const auto model = models::resnet18<float>({.classes = 10, .small_images = true, .width = 16});
  golden::fill(model);
  const auto images = golden::numbers_of<Cpu>("images", {2, 3, 16, 16});
  cpu::allow_winograd(false);
  std::vector<Tensor<float>> inputs, masks;  // of each relu
  const auto exact = gradients(model, images, [&](const Traced<float>& z) {
    inputs.push_back(z.value());
    masks.push_back((z.value() > 0.f).template as<float>().eval());
    return relu(z).eval();
  });
  cpu::allow_winograd(true);
  std::size_t next = 0;
  const auto by_those_masks = gradients(model, images, [&](const Traced<float>& z) {
    const auto other_sign = ((z.value() > 0.f).template as<float>() != masks[next]).template as<float>();
    const auto largest = norm(inputs[next] * other_sign, INFINITY).item();
    CHECK(largest < 1e-4f);  // inputs are of the size of 1
    return (z * masks[next++]).eval();
  });
  cpu::allow_winograd(allowed);
  float error = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    error = std::max(error, norm(by_those_masks[i] - exact[i]).item() / norm(exact[i]).item());
  CHECK(error > 0);  // Winograd's algorithm did run
  CHECK(error < 1e-4f);
}

LOCUS_DEVICE_TEST("one training step of ResNet-18 is torchvision's: names, logits, gradients, running statistics", D) {
  const auto model = models::resnet18<float, D>({.classes = 10});
  CHECK(names_of(model) == names_in_torchvision("resnet18"));
  check_step("resnet18", model, 48);
}

LOCUS_DEVICE_TEST("the same with the stem for small images, and narrow", D) {
  check_step("resnet18_small", models::resnet18<float, D>({.classes = 10, .small_images = true, .width = 8}), 16);
}

LOCUS_DEVICE_TEST("one of channels-last images gives the same numbers", D) {
  check_step("resnet18_small",
             models::resnet18<float, D>({.classes = 10, .small_images = true, .width = 8, .channels_last = true}), 16);
  check_step("resnet18", models::resnet18<float, D>({.classes = 10, .channels_last = true}).clone(), 48);
}

LOCUS_DEVICE_TEST("logits and gradients of a narrow ResNet-50 are torchvision's", D) {
  const auto model = models::resnet50<float, D>({.classes = 5, .width = 8});
  CHECK(names_of(model) == names_in_torchvision("resnet50"));
  golden::fill(model);
  const auto logits = model(frozen(trace(golden::images_for<D>("resnet50", {2, 3, 32, 32}))));
  CHECK_CLOSE(logits, golden::reference("resnet50_logits"), 1e-4);
  golden::check_gradients("resnet50", model, logits);
}

TEST_CASE("ResNet-34 has torchvision's names and shapes") {
  CHECK(names_of(models::resnet34<float>({.width = 8})) == names_in_torchvision("resnet34"));
}

TEST_CASE("ResNets begin with torchvision's initial values") {
  manual_seed(3);
  const auto model = models::resnet50<float>({.zero_init_residual = true, .width = 16});
  const auto deviation_of = [](const auto& weight) {
    return norm(weight.value()).item() / std::sqrt(static_cast<double>(weight.elements()));
  };
  CHECK(deviation_of(model.conv1.weight) == doctest::Approx(std::sqrt(2.0 / (16 * 49))).epsilon(0.05));
  const auto& block = model.layer3[2];
  CHECK(deviation_of(block.conv1.weight) == doctest::Approx(std::sqrt(2.0 / 64)).epsilon(0.02));
  CHECK(deviation_of(block.conv2.weight) == doctest::Approx(std::sqrt(2.0 / (64 * 9))).epsilon(0.02));
  CHECK(deviation_of(block.conv3.weight) == doctest::Approx(std::sqrt(2.0 / 256)).epsilon(0.02));
  CHECK(deviation_of(model.fc.weight) == doctest::Approx(1 / std::sqrt(3.0 * 512)).epsilon(0.02));  // uniform
  CHECK_CLOSE(block.bn2.weight, reference(ones({64})));
  CHECK_CLOSE(block.bn2.bias, reference(zeros({64})));
  CHECK_CLOSE(block.bn3.weight, reference(zeros({256})));
  const auto basic = models::resnet18<float>({.zero_init_residual = true, .width = 4});
  CHECK_CLOSE(basic.layer1[1].bn1.weight, {1, 1, 1, 1});
  CHECK_CLOSE(basic.layer1[1].bn2.weight, {0, 0, 0, 0});
  const auto x = sample<float, Cpu>({2, 4, 6, 6});
  CHECK_CLOSE(basic.layer1[1](trace(x)), reference(relu(x)));  // the block begins as its shortcut
  CHECK_CLOSE(models::resnet18<float>({.width = 4}).layer4[1].bn2.weight, reference(ones({32})));
}

LOCUS_DEVICE_TEST("a stage of a ResNet is called like a layer, and has its blocks by number", D) {
  auto model = models::resnet18<float, D>({.classes = 3, .small_images = true, .width = 4});
  const auto h = sample<float, D>({2, 4, 6, 6});
  CHECK_CLOSE(model.layer1(h), reference(model.layer1[1](model.layer1[0](h))), 0);
  CHECK(model.layer2(model.layer1(trace(h))).shape() == Shape{2, 8, 3, 3});
  std::string children;
  for (const auto& [name, module] : model.children()) children += name + " ";
  CHECK(children == "conv1 bn1 layer1 layer2 layer3 layer4 fc ");
  CHECK(model.layer1.named_parameters()[0].name == "0.conv1.weight");
  std::size_t blocks = 0;
  for (const auto& block : model.layer1) blocks += static_cast<std::size_t>(block.conv1.weight.defined());
  CHECK(blocks == model.layer1.size());
  CHECK_THROWS_WITH_AS((void)model.layer1[2], "Stage: block 2 of 2", IndexError);
  const models::BasicBlock<float, D> another(4, 4);
  model.layer1[1] = another;
  CHECK(model.layer1.parameters().back() == another.bn2.bias);
}

LOCUS_DEVICE_TEST("of a ResNet whose last layer alone is trained, a backward pass is that of the layer alone", D) {
  auto model = models::resnet18<float, D>({.classes = 20, .small_images = true, .width = 4});
  model.fc = nn::Linear<float, D>{model.fc.weight.size(1), 3};  // a new head
  model.requires_grad_(false);
  model.fc.requires_grad_();
  const auto images = sample<float, D>({2, 3, 8, 8});
  const auto pass = [](const auto& logits) {
    const LaunchLog log;
    sum(logits * 0.5f).eval().backward();
    return log.launches();
  };
  const auto of_layer = pass(model.fc(trace(sample<float, D>({2, 32}))));
  model.zero_grad();
  CHECK(pass(model(trace(images))) == of_layer);
  for (const auto& [name, parameter] : model.named_parameters())
    CHECK(parameter.has_grad() == (name == "fc.weight" || name == "fc.bias"));
}

TEST_CASE("what is wrong with a ResNet or its images is said") {
  CHECK_THROWS_WITH_AS((void)models::resnet18<float>({.classes = 0}), "ResNet: .classes = 0; expected at least 1",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)models::resnet34<float>({.channels = -1}), "ResNet: .channels = -1; expected at least 1",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)models::resnet50<float>({.width = 0}), "ResNet: .width = 0; expected at least 1",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)(models::ResNet<float, Cpu, models::BasicBlock>({2, 2, 2, 0}, {.width = 4})),
                       "ResNet: a stage of 0 blocks; expected at least 1 in each of the four", ArgumentError);
  for (const bool small : {false, true}) {
    const auto model = models::resnet18<float>({.classes = 2, .small_images = small, .width = 4});
    CHECK(model(zeros({1, 3, 1, 1})).shape() == Shape{1, 2});
    CHECK(model(zeros({0, 3, 9, 7})).shape() == Shape{0, 2});
    CHECK_THROWS_WITH_AS((void)model(zeros({2, 1, 8, 8})),
                         "ResNet: images of shape (2, 1, 8, 8); expected (batch, 3, height, width), each of 1 or more",
                         ShapeError);
    CHECK_THROWS_AS((void)model(zeros({3, 8, 8})), ShapeError);
    CHECK_THROWS_AS((void)model(trace(zeros({2, 3, 8, 0}))), ShapeError);
    CHECK_THROWS_AS((void)model(trace(zeros({1, 3, 1, 1}))), ArgumentError);  // one value per channel, in training
  }
}
