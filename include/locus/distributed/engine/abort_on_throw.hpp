#pragma once
// Tells waiting ranks of an exception of this one.

#include <locus/core/config.hpp>

#include <exception>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

inline constexpr const char* no_exception_text = "something that is no std::exception";

/// Returns f(). If it throws, calls tell(why) first.
template <class F, class Tell>
auto abort_on_throw(const F& f, const Tell& tell) {
  try {
    return f();
  } catch (const std::exception& error) {
    tell(error.what());
    throw;
  } catch (...) {
    tell(no_exception_text);
    throw;
  }
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
