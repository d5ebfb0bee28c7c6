#pragma once
// Extents of a model's layers that fill the tiles of matrix products badly, and extents that would fill them.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/nn/module.hpp>

#include <cstdio>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// An extent that is no multiple of the vector or tile width of matrix products of its type on its device.
struct ExtentAdvice {
  std::string key;   ///< full name of the weight, such as "0.weight"; "input" for the batch; "0.heads" of an attention
  std::string name;  ///< of the extent: in, out, entries, features, batch, width
  std::int64_t extent, padded;
  double gain;  ///< multiply-adds per second with the padded extent over those with this one, modelled
  double time;  ///< that padded products take over these, modelled: padded / extent / gain, 1 where the width is free
  std::string why;
};

/// Result of advise(), largest modelled saving first. Empty if no extent is worth padding.
struct Advice {
  std::vector<ExtentAdvice> entries;

  /// One line per entry, and a line on how the gain is modelled; empty without entries.
  ///
  ///     0.weight: out 1001 -> 1008, 1.003 times the multiply-adds per second, 1.004 times the time (modelled): ...
  [[nodiscard]] std::string text() const;
};

namespace detail {

/// Tile extents of a product (rows, depth) x (depth, cols), and multiples to pad to.
struct ProductTiles {
  std::int64_t rows = 1, cols = 1, depth = 1;
  std::int64_t least = 1;  ///< extents that are no multiples of this are named
  std::int64_t best = 1;   ///< a multiple of `least`
  bool windows = false;    ///< the depth of a convolution is cut as whole windows, of all channels
  std::string why = {};
};

[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t extent, std::int64_t tile) {
  return (extent + tile - 1) / tile * tile;
}
/// Time of a product whose extent is cut into tiles, relative to a product without waste: tile quantization. source:
/// NVIDIA, "Matrix Multiplication Background User's Guide", section "Tile quantization"
[[nodiscard]] constexpr double quantized(std::int64_t extent, std::int64_t tile) {
  return static_cast<double>(rounded_up(extent, tile)) / static_cast<double>(extent);
}

/// Role of an extent in the three products of a training step:
/// y (batch, out) = x W', dx (batch, in) = dy W, dW (out, in) = dy' x.
enum class ProductRole { out, in, batch };
/// Mean of quantized() over the three products, which have equally many multiply-adds.
[[nodiscard]] constexpr double quantized(ProductRole role, std::int64_t extent, const ProductTiles& tiles) {
  const double rows = quantized(extent, tiles.rows), cols = quantized(extent, tiles.cols),
               depth = quantized(extent, tiles.depth);
  switch (role) {
    case ProductRole::out: return (cols + depth + rows) / 3;
    case ProductRole::in: return (depth + cols + cols) / 3;
    case ProductRole::batch: return (rows + rows + depth) / 3;
  }
  return 1;
}
/// Padding that makes products take this many times as long, or longer, is not advised.
inline constexpr double longest_padded = 1.25;
/// Pads to a multiple of `best` if that adds at most a sixteenth, otherwise to a multiple of `least`.
[[nodiscard]] constexpr std::int64_t padded(std::int64_t extent, const ProductTiles& tiles) {
  const std::int64_t best = rounded_up(extent, tiles.best);
  return 16 * (best - extent) <= extent ? best : rounded_up(extent, tiles.least);
}

/// Tiles of Cpu's products, for elements of `bytes` bytes in a register; `pairs`: bfloat16.
[[nodiscard]] LOCUS_OUT_OF_LINE inline ProductTiles tiles_of_cpu(cpu::Isa isa, std::int64_t bytes, bool pairs,
                                                                 std::string_view type) {
  const std::int64_t lanes = (isa >= cpu::Isa::avx512 ? 64 : isa == cpu::Isa::avx2 ? 32 : 16) / bytes;
  const std::int64_t depth = !pairs || isa < cpu::Isa::avx512_bf16 ? 1 : isa == cpu::Isa::amx_bf16 ? 32 : 2;
  return {.rows = 2,
          .cols = lanes,
          .depth = depth,
          .least = lanes,
          .best = locus::detail::larger(lanes, depth),
          .windows = true,
          .why = join("products of ", type, " on this processor compute ", lanes, " columns at a time",
                      depth > 1 ? join(", ", depth, " numbers deep") : "")};
}
/// Tiles of Cuda's products, for elements of `bytes` bytes. Loads of 16 bytes need rows of a multiple of 16 bytes;
/// cache lines of 128 bytes are best read whole. The smallest usual tiles are 64 x 64. source: as of quantized(),
/// sections "Tensor Core requirements" and "Tile quantization"
[[nodiscard]] LOCUS_OUT_OF_LINE inline ProductTiles tiles_of_cuda(std::int64_t bytes, std::string_view type) {
  return {
      .rows = 64,
      .cols = 64,
      .depth = 16 / bytes,
      .least = 16 / bytes,
      .best = 128 / bytes,
      .why = join("rows of ", type, " that are no multiples of ", 16 / bytes, " (16 bytes) are not loaded 16 bytes ",
                  "at a time, which costs tensor cores more than is modelled")};
}
template <class T, class D>
[[nodiscard]] ProductTiles product_tiles() {
  if constexpr (std::is_same_v<D, Cuda>) return tiles_of_cuda(sizeof(T), dtype_name<T>());
  else if constexpr (std::is_same_v<D, Cpu>)
    return tiles_of_cpu(cpu::isa(), sizeof(compute_t<T>), std::is_same_v<T, bfloat16>, dtype_name<T>());
  else return {};
}

/// A parameter of two or more dimensions, under its first name; or the heads of an attention, without a shape.
struct NamedWeight {
  std::string name;
  Shape shape;
  WeightUse use;
};

/// A walk that notes weights.
template <class T, class D>
struct ListWeights final : MemberWalk<T, D> {
  std::vector<NamedWeight> list;
  void layer(const std::string& name, const WeightUse& use) override {
    layer_ = name, use_ = use;
    if (use.heads > 0) list.push_back({name.empty() ? "heads" : name + ".heads", {}, use});
  }
  void parameter(const std::string& name, const Parameter<T, D>& parameter) override {
    if (parameter.shape().rank() < 2) return;
    for (const auto& known : parameters_)
      if (known == parameter) return;
    parameters_.push_back(parameter);
    const std::size_t dot = name.rfind('.');
    const bool is_its = (dot == std::string::npos ? std::string() : name.substr(0, dot)) == layer_;
    list.push_back({name, parameter.shape(), is_its ? use_ : WeightUse{}});
  }

 private:
  std::vector<Parameter<T, D>> parameters_;
  std::string layer_;
  WeightUse use_;
};

/// Makes the entries of a model, largest modelled saving first.
class AdviceMaker {
 public:
  explicit AdviceMaker(ProductTiles tiles) : tiles_(std::move(tiles)) {}

  void add_weight(const NamedWeight& weight) {
    const Shape& shape = weight.shape;
    if (weight.use.heads > 0 && shape.rank() == 0) return add_heads(weight);
    const auto all = static_cast<double>(elements(shape));
    total_ += all;
    if (weight.use.looked_up) {
      add(weight.name, "entries", shape[0], ProductRole::out, all,
          "; this counts where the table is also the weights of a projection");
      return add(weight.name, "features", shape[1], ProductRole::in, all);
    }
    const std::int64_t groups = weight.use.groups;
    std::int64_t out = shape[0], in = shape[1];
    (weight.use.transposed ? in : out) = shape[0] / groups;
    (weight.use.transposed ? out : in) = shape[1];
    if (groups > 1 && out == 1 && in == 1) return;  // depthwise: no product
    const char* const of_groups = groups > 1 ? ", in each group" : "";
    add(weight.name, "out", out, ProductRole::out, all, of_groups);
    const std::int64_t window = tiles_.windows ? elements(shape) / (shape[0] * shape[1]) : 1;
    add(weight.name, "in", in, ProductRole::in, all, of_groups, window);
  }
  /// Products of queries and keys have the width of a head as depth, products of weights and values have it as columns;
  /// the backward pass has one more of the first kind and three more of the second. All are weighed like the projection
  /// of queries, as for sequences half as long as the attention is wide.
  void add_heads(const NamedWeight& heads) {
    const auto width = static_cast<double>(heads.use.width);
    add(heads.name, "width", heads.use.width / heads.use.heads, ProductRole::in, width * width,
        "; each head multiplies queries by keys, and weights by values, of this width");
  }
  /// Called after all weights are added.
  void add_batch(const Shape& batch) {
    if (batch.rank() > 0) add("input", "batch", batch[0], ProductRole::batch, total_);
  }
  [[nodiscard]] Advice take() { return std::move(advice_); }

 private:
  void add(const std::string& key, const char* name, std::int64_t extent, ProductRole role, double all,
           const char* more = "", std::int64_t window = 1) {
    // An extent of 1 is a vector or an image of one channel, computed by other loops.
    if (extent < 2 || extent % tiles_.least == 0) return;
    const std::int64_t wider = padded(extent, tiles_);
    const double gain = quantized(role, extent * window, tiles_) / quantized(role, wider * window, tiles_);
    const double time = static_cast<double>(wider) / static_cast<double>(extent) / gain, won = all * (gain - 1);
    if (!(gain > 1) || time >= longest_padded) return;
    std::size_t place = savings_.size();
    while (place > 0 && savings_[place - 1] < won) --place;
    const auto at = static_cast<std::ptrdiff_t>(place);
    savings_.insert(savings_.begin() + at, won);
    advice_.entries.insert(advice_.entries.begin() + at, {key, name, extent, wider, gain, time, tiles_.why + more});
  }

  ProductTiles tiles_;
  Advice advice_;
  std::vector<double> savings_;
  double total_ = 0;
};

[[nodiscard]] LOCUS_OUT_OF_LINE inline Advice advice_of(const std::vector<NamedWeight>& weights, const Shape& batch,
                                                        const ProductTiles& tiles) {
  AdviceMaker maker(tiles);
  for (const NamedWeight& weight : weights) maker.add_weight(weight);
  maker.add_batch(batch);
  return maker.take();
}
}  // namespace detail

LOCUS_OUT_OF_LINE inline std::string Advice::text() const {
  std::string lines;
  for (const ExtentAdvice& one : entries) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%.3f times the multiply-adds per second, %.3f times the time", one.gain,
                  one.time);
    lines += join(one.key, ": ", one.name, " ", one.extent, " -> ", one.padded, ", ", numbers, " (modelled): ", one.why,
                  "\n");
  }
  if (!entries.empty())
    lines += "modelled: the time of a product grows as ceil(n / tile) * tile, in the three products of a step\n";
  return lines;
}

/// Names extents of a model's weights, and of its batch, that are no multiples of the width of matrix products of its
/// element type on its device: on Cpu the numbers of a vector register (8 or 16 of float) or of a tile (32 of bfloat16
/// with AMX), on Cuda 16 bytes (8 of bfloat16 and half, 4 of float). `batch` is the shape of a batch; only its first
/// extent counts: the rows of products are multiples of it. Convolutions count as products over windows, and the width
/// of an attention's head as depth and columns of its products. Extents are left out if padding saves nothing, or makes
/// products a quarter slower or more. Nothing is computed or timed.
///
///     std::cout << nn::advise(model, {128, 784}).text();
template <class M>
  requires detail::ListsMembers<M>
[[nodiscard]] Advice advise(const M& model, const Shape& batch) {
  using T = value_of<M>;
  using D = device_of<M>;
  detail::ListWeights<T, D> walk;
  detail::walk_members<detail::Depth::all, T, D>(model, "", walk);
  return detail::advice_of(walk.list, batch, detail::product_tiles<T, D>());
}
/// advise() with the shape of a batch.
template <class M, TensorLike X>
  requires detail::ListsMembers<M>
[[nodiscard]] Advice advise(const M& model, const X& batch) {
  return advise(model, Shape(batch.shape()));
}

}}}  // namespace locus::LOCUS_ABI::nn
