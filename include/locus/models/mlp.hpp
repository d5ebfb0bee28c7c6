#pragma once
// Multilayer perceptrons.

#include <locus/nn/sequential.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

template <class T, class D>
struct MlpOptions {
  nn::Module<T, D> activation = nn::ReLU{};  ///< between linear layers; one, which all of them share
  double dropout = 0;                        ///< after each activation
};

/// Flatten, then linear layers of these sizes with activations between them: an nn::Sequential, to which more can be
/// appended.
/// shape: (batch, ...) of sizes[0] elements each -> (batch, last size)
/// throws ArgumentError for fewer than two sizes, a size below 1, or a dropout outside [0, 1]
///
///     auto model = models::mlp<float, D>({784, 256, 10}, {.activation = nn::Tanh{}, .dropout = 0.2}, device);
template <class T, class D = Cpu>
[[nodiscard]] nn::Sequential<T, D> mlp(const std::vector<std::int64_t>& sizes, const MlpOptions<T, D>& options = {},
                                       D device = {}) {
  if (sizes.size() < 2) fail<ArgumentError>({"mlp: ", sizes.size(), " sizes; expected the inputs' and the outputs'"});
  for (const std::int64_t size : sizes)
    if (size < 1) fail<ArgumentError>({"mlp: a size of ", size, "; expected at least 1"});
  const nn::Dropout dropout{options.dropout};
  nn::Sequential<T, D> model{nn::Flatten{}, nn::Linear<T, D>{sizes[0], sizes[1], true, device}};
  for (std::size_t i = 2; i < sizes.size(); ++i) {
    model.push_back(options.activation);
    if (options.dropout != 0) model.push_back(dropout);
    model.push_back(nn::Linear<T, D>{sizes[i - 1], sizes[i], true, device});
  }
  return model;
}

}}}  // namespace locus::LOCUS_ABI::models
