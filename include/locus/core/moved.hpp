#pragma once
// Moved-from objects: using one throws instead of reading nothing.

#include <locus/core/check.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

[[noreturn]] LOCUS_COLD LOCUS_OUT_OF_LINE inline void fail_moved_from(std::string_view name) {
  fail<ArgumentError>({"this ", name, " was moved from: it is empty; use the object that it was moved to"});
}

/// A member of a class whose other members do not show that they were moved to another object.
class Presence {
 public:
  Presence() = default;
  Presence(const Presence&) = default;
  Presence(Presence&& other) noexcept : moved_(other.moved_) { other.moved_ = true; }
  Presence& operator=(const Presence&) = default;
  Presence& operator=(Presence&& other) noexcept {
    const bool moved = other.moved_;
    other.moved_ = true;
    moved_ = moved;  // last, for an object that is assigned to itself
    return *this;
  }
  ~Presence() = default;

  [[nodiscard]] explicit operator bool() const { return !moved_; }
  /// throws ArgumentError naming the class, where the object was moved from
  void require(std::string_view name) const {
    if (moved_) [[unlikely]]
      fail_moved_from(name);
  }

 private:
  bool moved_ = false;
};

}}}  // namespace locus::LOCUS_ABI::detail
