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
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    const auto [height, width] = options.scale_factor;
    const std::string to = height > 0 ? join("scale_factor=(", height, ", ", width, ")") : join("size=", options.size);
    return join(to, ", mode=", options.mode == InterpolateMode::nearest ? "nearest" : "bilinear",
                detail::option_text("align_corners", options.align_corners, false));
  }
};

}}}  // namespace locus::LOCUS_ABI::nn
