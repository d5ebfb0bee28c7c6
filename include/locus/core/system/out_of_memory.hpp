#pragma once
// Running out of memory outside tensors: throws OutOfMemory in place of std::bad_alloc and std::length_error.

#include <locus/core/check.hpp>

#include <cstdint>
#include <new>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// An OutOfMemory that needs no memory itself.
struct BareOutOfMemory final : OutOfMemory {
  BareOutOfMemory() : OutOfMemory("") {}
  [[nodiscard]] const char* what() const noexcept override { return "out of memory"; }
};

/// Throws OutOfMemory with the parts joined, or without them if there is no memory to join them.
[[noreturn]] LOCUS_COLD inline void fail_out_of_memory(std::initializer_list<Text> parts) {
  try {
    fail<OutOfMemory>(parts);
  } catch (const std::bad_alloc&) {
    throw BareOutOfMemory();
  }
}

/// f(); throws OutOfMemory with the parts joined in place of std::bad_alloc and std::length_error.
template <class F>
auto or_out_of_memory(std::initializer_list<Text> parts, const F& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {}
  fail_out_of_memory(parts);
}

/// `count` elements of zero. throws OutOfMemory that names function and elements: "randperm: no memory for 10 numbers"
template <class T>
[[nodiscard]] std::vector<T> vector_of(std::int64_t count, const char* function, const char* elements) {
  return or_out_of_memory({function, ": no memory for ", count, " ", elements, "; ask for fewer"},
                          [&] { return std::vector<T>(static_cast<std::size_t>(count)); });
}

}}}  // namespace locus::LOCUS_ABI::detail
