#pragma once
// Files config.json of Hugging Face, from which the options of models are read.

#include <locus/core/system/file.hpp>
#include <locus/core/system/folder.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/io/json.hpp>
#include <locus/io/json_node.hpp>

#include <initializer_list>
#include <optional>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace models {

namespace detail {

/// read(node) of a config.json, or of the folder that has it. throws DataError
template <class F>
[[nodiscard]] auto of_config(const std::string& path, const F& read) {
  const std::string file = io::detail::is_folder(path) ? join(path, "/config.json") : path;
  const std::string text = io::detail::content_of(file, "a config.json of Hugging Face", 10'000'000);
  return read(io::JsonNode(text, file));
}

/// Reads the members of a config.json. Members that are missing or null have a default, unless they are required.
class ConfigReader {
 public:
  explicit ConfigReader(const io::JsonNode& file) : file_(file) {}

 protected:
  static constexpr double least = 1e-30, most = 1e30;  ///< of positive numbers
  static constexpr std::int64_t most_layers = 100'000;

  [[nodiscard]] const io::JsonNode& file() const { return file_; }
  [[nodiscard]] bool flag(std::string_view key, bool otherwise = false) const {
    const auto node = file_.find(key);
    return node ? node->boolean() : otherwise;
  }
  /// A number of a range. throws DataError that names the key
  [[nodiscard]] double number(std::string_view key, double otherwise, double from, double to) const {
    return number(file_, key, otherwise, from, to);
  }
  [[nodiscard]] static double number(const io::JsonNode& parent, std::string_view key, double otherwise, double from,
                                     double to) {
    const auto node = parent.find(key);
    if (!node) return otherwise;
    const double value = node->number();
    if (!(value >= from && value <= to)) node->refuse(join("a number from ", from, " to ", to));
    return value;
  }
  [[nodiscard]] static double positive(const io::JsonNode& node) {
    const double value = node.number();
    if (!(value >= least && value <= most)) node.refuse("a positive number");
    return value;
  }
  [[nodiscard]] static std::int64_t size(const io::JsonNode& node, std::int64_t largest = std::int64_t{1} << 31) {
    const std::int64_t value = node.integer();
    if (value < 1 || value > largest) node.refuse(join("a whole number from 1 to ", largest));
    return value;
  }
  [[nodiscard]] std::int64_t size(std::string_view key, std::int64_t otherwise) const {
    const auto node = file_.find(key);
    return node ? size(*node) : otherwise;
  }
  /// The same of a number of layers, of which each takes memory before a weight is read.
  [[nodiscard]] std::int64_t layers(std::string_view key, std::int64_t otherwise) const {
    const auto node = file_.find(key);
    return node ? size(*node, most_layers) : otherwise;
  }
  /// throws DataError unless the member is missing, null, or one of these texts of JSON
  void require(std::string_view key, std::initializer_list<std::string_view> texts) const {
    const auto found = file_.find(key);
    if (!found) return;
    std::string expected;
    for (const std::string_view text : texts) {
      if (found->text() == text) return;
      expected += join(expected.empty() ? "" : " or ", text);
    }
    found->refuse(join(expected, ": the model has nothing else"));
  }
  /// throws DataError for a model of quantized weights
  void require_unquantized() const {
    if (const auto quantized = file_.find("quantization_config"))
      quantized->refuse("none: weights are floating-point numbers; take the model that is not quantized");
  }

 private:
  const io::JsonNode& file_;
};

}  // namespace detail

/// Members of a config.json beside the options of a model.
struct ConfigTokens {
  std::optional<std::int64_t> bos_token_id = {};  ///< begins a text
  std::optional<std::int64_t> eos_token_id = {};  ///< ends a text
};

namespace detail {
/// Writes a config.json, or the file of this path: write(json) adds the members of the model. throws Error
template <class F>
void write_config(const std::string& path, const char* type, const char* architecture, const ConfigTokens& tokens,
                  const F& write) {
  io::JsonWriter json;
  json.begin_object().member("model_type", type).key("architectures").begin_array().value(architecture).end_array();
  write(json);
  if (tokens.bos_token_id) json.member("bos_token_id", *tokens.bos_token_id);
  if (tokens.eos_token_id) json.member("eos_token_id", *tokens.eos_token_id);
  json.end_object();
  io::write_file_atomically(io::detail::is_folder(path) ? join(path, "/config.json") : path, json.text());
}
}  // namespace detail

/// The model_type of a config.json, or of a folder with it: "gpt2", "llama", "bert" ...
/// throws DataError for a file that is missing or damaged, or names none
[[nodiscard]] inline std::string model_type(const std::string& path) {
  return detail::of_config(path, [](const io::JsonNode& file) { return file.at("model_type").string(); });
}

/// The tokens that end a text of a model: eos_token_id of generation_config.json in a folder, else of its config.json.
/// Empty where there is none.
/// throws DataError for a file that is missing or damaged
[[nodiscard]] inline std::vector<std::int64_t> end_tokens(const std::string& folder) {
  const auto read = [](const io::JsonNode& file) {
    std::vector<std::int64_t> tokens;
    const auto node = file.find("eos_token_id");
    if (node && node->is_array()) node->array([&](const io::JsonNode& each) { tokens.push_back(each.integer()); });
    else if (node) tokens.push_back(node->integer());
    return tokens;
  };
  const std::string generation = join(folder, "/generation_config.json");
  if (io::detail::exists(generation))
    if (auto tokens = detail::of_config(generation, read); !tokens.empty()) return tokens;
  return detail::of_config(folder, read);
}

}}}  // namespace locus::LOCUS_ABI::models
