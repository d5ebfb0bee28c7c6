#pragma once
// Freezes parameters of a model by the names of parameters and layers.

#include <locus/core/printable.hpp>
#include <locus/nn/members.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

/// Whether a text matches a pattern; `*` stands for any characters.
[[nodiscard]] LOCUS_OUT_OF_LINE inline bool matches(std::string_view pattern, std::string_view text) {
  std::size_t at = 0, star = std::string_view::npos, resume = 0, read = 0;
  while (read < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++, resume = read;
    } else if (at < pattern.size() && pattern[at] == text[read]) {
      ++at, ++read;
    } else if (star != std::string_view::npos) {
      at = star + 1, read = ++resume;  // the star takes one character more
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}
/// Whether a pattern names a parameter, or a layer that contains the parameter.
[[nodiscard]] inline bool names_parameter(std::string_view pattern, std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i)
    if (name[i] == '.' && matches(pattern, name.substr(0, i))) return true;
  return matches(pattern, name);
}

/// Parameters under all of their names: a parameter shared by layers has several.
template <class T, class D>
struct ListAllNames final : MemberWalk<T, D> {
  std::vector<std::pair<std::string, Parameter<T, D>>> list;
  void parameter(const std::string& name, const Parameter<T, D>& parameter) override {
    list.emplace_back(name, parameter);
  }
};

/// Freezes or trains the parameters that a pattern names, or all without a pattern.
/// throws ArgumentError for a pattern that names no parameter; then nothing was changed
template <class T, class D>
LOCUS_OUT_OF_LINE void require_gradients(const ListAllNames<T, D>& names, bool wanted,
                                         Span<const std::string_view> patterns) {
  const auto is_chosen = [](std::string_view pattern, const auto& named) {
    return names_parameter(pattern, named.first);
  };
  for (const std::string_view pattern : patterns) {
    bool found = false;
    for (const auto& named : names.list) found = found || is_chosen(pattern, named);
    if (found) continue;
    locus::detail::NameList shown;
    for (const auto& named : names.list) shown.add(named.first);
    fail<ArgumentError>({"requires_grad_: no parameter or layer has the name '", locus::detail::printable(pattern),
                         "'; parameters are ", shown.text(),
                         "; name one of them, or a layer, such as 'layer1', or a pattern, such as '*.bias'"});
  }
  for (const auto& named : names.list) {
    bool chosen = patterns.size() == 0;
    for (const std::string_view pattern : patterns) chosen = chosen || is_chosen(pattern, named);
    if (chosen) named.second.requires_grad_(wanted);
  }
}

}}}  // namespace locus::LOCUS_ABI::nn::detail
