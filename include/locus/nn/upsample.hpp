#pragma once
// A layer that resizes images.

#include <locus/nn/activation.hpp>
#include <locus/ops/interpolate.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// See locus::interpolate; keeps its options. throws ArgumentError
///
///     nn::Upsample{{.scale_factor = 2, .mode = InterpolateMode::bilinear}}
struct Upsample final : Stateless<Upsample> {
  InterpolateOptions options;
  explicit Upsample(const InterpolateOptions& wanted)
      : options(locus::detail::require_interpolation("Upsample", wanted)) {}
  [[nodiscard]] auto forward(const auto& x) const { return interpolate(x, options); }
};

}}}  // namespace locus::LOCUS_ABI::nn
