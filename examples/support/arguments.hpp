#pragma once
// The command line of a small program.

#include <locus/core/check.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Options, each followed by its value: --epochs 8, or --epochs=8.
class Arguments {
 public:
  /// `begin`: index of the first option in argv.
  /// throws ArgumentError for an option not in `names`, or without a value
  Arguments(int argc, char** argv, const std::vector<std::string_view>& names, int begin = 1) {
    for (int i = begin; i < argc; ++i) {
      const std::string_view argument = argv[i], name = argument.substr(0, argument.find('='));
      const bool is_whole = name.size() < argument.size();  // with its value
      if (std::find(names.begin(), names.end(), name) == names.end() || (!is_whole && ++i == argc))
        refuse(argument, names);
      given_.emplace_back(name, is_whole ? argument.substr(name.size() + 1) : argv[i]);
    }
  }
  /// The value of an option, the first if it is given several times; else `otherwise`.
  [[nodiscard]] std::string text(std::string_view name, const char* otherwise) const {
    for (const auto& [option, value] : given_)
      if (option == name) return std::string(value);
    return otherwise;
  }
  /// throws ArgumentError for a value that is no whole number, or is below `least`
  [[nodiscard]] int number(std::string_view name, const char* otherwise, int least) const {
    const std::string digits = text(name, otherwise);
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size() || number < least)
      locus::fail<locus::ArgumentError>({name, " is '", digits, "'; expected a whole number of ", least, " or more"});
    return number;
  }

 private:
  [[noreturn]] static void refuse(std::string_view argument, const std::vector<std::string_view>& names) {
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i)
      list.append(i == 0 ? "" : i + 1 < names.size() ? ", " : " or ").append(names[i]);
    locus::fail<locus::ArgumentError>(
        {"'", argument, "' is no option with a value; expected ", list, ", followed by its value"});
  }

  std::vector<std::pair<std::string_view, std::string_view>> given_{};
};
