#pragma once
// A named number, truth value or text: a member of a line of JSON, a hyperparameter of TensorBoard.

#include <locus/core/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// A named number, truth value or text, for JsonLines::log and TensorBoard::add_hparams.
///
///     io::NamedValue{"lr", 0.1}, io::NamedValue{"nesterov", true}, io::NamedValue{"optimizer", "Adam"}
class NamedValue {
 public:
  template <class V>
  NamedValue(std::string name, const V& value) : name_(std::move(name)) {
    if constexpr (std::is_same_v<V, bool>) kind_ = Kind::truth, whole_ = value;
    else if constexpr (std::is_integral_v<V> && std::is_signed_v<V>) kind_ = Kind::integer, whole_ = bits_of(value);
    else if constexpr (std::is_integral_v<V>) kind_ = Kind::natural, whole_ = bits_of(value);
    else if constexpr (std::is_floating_point_v<V>) kind_ = Kind::number, number_ = static_cast<double>(value);
    else text_ = std::string_view(value);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Calls f with the value: a bool, std::int64_t, std::uint64_t, double or std::string.
  template <class F>
  void visit(const F& f) const {
    switch (kind_) {
      case Kind::text: return f(text_);
      case Kind::truth: return f(whole_ != 0);
      case Kind::integer: return f(static_cast<std::int64_t>(whole_));
      case Kind::natural: return f(whole_);
      case Kind::number: return f(number_);
    }
  }

 private:
  enum class Kind { text, truth, integer, natural, number };
  template <class V> [[nodiscard]] static std::uint64_t bits_of(V value) { return static_cast<std::uint64_t>(value); }

  std::string name_, text_;
  Kind kind_ = Kind::text;
  std::uint64_t whole_ = 0;  ///< a truth value, or an integer in two's complement
  double number_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::io
