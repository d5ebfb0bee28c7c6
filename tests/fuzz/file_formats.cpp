// Readers of files of weights and networks under libFuzzer, which makes inputs. file_formats_test.py builds and runs
// this program:
//
//   LOCUS_FUZZED=gguf ./file_formats -max_total_time=600 -rss_limit_mb=1024 -malloc_limit_mb=256 CORPUS SEEDS
//   LOCUS_FUZZ_SEEDS=FOLDER ./file_formats      # writes FOLDER/FORMAT/NAME, small valid files, and ends
//
// LOCUS_FUZZED names one of `formats`. Readers may throw exceptions of Locus; others, reads outside of memory, and
// allocations that no byte of the file accounts for are errors.
// -DLOCUS_FUZZ_NETWORKS=1 adds the format "network": networks of ONNX that are run, which takes minutes to compile.

#include <locus/data/files/token_file.hpp>
#include <locus/interop/gguf_file.hpp>
#include <locus/interop/onnx.hpp>
#include <locus/interop/torch_file.hpp>
#include <locus/io/mapped.hpp>
#include <locus/io/npy.hpp>
#include <locus/io/safetensors_view.hpp>
#include <locus/io/shards.hpp>
#include <locus/models/llama_config.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>
#include <locus/text/train_bpe.hpp>

#if LOCUS_FUZZ_NETWORKS
#include <locus/device/memory.hpp>
#include <locus/models/onnx.hpp>
#endif

#include <support/temporary_folder.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <sys/mman.h>

namespace {
using namespace locus;
using locus_test::content_of;
using locus_test::TemporaryFolder;
using Seeds = std::vector<std::pair<std::string, std::string>>;  ///< contents of files by name

/// A file in memory with this content, and its path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : number_(memfd_create("input", 0)) {
    if (number_ < 0 || write(number_, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { (void)close(number_); }
  [[nodiscard]] std::string path() const { return join("/proc/self/fd/", number_); }

 private:
  int number_;
};

/// Touches every byte, and checks that shapes fit.
void use(const nn::StateDict<Cpu>& state) {
  static volatile std::uint8_t sink = 0;
  for (const auto& entry : state) {
    if (entry.bytes.elements() != elements(entry.shape) * static_cast<std::int64_t>(size_of(entry.type))) std::abort();
    for (std::int64_t i = 0; i < entry.bytes.elements(); i += 64) sink = sink ^ entry.bytes.data()[i];
  }
}
/// A state of several types, one of its tensors without elements.
[[nodiscard]] nn::StateDict<Cpu> sample_state() {
  nn::StateDict<Cpu> state;
  state.add("weight", from({{1, 2, 3}, {4, 5, 6}}));
  state.add("bias", from<half>({1, 2, 3}));
  state.add("mask", from<bool>({1, 0, 1}));
  state.add("count", full<std::int64_t>({}, 7));
  state.add("none", zeros<double>({2, 0}));
  return state;
}
/// The file that write(path) writes.
template <class F>
[[nodiscard]] std::string written_by(const F& write, const char* name = "file") {
  const TemporaryFolder folder;
  write(folder.path / name);
  return content_of(folder.path / name);
}
[[nodiscard]] Seeds golden(const std::string& folder, const char* ending) {
  Seeds seeds;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(LOCUS_GOLDEN) / folder))
    if (file.path().extension() == ending) seeds.emplace_back(file.path().filename(), content_of(file.path()));
  return seeds;
}

void read_torch(std::string_view content) {
  const MemoryFile file(content);
  use(io::read_torch(file.path(), {.mapped = content.size() % 2 == 0}).state_dict());
}
Seeds torch_seeds() { return golden("torch", ".pt"); }

/// The pickle of an archive, which has a storage of 24 bytes.
void read_pickle(std::string_view content) {
  io::detail::ZipWriter archive("fuzz", 2);
  archive.add("a/data.pkl", "", content);
  archive.add("a/data/0", std::string(24, '\1'), "");
  std::string whole;
  for (const auto part : archive.parts()) whole += part;
  read_torch(whole);
}
Seeds pickle_seeds() {
  Seeds seeds;
  for (const auto& [name, content] : torch_seeds()) {
    if (!content.starts_with("PK")) continue;
    const MemoryFile memory(content);
    io::detail::InputFile file(memory.path(), "a seed");
    const io::detail::ZipDirectory directory(file, name, "torch.save");
    for (const io::detail::ZipEntry& entry : directory) {
      if (!entry.name.ends_with("data.pkl")) continue;
      std::string pickle(entry.bytes, ' ');
      io::detail::ZipReader(file, directory, entry, name).read(pickle.data(), pickle.size());
      seeds.emplace_back(name, pickle);
    }
  }
  return seeds;
}

void read_gguf(std::string_view content) {
  const MemoryFile file(content);
  use(io::load_gguf(file.path()));
}
Seeds gguf_seeds() { return golden("", ".gguf"); }

void read_safetensors(std::string_view content) {
  try {
    for (const auto& view : io::parse_safetensors({reinterpret_cast<const std::byte*>(content.data()), content.size()}))
      if (view.data.size() > content.size()) std::abort();
  } catch (const DataError&) {}
  const MemoryFile file(content);
  use(content.size() % 2 == 0 ? io::load(file.path()) : io::load_mapped(file.path()));
}
Seeds safetensors_seeds() {
  return {{"state", written_by([](const std::string& path) { io::save(path, sample_state()); })}};
}

/// An index of two files, which have the tensors of sample_state().
void read_shards(std::string_view content) {
  static const TemporaryFolder folder;
  [[maybe_unused]] static const std::string written =
      io::save_shards(folder.path / "m.safetensors", sample_state(), {.max_bytes = 20});
  const std::string index = folder.write("m.safetensors.index.json", content);
  use(content.size() % 2 == 0 ? io::load(index) : io::load_mapped(index));
}
Seeds shards_seeds() {
  const auto write = [](const std::string& path) {
    (void)io::save_shards(path.substr(0, path.rfind(".index")), sample_state(), {.max_bytes = 20});
  };
  return {{"index", written_by(write, "m.safetensors.index.json")}};
}

void read_npz(std::string_view content) {
  const MemoryFile file(content);
  use(io::load_npz(file.path()));
}
Seeds npz_seeds() {
  Seeds seeds;
  for (const bool is_compressed : {false, true})
    seeds.emplace_back(is_compressed ? "deflated" : "stored", written_by([&](const std::string& path) {
                         io::save_npz(path, sample_state(), {.compressed = is_compressed});
                       }));
  return seeds;
}

void read_npy(std::string_view content) {
  const MemoryFile file(content);
  const Tensor array = io::load_npy<float>(file.path());
  if (array.elements() * static_cast<std::int64_t>(sizeof(float)) > static_cast<std::int64_t>(content.size()))
    std::abort();
}
Seeds npy_seeds() {
  const auto write = [](const std::string& path) { io::save_npy(path, from({{1, 2, 3}, {4, 5, 6}})); };
  return {{"matrix", written_by(write)}};
}

/// A model with attributes of many types, and nested graphs.
[[nodiscard]] onnx::Model sample_model() {
  const onnx::Graph branch{.name = "branch",
                           .nodes = {{.op_type = "Identity", .inputs = {"x"}, .outputs = {"z"}}},
                           .outputs = {{"z", onnx::DataType::float32, {}}}};
  return {.operator_sets = {{"", 21}, {"com.example", 1}},
          .graph = {.name = "sample",
                    .nodes = {{.op_type = "Everything",
                               .inputs = {"x", "", "weight"},
                               .outputs = {"y"},
                               .attributes = {{"number", 0.5f},
                                              {"integer", std::int64_t{-3}},
                                              {"text", "t"},
                                              {"numbers", std::vector<float>{1, -2.5f}},
                                              {"integers", std::vector<std::int64_t>{INT64_MIN, 0, INT64_MAX}},
                                              {"texts", std::vector<std::string>{"a", ""}},
                                              {"tensor", onnx::tensor_data("", from<std::int64_t>({7, 8}))},
                                              {"branch", onnx::Graphs{{branch}}},
                                              {"branches", onnx::Graphs{{branch, branch}, true}}}}},
                    .initializers = {onnx::tensor_data("weight", from({{1, 2}, {3, 4}})),
                                     onnx::tensor_data("mask", from<bool>({1, 0}))},
                    .inputs = {{"x", onnx::DataType::float32, {"batch", 2, onnx::Dimension()}}},
                    .outputs = {{.name = "y", .type = onnx::DataType::int32, .has_shape = false}}},
          .metadata = {{"author", "somebody"}}};
}
/// A model that is read, written and read again is the same.
void read_onnx(std::string_view content) {
  const onnx::Model model = onnx::parse_onnx(content);
  for (const onnx::TensorData& tensor : model.graph.initializers) {
    if (tensor.bytes.elements() > 16 * static_cast<std::int64_t>(content.size())) std::abort();
    try {
      (void)onnx::tensor_as<float>(tensor);
    } catch (const DataError&) {}
  }
  const std::string again = onnx::encode_onnx(model);
  if (onnx::encode_onnx(onnx::parse_onnx(again)) != again) std::abort();
}
Seeds onnx_seeds() { return {{"sample", onnx::encode_onnx(sample_model())}}; }

/// A tokenizer of the file encodes text, decodes its tokens, and is written and read as the same one.
void read_tokenizer(std::string_view content) {
  const auto tokenizer = text::Tokenizer::from_json(content);
  if (tokenizer.vocab_size() > static_cast<std::int64_t>(content.size()) + 1'000'000) std::abort();
  constexpr std::string_view texts[] = {"It's 12345 low, lower: \xF0\x9F\x99\x82 e\xCC\x81\r\n  <end> <x>", "\xFF\xC3"};
  for (const std::string_view given : texts) {
    try {
      const auto tokens = tokenizer.encode(given);
      (void)tokenizer.decode(tokens);
    } catch (const DataError&) {}  // a byte without a token
  }
}
/// Trained ones, with steps and added tokens of each kind.
Seeds tokenizer_seeds() {
  Seeds seeds = {{"trained", written_by([](const std::string& path) {
                    constexpr std::string_view lines[] = {"low lower lowest", "new newer newest"};
                    text::train_bpe(lines, {.vocab_size = 264, .special_tokens = {"<end>"}}).save(path);
                  })}};
  const std::string golden = content_of(std::filesystem::path(LOCUS_GOLDEN) / "tokenizers.json");
  io::JsonNode(golden, "tokenizers.json").object([&](std::string_view name, const io::JsonNode& kind) {
    if (kind.is_object()) seeds.emplace_back(name, kind.at("file").text());
  });
  return seeds;
}

/// The two files of GPT-2's tokenizer, one behind the other: divided by a byte 0.
void read_vocabulary_and_merges(std::string_view content) {
  static const TemporaryFolder folder;
  const std::size_t end = content.find('\0');
  if (end == content.npos) return;
  const std::string vocabulary = folder.write("vocab.json", content.substr(0, end));
  const std::string merges = folder.write("merges.txt", content.substr(end + 1));
  constexpr std::string_view special[] = {"<end>"};
  const auto tokenizer = text::Tokenizer::from_files(vocabulary, merges, special);
  try {
    (void)tokenizer.decode(tokenizer.encode("aba<end> ab"));
  } catch (const DataError&) {}
}
Seeds vocabulary_and_merges_seeds() {
  using namespace std::string_literals;
  return {{"pairs", R"({"a": 0, "b": 1, "ab": 2, "aba": 3, "\u0120": 4})"s + '\0' + "#version: 0.2\na b\nab a\n"}};
}

/// Options that are read are those of a model, or refused.
void read_config(std::string_view content) {
  const auto options = models::llama_options(io::JsonNode(content, "config.json"));
  if (options.num_attention_heads % options.num_key_value_heads != 0 || options.head_dim % 2 != 0) std::abort();
  (void)rotary_frequencies(options.head_dim < 256 ? options.head_dim : 256, options.rope);
}
Seeds config_seeds() {
  constexpr std::string_view sizes = R"("vocab_size": 100, "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256)";
  const auto file = [&](const char* others) { return join("{", sizes, ", ", others, "}"); };
  return {
      {"llama", file(R"("model_type": "llama", "hidden_act": "silu", "rope_theta": 5e5, "rope_scaling": {"rope_type":
             "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64})")},
      {"yarn", file(R"("model_type": "qwen3", "head_dim": 16, "rope_parameters": {"rope_type": "yarn", "factor": 4.0,
             "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "truncate": false})")},
      {"window", file(R"("model_type": "mistral", "sliding_window": 32, "layer_types": ["sliding_attention"])")}};
}

/// Tokens of 16 and 32 bits, raw, of llm.c and of NumPy.
void read_tokens(std::string_view content) {
  const MemoryFile file(content);
  const data::TokenFile tokens(file.path(), {.bits = content.size() % 3 == 0 ? 32 : 16});
  static volatile std::uint32_t sink = 0;
  if (tokens.size() * tokens.bits() / 8 > static_cast<std::int64_t>(content.size())) std::abort();
  for (std::int64_t i = 0; i < tokens.size(); ++i) sink = sink ^ tokens[i];
}
Seeds tokens_seeds() {
  std::string header(256 * sizeof(std::int32_t), '\0');
  const std::int32_t numbers[] = {20240520, 1, 2};
  std::memcpy(header.data(), numbers, sizeof numbers);
  const auto npy = [](const char* type) {
    std::string dictionary = join("{'descr': '", type, "', 'fortran_order': False, 'shape': (2,), }");
    dictionary.resize(117, ' ');
    return "\x93NUMPY\x01" + std::string(1, '\0') + "v" + std::string(1, '\0') + dictionary + "\nabcdefgh";
  };
  return {{"raw", "abcdef"}, {"llm.c", header + "abcd"}, {"uint16", npy("<u2").substr(0, 132)}, {"uint32", npy("<u4")}};
}

#if LOCUS_FUZZ_NETWORKS
/// Runs a network on inputs of the shapes that it states, where they are small.
void run_network(std::string_view content) {
  static const bool is_limited = (set_memory_limit(Cpu{}, std::int64_t{1} << 24), true);
  const models::Onnx<float> net(onnx::parse_onnx(content));
  std::vector<models::OnnxInput<float, Cpu>> inputs;
  for (const onnx::ValueInfo& input : net.inputs()) {
    Shape shape;
    for (const onnx::Dimension& d : input.shape) shape.push_back(d.extent < 0 ? 2 : d.extent);
    if (elements(shape) > 10'000 || !is_limited) return;
    if (onnx::detail::is_floating(input.type)) inputs.emplace_back(input.name, full<float>(shape, 0.5f));
    else if (input.type == onnx::DataType::boolean) inputs.emplace_back(input.name, full<bool>(shape, true));
    else if (input.type == onnx::DataType::uint8) inputs.emplace_back(input.name, full<std::uint8_t>(shape, 1));
    else if (input.type == onnx::DataType::int32) inputs.emplace_back(input.name, full<std::int32_t>(shape, 1));
    else inputs.emplace_back(input.name, full<std::int64_t>(shape, 1));
  }
  use(net.run(inputs));
}
/// Two layers; file_formats_test.py adds ONNX's node tests where the package onnx is installed.
Seeds network_seeds() {
  const onnx::Model model{.graph = {.name = "net",
                                    .nodes = {{.op_type = "MatMul", .inputs = {"x", "w"}, .outputs = {"p"}},
                                              {.op_type = "Relu", .inputs = {"p"}, .outputs = {"a"}},
                                              {.op_type = "Reshape", .inputs = {"a", "s"}, .outputs = {"y"}}},
                                    .initializers = {onnx::tensor_data("w", from({{1, 2}, {3, 4}})),
                                                     onnx::tensor_data("s", from<std::int64_t>({-1}))},
                                    .inputs = {{"x", onnx::DataType::float32, {"n", 2}}},
                                    .outputs = {{.name = "y", .type = onnx::DataType::float32, .has_shape = false}}}};
  return {{"two layers", onnx::encode_onnx(model)}};
}
#endif

struct Format {
  std::string_view name;
  void (*read)(std::string_view content);
  Seeds (*seeds)();
};
constexpr Format formats[] = {
    {"torch", &read_torch, &torch_seeds},
    {"pickle", &read_pickle, &pickle_seeds},
    {"gguf", &read_gguf, &gguf_seeds},
    {"safetensors", &read_safetensors, &safetensors_seeds},
    {"shards", &read_shards, &shards_seeds},
    {"npz", &read_npz, &npz_seeds},
    {"npy", &read_npy, &npy_seeds},
    {"onnx", &read_onnx, &onnx_seeds},
    {"tokenizer", &read_tokenizer, &tokenizer_seeds},
    {"vocabulary", &read_vocabulary_and_merges, &vocabulary_and_merges_seeds},
    {"config", &read_config, &config_seeds},
    {"tokens", &read_tokens, &tokens_seeds},
#if LOCUS_FUZZ_NETWORKS
    {"network", &run_network, &network_seeds},
#endif
};
const Format* chosen = nullptr;

void write_seeds(const std::filesystem::path& folder) {
  for (const Format& format : formats) {
    std::filesystem::create_directories(folder / format.name);
    for (const auto& [name, content] : format.seeds())
      std::ofstream(folder / format.name / name, std::ios::binary) << content;
  }
}
}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* const folder = std::getenv("LOCUS_FUZZ_SEEDS")) {
    write_seeds(folder);
    std::exit(0);
  }
  const char* const name = std::getenv("LOCUS_FUZZED");
  for (const Format& format : formats)
    if (name && format.name == name) chosen = &format;
  if (chosen) return 0;
  std::cerr << "LOCUS_FUZZED names no format; expected";
  for (const Format& format : formats) std::cerr << " " << format.name;
  std::cerr << "\n";
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    chosen->read({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {}
  return 0;
}
