// The logits of a model whose weights PyTorch, torchvision or Hugging Face saved.
//
//     logits_of_file resnet18|gpt2-small|gpt2|bert WEIGHTS INPUT OUTPUT [--mapped] [--save SHARDS]
//
// Of bert, WEIGHTS is a folder with config.json, which is loaded straight into the model, and written back to the file
// of --save under Hugging Face's names.
//
// WEIGHTS is a file of torch.save, a safetensors file, or the index of several files; INPUT a safetensors file with the
// tensor "input", OUTPUT one with "logits". --save also writes the model as SHARDS, several safetensors files.

#include <locus/interop/torch_file.hpp>
#include <locus/io/load_into.hpp>
#include <locus/io/mapped.hpp>
#include <locus/io/shards.hpp>
#include <locus/locus.hpp>
#include <locus/models/bert.hpp>
#include <locus/models/bert_config.hpp>
#include <locus/models/gpt2.hpp>
#include <locus/models/resnet.hpp>

#include <cstdio>
#include <string_view>

using namespace locus;

namespace {

struct Arguments {
  std::string model, weights, input, output, shards;
  bool mapped = false;
};

Arguments parsed(int argc, char** argv) {
  if (argc < 5)
    fail<ArgumentError>(
        {"usage: logits_of_file resnet18|gpt2-small|gpt2|bert WEIGHTS INPUT OUTPUT [--mapped] [--save SHARDS]"});
  Arguments arguments{argv[1], argv[2], argv[3], argv[4], {}, false};
  for (int i = 5; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--mapped") arguments.mapped = true;
    else if (option == "--save" && i + 1 < argc) arguments.shards = argv[++i];
    else fail<ArgumentError>({"unknown argument '", option, "'"});
  }
  return arguments;
}

nn::StateDict<Cpu> state_of(const Arguments& arguments) {
  const std::string_view path = arguments.weights;
  if (path.find(".safetensors") == path.npos) return io::load_torch(arguments.weights, {.mapped = arguments.mapped});
  return arguments.mapped ? io::load_mapped(arguments.weights) : io::load(arguments.weights);
}

template <class Input, class M>
void compute(const Arguments& arguments, const M& model, const nn::StateDict<Cpu>& state) {
  nn::load_state_dict(model, nn::renamed_for(model, state));
  nn::StateDict<Cpu> results;
  results.add("logits", model(io::load(arguments.input).get<Input>("input")));
  io::save(arguments.output, results);
  if (!arguments.shards.empty()) (void)io::save_shards(arguments.shards, nn::state_dict(model), {.max_bytes = 100'000});
}

void compute_bert(const Arguments& arguments) {
  const models::BertForMaskedLM<float> model(models::bert_options(arguments.weights));
  io::load_into(model, arguments.weights);
  const auto input = io::load(arguments.input);
  const auto tokens = input.get<std::int64_t>("input");
  nn::StateDict<Cpu> results;
  results.add("logits", model(tokens, {.attention_mask = tokens != 0}));
  io::save(arguments.output, results);
  if (!arguments.shards.empty()) io::save(arguments.shards, models::bert_file_state(nn::state_dict(model)));
}

void run(const Arguments& arguments) {
  if (arguments.model == "bert") return compute_bert(arguments);
  const auto state = state_of(arguments);
  if (arguments.model == "resnet18") compute<float>(arguments, models::resnet18<float>(), state);
  else if (arguments.model == "gpt2") compute<std::int64_t>(arguments, models::gpt2<float>(), state);
  else if (arguments.model == "gpt2-small")
    compute<std::int64_t>(
        arguments, models::gpt2<float>({.vocab_size = 501, .n_positions = 64, .n_embd = 48, .n_layer = 3, .n_head = 4}),
        state);
  else fail<ArgumentError>({"no model '", arguments.model, "'; expected resnet18, gpt2-small, gpt2 or bert"});
}

}  // namespace

int main(int argc, char** argv) try { run(parsed(argc, argv)); } catch (const Error& error) {
  std::fprintf(stderr, "logits_of_file: %s\n", error.what());
  return 1;
}
