// A training step of Llama with files that transformers saved.
//
//     llama_of_files FOLDER float|double
//
// reads config.json, model.safetensors and batch.safetensors ("tokens") of the folder, and writes to it
// results.safetensors (logits, loss, gradients), and the model into the folder "ours", as transformers saves it.

#include <locus/io/load_into.hpp>
#include <locus/io/safetensors.hpp>
#include <locus/locus.hpp>
#include <locus/models/llama.hpp>
#include <locus/models/llama_config.hpp>

#include <cstdio>

using namespace locus;

namespace {

template <class T>
void step(const std::string& folder) {
  const auto model = models::llama<T>(models::llama_options(folder));
  io::load_into(model, folder);
  const auto tokens = io::load(folder + "/batch.safetensors").template get<std::int64_t>("tokens");

  nn::StateDict<Cpu> results;
  results.add("logits", model(tokens));
  const auto inputs = tokens.slice(1, 0, tokens.size(1) - 1).contiguous();
  const auto loss = model.loss(trace(inputs), tokens.slice(1, 1).contiguous());
  loss.backward();
  results.add("loss", loss.value());
  for (const auto& [name, parameter] : model.named_parameters()) results.add("gradient " + name, parameter.grad());
  io::save(folder + "/results.safetensors", results);
  io::save(folder + "/ours/model.safetensors", nn::state_dict(model));
  models::save_config(folder + "/ours", model.options(), {.bos_token_id = 0, .eos_token_id = 0});
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: llama_of_files FOLDER float|double\n");
    return 2;
  }
  if (argv[2] == std::string("double")) step<double>(argv[1]);
  else step<float>(argv[1]);
} catch (const Error& error) {
  std::fprintf(stderr, "llama_of_files: %s\n", error.what());
  return 1;
}
