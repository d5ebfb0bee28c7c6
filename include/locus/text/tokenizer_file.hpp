#pragma once
// Files of tokenizers: tokenizer.json of Hugging Face, vocab.json and merges.txt of GPT-2. Included by
// text/tokenizer.hpp.

#include <locus/core/system/file.hpp>
#include <locus/core/system/folder.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/io/json.hpp>
#include <locus/io/json_node.hpp>
#include <locus/text/tokenizer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace text {

namespace detail {

/// The content of a file. throws DataError
[[nodiscard]] inline std::string content_of(const std::string& path, const char* expected) {
  return io::detail::content_of(path, expected, 1'000'000'000);
}

/// Reads the parts of a tokenizer.json. Settings that change tokens and are not there are refused by their keys.
class TokenizerReader {
 public:
  explicit TokenizerReader(std::string_view name) : name_(name) {}

  [[nodiscard]] TokenizerParts read(const io::JsonNode& file) {
    require_neutral(file,
                    {"version", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"});
    parts_.vocabulary.limit_ids(file.text().size());
    if (const auto added = file.find("added_tokens")) added->array([&](const io::JsonNode& each) { read_added(each); });
    read_model(file.at("model"));
    for (const AddedToken& token : added_) parts_.vocabulary.add(token, name_);
    if (const auto normalizer = file.find("normalizer")) read_normalizer(*normalizer);
    if (const auto steps = file.find("pre_tokenizer")) read_step(*steps);
    else file.refuse("a pre_tokenizer of bytes (ByteLevel)");
    if (!is_of_bytes_) file.at("pre_tokenizer").refuse("a step ByteLevel: vocabularies of characters are not there");
    if (const auto processor = file.find("post_processor")) read_processor(*processor);
    if (const auto decoder = file.find("decoder")) read_decoder(*decoder);
    return std::move(parts_);
  }

 private:
  /// Members beside the known ones must be absent, null, false or empty.
  static void require_neutral(const io::JsonNode& node, Span<const std::string_view> known) {
    node.object([&](const std::string& key, const io::JsonNode& value) {
      for (const std::string_view each : known)
        if (key == each) return;
      for (const std::string_view neutral : {"null", "false", "\"\"", "[]", "{}"})
        if (value.text() == neutral) return;
      value.refuse("null: this setting is not there");
    });
  }
  static void require_neutral(const io::JsonNode& node, std::initializer_list<std::string_view> known) {
    require_neutral(node, Span<const std::string_view>(known.begin(), known.size()));
  }
  /// Calls one(node) for the members of a "Sequence" under a key, or for the node itself.
  template <class F>
  static void each_of(const io::JsonNode& node, std::string_view key, const F& one) {
    if (node.at("type").string() == "Sequence") node.at(key).array(one);
    else one(node);
  }

  void read_model(const io::JsonNode& model) {
    // The type is missing in files of older versions.
    if (const auto type = model.find("type"); type && type->string() != "BPE") type->refuse("\"BPE\"");
    require_neutral(model, {"type", "vocab", "merges", "ignore_merges", "unk_token", "fuse_unk"});
    if (const auto ignores = model.find("ignore_merges")) parts_.ignores_merges = ignores->boolean();
    read_vocabulary(model.at("vocab"));
    model.at("merges").array([&](const io::JsonNode& merge) { read_merge(merge); });
    if (const auto fuses = model.find("fuse_unk")) parts_.fuses_unknown = fuses->boolean();
    if (const auto unknown = model.find("unk_token")) {
      std::string bytes;
      parts_.unknown = parts_.vocabulary.find(unknown->string());
      if (parts_.unknown == no_token && read_written(unknown->string(), bytes))
        parts_.unknown = parts_.vocabulary.find(bytes);
      if (parts_.unknown == no_token) unknown->refuse("a token of the vocabulary");
    }
  }
  /// Added tokens stand in a vocabulary as they are, the others in the characters of their bytes.
  void read_vocabulary(const io::JsonNode& vocabulary) {
    std::unordered_map<std::string_view, std::int64_t> added;
    for (const AddedToken& token : added_) added.emplace(token.content, token.id);
    std::string bytes;
    vocabulary.object([&](const std::string& token, const io::JsonNode& node) {
      const std::int64_t id = node.integer();
      const auto known = added.find(token);
      const bool stands_as_it_is = (known != added.end() && known->second == id) || !read_written(token, bytes);
      parts_.vocabulary.add(stands_as_it_is ? token : bytes, id, name_);
    });
  }
  /// "left right" of older versions, or ["left", "right"].
  void read_merge(const io::JsonNode& merge) {
    std::vector<std::string> sides;
    if (merge.is_array()) {
      merge.array([&](const io::JsonNode& side) { sides.push_back(side.string()); });
    } else {
      const std::string line = merge.string();
      const auto space = line.find(' ');
      if (space != std::string::npos) sides = {line.substr(0, space), line.substr(space + 1)};
    }
    if (sides.size() != 2) merge.refuse("two tokens");
    for (std::string& side : sides)
      if (std::string bytes; read_written(side, bytes)) side = bytes;
    parts_.vocabulary.add_merge(sides[0], sides[1], name_);
  }

  void read_added(const io::JsonNode& node) {
    require_neutral(node, {"id", "content", "special", "single_word", "lstrip", "rstrip", "normalized"});
    const auto flag = [&](std::string_view key, bool otherwise) {
      const auto found = node.find(key);
      return found ? found->boolean() : otherwise;
    };
    AddedToken token{.content = node.at("content").string(), .id = node.at("id").integer()};
    token.special = flag("special", false), token.normalized = flag("normalized", !token.special);
    token.single_word = flag("single_word", false);
    token.lstrip = flag("lstrip", false), token.rstrip = flag("rstrip", false);
    added_.push_back(std::move(token));
  }

  void read_normalizer(const io::JsonNode& node) {
    each_of(node, "normalizers", [&](const io::JsonNode& each) {
      if (each.at("type").string() != "NFC") each.at("type").refuse("the normalizer \"NFC\", or none");
      require_normalization(name_);
      parts_.composes = true;
    });
  }

  void read_step(const io::JsonNode& node) {
    each_of(node, "pretokenizers", [&](const io::JsonNode& each) {
      const std::string type = each.at("type").string();
      if (type == "ByteLevel") read_byte_level(each);
      else if (type == "Split") read_split(each);
      else if (type == "Digits") read_digits(each);
      else each.at("type").refuse("\"ByteLevel\", \"Split\", \"Digits\" or \"Sequence\"");
    });
  }
  void read_byte_level(const io::JsonNode& node) {
    require_neutral(node, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    Step step;
    if (const auto prefix = node.find("add_prefix_space")) step.prefix_space = prefix->boolean();
    if (const auto divides = node.find("use_regex"); !divides || divides->boolean())
      step.pattern.emplace(std::string(gpt2_pattern), name_);
    if (step.pattern || step.prefix_space) parts_.steps.push_back(std::move(step));
    is_of_bytes_ = true;
  }
  void read_split(const io::JsonNode& node) {
    require_neutral(node, {"type", "pattern", "behavior", "invert"});
    if (const auto behavior = node.at("behavior"); behavior.string() != "Isolated") behavior.refuse("\"Isolated\"");
    if (const auto invert = node.find("invert"); invert && invert->boolean()) invert->refuse("false");
    const io::JsonNode pattern = node.at("pattern");
    if (const auto regex = pattern.find("Regex")) add_split(regex->string());
    else add_split(quoted(pattern.at("String").string()));
  }
  void read_digits(const io::JsonNode& node) {
    require_neutral(node, {"type", "individual_digits"});
    const auto individual = node.find("individual_digits");
    add_split(individual && individual->boolean() ? R"(\p{N})" : R"(\p{N}+)");
  }
  void add_split(std::string expression) {
    Step step;
    step.pattern.emplace(std::move(expression), name_);
    parts_.steps.push_back(std::move(step));
  }
  /// An expression that matches this text.
  [[nodiscard]] static std::string quoted(std::string_view text) {
    std::string result;
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x80 && c != '_' && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
          !(c >= 'a' && c <= 'z'))
        result += '\\';
      result += c;
    }
    return result;
  }

  void read_processor(const io::JsonNode& node) {
    each_of(node, "processors", [&](const io::JsonNode& each) {
      const std::string type = each.at("type").string();
      if (type == "TemplateProcessing") read_template(each);
      else if (type == "RobertaProcessing") read_ends(each);
      else if (type != "ByteLevel")
        each.at("type").refuse("\"ByteLevel\", \"TemplateProcessing\", \"RobertaProcessing\" or \"Sequence\"");
    });
  }
  /// The special tokens of the template of one text.
  void read_template(const io::JsonNode& node) {
    bool is_after = false;
    node.at("single").array([&](const io::JsonNode& piece) {
      if (piece.find("Sequence")) is_after = true;
      else
        node.at("special_tokens")
            .at(piece.at("SpecialToken").at("id").string())
            .at("ids")
            .array([&](const io::JsonNode& id) { put_around(id, is_after); });
    });
  }
  void read_ends(const io::JsonNode& node) {
    std::size_t at = 0;
    node.at("cls").array([&](const io::JsonNode& each) {
      if (at++ == 1) put_around(each, false);
    });
    at = 0;
    node.at("sep").array([&](const io::JsonNode& each) {
      if (at++ == 1) put_around(each, true);
    });
  }
  void put_around(const io::JsonNode& node, bool is_after) {
    const std::int64_t id = node.integer();
    const auto& vocabulary = parts_.vocabulary;
    if (id < 0 || id >= static_cast<std::int64_t>(vocabulary.size()) ||
        vocabulary[static_cast<std::size_t>(id)].kind == Token::Kind::none)
      node.refuse("the id of a token");
    (is_after ? parts_.after : parts_.before).push_back(id);
  }
  void read_decoder(const io::JsonNode& node) {
    each_of(node, "decoders", [&](const io::JsonNode& each) {
      if (each.at("type").string() != "ByteLevel") each.at("type").refuse("the decoder \"ByteLevel\"");
    });
  }

  std::string name_;
  TokenizerParts parts_;
  std::vector<AddedToken> added_;
  bool is_of_bytes_ = false;
};

inline void write_added(io::JsonWriter& json, const std::vector<AddedToken>& tokens) {
  json.key("added_tokens").begin_array();
  for (const AddedToken& token : tokens) {
    json.begin_object().member("id", token.id).member("content", token.content);
    json.member("single_word", token.single_word).member("lstrip", token.lstrip).member("rstrip", token.rstrip);
    json.member("normalized", token.normalized).member("special", token.special).end_object();
  }
  json.end_array();
}
inline void write_byte_level(io::JsonWriter& json, bool prefix_space, bool divides) {
  json.begin_object().member("type", "ByteLevel").member("add_prefix_space", prefix_space);
  json.member("trim_offsets", true).member("use_regex", divides).end_object();
}
inline void write_steps(io::JsonWriter& json, const std::vector<Step>& steps) {
  json.key("pre_tokenizer").begin_object().member("type", "Sequence").key("pretokenizers").begin_array();
  bool is_of_bytes = false;
  for (const Step& step : steps) {
    const bool is_gpt2 = step.pattern && step.pattern->expression() == gpt2_pattern;
    if (step.prefix_space || (is_gpt2 && &step == &steps.back())) {
      write_byte_level(json, step.prefix_space, is_gpt2);
      is_of_bytes = true;
    } else {
      json.begin_object().member("type", "Split").key("pattern").begin_object();
      json.member("Regex", step.pattern->expression()).end_object();
      json.member("behavior", "Isolated").member("invert", false).end_object();
    }
  }
  if (!is_of_bytes) write_byte_level(json, false, false);
  json.end_array().end_object();
}
/// The special tokens around one text as a template; the template of two texts repeats it.
inline void write_template(io::JsonWriter& json, const TokenizerParts& parts) {
  json.key("post_processor");
  if (parts.before.empty() && parts.after.empty()) return (void)json.value(nullptr);
  const auto name = [&](std::int64_t id) { return parts.vocabulary[static_cast<std::size_t>(id)].bytes; };
  const auto put = [&](const std::vector<std::int64_t>& ids) {
    for (const std::int64_t id : ids)
      json.begin_object()
          .key("SpecialToken")
          .begin_object()
          .member("id", name(id))
          .member("type_id", 0)
          .end_object()
          .end_object();
  };
  const auto whole = [&](const char* text) {
    put(parts.before);
    json.begin_object()
        .key("Sequence")
        .begin_object()
        .member("id", text)
        .member("type_id", 0)
        .end_object()
        .end_object();
    put(parts.after);
  };
  json.begin_object().member("type", "TemplateProcessing").key("single").begin_array();
  whole("A");
  json.end_array().key("pair").begin_array();
  whole("A"), whole("B");
  json.end_array().key("special_tokens").begin_object();
  std::vector<std::int64_t> named;
  for (const auto* const ids : {&parts.before, &parts.after})
    for (const std::int64_t id : *ids) {
      bool is_named = false;
      for (const std::int64_t other : named) is_named = is_named || other == id;
      if (is_named) continue;
      named.push_back(id);
      json.key(name(id)).begin_object().member("id", name(id)).key("ids").begin_array().value(id).end_array();
      json.key("tokens").begin_array().value(name(id)).end_array().end_object();
    }
  json.end_object().end_object();
}
inline void write_model(io::JsonWriter& json, const TokenizerParts& parts) {
  const Vocabulary& vocabulary = parts.vocabulary;
  const auto name = [&](std::size_t id) {
    const Token& token = vocabulary[id];
    return token.kind == Token::Kind::word ? written(token.bytes) : token.bytes;
  };
  json.key("model").begin_object().member("type", "BPE").key("unk_token");
  if (parts.unknown == no_token) json.value(nullptr);
  else json.value(name(parts.unknown));
  json.member("fuse_unk", parts.fuses_unknown)
      .member("byte_fallback", false)
      .member("ignore_merges", parts.ignores_merges)
      .key("vocab")
      .begin_object();
  for (std::size_t id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.find(vocabulary[id].bytes) == id) json.member(name(id), id);
  json.end_object().key("merges").begin_array();
  for (const auto& [left, right] : vocabulary.merges())
    json.begin_array().value(name(left)).value(name(right)).end_array();
  json.end_array().end_object();
}
/// A text of the form of tokenizer.json.
inline void write_tokenizer(io::JsonWriter& json, const TokenizerParts& parts) {
  json.begin_object().member("version", "1.0");
  write_added(json, parts.vocabulary.added());
  json.key("normalizer");
  if (parts.composes) json.begin_object().member("type", "NFC").end_object();
  else json.value(nullptr);
  write_steps(json, parts.steps);
  write_template(json, parts);
  json.key("decoder").begin_object().member("type", "ByteLevel").member("add_prefix_space", true);
  json.member("trim_offsets", true).member("use_regex", true).end_object();
  write_model(json, parts);
  json.end_object();
}

}  // namespace detail

inline Tokenizer Tokenizer::from_json(std::string_view json, std::string_view name) {
  return Tokenizer(detail::TokenizerReader(name).read(io::JsonNode(json, std::string(name))));
}

inline Tokenizer Tokenizer::from_files(const std::string& vocabulary, const std::string& merges,
                                       Span<const std::string_view> special_tokens) {
  detail::TokenizerParts parts;
  const std::string json = detail::content_of(vocabulary, "a vocabulary, vocab.json");
  std::string bytes;
  parts.vocabulary.limit_ids(json.size());
  io::JsonNode(json, vocabulary).object([&](const std::string& token, const io::JsonNode& id) {
    parts.vocabulary.add(detail::read_written(token, bytes) ? bytes : token, id.integer(), vocabulary);
  });
  const std::string text = detail::content_of(merges, "merges, merges.txt");
  std::string_view rest = text;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    std::string_view here = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(here.size() < rest.size() ? here.size() + 1 : here.size());
    if (here.ends_with('\r')) here.remove_suffix(1);
    if (here.empty() || here.starts_with("#version")) continue;
    const std::size_t space = here.find(' ');
    std::string left, right;
    if (space == std::string_view::npos || !detail::read_written(here.substr(0, space), left) ||
        !detail::read_written(here.substr(space + 1), right))
      fail<DataError>({merges, ": line ", line, " is '", locus::detail::printable(here, 60), "'; expected two tokens"});
    parts.vocabulary.add_merge(left, right, merges);
  }
  for (const std::string_view special : special_tokens) {
    const std::uint32_t known = parts.vocabulary.find(special);
    const auto id = known != detail::no_token ? known : static_cast<std::uint32_t>(parts.vocabulary.size());
    parts.vocabulary.add(AddedToken{.content = std::string(special), .id = id}, vocabulary);
  }
  parts.steps.emplace_back().pattern.emplace(std::string(detail::gpt2_pattern), vocabulary);
  return Tokenizer(std::move(parts));
}

inline Tokenizer Tokenizer::from_file(const std::string& path) {
  std::string file = path;
  if (io::detail::is_folder(path)) {
    file = path + "/tokenizer.json";
    static constexpr std::string_view end_of_text[] = {"<|endoftext|>"};
    if (!io::detail::exists(file) && io::detail::exists(path + "/vocab.json"))
      return from_files(path + "/vocab.json", path + "/merges.txt", end_of_text);
  }
  return from_json(detail::content_of(file, "a tokenizer, tokenizer.json"), file);
}

inline void Tokenizer::save(const std::string& path) const {
  io::JsonWriter json(io::JsonWriter::Form::compact);
  detail::write_tokenizer(json, parts_);
  io::write_file_atomically(path, json.text());
}

}}}  // namespace locus::LOCUS_ABI::text
