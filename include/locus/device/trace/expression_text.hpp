#pragma once
// The expression of a launch as text, parsed from the compiler's name of its functor's type. Avoids containers and
// streams, which every program would have to compile.

#include <locus/device/trace/trace_text.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The compiler's name of F, with surrounding text.
template <class F>
[[nodiscard]] constexpr const char* type_text() {
  return __PRETTY_FUNCTION__;
}

/// A parsed type name: its last component, whether it is in the table of scalar functions, and its template arguments.
struct TypeName {
  std::string_view name;
  bool tabulated = false;
  int arguments = 0;
  TypeName *first = nullptr, *next = nullptr;  ///< its first argument; its next sibling in the argument list
};

/// Reads names like a::Apply<a::functor::Add, a::Symbol<0>, float>.
class TypeNameReader {
 public:
  explicit TypeNameReader(std::string_view text) : text_(text) { root_ = read(); }
  [[nodiscard]] const TypeName& root() const { return *root_; }

 private:
  LOCUS_COLD TypeName* read() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '>') {
      if (text_[at_] == '<' && at_ > begin && text_[at_ - 1] != ':') {
        TypeName* const type = named(text_.substr(begin, at_ - begin));
        read_arguments(*type);
        if (text_.substr(at_, 2) != "::") return type;
        at_ += 2;  // Outer<...>::Inner
        return read();
      }
      skip_one();
    }
    return named(text_.substr(begin, at_ - begin));
  }
  LOCUS_COLD TypeName* named(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    TypeName& type = types_[used_ < most_types - 1 ? used_++ : used_];
    type = {text, text.find("functor::") != std::string_view::npos};
    const std::size_t colons = text.rfind("::");
    if (text.find('(') == std::string_view::npos && colons != std::string_view::npos)
      type.name = text.substr(colons + 2);
    return &type;
  }
  LOCUS_COLD void read_arguments(TypeName& type) {
    TypeName** place = &type.first;
    do {
      ++at_;
      TypeName* const argument = read();
      if (used_ == most_types - 1) break;  // the name is too long: its end is left out
      *place = argument;
      place = &argument->next;
      ++type.arguments;
    } while (at_ < text_.size() && text_[at_] == ',');
    if (at_ < text_.size()) ++at_;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;  // g++ writes > >
  }
  /// Skips a character, or a group in parentheses, braces or <lambda...>.
  LOCUS_COLD void skip_one() {
    const char open = text_[at_++];
    const char close = open == '(' ? ')' : open == '{' ? '}' : open == '<' ? '>' : '\0';
    if (close == '\0') return;
    while (at_ < text_.size() && text_[at_] != close) skip_one();
    if (at_ < text_.size()) ++at_;
  }

  static constexpr int most_types = 256;
  std::string_view text_;
  std::size_t at_ = 0;
  TypeName types_[most_types];
  int used_ = 0;
  TypeName* root_ = nullptr;
};

/// A C++ operator and its precedence.
struct Infix {
  std::string_view name, text;
  int precedence;
};
inline constexpr Infix infixes[] = {
    {"Multiply", " * ", 7},   {"Divide", " / ", 7},        {"Remainder", " % ", 7},  {"Add", " + ", 6},
    {"Subtract", " - ", 6},   {"Less", " < ", 5},          {"LessEqual", " <= ", 5}, {"Greater", " > ", 5},
    {"Equal", " == ", 4},     {"GreaterEqual", " >= ", 5}, {"NotEqual", " != ", 4},  {"LogicalAnd", " && ", 3},
    {"LogicalOr", " || ", 2},
};

LOCUS_COLD inline void add_type(TraceText& text, const TypeName& type) {
  text.add(type.name);
  for (const TypeName* argument = type.first; argument; argument = argument->next) {
    text.add(argument == type.first ? "<" : ", ");
    add_type(text, *argument);
  }
  if (type.first) text.add('>');
}

/// Adds a tree of expr/node.hpp; in parentheses if the enclosing operator binds more tightly.
LOCUS_COLD inline void add_formula(TraceText& text, const TypeName& node, int precedence = 0) {
  if (node.name == "Constant") return void(text.add('c'));
  if (node.name == "Symbol" && node.first) return void(text.add('x').add(node.first->name));
  if (node.name != "Apply" || !node.first) return add_type(text, node);
  const TypeName& function = *node.first;
  const TypeName* const argument = function.next;
  if (function.tabulated && function.name == "Negate" && node.arguments == 2)
    return add_formula(text.add('-'), *argument, 8);
  for (const Infix& infix : infixes) {
    if (!function.tabulated || function.name != infix.name || node.arguments != 3) continue;
    if (infix.precedence < precedence) text.add('(');
    add_formula(text, *argument, infix.precedence);
    text.add(infix.text);
    add_formula(text, *argument->next, infix.precedence + 1);
    if (infix.precedence < precedence) text.add(')');
    return;
  }
  if (function.name == "Convert" && function.first) add_type(text, *function.first);
  else if (function.tabulated) text.add_in_snake_case(function.name);
  else text.add(function.name);
  text.add('(');
  for (const TypeName* x = argument; x; x = x->next) {
    if (x != argument) text.add(", ");
    add_formula(text, *x);
  }
  text.add(')');
}

/// The type in "[with F = locus::functor::LessEqual]".
[[nodiscard]] constexpr std::string_view type_in(std::string_view type_text) {
  const std::size_t begin = type_text.find("F = ");
  if (begin != std::string_view::npos) type_text = type_text.substr(begin + 4);
  if (!type_text.empty() && type_text.back() == ']') type_text.remove_suffix(1);
  return type_text;
}

/// "[with F = locus::functor::LessEqual]" -> "less_equal". A user's class keeps its name; a lambda becomes
/// "elementwise".
[[nodiscard]] LOCUS_COLD inline TraceText function_text(std::string_view type_text) {
  const TypeNameReader reader(type_in(type_text));
  TraceText text;
  if (reader.root().tabulated) text.add_in_snake_case(reader.root().name);
  else if (type_text.find("lambda") != std::string_view::npos) text.add("elementwise");
  else text.add(reader.root().name);
  return text;
}

/// "[with F = locus::Forward<...>]" -> "relu(x0 * x1 + c)". Operands are x0, x1, ... and numbers are c.
[[nodiscard]] LOCUS_COLD inline TraceText expression_text(std::string_view type_text) {
  const TypeNameReader reader(type_in(type_text));
  const TypeName& type = reader.root();
  const TypeName *const first = type.first, *const second = first ? first->next : nullptr;
  TraceText text;
  if (type.name == "Forward" && first) {
    add_formula(text, *first);
  } else if (type.name == "Backward" && first) {
    text.add("gradient of ");
    add_formula(text, *first);
  } else if (type.name == "BackwardAgain" && first) {
    text.add("gradient of the gradient of ");
    add_formula(text, *first);
  } else if ((type.name == "Folded" || type.name == "FoldedAt") && second) {
    text.add_in_snake_case(second->name);
    text.add('(');
    add_formula(text, *first);
    text.add(')');
  } else if (type.name == "Epilogue" && second) {
    text.add("product, ");
    add_type(text, *second);
  } else if (type.name == "ConvertElement" && second && first->name == second->name) {
    text.add("copy");
  } else {
    add_type(text, type.name == "AddTo" && first ? *first : type);
  }
  text.cut(512);
  return text;
}

}}}  // namespace locus::LOCUS_ABI::detail
