#pragma once
// A reader of JSON texts of a known form, such as the headers of files of weights.

#include <locus/core/check.hpp>
#include <locus/core/printable.hpp>
#include <locus/io/utf8.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// Reads a text from front to back: the caller states which token it expects next, or takes any value as a whole. Not
/// recursive, so that deep nesting cannot overflow the stack; allocates only strings and a byte for each open bracket.
///
/// Strict: no comments, no commas at the end, no numbers such as 01 or NaN, strings of valid UTF-8. Errors throw
/// DataError, whose message begins with the second argument of the constructor: "...: at byte 7 is '}'; expected ..."
class JsonReader {
 public:
  /// Both texts must outlive the reader.
  JsonReader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  /// The next character after white space; 0 at the end of the text.
  [[nodiscard]] char next() {
    skip_space();
    return here();
  }
  /// Consumes a character if it is next.
  bool take(char c) {
    if (next() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    const char quoted[] = {'\'', c, '\''};
    if (!take(c)) refuse(std::string_view(quoted, 3));
  }
  void expect_end() {
    skip_space();
    if (at_ < text_.size()) refuse("the end");
  }

  /// A string, without its quotation marks and escapes.
  [[nodiscard]] std::string string() {
    std::string result;
    read_string([&](std::string_view part) { result += part; });
    return result;
  }

  /// Calls member(key) for each member of an object; the callback must read the value.
  template <class F>
  void object(const F& member) {
    expect('{');
    if (take('}')) return;
    do {
      const std::string key = string();
      expect(':');
      member(key);
    } while (take(','));
    expect('}');
  }

  /// Calls element() for each element of an array; the callback must read it.
  template <class F>
  void array(const F& element) {
    expect('[');
    if (take(']')) return;
    do element();
    while (take(','));
    expect(']');
  }

  /// Consumes any value and returns its text.
  std::string_view value() {
    skip_space();
    const std::size_t begin = at_;
    std::string open;  // closing brackets of the open values, innermost last
    for (;;) {
      if (const char first = next(); first == '{' || first == '[') {
        ++at_;
        open += first == '{' ? '}' : ']';
        if (!take(open.back())) {
          if (open.back() == '}') skip_key();
          continue;
        }
        open.pop_back();
      } else {
        skip_scalar();
      }
      while (!open.empty() && take(open.back())) open.pop_back();
      if (open.empty()) return text_.substr(begin, at_ - begin);
      if (!take(',')) refuse(open.back() == '}' ? "',' or '}'" : "',' or ']'");
      if (open.back() == '}') skip_key();
    }
  }

 private:
  [[nodiscard]] static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  [[nodiscard]] static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  [[noreturn]] LOCUS_COLD void refuse(std::string_view expected) const {
    const std::string found =
        at_ < text_.size() ? join("'", locus::detail::printable(text_.substr(at_), 20), "'") : "its end";
    fail<DataError>({what_, ": at byte ", at_, " is ", found, "; expected ", expected});
  }

  void skip_key() {
    read_string([](std::string_view) {});
    expect(':');
  }
  void skip_scalar() {
    const char first = next();
    if (first == '"') return read_string([](std::string_view) {});
    if (first == '-' || is_digit(first)) return skip_number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return;
    }
    refuse("a value");
  }
  void skip_number() {
    if (here() == '-') ++at_;
    if (here() == '0') ++at_;
    else skip_digits();
    if (here() == '.') ++at_, skip_digits();
    if (here() == 'e' || here() == 'E') {
      ++at_;
      if (here() == '+' || here() == '-') ++at_;
      skip_digits();
    }
  }
  void skip_digits() {
    if (!is_digit(here())) refuse("a digit");
    while (is_digit(here())) ++at_;
  }

  /// Calls append(part) for the parts of the string that is next.
  template <class F>
  void read_string(const F& append) {
    if (next() != '"') refuse("a string");
    ++at_;
    for (;;) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') {
        const std::size_t length = utf8_length(text_.substr(at_));
        if (length == 0 || static_cast<unsigned char>(text_[at_]) < 0x20) refuse("a character of UTF-8, or '\"'");
        at_ += length;
      }
      append(text_.substr(begin, at_ - begin));
      if (at_ == text_.size()) refuse("'\"'");
      if (text_[at_++] == '"') return;
      read_escape(append);
    }
  }
  template <class F>
  void read_escape(const F& append) {
    constexpr std::string_view names = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    if (const auto which = names.find(here()); at_ < text_.size() && which != std::string_view::npos) {
      ++at_;
      return append(meant.substr(which, 1));
    }
    if (here() != 'u') refuse("an escape");
    std::uint32_t code = read_code_unit();
    if (code >= 0xDC00 && code < 0xE000) refuse("a high surrogate before a low one");
    if (code >= 0xD800 && code < 0xDC00) {
      if (text_.substr(at_, 2) != "\\u") refuse("a low surrogate");
      ++at_;
      const std::uint32_t low = read_code_unit();
      if (low < 0xDC00 || low >= 0xE000) refuse("a low surrogate before");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_character(code, append);
  }
  /// Reads u and four hexadecimal digits.
  [[nodiscard]] std::uint32_t read_code_unit() {
    std::uint32_t code = 0;
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = here();
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse("four hexadecimal digits");
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return code;
  }
  template <class F>
  static void append_character(std::uint32_t code, const F& append) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    char bytes[4];
    std::size_t size = 0;
    if (code < 0x80) {
      bytes[size++] = static_cast<char>(code);
    } else if (code < 0x800) {
      bytes[size++] = static_cast<char>(0xC0 | code >> 6);
      bytes[size++] = tail(0);
    } else {
      if (code < 0x10000) {
        bytes[size++] = static_cast<char>(0xE0 | code >> 12);
      } else {
        bytes[size++] = static_cast<char>(0xF0 | code >> 18);
        bytes[size++] = tail(12);
      }
      bytes[size++] = tail(6);
      bytes[size++] = tail(0);
    }
    append(std::string_view(bytes, size));
  }

  std::string_view text_, what_;
  std::size_t at_ = 0;
};

/// Parses a text of digits alone; false for any other text, and for 2^64 or more.
[[nodiscard]] inline bool natural_number(std::string_view digits, std::uint64_t& number) {
  number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || __builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
        __builtin_add_overflow(number, static_cast<std::uint64_t>(c - '0'), &number))
      return false;
  }
  return !digits.empty();
}

}}}  // namespace locus::LOCUS_ABI::io::detail
