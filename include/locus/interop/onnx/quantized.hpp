#pragma once
// ONNX's quantized integers: 8 and 16 bits with a scale and a zero point.

#include <locus/interop/onnx/shaping.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/matmul.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// The integers that a type can hold.
struct IntegerRange {
  std::int64_t low, high;
};
[[nodiscard]] inline IntegerRange range_of_type(const Attributes& call, DataType type) {
  switch (type) {
    case DataType::uint8: return {0, UINT8_MAX};
    case DataType::int8: return {INT8_MIN, INT8_MAX};
    case DataType::uint16: return {0, UINT16_MAX};
    case DataType::int16: return {INT16_MIN, INT16_MAX};
    case DataType::int32: return {INT32_MIN, INT32_MAX};
    default: call.fail_here({"quantized elements of ", to_string(type), "; Locus has 8, 16 and 32 bits"});
  }
}

/// A scale or zero point as it broadcasts with x: one number, one for each slice along the axis, or, with block_size,
/// one for each block along it.
template <class X>
[[nodiscard]] X along_axis(const Attributes& call, const X& factors, const Shape& x) {
  if (factors.elements() == 1) return reshape(factors, Shape{});
  const std::int64_t given = call.integer("axis", 1), block = call.integer("block_size", 0);
  const int rank = x.rank(), axis = static_cast<int>(given < 0 ? given + rank : given);
  if (axis < 0 || axis >= rank) call.fail_here({"axis ", given, " of ", rank, " dimensions"});
  if (factors.rank() == 1 && block == 0) {
    Shape along = Dims::filled(rank, 1);
    along[axis] = factors.size(0);
    return reshape(factors, along);
  }
  if (factors.rank() != rank || block < 1)
    call.fail_here({"scales of shape ", factors.shape(), " for x of shape ", x, " in blocks of ", block});
  return slice(repeat_interleave(factors, block, axis), axis, 0, x[axis]);
}
/// The zero point of input i, as x's; 0 if it is left out.
template <class F>
[[nodiscard]] Tensor<std::int64_t, device_of<F>> zero_point(const Call<F>& call, std::size_t i, const Shape& x) {
  if (!call.has_input(i)) return full<std::int64_t>({}, 0, call.device());
  return along_axis(call, call.integers(i).there(call.device()), x);
}
/// round(x / scale) + zero, within the type; NaN as 0
template <class F>
void give_quantized(const Call<F>& call, DataType type, const F& x, const F& scale,
                    const Tensor<std::int64_t, device_of<F>>& zero) {
  const auto [low, high] = range_of_type(call, type);
  const auto quotient = round(plain_of(x) / plain_of(scale)).eval().template as<double>();
  const auto steps = where(isnan(quotient), 0, clamp(quotient, -0x1p33, 0x1p33)).eval().template as<std::int64_t>();
  call.give_as(type, clamp(steps + zero, low, high));
}

template <class F>
void quantize(const Call<F>& call) {
  const F& x = call.numbers(0);
  const DataType type =
      call.has_input(2)
          ? call.input(2).type()
          : static_cast<DataType>(call.integer("output_dtype", static_cast<std::int64_t>(DataType::uint8)));
  (void)range_of_type(call, type);
  give_quantized(call, type, x, along_axis(call, call.numbers(1), x.shape()), zero_point(call, 2, x.shape()));
}
template <class F>
void dequantize(const Call<F>& call) {
  const auto& x = call.integers(0).there(call.device());
  const auto steps = (x - zero_point(call, 2, x.shape())).eval().template as<value_of<F>>();
  call.give_as(call.input(1).type(), steps * along_axis(call, call.numbers(1), x.shape()));
}
/// uint8 of the range of x, which includes 0; its scale and zero point.
template <class F>
void quantize_to_range(const Call<F>& call) {
  using T = value_of<F>;
  const auto& x = call.plain(0);
  const auto low = minimum(min(x), 0).eval(), high = maximum(max(x), 0).eval();
  const auto scale = ((high - low) / 255).eval();
  // A scale of 0, of x without other elements, or of NaN has the zero point 0.
  const auto zero = where(scale > 0, clamp(round(-low / scale), 0, 255), 0).eval().template as<std::int64_t>();
  give_quantized(call, DataType::uint8, F(call.handle(x)), F(call.handle(scale)), zero);
  call.give(1, Value<F>(DataType::float32, call.handle(Tensor<T, device_of<F>>(scale))));
  call.give(2, Value<F>(DataType::uint8, zero));
}

/// a - its zero point, which has a number for each row (of b: column) or one for all.
template <class F>
[[nodiscard]] auto without_zero(const Call<F>& call, std::size_t i, std::size_t zero_at, bool by_columns) {
  const auto& x = call.integers(i).there(call.device());
  Tensor<std::int64_t, device_of<F>> zero = full<std::int64_t>({}, 0, call.device());
  if (call.has_input(zero_at)) zero = call.integers(zero_at).there(call.device());
  if (zero.rank() == 1 && zero.elements() == 1) zero = reshape(zero, Shape{});
  if (zero.rank() == 1 && !by_columns) zero = zero.unsqueeze(1);
  return (x - zero).eval();
}
template <class F>
void multiply_integers(const Call<F>& call) {
  call.give_wrapped(DataType::int32, matmul(without_zero(call, 0, 2, false), without_zero(call, 1, 3, true)));
}
/// Inputs: a, its scale and zero point, b, its scale and zero point, the scale and zero point of the result.
template <class F>
void multiply_quantized(const Call<F>& call) {
  const auto sums = matmul(without_zero(call, 0, 2, false), without_zero(call, 3, 5, true));
  F scale = call.numbers(1);
  if (scale.rank() == 1 && scale.elements() > 1) scale = unsqueeze(scale, 1);
  const F product = call.handle(sums.eval().template as<value_of<F>>().eval()) * (scale * call.numbers(4));
  give_quantized(call, call.input(7).type(), product, call.numbers(6), call.integers(7).there(call.device()));
}

template <class F>
inline constexpr Operation<F> quantized[] = {
    {"DequantizeLinear", &dequantize<F>},     {"DynamicQuantizeLinear", &quantize_to_range<F>},
    {"MatMulInteger", &multiply_integers<F>}, {"QLinearMatMul", &multiply_quantized<F>},
    {"QuantizeLinear", &quantize<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
