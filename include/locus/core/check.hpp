#pragma once
// The exceptions that Locus throws, and the one way it throws them.

#include <locus/core/config.hpp>

#include <cstdio>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace locus {

/// Base of all exceptions of Locus. The message names the given value, the expected one, and the remedy.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ArgumentError : Error {
  using Error::Error;
};  ///< an option or argument outside its range
struct ShapeError : Error {
  using Error::Error;
};  ///< ranks or extents that do not fit
struct IndexError : Error {
  using Error::Error;
};  ///< an index, axis or label out of range
struct DeviceError : Error {
  using Error::Error;
};  ///< tensors on two ordinals of one device kind
struct CudaUnavailable : Error {
  using Error::Error;
};  ///< no toolkit in this build, no driver, no GPU, or no code for it
struct CudaError : Error {
  using Error::Error;
};  ///< a CUDA, cuBLAS or launch error
struct CaptureError : Error {
  using Error::Error;
};  ///< a step that cannot be captured for replay
struct StreamError : Error {
  using Error::Error;
};  ///< a use of memory that nothing orders after another stream's use of it
struct OutOfMemory : Error {
  using Error::Error;
};  ///< an allocation failed; the program may go on
struct DataError : Error {
  using Error::Error;
};  ///< a file that is missing, truncated or malformed
struct GraphError : Error {
  using Error::Error;
};  ///< a backward pass that cannot be run
struct StaleError : Error {
  using Error::Error;
};  ///< a tensor changed in place before its pending use
struct NumericError : Error {
  using Error::Error;
};  ///< NaN or infinity where a finite number is needed; a matrix that is singular or not positive definite

}  // namespace locus

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// One part of a message, type-erased, so that composing messages is compiled once and not per combination.
/// Constructors are not inlined into every function that can fail, which would be a twentieth of a program's
/// compilation.
class Text {
 public:
  constexpr Text() : Text(std::string_view()) {}
  LOCUS_COLD constexpr Text(std::string_view text) : text_(text), append_(&append_text) {}
  LOCUS_COLD constexpr Text(const char* text) : Text(std::string_view(text)) {}
  LOCUS_COLD Text(const std::string& text) : Text(std::string_view(text)) {}
  Text(bool value) : Text(std::string_view(value ? "true" : "false")) {}
  Text(char character) : integer_(character), append_(&append_character) {}
  template <class N>
    requires std::is_integral_v<N>
  LOCUS_COLD Text(N number)
      : integer_(static_cast<long long>(number)), append_(std::is_unsigned_v<N> ? &append_unsigned : &append_integer) {}
  template <class N>
    requires std::is_floating_point_v<N>
  LOCUS_COLD Text(N number) : floating_(static_cast<double>(number)), append_(&append_floating) {}
  /// Any class with a to_string in its namespace.
  template <class X>
    requires(std::is_class_v<X> && !std::is_convertible_v<const X&, std::string_view>)
  LOCUS_COLD Text(const X& object) : object_(&object), append_(&append_object<X>) {}

  void append_to(std::string& text) const { append_(text, *this); }

 private:
  static void append_text(std::string& text, const Text& part) { text += part.text_; }
  static void append_character(std::string& text, const Text& part) { text += static_cast<char>(part.integer_); }
  static void append_integer(std::string& text, const Text& part) { text += std::to_string(part.integer_); }
  static void append_unsigned(std::string& text, const Text& part) {
    text += std::to_string(static_cast<unsigned long long>(part.integer_));
  }
  static void append_floating(std::string& text, const Text& part) {
    if (part.floating_ != part.floating_) {
      text += "nan";  // printf would give it a sign
      return;
    }
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", part.floating_);
    text += digits;
  }
  template <class X>
  static void append_object(std::string& text, const Text& part) {
    text += to_string(*static_cast<const X*>(part.object_));
  }

  union {
    std::string_view text_;
    long long integer_;
    double floating_;
    const void* object_;
  };
  void (*append_)(std::string& text, const Text& part);
};

[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string join_texts(const Text* parts, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) parts[i].append_to(text);
  return text;
}

}  // namespace detail

/// The parts joined into one text; numbers, strings, and objects with a to_string in their namespace.
template <class... Parts>
[[nodiscard]] inline std::string join(const Parts&... parts) {
  const detail::Text texts[] = {parts...};
  return detail::join_texts(texts, sizeof...(Parts));
}

/// Throws E with the parts joined: fail<ShapeError>({"matmul: ", a.shape(), " does not fit ", b.shape()}).
/// (A list rather than a pack: it is compiled once per exception, not once per combination of types.)
template <class E>
[[noreturn]] [[gnu::cold]] LOCUS_OUT_OF_LINE void fail(std::initializer_list<detail::Text> parts) {
  throw E(detail::join_texts(parts.begin(), parts.size()));
}

namespace detail {
[[nodiscard]] constexpr bool is_finite(double x) { return x - x == 0; }
/// throws ArgumentError naming the option, for NaN and infinity
LOCUS_OUT_OF_LINE inline void require_finite(std::string_view caller, const char* option, double given) {
  if (!is_finite(given)) fail<ArgumentError>({caller, ": ", option, " is ", given, "; expected a finite number"});
}
/// throws ArgumentError naming the option, for NaN, infinity and a number below 0
LOCUS_OUT_OF_LINE inline void require_not_negative(std::string_view caller, const char* option, double given) {
  if (!is_finite(given) || given < 0)
    fail<ArgumentError>({caller, ": ", option, " is ", given, "; expected a finite number of 0 or more"});
}
}  // namespace detail

}}  // namespace locus::LOCUS_ABI
