#pragma once
// A call of an operator: its inputs, attributes and outputs, with errors that name the node.

#include <locus/interop/onnx/plan.hpp>
#include <locus/interop/onnx/value.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

using Integers = std::vector<std::int64_t>;

/// Attributes of a node, and the number of its operator set.
class Attributes {
 public:
  Attributes(const Step& step, std::int64_t opset) : step_(&step), opset_(opset) {}

  [[nodiscard]] const Node& node() const { return step_->node; }
  [[nodiscard]] std::string_view operation() const { return operator_specs[step_->operation].name; }
  [[nodiscard]] std::int64_t opset() const { return opset_; }
  [[nodiscard]] std::size_t output_count() const { return step_->outputs.size(); }

  /// The attribute, or null. throws DataError for one of another type
  template <class A>
  [[nodiscard]] const A* attribute(std::string_view name) const {
    for (const Attribute& attribute : node().attributes)
      if (attribute.name == name) {
        if (const auto* found = std::get_if<A>(&attribute.value)) return found;
        fail_here({"attribute '", name, "' is of another type than the operator has"});
      }
    return nullptr;
  }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto* found = attribute<std::int64_t>(name);
    return found ? *found : otherwise;
  }
  [[nodiscard]] bool flag(std::string_view name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
  [[nodiscard]] double number(std::string_view name, double otherwise) const {
    const auto* found = attribute<float>(name);
    return found ? static_cast<double>(*found) : otherwise;
  }
  [[nodiscard]] std::string_view text(std::string_view name, std::string_view otherwise) const {
    const auto* found = attribute<std::string>(name);
    return found ? std::string_view(*found) : otherwise;
  }
  [[nodiscard]] Integers list(std::string_view name, const Integers& otherwise = {}) const {
    const auto* found = attribute<Integers>(name);
    return found ? *found : otherwise;
  }
  [[nodiscard]] bool has(std::string_view name) const {
    for (const Attribute& attribute : node().attributes)
      if (attribute.name == name) return true;
    return false;
  }
  /// An attribute that chooses one of several words. throws DataError for a word that Locus does not run
  void require_text(std::string_view name, std::string_view expected) const {
    if (const auto given = text(name, expected); given != expected)
      fail_here(
          {name, " = '", locus::detail::printable(given), "', which Locus does not run; expected '", expected, "'"});
  }
  /// throws DataError for another number than the one that Locus runs
  void require_integer(std::string_view name, std::int64_t expected) const {
    if (const auto given = integer(name, expected); given != expected)
      fail_here({name, " = ", given, ", which Locus does not run; expected ", expected});
  }
  [[noreturn]] void fail_here(std::initializer_list<locus::detail::Text> parts) const {
    fail<DataError>({"ONNX ", text_of(node()), ": ", locus::detail::join_texts(parts.begin(), parts.size())});
  }

 protected:
  const Step* step_;
  std::int64_t opset_;
};

/// a * b. throws DataError beyond 64 bits: extents of a tensor without elements may be as large
[[nodiscard]] inline std::int64_t product(const Attributes& call, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) call.fail_here({a, " times ", b, ", which is beyond 64 bits"});
  return result;
}

/// The numbers without a record, for uses that collect no gradient.
template <class F>
[[nodiscard]] const auto& plain_of(const F& x) {
  if constexpr (F::role == Role::traced) return x.value();
  else return x;
}

template <class F>
class Call : public Attributes {
 public:
  using T = value_of<F>;
  using D = device_of<F>;

  Call(const Step& step, std::int64_t opset, std::vector<Value<F>>& values, D device)
      : Attributes(step, opset), values_(&values), device_(device) {}

  [[nodiscard]] D device() const { return device_; }
  [[nodiscard]] const Step& step() const { return *step_; }
  /// All values of the running plan, for operators that run graphs of their own.
  [[nodiscard]] std::vector<Value<F>>& values() const { return *values_; }
  [[nodiscard]] std::size_t input_count() const { return step_->inputs.size(); }
  [[nodiscard]] bool has_input(std::size_t i) const { return i < step_->inputs.size() && step_->inputs[i] >= 0; }
  [[nodiscard]] const Value<F>& input(std::size_t i) const {
    if (!has_input(i)) fail_here({"input ", i, " is absent"});
    return (*values_)[static_cast<std::size_t>(step_->inputs[i])];
  }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return input(i).shape(); }
  /// throws DataError unless the input holds floating-point numbers
  [[nodiscard]] const F& numbers(std::size_t i) const {
    if (const F* found = input(i).numbers()) return *found;
    fail_type(i, "floating-point numbers");
  }
  [[nodiscard]] const Tensor<T, D>& plain(std::size_t i) const { return plain_of(numbers(i)); }
  [[nodiscard]] const Placed<std::int64_t, D>& integers(std::size_t i) const {
    if (const auto* found = input(i).integers()) return *found;
    fail_type(i, "integers");
  }
  [[nodiscard]] const Placed<bool, D>& bools(std::size_t i) const {
    if (const auto* found = input(i).bools()) return *found;
    fail_type(i, "bool");
  }
  /// The integers of an input as a list. On a GPU, waits for values that were computed there.
  [[nodiscard]] Integers host_list(std::size_t i) const {
    const Tensor<std::int64_t, Cpu> dense = integers(i).host().contiguous();
    return {dense.data(), dense.data() + dense.elements()};
  }
  [[nodiscard]] std::int64_t host_integer(std::size_t i) const {
    const Integers list = host_list(i);
    if (list.size() != 1) fail_here({"input ", i, " has ", list.size(), " elements; expected 1"});
    return list[0];
  }
  /// One number, of any type. On a GPU, waits for it.
  [[nodiscard]] double host_number(std::size_t i) const {
    if (input(i).integers()) return static_cast<double>(host_integer(i));
    if (const auto* bools = input(i).bools()) return bools->host().item() ? 1 : 0;
    if (plain(i).elements() != 1) fail_here({"input ", i, " has shape ", shape(i), "; expected one number"});
    return static_cast<double>(static_cast<compute_t<T>>(plain(i).reshape(Shape{}).item()));
  }
  /// An axis, counted from the front. throws DataError
  [[nodiscard]] int axis_of(std::int64_t axis, int rank) const {
    if (axis < -rank || axis >= rank) fail_here({"axis ", axis, " of ", rank, " dimensions"});
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }

  /// Whether the operator runs on the host: all inputs are integers or bools that are there already.
  [[nodiscard]] bool is_on_host() const {
    for (std::size_t i = 0; i < input_count(); ++i)
      if (has_input(i) && !input(i).is_on_host()) return false;
    return true;
  }
  /// f(tensor) of an input's numbers, or of its integers or bools in the place where the operator runs.
  template <class Do>
  void visit(std::size_t i, const Do& f) const {
    const Value<F>& value = input(i);
    if (const F* numbers = value.numbers()) return f(*numbers);
    in_place([&](auto place) {
      if (const auto* integers = value.integers()) f(at(*integers, place));
      else f(at(*value.bools(), place));
    });
  }
  /// Integers or bools in a place.
  template <class I, class E>
  [[nodiscard]] const Tensor<I, E>& at(const Placed<I, D>& tensor, E place) const {
    if constexpr (std::is_same_v<E, Cpu>) return tensor.host();
    else return tensor.there(place);
  }
  /// f(place): Cpu where the operator runs on the host, else the device.
  template <class Do>
  void in_place(const Do& f) const {
    if constexpr (!std::is_same_v<D, Cpu>)
      if (is_on_host()) return f(Cpu{});
    f(device_);
  }

  [[nodiscard]] bool wants(std::size_t i) const { return i < step_->outputs.size() && step_->outputs[i] >= 0; }
  void give(std::size_t i, Value<F> value) const {
    if (wants(i)) (*values_)[static_cast<std::size_t>(step_->outputs[i])] = std::move(value);
  }
  /// Gives a tensor or an expression of the type of an input.
  template <class X> void give_as(DataType type, const X& x) const { give(0, value(type, x.eval())); }
  /// Gives numbers or integers of the type of input 0.
  template <class X> void give_like(const X& x) const { give_as(input(0).type(), x); }
  /// The same, with integers that were computed in 64 bits wrapped to the type.
  template <class X>
  void give_wrapped(DataType type, const X& x) const {
    if constexpr (std::is_same_v<value_of<X>, std::int64_t>) give(0, value(type, wrapped(type, x.eval())));
    else give_as(type, x);
  }
  template <class X>
  [[nodiscard]] static Value<F> value(DataType type, const X& x) {
    if constexpr (std::is_same_v<value_of<X>, std::int64_t>) return Value<F>(type, x);
    else if constexpr (std::is_same_v<value_of<X>, bool>) return Value<F>(DataType::boolean, x);
    else return Value<F>(type, handle(x));
  }
  /// As F: a plain tensor beside traced ones is not recorded.
  template <class X>
  [[nodiscard]] static F handle(const X& x) {
    if constexpr (std::is_same_v<X, F>) return x;
    else return trace(x);
  }
  [[noreturn]] void fail_type(std::size_t i, const char* expected) const {
    fail_here({"input ", i, " holds ", to_string(input(i).type()), "; expected ", expected});
  }

 private:
  std::vector<Value<F>>* values_;
  D device_;
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
