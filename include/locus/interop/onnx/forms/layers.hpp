#pragma once
// The form in ONNX of normalizations, convolutions, pooling, interpolation and attention.

#include <locus/interop/onnx/forms/operations.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/batch_norm.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/grid_sample.hpp>
#include <locus/ops/group_norm.hpp>
#include <locus/ops/interpolate.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/pool.hpp>
#include <locus/ops/pool_indices.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx {

namespace exporting {

[[nodiscard]] inline Value rectified(Recorder& graph, const Value& y, bool relu) {
  return relu ? graph.node("Relu", {y}) : y;
}
/// f of x with a batch dimension of 1, where x has none: a convolution or pooling of `dims` dimensions.
template <class F>
[[nodiscard]] Value batched(Recorder& graph, const Value& x, int dims, const F& f) {
  if (x.rank() == dims + 2) return f(x);
  const Value first = graph.extents({0});
  return graph.node("Squeeze", {f(graph.node("Unsqueeze", {x, first})), first});
}
/// The list of the last `dims` of three extents.
[[nodiscard]] inline std::vector<std::int64_t> last_of(const std::int64_t (&extents)[3], int dims) {
  return {extents + 3 - dims, extents + 3};
}
[[nodiscard]] inline std::vector<std::int64_t> last_of(const Size3d& size, int dims) {
  if (dims == 1) return {size.width};
  if (dims == 2) return {size.height, size.width};
  return {size.depth, size.height, size.width};
}
[[nodiscard]] inline std::vector<std::int64_t> twice(std::vector<std::int64_t> list) {
  const std::size_t count = list.size();
  for (std::size_t i = 0; i < count; ++i) list.push_back(list[i]);
  return list;
}
/// The windows of an adaptive pool that are of one size. throws ArgumentError for others
[[nodiscard]] inline std::vector<std::int64_t> equal_windows(const locus::detail::AdaptiveRequest& request,
                                                             const Shape& x) {
  std::vector<std::int64_t> window;
  const std::vector<std::int64_t> wanted = last_of(request.size, request.dims);
  for (int d = 0; d < request.dims; ++d) {
    const std::int64_t extent = x[d - request.dims], size = wanted[static_cast<std::size_t>(d)];
    if (extent % size != 0)
      fail<ArgumentError>({"onnx: ", request.caller, " of shape ", x, " to ", request.text(request.size),
                           "; expected extents that are multiples, or a result of one element"});
    window.push_back(extent / size);
  }
  return window;
}
/// A vector of `count` equal numbers, in place of an absent weight or bias.
[[nodiscard]] inline Value given_or(Recorder& graph, const Value& vector, double number, const Value& x,
                                    std::int64_t count) {
  if (vector) return vector;
  return graph.node("Expand", {graph.number(number, x), graph.extents({count})});
}

/// The positions of the keys that come after a query: (rows, keys) of bool.
[[nodiscard]] inline Value later_keys(Recorder& graph, std::int64_t rows, std::int64_t keys) {
  const auto positions = [&](std::int64_t count, std::int64_t dim) {
    const Value zero = graph.number(std::int64_t{0}), one = graph.number(std::int64_t{1});
    const Value end = graph.node("Squeeze", {graph.extents({count})});
    return graph.node("Unsqueeze", {graph.node("Range", {zero, end, one}), graph.extents({dim})});
  };
  return predicate(graph, "Greater", {positions(keys, 0), positions(rows, 1)});
}

/// A mask of (batch, heads, rows, keys) for scores of `rank` dimensions.
[[nodiscard]] inline Value mask_for(Recorder& graph, const Value& mask, int rank) {
  if (rank == 4) return mask;
  if (rank > 4) fail<ArgumentError>({"onnx: masked attention of ", rank, " dimensions; expected at most four"});
  return graph.node("Squeeze",
                    {mask, graph.extents(rank == 3 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, 1})});
}
/// softmax(scale q k^T + masks) v of (..., rows, width), (..., keys, width) and (..., keys, width of v).
template <class T>
[[nodiscard]] Value attention(Recorder& graph, const locus::detail::AttentionSettings<T, Recording>& settings,
                              const Value& q, const Value& k, const Value& v, std::int64_t rows, std::int64_t keys,
                              std::int64_t width, int rank) {
  const double scale = settings.scale ? *settings.scale : 1 / math::sqrt(static_cast<double>(width));
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  for (int d = 0; d < rank; ++d) order[static_cast<std::size_t>(d)] = d < rank - 2 ? d : 2 * rank - 3 - d;
  const Value scaled = graph.node("Mul", {q, graph.number(scale, q)});
  Value scores = graph.node("MatMul", {scaled, graph.node("Transpose", {k}, {ints("perm", std::move(order))})});
  constexpr double none = -__builtin_inf();
  for (const auto& mask : settings.masks) {
    if (mask.added.buffer()) scores = graph.node("Add", {scores, mask_for(graph, graph.operand(mask.added), rank)});
    if (!mask.marks.buffer()) continue;
    const Value marks = mask_for(graph, graph.operand(mask.marks), rank);
    const Value allowed = predicate(graph, "Equal", {marks, graph.number(mask.allowed)});
    scores = graph.typed_node("Where", scores.type(), {allowed, scores, graph.number(none, scores)});
  }
  if (settings.is_causal)
    scores =
        graph.typed_node("Where", scores.type(), {later_keys(graph, rows, keys), graph.number(none, scores), scores});
  return graph.node("MatMul", {graph.node("Softmax", {scores}, {integer("axis", -1)}), v});
}
/// (batch, rows, heads width) -> (batch, heads, rows, width), or both without the batch; and back.
[[nodiscard]] inline Value split_heads(Recorder& graph, const Value& x, const Shape& shape, std::int64_t heads) {
  Shape split = shape;
  split[-1] = heads;
  split.push_back(shape[-1] / heads);
  return graph.node(
      "Transpose", {graph.reshape(x, split)},
      {ints("perm", shape.rank() == 3 ? std::vector<std::int64_t>{0, 2, 1, 3} : std::vector<std::int64_t>{1, 0, 2})});
}
[[nodiscard]] inline Value join_heads(Recorder& graph, const Value& y, const Shape& shape) {
  const Value rows_first = graph.node(
      "Transpose", {y},
      {ints("perm", shape.rank() == 3 ? std::vector<std::int64_t>{0, 2, 1, 3} : std::vector<std::int64_t>{1, 0, 2})});
  return graph.reshape(rows_first, shape);
}

}  // namespace exporting

// Normalizations

template <class... V>
Value write(Recorder& graph, const operation::LayerNorm<true>& op, const Value& x, const V&... weights) {
  const Value given[] = {weights..., Value(), Value()};
  Value scale = given[0];
  if (!scale) scale = graph.node("Expand", {graph.number(1, x), graph.extents_of(op.normalized)});
  return graph.node("LayerNormalization", {x, scale, given[1]},
                    {exporting::integer("axis", -op.normalized.rank()), {"epsilon", static_cast<float>(op.eps)}});
}
template <class... V>
Value write(Recorder& graph, const operation::LayerNorm<false>& op, const Value& x, const V&... weights) {
  Axes last;
  for (int d = x.rank() - op.normalized.rank(); d < x.rank(); ++d) last.push_back(d);
  const Value squares = exporting::reduced(graph, "ReduceMean", graph.node("Mul", {x, x}), x.rank(), last, true);
  Value y = graph.node("Div", {x, graph.node("Sqrt", {graph.node("Add", {squares, graph.number(op.eps, x)})})});
  ((y = weights ? graph.node("Mul", {y, weights}) : y), ...);
  return y;
}
template <class... V>
Value write(Recorder& graph, const operation::GroupNorm& op, const Value& x, const V&... weights) {
  const Value given[] = {weights..., Value(), Value()};
  const std::int64_t channels = x.shape()[1];
  const Value scale = exporting::given_or(graph, given[0], 1, x, channels);
  const Value bias = exporting::given_or(graph, given[1], 0, x, channels);
  const Attribute epsilon{"epsilon", static_cast<float>(op.eps)};
  if (op.groups == 0) return graph.node("InstanceNormalization", {x, scale, bias}, {epsilon});
  return graph.node("GroupNormalization", {x, scale, bias}, {epsilon, exporting::integer("num_groups", op.groups)});
}
template <class R, class... V>
Value write(Recorder& graph, const operation::BatchNorm<R, Recording>& op, const Value& x, const V&... weights) {
  if (op.training)
    fail<ArgumentError>(
        {"onnx: batch_norm without running statistics, which normalizes by the batch itself; "
         "give the layer running statistics, .track_running_stats = true"});
  const Value given[] = {weights..., Value(), Value(), Value()};
  const std::int64_t channels = x.shape()[1];
  Value y = graph.node(
      "BatchNormalization",
      {x, exporting::given_or(graph, given[0], 1, x, channels), exporting::given_or(graph, given[1], 0, x, channels),
       graph.operand(op.running.mean), graph.operand(op.running.var)},
      {{"epsilon", static_cast<float>(op.options.eps)}});
  if (given[2]) y = graph.node("Add", {y, given[2]});
  return exporting::rectified(graph, y, op.options.relu);
}

// Convolutions, pooling, interpolation

template <class... B>
Value write(Recorder& graph, const operation::Convolution& op, const Value& x, const Value& w, const B&... b) {
  const auto& request = op.request;
  const int dims = request.dims;
  std::vector<std::int64_t> before, after, kernel;
  for (int d = 3 - dims; d < 3; ++d) {
    kernel.push_back(w.shape()[d - 3]);
    const auto border = request.sides(d, kernel.back());
    before.push_back(border.before), after.push_back(border.after);
  }
  before.insert(before.end(), after.begin(), after.end());
  Value bias;
  ((bias = b), ...);
  const auto convolve = [&](const Value& images) {
    const Attribute pads = exporting::ints("pads", before),
                    strides = exporting::ints("strides", exporting::last_of(request.stride.of, dims)),
                    dilations = exporting::ints("dilations", exporting::last_of(request.dilation.of, dims)),
                    group = exporting::integer("group", request.groups),
                    shape = exporting::ints("kernel_shape", kernel);
    if (!request.transposed) return graph.node("Conv", {images, w, bias}, {pads, strides, dilations, group, shape});
    return graph.node("ConvTranspose", {images, w, bias},
                      {pads, strides, dilations, group, shape,
                       exporting::ints("output_padding", exporting::last_of(request.output_padding.of, dims))});
  };
  return exporting::rectified(graph, exporting::batched(graph, x, dims, convolve), op.relu);
}
inline Value write(Recorder& graph, const operation::MaxPool& op, const Value& x) {
  const auto& request = op.request;
  return exporting::batched(graph, x, request.dims, [&](const Value& images) {
    return graph.node("MaxPool", {images},
                      {exporting::ints("kernel_shape", exporting::last_of(request.kernel, request.dims)),
                       exporting::ints("strides", exporting::last_of(request.stride, request.dims)),
                       exporting::ints("pads", exporting::twice(exporting::last_of(request.padding, request.dims))),
                       exporting::ints("dilations", exporting::last_of(request.dilation, request.dims)),
                       exporting::integer("ceil_mode", request.ceil_mode)});
  });
}
template <class Request>
Value write(Recorder& graph, const operation::MaxWindows<Request, Recording>& op, const Value& x) {
  if constexpr (std::is_same_v<Request, locus::detail::PoolRequest>)
    return write(graph, operation::MaxPool{op.request}, x);
  else {
    const auto window = exporting::equal_windows(op.request, x.shape());
    return exporting::batched(graph, x, op.request.dims, [&](const Value& images) {
      return graph.node("MaxPool", {images},
                        {exporting::ints("kernel_shape", window), exporting::ints("strides", window)});
    });
  }
}
inline Value write(Recorder& graph, const operation::AvgPool& op, const Value& x) {
  const auto& request = op.request;
  if (op.divisor.fixed != 0)
    fail<ArgumentError>({"onnx: ", op.name,
                         " with a divisor_override, which AveragePool does not have; multiply the "
                         "result by a number"});
  return exporting::batched(graph, x, request.dims, [&](const Value& images) {
    return graph.node("AveragePool", {images},
                      {exporting::ints("kernel_shape", exporting::last_of(request.kernel, request.dims)),
                       exporting::ints("strides", exporting::last_of(request.stride, request.dims)),
                       exporting::ints("pads", exporting::twice(exporting::last_of(request.padding, request.dims))),
                       exporting::integer("ceil_mode", request.ceil_mode),
                       exporting::integer("count_include_pad", op.divisor.counts_border)});
  });
}
inline Value write(Recorder& graph, const operation::AdaptiveAvgPool& op, const Value& x) {
  const auto& request = op.request;
  if (request.size == Size3d(1))
    return exporting::reduced(graph, "ReduceMean", x, request.dims == 1 ? Axes{-1} : Axes{-2, -1}, true);
  const auto window = exporting::equal_windows(request, x.shape());
  return exporting::batched(graph, x, request.dims, [&](const Value& images) {
    return graph.node("AveragePool", {images},
                      {exporting::ints("kernel_shape", window), exporting::ints("strides", window)});
  });
}
inline Value write(Recorder& graph, const operation::GridSample& op, const Value& x, const Value& grid) {
  const char* const modes[] = {"linear", "nearest", "cubic"};
  const char* const borders[] = {"zeros", "border", "reflection"};
  return graph.node("GridSample", {x, grid},
                    {{"mode", modes[static_cast<int>(op.options.mode)]},
                     {"padding_mode", borders[static_cast<int>(op.options.padding_mode)]},
                     exporting::integer("align_corners", op.options.align_corners)});
}
inline Value write(Recorder& graph, const operation::Interpolate& op, const Value& x) {
  const InterpolateOptions& options = op.options;
  const bool is_nearest = options.mode == InterpolateMode::nearest;
  const char* const corners = options.align_corners ? "align_corners" : is_nearest ? "asymmetric" : "half_pixel";
  const Attribute mode{"mode", is_nearest ? "nearest" : "linear"}, place{"coordinate_transformation_mode", corners},
      rounding{"nearest_mode", "floor"}, axes = exporting::ints("axes", {2, 3});
  if (!(options.size == Size2d(0)))
    return graph.node("Resize", {x, Value(), Value(), graph.extents({options.size.height, options.size.width})},
                      {mode, place, rounding, axes});
  const Tensor<float, Recording> scales(Shape{2});
  scales.data()[0] = static_cast<float>(options.scale_factor.height);
  scales.data()[1] = static_cast<float>(options.scale_factor.width);
  return graph.node("Resize", {x, Value(), graph.operand(scales)}, {mode, place, rounding, axes});
}

// Attention

template <class T, bool drops>
Value write(Recorder& graph, const operation::Attention<T, Recording, drops>& op, const Value& q, const Value& k,
            const Value& v) {
  const std::int64_t rows = q.shape()[-2], keys = k.shape()[-2];
  if (op.heads == 0) return exporting::attention(graph, op.settings, q, k, v, rows, keys, q.shape()[-1], q.rank());
  const auto split = [&](const Value& x) { return exporting::split_heads(graph, x, x.shape(), op.heads); };
  Shape shape = q.shape();
  shape[-1] = v.shape()[-1];
  return exporting::join_heads(graph,
                               exporting::attention(graph, op.settings, split(q), split(k), split(v), rows, keys,
                                                    q.shape()[-1] / op.heads, q.rank() + 1),
                               shape);
}
template <class T, bool drops>
Value write(Recorder& graph, const operation::PackedAttention<T, Recording, drops>& op, const Value& x) {
  Shape shape = x.shape();
  shape[-1] /= 3;
  const std::int64_t rows = shape[-2], width = shape[-1];
  const auto third = [&](std::int64_t i) {
    const Value part = exporting::slice(graph, x, x.rank() - 1, i * width, (i + 1) * width);
    return exporting::split_heads(graph, part, shape, op.heads);
  };
  const Value q = third(0), k = third(1), v = third(2);
  return exporting::join_heads(
      graph, exporting::attention(graph, op.settings, q, k, v, rows, rows, width / op.heads, x.rank() + 1), shape);
}

}}}  // namespace locus::LOCUS_ABI::onnx
