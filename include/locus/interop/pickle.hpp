#pragma once
// Pickles of Python, the part of them that describes data: https://docs.python.org/3/library/pickle.html. Nothing is
// executed: a call of a function is a value only if the caller knows the function, and an error otherwise.

#include <locus/interop/value.hpp>
#include <locus/io/utf8.hpp>
#include <locus/io/zip.hpp>

#include <map>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// The functions and persistent objects that a pickle may name.
class PickleObjects {
 public:
  virtual ~PickleObjects() = default;
  /// Whether a pickle may contain this name: "collections.OrderedDict"
  [[nodiscard]] virtual bool knows(const std::string& name) const = 0;
  /// The value of a call of a function that is known. `arguments`: a list
  [[nodiscard]] virtual ValueIndex call(const std::string& function, ValueIndex arguments) = 0;
  /// The object of a persistent id, a list.
  [[nodiscard]] virtual ValueIndex persistent(ValueIndex id) = 0;
};

/// Reads pickles of protocols 2 to 5 into a ValueTree: a machine with a stack of values and marks, and a memo of values
/// that are used again. Errors throw DataError.
class PickleReader {
 public:
  /// what: begins messages, "cannot read 'x.pt'". All must outlive the reader.
  PickleReader(std::string_view text, const std::string& what, ValueTree& tree, PickleObjects& objects)
      : text_(text), what_(what), tree_(tree), objects_(objects) {}

  /// Reads one pickle; at() is then the byte after it.
  [[nodiscard]] ValueIndex read() {
    stack_.clear(), marks_.clear(), memo_.clear();
    if (byte() != 0x80) refuse("has no protocol of 2 or later");
    if (const auto protocol = byte(); protocol < 2 || protocol > 5)
      refuse("has protocol ", protocol, "; expected 2 to 5");
    for (;;) {
      const unsigned char code = byte();
      if (code == '.') break;
      if (!scalar(code) && !container(code) && !memory(code) && !object(code))
        refuse("has the operation ", static_cast<int>(code), ", which is unknown or of protocol 0");
    }
    const ValueIndex result = pop();
    require_distinct_keys();
    return result;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  template <class... Text>
  [[noreturn]] void refuse(const Text&... why) const {
    fail<DataError>({what_, ": at byte ", at_, " its pickle ", why...});
  }

  [[nodiscard]] std::string_view bytes(std::uint64_t count) {
    if (count > text_.size() - at_) refuse("is cut off, or promises ", count, " bytes");
    const std::string_view part = text_.substr(at_, count);
    at_ += count;
    return part;
  }
  [[nodiscard]] unsigned char byte() { return static_cast<unsigned char>(bytes(1)[0]); }
  [[nodiscard]] std::uint64_t number(int size) { return number_at(bytes(static_cast<std::uint64_t>(size)), 0, size); }
  [[nodiscard]] std::string_view line() {
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) refuse("is cut off within a name");
    const std::string_view part = text_.substr(at_, end - at_);
    at_ = end + 1;
    return part;
  }

  void push(ValueIndex value) { stack_.push_back(value); }
  [[nodiscard]] ValueIndex pop() {
    if (stack_.size() <= bottom()) refuse("takes a value that is not there");
    const ValueIndex value = stack_.back();
    stack_.pop_back();
    return value;
  }
  [[nodiscard]] ValueIndex top() const {
    if (stack_.size() <= bottom()) refuse("takes a value that is not there");
    return stack_.back();
  }
  [[nodiscard]] std::size_t bottom() const { return marks_.empty() ? 0 : marks_.back(); }
  /// The values above the last mark, which are removed with it.
  [[nodiscard]] std::vector<ValueIndex> pop_to_mark() {
    if (marks_.empty()) refuse("has no mark");
    std::vector<ValueIndex> values(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return values;
  }
  void push_list(std::vector<ValueIndex> parts) {
    push(tree_.add({.kind = ValueKind::list, .parts = std::move(parts)}));
  }
  void push_last(int count) {
    std::vector<ValueIndex> parts(static_cast<std::size_t>(count));
    for (std::size_t i = parts.size(); i-- > 0;) parts[i] = pop();
    push_list(std::move(parts));
  }
  void add_parts(ValueKind kind, const std::vector<ValueIndex>& parts) {
    ValueNode& node = tree_.nodes[top()];
    if (node.kind != kind) refuse("adds to ", kind_text(node.kind), "; expected ", kind_text(kind));
    if (kind == ValueKind::dict && parts.size() % 2 != 0) refuse("has a key without a value");
    node.parts.insert(node.parts.end(), parts.begin(), parts.end());
  }
  void push_dict(std::vector<ValueIndex> parts) {
    if (parts.size() % 2 != 0) refuse("has a key without a value");
    push(tree_.add({.kind = ValueKind::dict, .parts = std::move(parts)}));
  }
  void push_text(std::uint64_t count) {
    const std::string_view text = bytes(count);
    if (!is_utf8(text)) refuse("has a text that is not UTF-8");
    push(tree_.add_text(ValueKind::text, text));
  }
  void push_bytes(std::uint64_t count) { push(tree_.add_text(ValueKind::bytes, bytes(count))); }
  /// A string of Python 2, which may be either.
  void push_string(std::uint64_t count) {
    const std::string_view string = bytes(count);
    push(tree_.add_text(is_utf8(string) ? ValueKind::text : ValueKind::bytes, string));
  }
  /// An integer in two's complement.
  void push_long(std::uint64_t count) {
    const std::string_view digits = bytes(count);
    if (count == 9 && digits[8] == 0) {  // 2^63 to 2^64 - 1
      push(tree_.add_integer(false, number_at(digits, 0, 8)));
      return;
    }
    if (count > 8) return push(tree_.add({.kind = ValueKind::integer, .text = std::string(digits)}));
    std::uint64_t bits = number_at(digits, 0, static_cast<int>(count));
    const bool is_negative = count > 0 && (static_cast<unsigned char>(digits.back()) & 0x80) != 0;
    if (is_negative) bits = (count < 8 ? std::uint64_t{1} << 8 * count : 0) - bits;
    push(tree_.add_integer(is_negative, bits));
  }

  [[nodiscard]] bool scalar(unsigned char code) {
    switch (code) {
      case 'N': return push(tree_.add({})), true;
      case 0x88: return push(tree_.add_boolean(true)), true;
      case 0x89: return push(tree_.add_boolean(false)), true;
      case 'K': return push(tree_.add_integer(static_cast<std::int64_t>(number(1)))), true;
      case 'M': return push(tree_.add_integer(static_cast<std::int64_t>(number(2)))), true;
      case 'J': return push(tree_.add_integer(static_cast<std::int32_t>(number(4)))), true;
      case 0x8a: return push_long(number(1)), true;
      case 0x8b: return push_long(number(4)), true;
      case 'G': return push(tree_.add_real(__builtin_bit_cast(double, __builtin_bswap64(number(8))))), true;
      case 0x8c: return push_text(number(1)), true;
      case 'X': return push_text(number(4)), true;
      case 0x8d: return push_text(number(8)), true;
      case 'C': return push_bytes(number(1)), true;
      case 'B': return push_bytes(number(4)), true;
      case 'U': return push_string(number(1)), true;
      case 'T': return push_string(number(4)), true;
      case 0x8e:
      case 0x96: return push_bytes(number(8)), true;
      default: return false;
    }
  }
  [[nodiscard]] bool container(unsigned char code) {
    switch (code) {
      case '(': return marks_.push_back(stack_.size()), true;
      case '0': return discard(), true;
      case '1': return (void)pop_to_mark(), true;
      case '2': return push(top()), true;
      case ']':
      case ')':
      case 0x8f: return push_list({}), true;
      case 'l':
      case 't':
      case 0x91: return push_list(pop_to_mark()), true;
      case 0x85: return push_last(1), true;
      case 0x86: return push_last(2), true;
      case 0x87: return push_last(3), true;
      case 'a': {
        const ValueIndex value = pop();
        return add_parts(ValueKind::list, {value}), true;
      }
      case 'e':
      case 0x90: {
        const auto values = pop_to_mark();
        return add_parts(ValueKind::list, values), true;
      }
      case '}': return push_dict({}), true;
      case 'd': return push_dict(pop_to_mark()), true;
      case 's': {
        const ValueIndex value = pop(), key = pop();
        return add_parts(ValueKind::dict, {key, value}), true;
      }
      case 'u': {
        const auto values = pop_to_mark();
        return add_parts(ValueKind::dict, values), true;
      }
      default: return false;
    }
  }
  void discard() {
    if (!marks_.empty() && stack_.size() == marks_.back()) marks_.pop_back();
    else (void)pop();
  }
  [[nodiscard]] bool memory(unsigned char code) {
    switch (code) {
      case 'q': return remember(number(1)), true;
      case 'r': return remember(number(4)), true;
      case 0x94: return remember(memo_.size()), true;
      case 'h': return recall(number(1)), true;
      case 'j': return recall(number(4)), true;
      case 0x95: return (void)number(8), true;  // a frame, whose length helps only readers of streams
      default: return false;
    }
  }
  void remember(std::uint64_t number) {
    if (memo_.size() >= ValueTree::most) refuse("has a memo of more than ", ValueTree::most, " values");
    memo_[number] = top();
  }
  void recall(std::uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) refuse("takes the value ", number, " of its memo, which is not there");
    push(found->second);
  }

  [[nodiscard]] bool object(unsigned char code) {
    switch (code) {
      case 'c': {
        const std::string_view module = line();
        return push_name(join(module, ".", line())), true;
      }
      case 0x93: {
        const std::string name = tree_.nodes[of(ValueKind::text, pop())].text;
        return push_name(join(tree_.nodes[of(ValueKind::text, pop())].text, ".", name)), true;
      }
      case 'R':
      case 0x81: {
        const ValueIndex arguments = of(ValueKind::list, pop());
        const std::string function = tree_.nodes[of(ValueKind::name, pop())].text;
        return push(objects_.call(function, arguments)), true;
      }
      case 'b': {  // Attributes of a dictionary, such as the versions of layers in a state; they are no values of it.
        (void)pop();
        return (void)of(ValueKind::dict, top()), true;
      }
      case 'Q': return push(objects_.persistent(of(ValueKind::list, pop()))), true;
      default: return false;
    }
  }
  [[nodiscard]] ValueIndex of(ValueKind expected, ValueIndex value) const {
    if (const ValueKind kind = tree_.nodes[value].kind; kind != expected)
      refuse("has ", kind_text(kind), " where ", kind_text(expected), " is expected");
    return value;
  }
  void push_name(const std::string& name) {
    if (!objects_.knows(name))
      fail<DataError>({what_, ": the file calls ", locus::detail::printable(name),
                       ", which Locus does not execute; expected tensors, numbers, texts, lists and dictionaries: save "
                       "model.state_dict() in place of the model"});
    push(tree_.add_text(ValueKind::name, name));
  }

  void require_distinct_keys() const {
    for (const ValueNode& node : tree_.nodes) {
      if (node.kind != ValueKind::dict) continue;
      std::map<std::string_view, bool> names;
      for (std::size_t i = 0; i < node.parts.size(); i += 2) {
        const ValueNode& key = tree_.nodes[node.parts[i]];
        if (key.kind == ValueKind::text && !names.emplace(key.text, true).second)
          fail<DataError>({what_, ": '", locus::detail::printable(key.text), "' is there twice"});
      }
    }
  }

  std::string_view text_;
  const std::string& what_;
  ValueTree& tree_;
  PickleObjects& objects_;
  std::size_t at_ = 0;
  std::vector<ValueIndex> stack_;
  std::vector<std::size_t> marks_;  ///< sizes of the stack
  std::map<std::uint64_t, ValueIndex> memo_;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
