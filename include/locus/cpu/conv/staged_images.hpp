#pragma once
// Images as direct convolutions read them: with their border, channels side by side.

#include <locus/cpu/conv/channel_lanes.hpp>
#include <locus/cpu/conv/pass.hpp>
#include <locus/device/convolution.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Images of some channels.
struct LaneImages {
  ConvImages<const float> images;
  std::int64_t channels, height, width;
};

/// Images as a convolution reads them, and its shape over these.
struct ReadImages {
  ConvShape shape;
  ConvImages<const float> images;
};
/// Of images whose windows are single elements, a stride apart, these elements alone, if their rows are not short.
[[nodiscard]] inline ReadImages elements_read(const ConvShape& shape, const ConvImages<const float>& images) {
  ReadImages read{shape, images};
  constexpr ConvIndex short_row = 8;
  if (shape.axis[2].outputs < short_row) return read;
  for (int d = 1; d < 3; ++d) {
    ConvAxis& axis = read.shape.axis[d];
    if (axis.kernel > 1 || axis.before != 0) continue;
    read.images.stride[d + 2] *= axis.stride;
    axis.extent = axis.outputs, axis.stride = 1;
  }
  return read;
}

/// Rows of an image with their border: from row `top` on, of `width` columns, the first `border` of which precede the
/// image, with `lanes` lanes for the channels: see lanes_for.
struct StagedLines {
  std::int64_t top, height, border, width, lanes;
};

/// Lanes of a position whose channels lie side by side: a multiple of a vector's. For few channels exactly as many:
/// taps and channels together are then deep enough for a product.
[[nodiscard]] inline std::int64_t lanes_for(const KernelSet<float>& kernels, std::int64_t channels) {
  constexpr std::int64_t few = 16;
  return channels < few ? channels : round_up(channels, kernels.lanes);
}

/// Copies positions whose channels lie side by side, `step` apart, with zeros up to `lanes` lanes.
inline void copy_positions(const float* from, std::int64_t step, std::int64_t channels, std::int64_t positions,
                           float* to, std::int64_t lanes) {
  if (step == channels && lanes == channels) {
    std::memcpy(to, from, static_cast<std::size_t>(positions * channels) * sizeof(float));
    return;
  }
  constexpr std::int64_t usual = 16;  // a number that compilers know spares a call for each position
  if (channels == usual && lanes == usual) {
    for (std::int64_t i = 0; i < positions; ++i, from += step, to += usual)
      std::memcpy(to, from, usual * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < positions; ++i, from += step, to += lanes) {
    std::memcpy(to, from, static_cast<std::size_t>(channels) * sizeof(float));
    if (channels < lanes) std::memset(to + channels, 0, static_cast<std::size_t>(lanes - channels) * sizeof(float));
  }
}

/// Copies the lines, channels side by side.
inline void stage_lines(const KernelSet<float>& kernels, const LaneImages& x, std::int64_t image,
                        const StagedLines& lines, float* to) {
  const auto& stride = x.images.stride;
  const std::int64_t padded = lines.lanes;
  const std::int64_t width = locus::detail::smaller(x.width, lines.width - lines.border);
  const auto zero = [&](float* at, std::int64_t cols) {
    if (cols > 0) std::memset(at, 0, static_cast<std::size_t>(cols * padded) * sizeof(float));
  };
  for (std::int64_t row = 0; row < lines.height; ++row) {
    float* const line = to + row * lines.width * padded;
    const std::int64_t r = lines.top + row;
    if (r < 0 || r >= x.height || width <= 0) {
      zero(line, lines.width);
      continue;
    }
    zero(line, lines.border);
    zero(line + (lines.border + width) * padded, lines.width - lines.border - width);
    const float* const from = x.images.data + image * stride[0] + r * stride[3];
    float* const target = line + lines.border * padded;
    if (stride[1] == 1) copy_positions(from, stride[4], x.channels, width, target, padded);
    else if (padded % kernels.lanes != 0)
      for (std::int64_t c = 0; c < padded; ++c)
        for (std::int64_t col = 0; col < width; ++col) target[col * padded + c] = from[c * stride[1] + col * stride[4]];
  }
  if (stride[1] == 1 || padded % kernels.lanes != 0 || width <= 0) return;
  const std::int64_t above = lines.top < 0 ? -lines.top : 0;
  const std::int64_t rows = locus::detail::smaller(lines.height, x.height - lines.top) - above;
  if (rows <= 0) return;
  to_lanes(kernels,
           {x.images.data + image * stride[0] + (lines.top + above) * stride[3], stride[1], stride[3], stride[4],
            x.channels, rows, width},
           to + (above * lines.width + lines.border) * padded, padded, lines.width * padded);
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail
