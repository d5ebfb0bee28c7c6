#pragma once
// The gradient behind an activation, as a functor of maps and epilogues.

#include <locus/device/linear_fusion.hpp>
#include <locus/expr/functions/activation.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// g times the activation's derivative, from its output or its input.
template <class F>
struct ActivationBackward {
  F f;
  template <class R> LOCUS_FN R operator()(R g, R value) const { return times_derivative(g, f, value); }
};

}}}  // namespace locus::LOCUS_ABI::detail
