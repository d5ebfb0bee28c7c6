#pragma once
// A writer of JSON: histories and benchmark results.

#include <locus/core/check.hpp>
#include <locus/io/utf8.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// Builds a JSON text in the order of the calls.
///
///     io::JsonWriter json;
///     json.begin_array();
///     json.begin_object().member("epoch", 1).member("train_loss", 0.25).end_object();
///     json.end_array();
///     io::write_file_atomically("history.json", json.text());
///
/// NaN and infinity, which JSON lacks, become null. Bytes that are not UTF-8 become U+FFFD.
/// throws ArgumentError for a call that would not give a JSON document: a value without its key, an unmatched end
class JsonWriter {
 public:
  enum class Form { lines, compact };  ///< one value in a line, indented, or all in one line without spaces
  explicit JsonWriter(Form form = Form::lines) : form_(form) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('{', '}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close('[', ']'); }

  /// Names the next value of the innermost object.
  JsonWriter& key(std::string_view name) {
    if (nesting_.empty() || nesting_.back() != '{' || after_key_) {
      fail<ArgumentError>(
          {"JSON: the key '", name, "' is not expected here; a key stands in an object, before its value"});
    }
    separate();
    append_string(name);
    text_ += form_ == Form::compact ? ":" : ": ";
    after_key_ = true;
    return *this;
  }

  JsonWriter& value(std::string_view string) {
    start_value();
    append_string(string);
    return *this;
  }
  JsonWriter& value(const char* string) { return value(std::string_view(string)); }
  JsonWriter& value(std::nullptr_t) { return literal("null"); }
  template <std::same_as<bool> B> JsonWriter& value(B truth) { return literal(truth ? "true" : "false"); }
  template <std::integral N>
    requires(!std::same_as<N, bool>)
  JsonWriter& value(N number) {
    return literal(std::to_string(number));
  }
  /// The fewest digits that read back as the same number.
  template <std::floating_point N>
  JsonWriter& value(N number) {
    return number - number == N{0} ? literal(shortest(number)) : literal("null");
  }

  template <class V> JsonWriter& member(std::string_view name, const V& v) { return key(name).value(v); }

  /// The finished document, with a newline at its end. throws ArgumentError while it is empty, or a bracket
  /// is open
  [[nodiscard]] std::string text() const {
    if (!nesting_.empty() || text_.empty()) {
      fail<ArgumentError>(
          {"JSON: the document is ", text_.empty() ? "empty" : "not closed", "; expected one complete value"});
    }
    return text_ + '\n';
  }

 private:
  JsonWriter& open(char bracket) {
    start_value();
    text_ += bracket;
    nesting_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& close(char bracket, char end) {
    if (nesting_.empty() || nesting_.back() != bracket || after_key_) {
      fail<ArgumentError>({"JSON: '", end, "' is not expected here; every begin needs its own end"});
    }
    nesting_.pop_back();
    if (!first_) break_line();
    first_ = false;
    text_ += end;
    return *this;
  }
  JsonWriter& literal(std::string_view digits) {
    start_value();
    text_ += digits;
    return *this;
  }

  void start_value() {
    if (nesting_.empty() ? !text_.empty() : nesting_.back() == '{' && !after_key_) {
      fail<ArgumentError>(
          {"JSON: a value is not expected here; an object takes key, value; a document holds one value"});
    }
    if (!after_key_ && !nesting_.empty()) separate();
    after_key_ = false;
  }
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
    break_line();
  }
  void break_line() {
    if (form_ == Form::compact) return;
    text_ += '\n';
    text_.append(2 * nesting_.size(), ' ');
  }

  template <std::floating_point N>
  [[nodiscard]] static std::string shortest(N number) {
    char digits[64];
    return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
  }

  void append_string(std::string_view string) {
    text_ += '"';
    for (std::size_t i = 0; i < string.size();) {
      const auto length = utf8_length(string.substr(i));
      if (length == 0) text_ += replacement_character;
      else if (length == 1) append_character(string[i]);
      else text_ += string.substr(i, length);
      i += length == 0 ? 1 : length;
    }
    text_ += '"';
  }
  void append_character(char c) {
    if (c == '"' || c == '\\') (text_ += '\\') += c;
    else if (c == '\n') text_ += "\\n";
    else if (c == '\t') text_ += "\\t";
    else if (static_cast<unsigned char>(c) >= 0x20) text_ += c;
    else (text_ += c < 0x10 ? "\\u000" : "\\u001") += "0123456789abcdef"[c % 16];
  }

  Form form_;
  std::string text_;
  std::string nesting_;  // the open brackets, outermost first
  bool first_ = true;    // the innermost bracket is empty so far
  bool after_key_ = false;
};

}}}  // namespace locus::LOCUS_ABI::io
