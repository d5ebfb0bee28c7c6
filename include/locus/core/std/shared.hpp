#pragma once
// Shared ownership with an intrusive count. (std::shared_ptr, which needs no base class, costs every program the header
// <memory>: 0.1 s with g++, 0.4 s with nvcc.)

#include <locus/core/moved.hpp>
#include <locus/core/std/atomic.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI {

/// Base of an object that counts its owners.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void retain() const noexcept { owners_.fetch_add(1, Order::relaxed); }
  /// True for the last owner, who disposes of the object.
  [[nodiscard]] bool release() const noexcept { return owners_.fetch_sub(1, Order::acq_rel) == 1; }

  [[nodiscard]] bool has_one_owner() const noexcept { return owners_.load(Order::acquire) == 1; }

 protected:
  ~Counted() = default;

 private:
  mutable Atomic<std::int64_t> owners_{0};
};

/// A handle to a T derived from Counted, or an empty handle. The last handle deletes the object, or calls
/// T::dispose(object) if T or a base has this static member. If T has a static member `const char* handle_name`, naming
/// the public class that holds the handle, dereferencing an empty handle throws ArgumentError: the object was moved
/// from.
template <class T>
class Shared {
 public:
  Shared() = default;
  explicit Shared(T* object) noexcept : object_(object) {
    if (object_) object_->retain();
  }
  Shared(const Shared& other) noexcept : Shared(other.object_) {}
  Shared(Shared&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Shared& operator=(const Shared& other) noexcept {
    if (this != &other) *this = Shared(other);
    return *this;
  }
  // Not by value: for `handle = {}` in a template, clang 14 does not destroy the parameter.
  Shared& operator=(Shared&& other) noexcept {
    Shared taken(static_cast<Shared&&>(other));
    T* const mine = object_;
    object_ = taken.object_;
    taken.object_ = mine;
    return *this;
  }
  LOCUS_OUT_OF_LINE ~Shared() {
    if (!object_ || !object_->release()) return;
    if constexpr (requires { T::dispose(object_); }) T::dispose(object_);
    else delete object_;
  }

  [[nodiscard]] T* get() const { return object_; }
  [[nodiscard]] T* operator->() const { return checked(); }
  [[nodiscard]] T& operator*() const { return *checked(); }
  [[nodiscard]] explicit operator bool() const { return object_ != nullptr; }
  [[nodiscard]] friend bool operator==(const Shared& a, const Shared& b) { return a.object_ == b.object_; }

 private:
  [[nodiscard]] T* checked() const {
    if constexpr (requires { T::handle_name; })
      if (!object_) [[unlikely]]
        detail::fail_moved_from(T::handle_name);
    return object_;
  }

  T* object_ = nullptr;
};

}}  // namespace locus::LOCUS_ABI
