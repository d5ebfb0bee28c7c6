// One training step of a ResNet with weights that PyTorch saved.
//
//     one_step resnet18|resnet34|resnet50 FOLDER float|double [small]
//
// reads weights.safetensors (a state_dict) and batch.safetensors ("images", "labels") of the folder, and writes to it
// results.safetensors (logits before, in and after the step, gradients) and trained.safetensors (the state after it).

#include <locus/io/safetensors.hpp>
#include <locus/locus.hpp>
#include <locus/models/resnet.hpp>

#include <cstdio>

using namespace locus;

namespace {

template <class M>
void step(const M& model, const std::string& folder) {
  nn::load_state_dict(model, io::load(folder + "/weights.safetensors"));
  const auto batch = io::load(folder + "/batch.safetensors");
  const auto images = batch.get<value_of<M>>("images");

  nn::StateDict<Cpu> results;
  results.add("logits", model(images));
  optim::Sgd optimizer{model.parameters(), {.lr = 0.01}};
  const auto logits = model(trace(images));
  nn::cross_entropy(logits, batch.get<std::int64_t>("labels")).backward();
  results.add("logits in training", logits.value());
  for (const auto& [name, parameter] : model.named_parameters()) results.add("gradient " + name, parameter.grad());
  optimizer.step();
  results.add("logits after the step", model(images));

  io::save(folder + "/results.safetensors", results);
  io::save(folder + "/trained.safetensors", nn::state_dict(model));
}

template <class T>
void step(const std::string& name, const std::string& folder, bool small) {
  const models::ResNetOptions options{.classes = small ? 10 : 1000, .small_images = small};
  if (name == "resnet18") step(models::resnet18<T>(options), folder);
  else if (name == "resnet34") step(models::resnet34<T>(options), folder);
  else step(models::resnet50<T>(options), folder);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::fprintf(stderr, "usage: one_step resnet18|resnet34|resnet50 FOLDER float|double [small]\n");
    return 2;
  }
  if (argv[3] == std::string("double")) step<double>(argv[1], argv[2], argc > 4);
  else step<float>(argv[1], argv[2], argc > 4);
} catch (const Error& error) {
  std::fprintf(stderr, "one_step: %s\n", error.what());
  return 1;
}
