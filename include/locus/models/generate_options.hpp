#pragma once
// Options of generation.

#include <locus/core/check.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// How tokens are drawn, and when a sequence ends. Filters have the names, formulas and order of the package
/// transformers. Each of them keeps the likeliest token.
struct GenerateOptions {
  std::int64_t max_new_tokens = 128;    ///< ends a sequence
  double temperature = 1;               ///< divides the logits; 0: always the likeliest token
  std::int64_t top_k = 0;               ///< among the k likeliest tokens; 0: among all
  double top_p = 1;                     ///< among the likeliest ones, until their probabilities sum to p
  double min_p = 0;                     ///< among those with at least this share of the largest probability
  double repetition_penalty = 1;        ///< divides positive logits of earlier tokens, and multiplies negative ones
  std::uint64_t seed = 0;               ///< equal seeds draw equal numbers, on every device
  std::vector<std::int64_t> stop = {};  ///< tokens that end a sequence
  std::vector<std::string> stop_texts = {};  ///< texts that end a sequence, in generate_text
};

namespace detail {
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline const GenerateOptions& checked(const GenerateOptions& options) {
  constexpr std::string_view caller = "GenerateOptions";
  const auto require_whole = [&](const char* option, std::int64_t given) {
    if (given < 0) fail<ArgumentError>({caller, ": ", option, " = ", given, "; expected 0 or more"});
  };
  const auto require_share = [&](const char* option, double given) {
    if (!(given >= 0 && given <= 1))
      fail<ArgumentError>({caller, ": ", option, " = ", given, "; expected a number from 0 to 1"});
  };
  require_whole(".max_new_tokens", options.max_new_tokens), require_whole(".top_k", options.top_k);
  locus::detail::require_not_negative(caller, ".temperature", options.temperature);
  require_share(".top_p", options.top_p), require_share(".min_p", options.min_p);
  if (!locus::detail::is_finite(options.repetition_penalty) || options.repetition_penalty <= 0)
    fail<ArgumentError>({caller, ": .repetition_penalty = ", options.repetition_penalty,
                         "; expected a positive number; 1 changes nothing"});
  for (const std::string& text : options.stop_texts)
    if (text.empty()) fail<ArgumentError>({caller, ": an empty text in .stop_texts; every text contains it"});
  return options;
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::models
