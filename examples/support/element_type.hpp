#pragma once
// The element type of a model, chosen at run time: --type.

#include <locus/optim/grad_scaler.hpp>

#include <string>

/// Calls f.operator()<T>() with the type named float, bfloat16 or half. f is compiled for each type, which takes more
/// than twice the time of float alone: -DEXAMPLES_OF_FLOAT_ALONE.
template <class F>
void with_type(const std::string& name, const F& f) {
  if (name == "float") return f.template operator()<float>();
#ifndef EXAMPLES_OF_FLOAT_ALONE
  if (name == "bfloat16") return f.template operator()<locus::bfloat16>();
  if (name == "half") return f.template operator()<locus::half>();
  locus::fail<locus::ArgumentError>({"--type: '", name, "' is no type of a model; expected float, bfloat16 or half"});
#else
  locus::fail<locus::ArgumentError>(
      {"--type: '", name, "' is not compiled; expected float, or compile without -DEXAMPLES_OF_FLOAT_ALONE"});
#endif
}

/// The argument of fit() that makes steps: scaler.with(optimizer) for half, else the optimizer. Small gradients of half
/// would underflow to 0, so the scaler multiplies the loss, and with it the gradients, by a large factor, and divides
/// them within the step.
template <class Optimizer, class D>
decltype(auto) steps_of(Optimizer& optimizer, locus::optim::GradScaler<D>& scaler) {
  if constexpr (std::is_same_v<locus::value_of<Optimizer>, locus::half>) return scaler.with(optimizer);
  else return (optimizer);
}
