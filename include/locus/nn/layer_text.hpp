#pragma once
// The text of a layer: its name and options, as std::cout << model shows it.

#include <locus/core/check.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/device/trace/expression_text.hpp>
#include <locus/fwd.hpp>

#include <iosfwd>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

template <class Derived>
struct Stateless;

namespace detail {
class Movable;

/// "[with F = locus::nn::Linear<float, locus::Cpu>]" -> "Linear"; also for classes of functions and templates.
[[nodiscard]] LOCUS_COLD LOCUS_OUT_OF_LINE inline std::string_view layer_name(std::string_view type_text) {
  const std::string_view type = locus::detail::type_in(type_text);
  std::size_t begin = 0, end = type.size();
  int depth = 0;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const char c = type[i];
    if (c == '<' && depth == 0) end = i;
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
    if (depth == 0 && type.substr(i, 2) == "::") begin = i + 2, end = type.size();
  }
  return type.substr(begin, end - begin);
}

/// A layer whose type is erased: its type as type_text() has it, and its options.
struct LayerText {
  const char* type;
  const void* layer;
  std::string (*options)(const void* layer);  ///< null: it has none
  const std::type_info* type_info;
};
template <class M>
[[nodiscard]] LayerText layer_text(const M& layer) {
  if constexpr (requires { std::string(layer.extra_repr()); }) {
    return {locus::detail::type_text<M>(), &layer,
            [](const void* of) -> std::string { return static_cast<const M*>(of)->extra_repr(); }, &typeid(M)};
  } else {
    return {locus::detail::type_text<M>(), &layer, nullptr, &typeid(M)};
  }
}

/// ", name=given", or nothing for the usual value.
template <class V>
[[nodiscard]] std::string option_text(const char* name, const V& given, const V& usual) {
  const std::string text = join(given);
  return text == join(usual) ? std::string() : join(", ", name, "=", text);
}
[[nodiscard]] inline std::string option_text(const char* name, bool given, bool usual) {
  return given == usual ? std::string() : join(", ", name, given ? "=true" : "=false");
}

/// The name of a layer within the one around it: "up.0" of "net.up.0" within "net".
[[nodiscard]] inline std::string_view name_within(std::string_view around, std::string_view name) {
  return name.substr(around.empty() ? 0 : locus::detail::smaller(around.size() + 1, name.size()));
}

/// Layers that are printed: classes derived from nn::Layer, and those without parameters.
template <class M>
concept PrintedLayer = std::is_class_v<M> && (std::is_base_of_v<Movable, M> || std::is_base_of_v<Stateless<M>, M>);

/// Writes nested layers, one a line.
class ModelWriter {
 public:
  /// A layer begins, of this full name, within the one that began last and has not ended.
  LOCUS_OUT_OF_LINE void begin(const std::string& name, const LayerText& layer) {
    std::string shown;
    if (!open_.empty()) {
      Open& parent = open_.back();
      if (!parent.has_children) {
        text_ += "(\n";
        if (!parent.options.empty()) text_ += join(indent(0), parent.options, "\n");
      }
      parent.has_children = true;
      shown = join(indent(0), "(", name_within(parent.name, name), "): ");
    }
    text_ += join(shown, layer_name(layer.type));
    open_.push_back({name, layer.options ? layer.options(layer.layer) : std::string(), false});
  }
  LOCUS_OUT_OF_LINE void end() {
    const Open layer = open_.back();
    text_ += layer.has_children ? join(indent(1), ")") : join("(", layer.options, ")");
    open_.pop_back();
    if (!open_.empty()) text_ += "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Open {
    std::string name, options;
    bool has_children;
  };
  [[nodiscard]] std::string indent(std::size_t less) const { return std::string(2 * (open_.size() - less), ' '); }

  std::string text_;
  std::vector<Open> open_;
};
}  // namespace detail

/// The layers of a model, nested, with their names and options, as PyTorch prints it. A layer of your own shows options
/// by a member `std::string extra_repr() const`. throws ArgumentError for a model that was moved
///
///     std::cout << nn::Sequential{nn::Linear<float, Cpu>{784, 32}, nn::ReLU{}};
///
///     Sequential(
///       (0): Linear(784, 32)
///       (1): ReLU()
///     )
template <class M>
  requires detail::PrintedLayer<M>
[[nodiscard]] std::string to_string(const M& model);

/// A model, written as by to_string.
template <class Traits, class M>
  requires detail::PrintedLayer<M>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const M& model) {
  return out << to_string(model);
}

}}}  // namespace locus::LOCUS_ABI::nn
