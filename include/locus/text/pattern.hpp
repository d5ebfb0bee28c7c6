#pragma once
// Regular expressions over Unicode text, by PCRE2. Programs link with -lpcre2-8.

#if !__has_include(<pcre2.h>)
#error "locus/text needs PCRE2; on Debian and Ubuntu: apt-get install libpcre2-dev, and link with -lpcre2-8"
#endif

#include <locus/core/check.hpp>
#include <locus/core/printable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace locus { inline namespace LOCUS_ABI { namespace text::detail {

/// Calls a function of PCRE2 at the end of a pointer's life.
template <auto release>
struct ReleasedBy {
  template <class P> void operator()(P* pointer) const { release(pointer); }
};

/// A compiled expression. Classes such as \p{L} and \s follow Unicode. Threads may share it.
class Pattern {
 public:
  /// throws DataError, naming `what` and the place of the mistake
  Pattern(std::string expression, std::string_view what) : expression_(std::move(expression)) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code_ = compiled(translated(expression_), error, at);
    if (!code_)
      fail<DataError>({what, ": the expression '", locus::detail::printable(expression_, 200), "' is refused: ",
                       message_of(error), ", at byte ", at, "; expected a regular expression of PCRE2"});
    (void)pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // where there is no compiler, it is interpreted
  }

  [[nodiscard]] const std::string& expression() const { return expression_; }

  /// Matches of one thread, with their memory. The pattern must outlive it.
  class Matcher {
   public:
    explicit Matcher(const Pattern& pattern)
        : pattern_(&pattern),
          data_(pcre2_match_data_create(1, nullptr)),
          context_(pcre2_match_context_create(nullptr)),
          stack_(pcre2_jit_stack_create(std::size_t{32} << 10, std::size_t{64} << 20, nullptr)) {
      if (!data_ || !context_) fail<Error>({"PCRE2: out of memory"});
      if (stack_) pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
      (void)pcre2_set_match_limit(context_.get(), 0xFFFFFFFF);
    }

    /// Whether a text begins with a match.
    [[nodiscard]] bool begins(std::string_view text) const {
      return !text.empty() && next(text, 0, PCRE2_ANCHORED).begin == 0;
    }
    /// Calls piece(part) for the matches in a text of valid UTF-8 and for the parts between them, in their order.
    /// throws DataError if the expression takes more than PCRE2's limits of steps or memory
    template <class F>
    void split(std::string_view text, const F& piece) const {
      std::size_t done = 0;
      for (std::size_t at = 0; at < text.size();) {
        const auto [begin, end] = next(text, at, 0);
        if (begin == end) {  // none, or an empty one, which divides nothing
          at = end < text.size() ? end + 1 : end;
          while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u) ++at;
          continue;
        }
        if (begin > done) piece(text.substr(done, begin - done));
        piece(text.substr(begin, end - begin));
        at = done = end;
      }
      if (done < text.size()) piece(text.substr(done));
    }

   private:
    struct Match {
      std::size_t begin, end;
    };
    [[nodiscard]] Match next(std::string_view text, std::size_t from, std::uint32_t options) const {
      const int found = pcre2_match(pattern_->code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                    options | PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
      if (found == PCRE2_ERROR_NOMATCH) return {text.size(), text.size()};
      if (found < 0)
        fail<DataError>({"the expression '", locus::detail::printable(pattern_->expression_, 200), "' fails at byte ",
                         from, " of a text: ", message_of(found)});
      const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(data_.get());
      return {ends[0], ends[1]};
    }

    const Pattern* pattern_;
    std::unique_ptr<pcre2_match_data, ReleasedBy<&pcre2_match_data_free>> data_;
    std::unique_ptr<pcre2_match_context, ReleasedBy<&pcre2_match_context_free>> context_;
    std::unique_ptr<pcre2_jit_stack, ReleasedBy<&pcre2_jit_stack_free>> stack_;
  };

 private:
  /// Null for a mistake, with its number and place.
  [[nodiscard]] static std::shared_ptr<pcre2_code> compiled(const std::string& expression, int& error, PCRE2_SIZE& at) {
    return {pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr),
            [](pcre2_code* code) { pcre2_code_free(code); }};
  }
  /// The expression for PCRE2 of one for Oniguruma, which the package tokenizers uses. PCRE2's \s and \S have U+180E,
  /// which is no white space since Unicode 6.3; its property has not. PCRE2's \p{Han} has all characters that Han texts
  /// use (Script_Extensions); Oniguruma's has the characters of this script alone.
  [[nodiscard]] static std::string translated(std::string_view expression) {
    std::string result;
    for (std::size_t i = 0; i < expression.size(); ++i) {
      if (expression[i] != '\\' || i + 1 == expression.size()) {
        result += expression[i];
        continue;
      }
      const char escaped = expression[++i];
      if (escaped == 's') result += "\\p{White_Space}";
      else if (escaped == 'S') result += "\\P{White_Space}";
      else if (const auto script = script_at(expression.substr(i)); !script.empty()) {
        result.append("\\").append(1, escaped).append("{sc:").append(script).append("}");
        i += script.size() + 2;
      } else (result += '\\') += escaped;
    }
    return result;
  }
  /// The name in "p{Han}" or "P{Han}" at the begin of a text; empty if it is no script.
  [[nodiscard]] static std::string_view script_at(std::string_view text) {
    if (!text.starts_with("p{") && !text.starts_with("P{")) return {};
    const std::string_view name = text.substr(2, text.find('}') - 2);
    if (name.size() < 3 || name.size() + 3 > text.size()) return {};  // \p{L}, \p{Lu}
    int error = 0;
    PCRE2_SIZE at = 0;
    return compiled(join("\\p{sc:", name, "}"), error, at) ? name : std::string_view();
  }
  [[nodiscard]] static std::string message_of(int error) {
    PCRE2_UCHAR message[256] = {};
    (void)pcre2_get_error_message(error, message, sizeof message);
    return reinterpret_cast<const char*>(message);
  }

  std::string expression_;
  std::shared_ptr<pcre2_code> code_;  // read by all copies
};

}}}  // namespace locus::LOCUS_ABI::text::detail
