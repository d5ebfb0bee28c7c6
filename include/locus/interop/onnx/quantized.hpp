#pragma once
// ONNX's quantized integers: 8 and 16 bits with a scale and a zero point.

#include <locus/interop/onnx/windows.hpp>
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
/// one for each block along it. throws DataError for another shape
template <class F, class X>
[[nodiscard]] X along_axis(const Call<F>& call, const X& factors, const Shape& x) {
  if (factors.elements() == 1) return reshape(factors, Shape{});
  const std::int64_t block = call.integer("block_size", 0);
  const int axis = call.axis_of(call.integer("axis", 1), x.rank());
  Shape along = Dims::filled(x.rank(), 1), blocks = x;
  along[axis] = x[axis];
  if (block == 0 && factors.shape() == Shape{x[axis]}) return reshape(factors, along);
  if (block > 0 && x[axis] > 0) blocks[axis] = (x[axis] - 1) / block + 1;
  if (block < 1 || factors.shape() != blocks)
    call.fail_here({"scales of shape ", factors.shape(), " for x of shape ", x, " in blocks of ", block});
  return slice(repeat_interleave(factors, block < x[axis] ? block : x[axis], axis), axis, 0, x[axis]);
}
/// The zero point of input i, as x's; 0 if it is left out.
template <class F>
[[nodiscard]] Tensor<std::int64_t, device_of<F>> zero_point(const Call<F>& call, std::size_t i, const Shape& x) {
  if (!call.has_input(i)) return full<std::int64_t>({}, 0, call.device());
  return along_axis(call, call.integers(i).there(call.device()), x);
}
/// round(x / scale) + zero, within the type; NaN as 0. R is float where T has 16 bits, which would round the quotient.
template <class F, class R, class D>
void give_quantized(const Call<F>& call, DataType type, const Tensor<R, D>& x, const Tensor<R, D>& scale,
                    const Tensor<std::int64_t, D>& zero) {
  const auto [low, high] = range_of_type(call, type);
  const auto quotient = round(x / scale).eval().template as<double>();
  const auto steps = where(isnan(quotient), 0, clamp(quotient, -0x1p33, 0x1p33)).eval().template as<std::int64_t>();
  call.give_as(type, clamp(steps + zero, low, high));
}

template <class F>
void quantize(const Call<F>& call) {
  using R = compute_t<value_of<F>>;
  const Shape& shape = call.shape(0);
  const auto wanted = static_cast<DataType>(call.integer("output_dtype", 0));
  const DataType otherwise = call.has_input(2) ? call.input(2).type() : DataType::uint8,
                 type = wanted == DataType::undefined ? otherwise : wanted;
  if (call.has_input(2) && type != otherwise)
    call.fail_here({"output_dtype ", to_string(type), " with a zero point of ", to_string(otherwise)});
  (void)range_of_type(call, type);
  give_quantized(call, type, call.plain(0).template as<R>(), along_axis(call, call.plain(1), shape).template as<R>(),
                 zero_point(call, 2, shape));
}
template <class F>
void dequantize(const Call<F>& call) {
  const auto& x = call.integers(0).there(call.device());
  const auto wanted = static_cast<DataType>(call.integer("output_dtype", 0));
  const DataType type = wanted == DataType::undefined ? call.input(1).type() : wanted;
  if (!is_floating(type)) call.fail_here({"output_dtype ", to_string(type), "; expected floating-point numbers"});
  const auto steps = (x - zero_point(call, 2, x.shape())).eval().template as<value_of<F>>();
  call.give_as(type, steps * along_axis(call, call.numbers(1), x.shape()));
}
/// uint8 of the range of x, which includes 0; its scale and zero point.
template <class F>
void quantize_to_range(const Call<F>& call) {
  using T = value_of<F>;
  using R = compute_t<T>;
  const auto& x = call.plain(0);
  const auto low = minimum(min(x), 0).eval(), high = maximum(max(x), 0).eval();
  const auto scale = ((high - low) / 255).eval();
  // A scale of 0, of x without other elements, or of NaN has the zero point 0.
  const auto zero = where(scale > 0, clamp(round(-low / scale), 0, 255), 0).eval().template as<std::int64_t>();
  give_quantized(call, DataType::uint8, x.template as<R>(), scale.template as<R>(), zero);
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
  using R = compute_t<value_of<F>>;  // sums of products are beyond the range of half
  if (elements(call.shape(6)) != 1 || elements(call.shape(7)) != 1)
    call.fail_here({"a scale of shape ", call.shape(6), " and a zero point of shape ", call.shape(7),
                    " of the result; expected one number"});
  const auto sums = matmul(without_zero(call, 0, 2, false), without_zero(call, 3, 5, true));
  auto scale = call.plain(1).template as<R>();
  if (scale.rank() == 1 && scale.elements() > 1) scale = scale.unsqueeze(1);
  const auto product = (sums.eval().template as<R>() * (scale * call.plain(4).template as<R>())).eval();
  give_quantized(call, call.input(7).type(), product, call.plain(6).template as<R>(),
                 call.integers(7).there(call.device()));
}

/// Sums of products of integers, by windows as rows of a matrix: x (n, c, ...) and w (m, c / groups, ...).
template <class F, class I>
[[nodiscard]] I convolve_integers(const Call<F>& call, const I& given, const I& w) {
  const Windows by = windows_of(call, given.shape(), call.list("kernel_shape", spatial(w.shape())), 3);
  const std::int64_t groups = call.integer("group", 1), features = w.rank() > 2 ? w.size(0) : 0;
  if (w.rank() != given.rank() || spatial(w.shape()) != by.kernel || groups < 1 || features % groups != 0 ||
      given.size(1) != w.size(1) * groups)
    call.fail_here({"x of shape ", given.shape(), " with kernels of shape ", w.shape(), " in ", groups, " groups"});
  I x = pad(given, border(by), PadMode::constant, std::int64_t{0});
  Shape outputs{given.size(0), features};
  const int rank = x.rank();
  for (int d = 2; d < rank; ++d) {
    const auto i = static_cast<std::size_t>(d - 2);
    const std::int64_t reach = by.dilations[i] * (by.kernel[i] - 1) + 1;
    if (reach > x.size(d)) call.fail_here({"windows of ", reach, " in x of shape ", x.shape()});
    x = slice(unfold(x, d, reach, by.strides[i]), -1, 0, to_end, by.dilations[i]);
    outputs.push_back(x.size(d));
  }
  // (n, groups, channels, places..., kernel...) -> (n, groups, places, channels and kernel)
  const std::int64_t n = given.size(0), channels = w.size(1);
  std::int64_t places = 1, window = channels;
  for (int d = 2; d < rank; ++d) places *= x.size(d), window *= by.kernel[static_cast<std::size_t>(d - 2)];
  Axes turned{0};
  for (int d = 2; d < rank; ++d) turned.push_back(d);
  turned.push_back(1);
  for (int d = rank; d < 2 * rank - 2; ++d) turned.push_back(d);
  const I rows = reshape(permute(x, turned), {n, places, groups, window});
  const I kernels = reshape(w, {groups, features / groups, window});
  const I sums = matmul(permute(rows, {0, 2, 1, 3}), transpose(kernels));  // (n, groups, places, features / groups)
  return reshape(transpose(sums), outputs);
}
/// w - its zero point, one number or one for each feature.
template <class F>
[[nodiscard]] auto kernels_without_zero(const Call<F>& call, std::size_t i, std::size_t zero_at) {
  Tensor<std::int64_t, device_of<F>> w = call.integers(i).there(call.device());
  if (!call.has_input(zero_at)) return w;
  const auto& zero = call.integers(zero_at).there(call.device());
  Shape each = Dims::filled(w.rank(), 1);
  if (zero.elements() != 1) each[0] = zero.elements();
  return (w - reshape(zero, each)).eval();
}
template <class F>
[[nodiscard]] Tensor<std::int64_t, device_of<F>> input_without_zero(const Call<F>& call, std::size_t zero_at) {
  const auto& x = call.integers(0).there(call.device());
  if (!call.has_input(zero_at)) return x;
  return x - reshape(call.integers(zero_at).there(call.device()), Shape{});
}
template <class F>
void convolve_by_integers(const Call<F>& call) {
  call.give_wrapped(DataType::int32,
                    convolve_integers(call, input_without_zero(call, 2), kernels_without_zero(call, 1, 3)));
}
/// Inputs: x, its scale and zero point, w, its scale and zero point, the scale and zero point of the result, a bias.
template <class F>
void convolve_quantized(const Call<F>& call) {
  using R = compute_t<value_of<F>>;
  if (elements(call.shape(6)) != 1 || elements(call.shape(7)) != 1)
    call.fail_here({"a scale of shape ", call.shape(6), " and a zero point of shape ", call.shape(7),
                    " of the result; expected one number"});
  auto sums = convolve_integers(call, input_without_zero(call, 2), kernels_without_zero(call, 3, 5));
  Shape features = Dims::filled(sums.rank(), 1);
  features[1] = sums.size(1);
  if (call.has_input(8)) sums = sums + reshape(call.integers(8).there(call.device()), features);
  const auto of_w = call.plain(4).template as<R>();
  const auto scale =
      (reshape(of_w, of_w.elements() == 1 ? Shape{} : features) * reshape(call.plain(1).template as<R>(), Shape{}))
          .eval();
  give_quantized(call, call.input(7).type(), (sums.template as<R>() * scale).eval(),
                 reshape(call.plain(6).template as<R>(), Shape{}),
                 reshape(call.integers(7).there(call.device()), Shape{}));
}

template <class F>
inline constexpr Operation<F> quantized[] = {
    {"ConvInteger", &convolve_by_integers<F>}, {"QLinearConv", &convolve_quantized<F>},
    {"DequantizeLinear", &dequantize<F>},      {"DynamicQuantizeLinear", &quantize_to_range<F>},
    {"MatMulInteger", &multiply_integers<F>},  {"QLinearMatMul", &multiply_quantized<F>},
    {"QuantizeLinear", &quantize<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
