#pragma once
// ONNX's operators that move elements or compute shapes.

#include <locus/interop/onnx/elementwise.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/repeat.hpp>
#include <locus/ops/split.hpp>
#include <locus/ops/triangle.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

[[nodiscard]] inline Integers integers_of(const Dims& dims) { return {dims.begin(), dims.end()}; }
template <class F>
void give_list(const Call<F>& call, const Integers& list) {
  call.give_as(DataType::int64, from<std::int64_t>(list));
}
/// f(tensor) as the type of input 0.
template <class F, class Do>
void reshape_by(const Call<F>& call, const Do& f) {
  call.visit(0, [&](const auto& x) { call.give_like(f(x)); });
}
/// An attribute of older operator sets, or an input of newer ones; empty if neither is there.
template <class F>
[[nodiscard]] Integers list_of(const Call<F>& call, std::string_view attribute, std::size_t input) {
  if (call.has(attribute)) return call.list(attribute);
  return call.has_input(input) ? call.host_list(input) : Integers{};
}
template <class F>
[[nodiscard]] Axes axes_of(const Call<F>& call, const Integers& list, int rank) {
  Axes axes;
  for (const std::int64_t axis : list) axes.push_back(call.axis_of(axis, rank));
  return axes;
}
/// Elements before, and from, an axis.
[[nodiscard]] inline Shape matrix_at(const Shape& shape, int axis) {
  Shape before, from;
  for (int d = 0; d < shape.rank(); ++d) (d < axis ? before : from).push_back(shape[d]);
  return {elements(before), elements(from)};
}

template <class F>
void shape_of_input(const Call<F>& call) {
  const Shape& shape = call.shape(0);
  const std::int64_t rank = shape.rank();
  const auto position = [&](std::int64_t at) {
    at = at < 0 ? at + rank : at;
    return at < 0 ? 0 : at > rank ? rank : at;
  };
  Integers result;
  for (std::int64_t d = position(call.integer("start", 0)); d < position(call.integer("end", rank)); ++d)
    result.push_back(shape[static_cast<int>(d)]);
  give_list(call, result);
}
template <class F>
void reshape_input(const Call<F>& call) {
  Integers wanted = call.host_list(1);
  if (!call.flag("allowzero"))
    for (std::size_t d = 0; d < wanted.size(); ++d)
      if (wanted[d] == 0) wanted[d] = call.shape(0)[static_cast<int>(d)];
  reshape_by(call, [&](const auto& x) { return reshape(x, Shape(wanted)); });
}
template <class F>
void squeeze_input(const Call<F>& call) {
  const bool all = !call.has("axes") && !call.has_input(1);
  const Axes axes = axes_of(call, list_of(call, "axes", 1), call.shape(0).rank());
  reshape_by(call, [&](const auto& x) { return all ? squeeze(x) : squeeze(x, axes); });
}
template <class F>
void unsqueeze_input(const Call<F>& call) {
  const Integers list = list_of(call, "axes", 1);
  const Axes axes = axes_of(call, list, call.shape(0).rank() + static_cast<int>(list.size()));
  reshape_by(call, [&](const auto& x) { return unsqueeze(x, axes); });
}
template <class F>
void transpose_input(const Call<F>& call) {
  Axes order;
  for (int d = call.shape(0).rank() - 1; d >= 0; --d) order.push_back(d);
  if (call.has("perm")) order = Axes(call.list("perm"));
  reshape_by(call, [&](const auto& x) { return permute(x, order); });
}
template <class F>
void flatten_input(const Call<F>& call) {
  const int rank = call.shape(0).rank();
  std::int64_t axis = call.integer("axis", 1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank) call.fail_here({"axis ", axis, " of ", rank, " dimensions"});
  reshape_by(call, [&](const auto& x) { return reshape(x, matrix_at(x.shape(), static_cast<int>(axis))); });
}
template <class F>
void expand_input(const Call<F>& call) {
  const Shape target = broadcast(call.shape(0), Shape(call.host_list(1)));
  reshape_by(call, [&](const auto& x) { return expand(x, target); });
}
template <class F>
void tile_input(const Call<F>& call) {
  const Shape times(call.host_list(1));
  reshape_by(call, [&](const auto& x) { return tile(x, times); });
}

template <class F>
void concat_inputs(const Call<F>& call) {
  const int axis = call.axis_of(call.integer("axis", 0), call.shape(0).rank());
  const auto join = [&]<class X>(const X&, const auto& input) {
    std::vector<X> list;
    for (std::size_t i = 0; i < call.input_count(); ++i) list.push_back(input(i));
    call.give_like(concat(list, axis));
  };
  if (const F* first = call.input(0).numbers()) return join(*first, [&](std::size_t i) { return call.numbers(i); });
  call.in_place([&](auto place) {
    if (call.input(0).integers())
      join(call.at(call.integers(0), place), [&](std::size_t i) { return call.at(call.integers(i), place); });
    else join(call.at(call.bools(0), place), [&](std::size_t i) { return call.at(call.bools(i), place); });
  });
}
template <class F>
void split_input(const Call<F>& call) {
  const int axis = call.axis_of(call.integer("axis", 0), call.shape(0).rank());
  const auto parts = static_cast<std::int64_t>(call.output_count());
  const std::int64_t extent = call.shape(0)[axis], each = (extent + parts - 1) / parts;
  Integers sizes = list_of(call, "split", 1);
  if (sizes.empty())
    for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(i + 1 < parts ? each : extent - each * (parts - 1));
  if (static_cast<std::int64_t>(sizes.size()) != parts)
    call.fail_here({sizes.size(), " sizes for ", parts, " outputs"});
  call.visit(0, [&](const auto& x) {
    const auto list = split(x, sizes, axis);
    for (std::size_t i = 0; i < list.size(); ++i) call.give(i, call.value(call.input(0).type(), list[i]));
  });
}

template <class F>
void slice_input(const Call<F>& call) {
  const bool by_inputs = call.opset() >= 10;
  const Integers starts = by_inputs ? call.host_list(1) : call.list("starts");
  const Integers ends = by_inputs ? call.host_list(2) : call.list("ends");
  Integers axes = list_of(call, "axes", 3), steps = call.has_input(4) ? call.host_list(4) : Integers(starts.size(), 1);
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.fail_here({starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes and ", steps.size(),
                    " steps; expected as many of each"});
  reshape_by(call, [&](const auto& x) {
    auto result = x;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const int axis = call.axis_of(axes[i], x.rank());
      const std::int64_t extent = x.size(axis);
      // Within the extent, so that no number is taken for the end of the dimension.
      const auto within = [&](std::int64_t at) { return at < -extent - 1 ? -extent - 1 : at > extent ? extent : at; };
      if (steps[i] == 0) call.fail_here({"a step of 0"});
      result = slice(result, axis, within(starts[i]), within(ends[i]), steps[i]).eval();
    }
    return result;
  });
}

/// Amounts of pad, the last dimension first, of ONNX's: all before, then all after.
template <class F>
[[nodiscard]] PadAmounts pad_amounts(const Call<F>& call, const Integers& pads, const Integers& axes, int rank) {
  if (pads.size() != 2 * axes.size())
    call.fail_here({pads.size(), " pads; expected two for each of ", axes.size(), " axes"});
  Integers amounts(2 * static_cast<std::size_t>(rank), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto from_last = static_cast<std::size_t>(rank - 1 - call.axis_of(axes[i], rank));
    amounts[2 * from_last] = pads[i];
    amounts[2 * from_last + 1] = pads[i + axes.size()];
  }
  return PadAmounts(amounts);
}
template <class F>
void pad_input(const Call<F>& call) {
  const int rank = call.shape(0).rank();
  const bool by_inputs = call.opset() >= 11;
  Integers axes = call.has_input(3) ? call.host_list(3) : Integers{};
  if (!call.has_input(3))
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  const PadAmounts amounts = pad_amounts(call, by_inputs ? call.host_list(1) : call.list("pads"), axes, rank);
  const auto word = call.text("mode", "constant");
  const PadMode mode = word == "reflect" ? PadMode::reflect
                       : word == "edge"  ? PadMode::replicate
                       : word == "wrap"  ? PadMode::circular
                                         : PadMode::constant;
  if (mode == PadMode::constant) call.require_text("mode", "constant");
  const double value = call.has_input(2) ? call.host_number(2) : call.number("value", 0);
  reshape_by(call, [&]<class X>(const X& x) {
    using E = value_of<X>;
    if constexpr (std::is_same_v<E, bool>) return pad(x, amounts, mode, value != 0);
    else if constexpr (std::is_same_v<E, std::int64_t>)  // exactly, beyond 2^53 too
      return pad(x, amounts, mode, call.has_input(2) ? call.host_integer(2) : std::int64_t{0});
    else return pad(x, amounts, mode, static_cast<compute_t<E>>(value));
  });
}

/// The attribute blocksize of an operator on images.
template <class F>
[[nodiscard]] std::int64_t block_size(const Call<F>& call) {
  if (call.shape(0).rank() != 4) call.fail_here({"images of shape ", call.shape(0), "; expected four dimensions"});
  const std::int64_t size = call.integer("blocksize", 0);
  if (size < 1) call.fail_here({"blocksize ", size, "; expected 1 or more"});
  return size;
}
template <class F>
void depth_to_space(const Call<F>& call) {
  const Shape& s = call.shape(0);
  const std::int64_t b = block_size(call), channels = s[1] / b / b;
  const bool is_crd = call.text("mode", "DCR") == "CRD";
  if (!is_crd) call.require_text("mode", "DCR");
  reshape_by(call, [&](const auto& x) {
    const auto blocks = is_crd ? reshape(x, {s[0], channels, b, b, s[2], s[3]})
                               : permute(reshape(x, {s[0], b, b, channels, s[2], s[3]}), {0, 3, 1, 2, 4, 5});
    return reshape(permute(blocks, {0, 1, 4, 2, 5, 3}),
                   {s[0], channels, product(call, s[2], b), product(call, s[3], b)});
  });
}
template <class F>
void space_to_depth(const Call<F>& call) {
  const Shape& s = call.shape(0);
  const std::int64_t b = block_size(call);
  const bool is_crd = call.text("mode", "DCR") == "CRD";
  if (!is_crd) call.require_text("mode", "DCR");
  const Axes order = is_crd ? Axes{0, 1, 3, 5, 2, 4} : Axes{0, 3, 5, 1, 2, 4};
  reshape_by(call, [&](const auto& x) {
    const auto blocks = reshape(x, {s[0], s[1], s[2] / b, b, s[3] / b, b});
    return reshape(permute(blocks, order), {s[0], product(call, product(call, s[1], b), b), s[2] / b, s[3] / b});
  });
}
template <class F>
void triangle_of(const Call<F>& call) {
  const std::int64_t offset = call.has_input(1) ? call.host_integer(1) : 0;
  const bool is_upper = call.flag("upper", true);
  reshape_by(call, [&](const auto& x) { return is_upper ? triu(x, offset) : tril(x, offset); });
}
template <class F>
void drop_nothing(const Call<F>& call) {
  const bool drops = call.has_input(2) && call.bools(2).host().item();
  if (drops && !(call.has_input(1) && call.host_number(1) == 0))
    call.fail_here({"training_mode is true; expected a model that was exported for inference"});
  call.give(0, call.input(0));
  if (call.wants(1)) call.give(1, Value<F>(DataType::boolean, full<bool>(call.shape(0), true, call.device())));
}

template <class F>
inline constexpr Operation<F> shapings[] = {
    {"Concat", &concat_inputs<F>},
    {"DepthToSpace", &depth_to_space<F>},
    {"Dropout", &drop_nothing<F>},
    {"Expand", &expand_input<F>},
    {"Flatten", &flatten_input<F>},
    {"Identity", [](const Call<F>& c) { c.give(0, c.input(0)); }},
    {"Pad", &pad_input<F>},
    {"Reshape", &reshape_input<F>},
    {"Shape", &shape_of_input<F>},
    {"Size", [](const Call<F>& c) { c.give_as(DataType::int64, full<std::int64_t>({}, elements(c.shape(0)))); }},
    {"Slice", &slice_input<F>},
    {"SpaceToDepth", &space_to_depth<F>},
    {"Split", &split_input<F>},
    {"Squeeze", &squeeze_input<F>},
    {"Tile", &tile_input<F>},
    {"Transpose", &transpose_input<F>},
    {"Trilu", &triangle_of<F>},
    {"Unsqueeze", &unsqueeze_input<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
