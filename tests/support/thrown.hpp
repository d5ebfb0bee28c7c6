#pragma once
// What a call throws, by its message.

#include <string>

namespace locus_test {

/// The message of what f throws of type E; empty if nothing.
template <class E, class F>
[[nodiscard]] std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}
[[nodiscard]] inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace locus_test
