#pragma once
// What a rank throws while others wait for it, they have to hear of.

#include <locus/core/config.hpp>

#include <exception>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

inline constexpr const char* no_exception_text = "something that is no std::exception";

/// f(). Where it throws anything, tell(why) comes first.
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
