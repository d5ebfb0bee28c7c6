#pragma once
// Layers that pad. To move a network that holds such a layer, name it like a layer of your own:
// std::move(model).to<Cuda, nn::ReflectionPad2d>(). Not part of locus/locus.hpp.

#include <locus/nn/activation.hpp>
#include <locus/ops/pad.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// Base of a layer that pads the last `dimensions` dimensions: see locus::pad. Negative amounts crop.
template <class Derived, int dimensions, PadMode mode>
struct PadLayer : Stateless<Derived> {
  PadAmounts amounts;
  /// The same amount on each side.
  explicit PadLayer(std::int64_t all) : amounts(on_each_side(all)) {}
  /// Two amounts for each dimension, the last dimension first. throws ArgumentError for another number of them
  explicit PadLayer(const PadAmounts& given) : amounts(given) {
    if (given.dims() != dimensions)
      fail<ArgumentError>({Derived::name, ": ", 2 * given.dims(), " amounts; expected one, or ", 2 * dimensions});
  }
  [[nodiscard]] auto forward(const auto& x) const {
    if (x.rank() < dimensions + 1 || x.rank() > dimensions + 2)
      fail<ShapeError>({Derived::name, ": input of shape ", x.shape(), "; expected ", dimensions + 2,
                        " dimensions, or ", dimensions + 1, " without the batch"});
    return static_cast<const Derived&>(*this).padded(x);
  }
  [[nodiscard]] auto padded(const auto& x) const { return pad(x, amounts, mode); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    Dims list;
    for (int d = 0; d < dimensions; ++d) list.push_back(amounts.before(d)), list.push_back(amounts.after(d));
    return to_string(list);
  }

 private:
  [[nodiscard]] static PadAmounts on_each_side(std::int64_t amount) {
    return PadAmounts(std::vector<std::int64_t>(2 * std::size_t{dimensions}, amount));
  }
};
template <class Derived, int dimensions>
struct ConstantPadLayer : PadLayer<Derived, dimensions, PadMode::constant> {
  double value;
  explicit ConstantPadLayer(std::int64_t all, double fill)
      : PadLayer<Derived, dimensions, PadMode::constant>(all), value(fill) {}
  explicit ConstantPadLayer(const PadAmounts& given, double fill)
      : PadLayer<Derived, dimensions, PadMode::constant>(given), value(fill) {}
  [[nodiscard]] auto padded(const auto& x) const { return pad(x, this->amounts, PadMode::constant, value); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join("padding=", PadLayer<Derived, dimensions, PadMode::constant>::extra_repr(), ", value=", value);
  }
};
}  // namespace detail

/// Zeros around lines (batch, channels, length).
struct ZeroPad1d final : detail::PadLayer<ZeroPad1d, 1, PadMode::constant> {
  static constexpr const char* name = "ZeroPad1d";
  using PadLayer::PadLayer;
};
/// Zeros around images (batch, channels, height, width): nn::ZeroPad2d{1}, or nn::ZeroPad2d{{left, right, top,
/// bottom}}.
struct ZeroPad2d final : detail::PadLayer<ZeroPad2d, 2, PadMode::constant> {
  static constexpr const char* name = "ZeroPad2d";
  using PadLayer::PadLayer;
};
/// Zeros around volumes (batch, channels, depth, height, width).
struct ZeroPad3d final : detail::PadLayer<ZeroPad3d, 3, PadMode::constant> {
  static constexpr const char* name = "ZeroPad3d";
  using PadLayer::PadLayer;
};
/// A number around lines (batch, channels, length).
struct ConstantPad1d final : detail::ConstantPadLayer<ConstantPad1d, 1> {
  static constexpr const char* name = "ConstantPad1d";
  using ConstantPadLayer::ConstantPadLayer;
};
/// A number around images (batch, channels, height, width): nn::ConstantPad2d{1, 0.5}.
struct ConstantPad2d final : detail::ConstantPadLayer<ConstantPad2d, 2> {
  static constexpr const char* name = "ConstantPad2d";
  using ConstantPadLayer::ConstantPadLayer;
};
/// A number around volumes (batch, channels, depth, height, width).
struct ConstantPad3d final : detail::ConstantPadLayer<ConstantPad3d, 3> {
  static constexpr const char* name = "ConstantPad3d";
  using ConstantPadLayer::ConstantPadLayer;
};
/// Elements reflected at the border of lines (batch, channels, length).
struct ReflectionPad1d final : detail::PadLayer<ReflectionPad1d, 1, PadMode::reflect> {
  static constexpr const char* name = "ReflectionPad1d";
  using PadLayer::PadLayer;
};
/// Elements reflected at the border of images (batch, channels, height, width): nn::ReflectionPad2d{1}, or
/// nn::ReflectionPad2d{{left, right, top, bottom}}.
struct ReflectionPad2d final : detail::PadLayer<ReflectionPad2d, 2, PadMode::reflect> {
  static constexpr const char* name = "ReflectionPad2d";
  using PadLayer::PadLayer;
};
/// Elements reflected at the border of volumes (batch, channels, depth, height, width).
struct ReflectionPad3d final : detail::PadLayer<ReflectionPad3d, 3, PadMode::reflect> {
  static constexpr const char* name = "ReflectionPad3d";
  using PadLayer::PadLayer;
};
/// Elements of the border repeated around lines (batch, channels, length).
struct ReplicationPad1d final : detail::PadLayer<ReplicationPad1d, 1, PadMode::replicate> {
  static constexpr const char* name = "ReplicationPad1d";
  using PadLayer::PadLayer;
};
/// Elements of the border repeated around images (batch, channels, height, width): nn::ReplicationPad2d{1}, or
/// nn::ReplicationPad2d{{left, right, top, bottom}}.
struct ReplicationPad2d final : detail::PadLayer<ReplicationPad2d, 2, PadMode::replicate> {
  static constexpr const char* name = "ReplicationPad2d";
  using PadLayer::PadLayer;
};
/// Elements of the border repeated around volumes (batch, channels, depth, height, width).
struct ReplicationPad3d final : detail::PadLayer<ReplicationPad3d, 3, PadMode::replicate> {
  static constexpr const char* name = "ReplicationPad3d";
  using PadLayer::PadLayer;
};
/// Elements of the other side around lines (batch, channels, length).
struct CircularPad1d final : detail::PadLayer<CircularPad1d, 1, PadMode::circular> {
  static constexpr const char* name = "CircularPad1d";
  using PadLayer::PadLayer;
};
/// Elements of the other side around images (batch, channels, height, width): nn::CircularPad2d{1}, or
/// nn::CircularPad2d{{left, right, top, bottom}}.
struct CircularPad2d final : detail::PadLayer<CircularPad2d, 2, PadMode::circular> {
  static constexpr const char* name = "CircularPad2d";
  using PadLayer::PadLayer;
};
/// Elements of the other side around volumes (batch, channels, depth, height, width).
struct CircularPad3d final : detail::PadLayer<CircularPad3d, 3, PadMode::circular> {
  static constexpr const char* name = "CircularPad3d";
  using PadLayer::PadLayer;
};

}}}  // namespace locus::LOCUS_ABI::nn
