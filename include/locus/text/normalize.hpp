#pragma once
// Unicode's normalization form C, by utf8proc.

#include <locus/core/check.hpp>

#include <string>
#include <string_view>

/// LOCUS_UTF8PROC: 1 to normalize texts, with -lutf8proc on the link line; by default where <utf8proc.h> is found.
#ifndef LOCUS_UTF8PROC
#if __has_include(<utf8proc.h>)
#define LOCUS_UTF8PROC 1
#else
#define LOCUS_UTF8PROC 0
#endif
#endif

#if LOCUS_UTF8PROC
#include <cstdlib>
#include <memory>

#include <utf8proc.h>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace text::detail {

/// Whether form C leaves the text as it is because all characters are below U+0300: no byte begins a later one.
[[nodiscard]] inline bool is_surely_composed(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0xCC) return false;
  return true;
}

/// throws ArgumentError in a program without utf8proc, naming who asks
inline void require_normalization(std::string_view who) {
  if constexpr (!LOCUS_UTF8PROC)
    fail<ArgumentError>({who,
                         ": normalization NFC needs utf8proc; install libutf8proc-dev and build with "
                         "-DLOCUS_UTF8PROC=1 and -lutf8proc"});
}

/// Appends the text of valid UTF-8 in form C.
inline void append_composed([[maybe_unused]] std::string& to, [[maybe_unused]] std::string_view text) {
#if LOCUS_UTF8PROC
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(composed, &std::free);
  if (length < 0) fail<DataError>({"utf8proc: ", utf8proc_errmsg(length), "; expected a text of UTF-8"});
  to.append(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length));
#endif
}

}}}  // namespace locus::LOCUS_ABI::text::detail
