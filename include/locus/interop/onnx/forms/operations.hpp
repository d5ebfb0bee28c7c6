#pragma once
// The form in ONNX of views, reductions, products, lookups and joins.

#include <locus/interop/onnx/forms/functions.hpp>
#include <locus/interop/onnx/recorded.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/flip.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/prelu.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/ops/triangle.hpp>
#include <locus/ops/unfold.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {
template <class D, bool all>
struct Sort;  // of ops/sort.hpp, which is opt-in
}

namespace onnx {

namespace exporting {
[[nodiscard]] inline std::vector<std::int64_t> numbers(const Dims& dims) { return {dims.begin(), dims.end()}; }
[[nodiscard]] inline Attribute ints(const char* name, std::vector<std::int64_t> list) {
  return {name, std::move(list)};
}
[[nodiscard]] inline Attribute integer(const char* name, std::int64_t number) { return {name, number}; }

/// Elements start, start + step, ... before end of one dimension.
inline Value slice(Recorder& graph, const Value& x, std::int64_t dim, std::int64_t start, std::int64_t end,
                   std::int64_t step = 1) {
  return graph.node("Slice",
                    {x, graph.extents({start}), graph.extents({end}), graph.extents({dim}), graph.extents({step})});
}

/// A reduction of ONNX over axes of x, which has `rank` dimensions.
inline Value reduced(Recorder& graph, const char* op_type, const Value& x, int rank, const ReduceAxes& axes,
                     bool keepdim) {
  std::vector<std::int64_t> list;
  for (const std::int64_t axis : axes.list()) list.push_back(normalize_axis(axis, rank, op_type));
  if (list.empty()) return graph.node(op_type, {x}, {integer("keepdims", keepdim)});
  return graph.node(op_type, {x, graph.extents(std::move(list))}, {integer("keepdims", keepdim)});
}
inline Value reduced(Recorder& graph, const char* op_type, const Value& x, const ReduceAxes& axes, bool keepdim) {
  return reduced(graph, op_type, x, x.rank(), axes, keepdim);
}
/// x as int64 where it holds integers or bool, as sums of them are.
inline Value summable(Recorder& graph, const Value& x) {
  return detail::is_floating(x.type()) ? x : cast(graph, x, DataType::int64);
}
/// The mean square distance from the mean, times n / (n - correction).
inline Value variance(Recorder& graph, const char* name, const Value& x, const ReduceAxes& axes,
                      const VarOptions& options) {
  const locus::detail::FoldedAxes folded(name, x.shape(), axes);
  const Value distance = graph.node("Sub", {x, reduced(graph, "ReduceMean", x, axes, true)});
  const Value square =
      reduced(graph, "ReduceSum", graph.node("Mul", {distance, distance}), x.rank(), axes, options.keepdim);
  const Value count = cast(graph, graph.extents({folded.count}), x.type());
  const Value divisor = graph.node("Sub", {count, graph.number(options.correction, x)});
  return graph.node("Div", {square, graph.node("Squeeze", {divisor})});
}
}  // namespace exporting

// Views

inline Value write(Recorder& graph, const operation::Reshape& op, const Value& x) { return graph.reshape(x, op.shape); }
inline Value write(Recorder& graph, const operation::Permute& op, const Value& x) {
  std::vector<std::int64_t> order;
  for (const std::int64_t dim : op.order) order.push_back(normalize_axis(dim, x.rank(), op.name));
  return graph.node("Transpose", {x}, {exporting::ints("perm", std::move(order))});
}
inline Value write(Recorder& graph, const operation::Expand& op, const Value& x) {
  Shape shape = op.shape;  // -1 keeps an extent, as 1 does in ONNX
  for (std::int64_t& extent : shape)
    if (extent == -1) extent = 1;
  return graph.node("Expand", {x, graph.extents_of(shape)});
}
inline Value write(Recorder& graph, const operation::Slice& op, const Value& x) {
  const std::int64_t dim = normalize_axis(op.dim, x.rank(), op.name);
  if (op.drop) {
    const Value part = exporting::slice(graph, x, dim, op.start, op.start == -1 ? INT64_MAX : op.start + 1);
    return graph.node("Squeeze", {part, graph.extents({dim})});
  }
  const bool to_front = op.step < 0 && op.end == to_end;
  return exporting::slice(graph, x, dim, op.start, to_front ? INT64_MIN : op.end, op.step);
}
inline Value write(Recorder&, const operation::ChannelsLast&, const Value& x) { return x; }
inline Value write(Recorder& graph, const operation::Flip& op, const Value& x) {
  std::vector<std::int64_t> starts, ends, dims, steps;
  for (int d = 0; d < x.rank(); ++d) {
    if ((op.axes >> d & 1u) == 0) continue;
    starts.push_back(INT64_MAX), ends.push_back(INT64_MIN), dims.push_back(d), steps.push_back(-1);
  }
  if (dims.empty()) return x;
  return graph.node("Slice", {x, graph.extents(std::move(starts)), graph.extents(std::move(ends)),
                              graph.extents(std::move(dims)), graph.extents(std::move(steps))});
}
inline Value write(Recorder& graph, const operation::Triangle& op, const Value& x) {
  return graph.node("Trilu", {x, graph.number(op.offset)}, {exporting::integer("upper", !op.lower)});
}

/// The parts behind and before the cut of each dimension change places.
inline Value write(Recorder& graph, const operation::Roll& op, const Value& x) {
  Value y = x;
  for (int d = 0; d < x.rank(); ++d) {
    if (op.shifts.by[d] == 0) continue;
    const Value last = exporting::slice(graph, y, d, -op.shifts.by[d], INT64_MAX);
    const Value first = exporting::slice(graph, y, d, 0, -op.shifts.by[d]);
    y = graph.node("Concat", {last, first}, {exporting::integer("axis", d)});
  }
  return y;
}
/// Every (columns + 1)-th element of the matrices, row by row.
inline Value write(Recorder& graph, const operation::Diagonal& op, const Value& x) {
  const int first = normalize_axis(op.first, x.rank(), op.name), second = normalize_axis(op.second, x.rank(), op.name);
  std::vector<std::int64_t> order;
  Shape flat;
  for (int d = 0; d < x.rank(); ++d)
    if (d != first && d != second) order.push_back(d), flat.push_back(x.shape()[d]);
  order.push_back(first), order.push_back(second);
  const std::int64_t rows = x.shape()[first], columns = x.shape()[second];
  flat.push_back(rows * columns);
  const std::int64_t above = op.offset > 0 ? op.offset : 0, below = op.offset < 0 ? -op.offset : 0;
  const std::int64_t wide = columns - above, high = rows - below, count = wide < high ? wide : high;
  const Value elements = graph.reshape(graph.node("Transpose", {x}, {exporting::ints("perm", std::move(order))}), flat);
  const std::int64_t start = above + below * columns;
  if (count <= 0) return exporting::slice(graph, elements, flat.rank() - 1, 0, 0);
  return exporting::slice(graph, elements, flat.rank() - 1, start, start + (count - 1) * (columns + 1) + 1,
                          columns + 1);
}
/// Element k of each window is a slice; the slices stand side by side in a new last dimension.
inline Value write(Recorder& graph, const operation::Unfold& op, const Value& x) {
  const int dim = normalize_axis(op.dim, x.rank(), op.name);
  std::vector<Value> elements;
  for (std::int64_t k = 0; k < op.size; ++k) {
    const std::int64_t after = (op.size - 1 - k) * op.dilation;
    const Value part = exporting::slice(graph, x, dim, k * op.dilation, after == 0 ? INT64_MAX : -after, op.step);
    elements.push_back(graph.node("Unsqueeze", {part, graph.extents({x.rank()})}));
  }
  return graph.typed_node("Concat", x.type(), elements, {exporting::integer("axis", x.rank())});
}

// Order

template <class D, bool all>
Value write(Recorder& graph, const operation::Sort<D, all>& op, const Value& x) {
  const Value row = x.rank() > 0 ? x : graph.reshape(x, {1});
  const Value values =
      graph.node("TopK", {row, graph.extents({op.wanted.first})},
                 {exporting::integer("axis", op.wanted.axis), exporting::integer("largest", op.wanted.descending)});
  const Value indices = graph.next_result(DataType::int64);
  graph.result(op.indices, x.rank() > 0 ? indices : graph.reshape(indices, {}));
  return x.rank() > 0 ? values : graph.reshape(values, {});
}
namespace exporting {
/// The positions of the largest or smallest elements of x along one axis, or in row-major order over all.
inline Value position(Recorder& graph, bool largest, const Value& x, const ReduceAxes& axes, bool keepdim) {
  const char* const op_type = largest ? "ArgMax" : "ArgMin";
  const Axes& list = axes.list();
  const Value along = list.empty() ? graph.reshape(x, {elements(x.shape())}) : x;
  const std::int64_t axis = list.empty() ? 0 : normalize_axis(list[0], x.rank(), op_type);
  const bool keeps = keepdim && !list.empty();
  const Value found =
      graph.typed_node(op_type, DataType::int64, {along}, {integer("axis", axis), integer("keepdims", keeps)});
  return keepdim && list.empty() ? graph.reshape(found, Dims::filled(x.rank(), 1)) : found;
}
}  // namespace exporting

// Reductions

inline Value write(Recorder& graph, const operation::Sum& op, const Value& x) {
  return exporting::reduced(graph, "ReduceSum", exporting::summable(graph, x), x.rank(), op.axes, op.keepdim);
}
inline Value write(Recorder& graph, const operation::Mean& op, const Value& x) {
  return exporting::reduced(graph, "ReduceMean", x, op.axes, op.keepdim);
}
inline Value write(Recorder& graph, const operation::Product& op, const Value& x) {
  return exporting::reduced(graph, "ReduceProd", exporting::summable(graph, x), x.rank(), op.axes, op.keepdim);
}
template <bool largest>
Value write(Recorder& graph, const operation::Extreme<largest>& op, const Value& x) {
  return exporting::reduced(graph, largest ? "ReduceMax" : "ReduceMin", x, op.axes, op.keepdim);
}
inline Value write(Recorder& graph, const operation::Variance& op, const Value& x) {
  return exporting::variance(graph, op.name, x, op.axes, op.options);
}
inline Value write(Recorder& graph, const operation::StandardDeviation& op, const Value& x) {
  return graph.node("Sqrt", {exporting::variance(graph, op.name, x, op.axes, op.options)});
}
inline Value write(Recorder& graph, const operation::LogSumExp& op, const Value& x) {
  return exporting::reduced(graph, "ReduceLogSumExp", x, op.axis, op.keepdim);
}
template <fold::NormOrder order>
  requires(order != fold::NormOrder::zero)
Value write(Recorder& graph, const operation::Norm<order>& op, const Value& x) {
  if constexpr (order == fold::NormOrder::one || order == fold::NormOrder::two) {
    constexpr const char* folded_by = order == fold::NormOrder::one ? "ReduceL1" : "ReduceL2";
    return exporting::reduced(graph, folded_by, x, op.axes, op.keepdim);
  } else {
    constexpr const char* folded_by = order == fold::NormOrder::infinity ? "ReduceMax" : "ReduceMin";
    return exporting::reduced(graph, folded_by, graph.node("Abs", {x}), x.rank(), op.axes, op.keepdim);
  }
}
inline Value write(Recorder& graph, const operation::CumulativeSum& op, const Value& x) {
  return graph.node(
      "CumSum", {exporting::summable(graph, x), graph.number(std::int64_t{op.axis})},
      {exporting::integer("exclusive", op.options.exclusive), exporting::integer("reverse", op.options.reverse)});
}
template <bool logarithm>
Value write(Recorder& graph, const operation::Softmax<logarithm>& op, const Value& x) {
  return graph.node(logarithm ? "LogSoftmax" : "Softmax", {x}, {exporting::integer("axis", op.axis)});
}

// Products

inline Value write(Recorder& graph, const operation::Matmul&, const Value& a, const Value& b) {
  return graph.node("MatMul", {a, b});
}
template <class F, bool keeps_input, class... B>
Value write(Recorder& graph, const operation::Linear<F, keeps_input>& op, const Value& x, const Value& w,
            const B&... b) {
  Value bias;
  ((bias = b), ...);
  Value y;
  if (x.rank() == 2) {
    y = graph.node("Gemm", {x, w, bias}, {exporting::integer("transB", 1)});
  } else {
    y = graph.node("MatMul", {x, graph.transposed(w)});
    if (bias) y = graph.node("Add", {y, bias});
  }
  return exporting::written(graph, op.name, op.activation, y);
}
inline Value write(Recorder& graph, const operation::Prelu&, const Value& x, const Value& weight) {
  Shape slopes = Dims::filled(x.rank() > 1 ? x.rank() - 1 : 1, 1);
  if (x.rank() > 1) slopes[0] = weight.shape()[0];
  return graph.node("PRelu", {x, graph.reshape(weight, slopes)});
}

// Lookups and joins

inline Value write(Recorder& graph, const operation::IndexSelect& op, const Value& x, const Value& indices) {
  return graph.node("Gather", {x, indices}, {exporting::integer("axis", op.axis)});
}
inline Value write(Recorder& graph, const operation::Gather& op, const Value& x, const Value& index) {
  return graph.node("GatherElements", {x, index}, {exporting::integer("axis", op.axis)});
}
inline Value write(Recorder& graph, const operation::Scatter& op, const Value& x, const Value& index,
                   const Value& source) {
  return graph.node("ScatterElements", {x, index, source}, {exporting::integer("axis", op.axis)});
}
inline Value write(Recorder& graph, const operation::ScatterAdd& op, const Value& x, const Value& index,
                   const Value& source) {
  return graph.node("ScatterElements", {x, index, source}, {exporting::integer("axis", op.axis), {"reduction", "add"}});
}
template <class... V>
Value write(Recorder& graph, const operation::Concat& op, const Value& first, const V&... rest) {
  return graph.node("Concat", {first, rest...}, {exporting::integer("axis", op.axis)});
}
template <class T>
Value write(Recorder& graph, const operation::Pad<T>& op, const Value& x) {
  constexpr const char* modes[] = {"constant", "reflect", "edge", "wrap"};
  std::vector<std::int64_t> amounts;
  for (int d = 0; d < x.rank(); ++d) amounts.push_back(op.amounts.before(x.rank() - 1 - d));
  for (int d = 0; d < x.rank(); ++d) amounts.push_back(op.amounts.after(x.rank() - 1 - d));
  const Value value = op.mode == PadMode::constant ? graph.number(convert<T>(op.value)) : Value();
  return graph.node("Pad", {x, graph.extents(std::move(amounts)), value}, {{"mode", modes[static_cast<int>(op.mode)]}});
}

}  // namespace onnx

namespace detail {
/// Computes positions, and writes the node that does.
template <>
struct Locate<onnx::Recording> {
  template <bool largest, class X>
  static auto run(std::string_view name, const X& x, const ReduceAxes& axes, bool keepdim) {
    const auto value = x.eval();
    const auto found = [&] {
      const onnx::exporting::Pause pause;
      return reduce<std::int64_t>(name, fold::ArgExtreme<value_of<X>, largest>{}, value.value(), axes, keepdim);
    }();
    if (onnx::Recorder* const graph = onnx::exporting::recorder; graph && onnx::exporting::is_recording)
      graph->result(found, onnx::exporting::position(*graph, largest, graph->operand(value.value()), axes, keepdim));
    return found;
  }
};
}  // namespace detail

}}  // namespace locus::LOCUS_ABI
