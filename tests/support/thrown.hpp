#pragma once
// Messages of exceptions that calls throw.

#include <string>

namespace locus_test {

/// The message of the exception of type E that f throws; empty if none.
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
