#pragma once
// The layout of a model's weights for channels-last images.

#include <locus/cuda/convolution.hpp>
#include <locus/nn/module.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// Lays out the weights of a model's convolutions channels-last, as model.to(memory_format=torch.channels_last): on a
/// GPU with cuDNN, passes over channels-last images then read weights and write their gradients as they lie; otherwise
/// each pass permutes them in a launch of its own. Values, names, shapes and files stay. On other devices, whose
/// convolutions read row-major weights, the call does nothing.
/// cost: a copy of each parameter of four or five dimensions
/// throws ArgumentError for a parameter with a gradient or in flat memory: call it before making the optimizer;
/// CaptureError within a captured step
///
///     nn::channels_last_(model);
///     auto logits = model(channels_last(images));
template <class M>
  requires detail::ListsMembers<M>
void channels_last_(const M& model) {
  if (!locus::detail::has_channels_last_weights<device_of<M>>()) return;
  for (const auto& parameter : model.parameters())
    if (parameter.rank() == 4 || parameter.rank() == 5) parameter.channels_last_();
}

}}}  // namespace locus::LOCUS_ABI::nn
