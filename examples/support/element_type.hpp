#pragma once
// The element type of a model, chosen at run time: --type.

#include <locus/optim/grad_scaler.hpp>

#include <string>

/// Calls f.operator()<T>() with the type of that name: float, bfloat16 or half. f is compiled for each, which takes
/// more than twice as long as for float alone, with -DEXAMPLES_OF_FLOAT_ALONE.
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

/// What fit() makes steps with. Small gradients of half would be 0, so the scaler multiplies the loss, and with it the
/// gradients, by a large number, and divides them within the step. Other types need none.
template <class Optimizer, class D>
decltype(auto) steps_of(Optimizer& optimizer, locus::optim::GradScaler<D>& scaler) {
  if constexpr (std::is_same_v<locus::value_of<Optimizer>, locus::half>) return scaler.with(optimizer);
  else return (optimizer);
}
