#pragma once
// JSON texts whose form is not known before: settings, vocabularies.

#include <locus/io/json_reader.hpp>

#include <charconv>
#include <cstring>
#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// A value of a JSON text, read where it lies; the text must outlive it. Objects and arrays are scanned anew by each
/// call, so a large one is iterated once.
///
///     const io::JsonNode config(text, "config.json");
///     const auto width = config.at("hidden_size").integer();     // throws where there is none
///
/// Errors name the value by its path: "config.json: rope_scaling.factor is "two"; expected a number"
class JsonNode {
 public:
  /// what: the text's name in messages. throws DataError unless the text is one value of strict JSON
  JsonNode(std::string_view text, std::string what) : what_(std::move(what)) {
    detail::JsonReader reader(text, what_);
    text_ = reader.value();
    reader.expect_end();
  }

  [[nodiscard]] bool is_null() const { return text_ == "null"; }
  [[nodiscard]] bool is_object() const { return text_[0] == '{'; }
  [[nodiscard]] bool is_array() const { return text_[0] == '['; }
  [[nodiscard]] bool is_string() const { return text_[0] == '"'; }
  [[nodiscard]] bool is_boolean() const { return text_[0] == 't' || text_[0] == 'f'; }
  /// The value as it stands in the text.
  [[nodiscard]] std::string_view text() const { return text_; }

  /// Calls member(key, node) for the members of an object.
  template <class F>
  void object(const F& member) const {
    if (!is_object()) refuse("an object");
    detail::JsonReader reader(text_, what_);
    reader.object([&](const std::string& key) {
      member(key, JsonNode(reader.value(), what_, path_.empty() ? key : join(path_, ".", key)));
    });
  }
  /// Calls element(node) for the elements of an array.
  template <class F>
  void array(const F& element) const {
    if (!is_array()) refuse("an array");
    detail::JsonReader reader(text_, what_);
    std::size_t index = 0;
    reader.array([&] { element(JsonNode(reader.value(), what_, join(path_, "[", index++, "]"))); });
  }
  /// A member of an object; empty if it is missing, or null.
  [[nodiscard]] std::optional<JsonNode> find(std::string_view key) const {
    std::optional<JsonNode> found;
    object([&](const std::string& name, const JsonNode& node) {
      if (name == key) found = node;
    });
    if (found && found->is_null()) found.reset();
    return found;
  }
  /// The same. throws DataError that names the key if it is missing
  [[nodiscard]] JsonNode at(std::string_view key) const {
    const auto found = find(key);
    if (!found) fail<DataError>({what_, ": ", path_.empty() ? "" : join(path_, "."), key, " is missing"});
    return *found;
  }

  [[nodiscard]] std::string string() const {
    if (!is_string()) refuse("a text");
    return detail::JsonReader(text_, what_).string();
  }
  [[nodiscard]] bool boolean() const {
    if (!is_boolean()) refuse("true or false");
    return text_ == "true";
  }
  [[nodiscard]] std::int64_t integer() const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || end != text_.data() + text_.size()) refuse("a whole number");
    return value;
  }
  [[nodiscard]] double number() const {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || end != text_.data() + text_.size()) refuse("a number");
    return value;
  }

  /// throws DataError that names the value and this expectation
  [[noreturn]] LOCUS_COLD void refuse(std::string_view expected) const {
    fail<DataError>({what_, ": ", path_.empty() ? "the whole" : path_, " is ", locus::detail::printable(text_, 60),
                     "; expected ", expected});
  }

 private:
  JsonNode(std::string_view text, const std::string& what, std::string path)
      : text_(text), what_(what), path_(std::move(path)) {}

  std::string_view text_;
  std::string what_, path_;
};

}}}  // namespace locus::LOCUS_ABI::io
