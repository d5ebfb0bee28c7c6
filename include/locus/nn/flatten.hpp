#pragma once
// The parameters of a model in flat memory.

#include <locus/autograd/flat.hpp>
#include <locus/nn/module.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// Values and gradients of all parameters of a model, each in one dense block; see flatten(parameters). Optimizers made
/// of its parameters, and clipping, use this memory.
///
///     const auto flat = nn::flatten(model);
///     optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
///     std::cout << norm(flat.gradients()).item();
template <class M>
  requires detail::ListsMembers<M>
[[nodiscard]] auto flatten(const M& model) {
  return locus::flatten(model.parameters());
}

}}}  // namespace locus::LOCUS_ABI::nn
