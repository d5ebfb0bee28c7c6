// Convolutions, pooling, padding, and images of another size.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/conv.hpp>
#include <locus/ops/interpolate.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/pixel_shuffle.hpp>
#include <locus/ops/pool.hpp>

#include <nanobind/stl/variant.h>

namespace locus::python {

using namespace nb::literals;

namespace {
[[nodiscard]] Size2d size_of(const char* caller, const char* option, const Numerals& given) {
  if (given.values.size() == 1) return Size2d(given.values[0]);
  if (given.values.size() == 2) return Size2d(given.values[0], given.values[1]);
  fail<ArgumentError>({caller, ": ", given.values.size(), " numbers for ", option, "; expected one or two"});
}
[[nodiscard]] std::int64_t number_of(const char* caller, const char* option, const Numerals& given) {
  if (given.values.size() == 1) return given.values[0];
  fail<ArgumentError>({caller, ": ", given.values.size(), " numbers for ", option, "; expected one"});
}

using Padding = std::variant<std::string, Numerals>;

template <class P, class Number>
[[nodiscard]] P padding_of(const char* caller, const Padding& given, const Number& number) {
  if (const auto* numbers = std::get_if<Numerals>(&given)) return number(caller, "padding", *numbers);
  return std::get<std::string>(given).c_str();  // "same" or "valid"; others are refused
}

void add_convolutions(nb::module_& m) {
  m.def(
      "conv1d",
      [](Operand x, Operand weight, std::optional<Operand> bias, std::int64_t stride, const Padding& padding,
         std::int64_t dilation, std::int64_t groups, bool relu) {
        Conv1dOptions options{.stride = stride, .dilation = dilation, .groups = groups, .relu = relu};
        options.padding = padding_of<decltype(options.padding)>("conv1d", padding, number_of);
        return differentiable(
            "conv1d(x, weight, bias)", Floats{},
            [=](const auto& x, const auto& weight, const auto& bias) { return conv1d(x, weight, bias, options); },
            Main{x}, Main{weight}, Optional{bias});
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      "relu"_a = false, "Convolution of lines (batch, in, length) by weights (out, in / groups, k).");
  m.def(
      "conv2d",
      [](Operand x, Operand weight, std::optional<Operand> bias, Numerals stride, const Padding& padding,
         Numerals dilation, std::int64_t groups, bool relu) {
        Conv2dOptions options{.stride = size_of("conv2d", "stride", stride),
                              .dilation = size_of("conv2d", "dilation", dilation),
                              .groups = groups,
                              .relu = relu};
        options.padding = padding_of<decltype(options.padding)>("conv2d", padding, size_of);
        return differentiable(
            "conv2d(x, weight, bias)", Floats{},
            [=](const auto& x, const auto& weight, const auto& bias) { return conv2d(x, weight, bias, options); },
            Main{x}, Main{weight}, Optional{bias});
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      "relu"_a = false,
      "Convolution of images (batch, in, h, w) by weights (out, in / groups, kh, kw); with relu, max(0, the result).");
  m.def(
      "conv_transpose2d",
      [](Operand x, Operand weight, std::optional<Operand> bias, Numerals stride, Numerals padding,
         Numerals output_padding, std::int64_t groups, Numerals dilation) {
        constexpr const char* caller = "conv_transpose2d";
        const ConvTranspose2dOptions options{.stride = size_of(caller, "stride", stride),
                                             .padding = size_of(caller, "padding", padding),
                                             .output_padding = size_of(caller, "output_padding", output_padding),
                                             .groups = groups,
                                             .dilation = size_of(caller, "dilation", dilation)};
        return differentiable(
            "conv_transpose2d(x, weight, bias)", Floats{},
            [=](const auto& x, const auto& weight, const auto& bias) {
              return conv_transpose2d(x, weight, bias, options);
            },
            Main{x}, Main{weight}, Optional{bias});
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "output_padding"_a = 0, "groups"_a = 1,
      "dilation"_a = 1, "The adjoint of conv2d, of weights (in, out / groups, kh, kw).");
}

/// The window that a pool moves over images; its stride is its size by default.
struct Window {
  Size2d size, stride, padding;
};
[[nodiscard]] Window window_of(const char* caller, const Numerals& kernel, const std::optional<Numerals>& stride,
                               const Numerals& padding) {
  const Size2d size = size_of(caller, "kernel", kernel);
  return {size, stride ? size_of(caller, "stride", *stride) : size, size_of(caller, "padding", padding)};
}

void add_pooling(nb::module_& m) {
  m.def(
      "max_pool2d",
      [](Operand x, Numerals kernel, std::optional<Numerals> stride, Numerals padding, Numerals dilation,
         bool ceil_mode) {
        constexpr const char* caller = "max_pool2d";
        const Window window = window_of(caller, kernel, stride, padding);
        const MaxPool2dOptions options{.dilation = size_of(caller, "dilation", dilation), .ceil_mode = ceil_mode};
        return differentiable(
            caller, Floats{},
            [=](const auto& x) { return max_pool2d(x, window.size, window.stride, window.padding, options); }, Main{x});
      },
      "x"_a, "kernel"_a, "stride"_a = nb::none(), "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false,
      "The largest element of each window of images; the stride is the kernel by default.");
  m.def(
      "avg_pool2d",
      [](Operand x, Numerals kernel, std::optional<Numerals> stride, Numerals padding, bool ceil_mode,
         bool count_include_pad) {
        constexpr const char* caller = "avg_pool2d";
        const Window window = window_of(caller, kernel, stride, padding);
        const AvgPoolOptions options{.ceil_mode = ceil_mode, .count_include_pad = count_include_pad};
        return differentiable(
            caller, Floats{},
            [=](const auto& x) { return avg_pool2d(x, window.size, window.stride, window.padding, options); }, Main{x});
      },
      "x"_a, "kernel"_a, "stride"_a = nb::none(), "padding"_a = 0, "ceil_mode"_a = false, "count_include_pad"_a = true,
      "The mean of each window of images; the stride is the kernel by default.");
  m.def(
      "adaptive_avg_pool2d",
      [](Operand x, Numerals size) {
        const Size2d wanted = size_of("adaptive_avg_pool2d", "size", size);
        return differentiable(
            "adaptive_avg_pool2d", Floats{}, [=](const auto& x) { return adaptive_avg_pool2d(x, wanted); }, Main{x});
      },
      "x"_a, "size"_a, "The means of windows that divide images into `size` parts.");
}

[[nodiscard]] PadMode pad_mode_of(const std::string& name) {
  if (name == "constant") return PadMode::constant;
  if (name == "reflect") return PadMode::reflect;
  if (name == "replicate") return PadMode::replicate;
  if (name == "circular") return PadMode::circular;
  fail<ArgumentError>(
      {"pad: mode is \"", name, "\"; expected \"constant\", \"reflect\", \"replicate\" or \"circular\""});
}

void add_sizes(nb::module_& m) {
  m.def(
      "pad",
      [](Operand x, const std::vector<std::int64_t>& amounts, const std::string& mode, double value) {
        const PadAmounts border(amounts);
        const PadMode how = pad_mode_of(mode);
        return differentiable(
            "pad", Floats{}, [&](const auto& x) { return pad(x, border, how, value); }, Main{x});
      },
      "x"_a, "amounts"_a, "mode"_a = "constant", "value"_a = 0.0,
      "x with a border; amounts before and after each of the last dimensions, the last one first.");
  m.def(
      "interpolate",
      [](Operand x, std::optional<Numerals> size, std::optional<double> scale_factor, const std::string& mode,
         bool align_corners) {
        if (mode != "nearest" && mode != "bilinear")
          fail<ArgumentError>({"interpolate: mode is \"", mode, "\"; expected \"nearest\" or \"bilinear\""});
        InterpolateOptions options{.mode = mode == "nearest" ? InterpolateMode::nearest : InterpolateMode::bilinear,
                                   .align_corners = align_corners};
        if (size) options.size = size_of("interpolate", "size", *size);
        if (scale_factor) options.scale_factor = *scale_factor;
        return differentiable(
            "interpolate", Floats{}, [=](const auto& x) { return interpolate(x, options); }, Main{x});
      },
      "x"_a, "size"_a = nb::none(), "scale_factor"_a = nb::none(), "mode"_a = "nearest", "align_corners"_a = false,
      "Images of another size: the nearest element, or linear between the four nearest.");
  m.def(
      "pixel_shuffle",
      [](Operand x, std::int64_t factor) {
        return differentiable(
            "pixel_shuffle", Floats{}, [=](const auto& x) { return pixel_shuffle(x, factor); }, Main{x});
      },
      "x"_a, "factor"_a, "Images of more pixels from images of more channels.");
}
}  // namespace

void add_windows(nb::module_& m) {
  add_convolutions(m);
  add_pooling(m);
  add_sizes(m);
}

}  // namespace locus::python
