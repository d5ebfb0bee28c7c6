#pragma once
// ONNX's elementwise operators, as functions of Locus.

#include <locus/expr/activations.hpp>
#include <locus/expr/bits.hpp>
#include <locus/expr/functions.hpp>
#include <locus/expr/operators.hpp>
#include <locus/interop/onnx/call.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

template <class F>
struct Operation {
  std::string_view name;
  void (*run)(const Call<F>& call);
};

/// f(numbers)
template <class F, class Do>
void map_numbers(const Call<F>& call, const Do& f) {
  call.give_like(f(call.numbers(0)));
}
/// f(numbers), f(integers)
template <class F, class Do>
void map_arithmetic(const Call<F>& call, const Do& f) {
  if (call.input(0).numbers()) return map_numbers(call, f);
  (void)call.integers(0);
  call.visit(0, [&]<class X>([[maybe_unused]] const X& x) {
    if constexpr (std::is_same_v<value_of<X>, std::int64_t>) call.give_wrapped(call.input(0).type(), f(x));
  });
}
/// f(a, b) of numbers or of integers.
template <class F, class Do>
void combine(const Call<F>& call, const Do& f) {
  if (call.input(0).numbers()) return call.give_like(f(call.numbers(0), call.numbers(1)));
  const auto &a = call.integers(0), &b = call.integers(1);
  call.in_place([&](auto place) { call.give_wrapped(call.input(0).type(), f(call.at(a, place), call.at(b, place))); });
}
/// Bools of f(a, b), of numbers, integers or bools; numbers collect no gradient.
template <class F, class Do>
void compare(const Call<F>& call, const Do& f) {
  if (call.input(0).numbers()) return call.give_as(DataType::boolean, f(call.plain(0), call.plain(1)));
  call.in_place([&](auto place) {
    if (call.input(0).integers())
      call.give_as(DataType::boolean, f(call.at(call.integers(0), place), call.at(call.integers(1), place)));
    else call.give_as(DataType::boolean, f(call.at(call.bools(0), place), call.at(call.bools(1), place)));
  });
}
template <class F, class Do>
void combine_bools(const Call<F>& call, const Do& f) {
  call.in_place([&](auto place) {
    call.give_as(DataType::boolean, f(call.at(call.bools(0), place), call.at(call.bools(1), place)));
  });
}
template <class F, class Do>
void combine_integers(const Call<F>& call, const Do& f) {
  call.in_place([&](auto place) {
    call.give_wrapped(call.input(0).type(), f(call.at(call.integers(0), place), call.at(call.integers(1), place)));
  });
}
/// f(f(a, b), c) and so on, of any number of inputs.
template <class F, class Do>
void fold_inputs(const Call<F>& call, const Do& f, bool divides = false) {
  if (call.input(0).numbers()) {
    F result = call.numbers(0);
    for (std::size_t i = 1; i < call.input_count(); ++i) result = f(result, call.numbers(i)).eval();
    if (!divides) return call.give_like(result);
    return call.give_like(result * (1.0 / static_cast<double>(call.input_count())));
  }
  call.in_place([&]<class E>(E place) {
    Tensor<std::int64_t, E> result = call.at(call.integers(0), place);
    for (std::size_t i = 1; i < call.input_count(); ++i) result = f(result, call.at(call.integers(i), place)).eval();
    call.give_wrapped(call.input(0).type(), result);
  });
}

/// Of integers, rounded towards zero as in C; Locus rounds down.
struct Divide {
  template <class A>
  auto operator()(const A& a, const A& b) const {
    if constexpr (!std::is_same_v<value_of<A>, std::int64_t>) return (a / b).eval();
    else return (abs(a) / abs(b) * sign(a) * sign(b)).eval();
  }
};

template <class F>
void clip(const Call<F>& call) {
  if (call.opset() < 11) {
    using R = compute_t<value_of<F>>;
    const F x =
        call.has("min") ? maximum(call.numbers(0), static_cast<R>(call.number("min", 0))).eval() : call.numbers(0);
    return call.give_like(call.has("max") ? minimum(x, static_cast<R>(call.number("max", 0))).eval() : x);
  }
  const auto bound = [&](const auto& x, const auto& of) {
    auto result = x;
    if (call.has_input(1)) result = maximum(result, of(1)).eval();
    if (call.has_input(2)) result = minimum(result, of(2)).eval();
    call.give_like(result);
  };
  if (call.input(0).numbers())
    return bound(call.numbers(0), [&](std::size_t i) -> const F& { return call.numbers(i); });
  call.in_place([&](auto place) {
    bound(call.at(call.integers(0), place),
          [&](std::size_t i) -> const auto& { return call.at(call.integers(i), place); });
  });
}

/// Input i, numbers or integers, as another floating-point type.
template <class R, class F>
[[nodiscard]] Tensor<R, device_of<F>> floating_input(const Call<F>& call, std::size_t i) {
  if (call.input(i).numbers()) return call.plain(i).template as<R>();
  return call.integers(i).there(call.device()).template as<R>();
}
/// Powers of integers are computed in double: T may have as few as 8 bits.
template <class F>
void power(const Call<F>& call) {
  if (const F* base = call.input(0).numbers()) {
    if (const F* exponent = call.input(1).numbers()) return call.give_like(pow(*base, *exponent));
    return call.give_like(pow(*base, floating_input<value_of<F>>(call, 1)));
  }
  const Tensor<double, device_of<F>> result = pow(floating_input<double>(call, 0), floating_input<double>(call, 1));
  call.give_wrapped(call.input(0).type(), round(result).template as<std::int64_t>());
}

/// Value i as another type. Floating-point types are all computed as T.
template <class F>
void cast(const Call<F>& call, DataType to) {
  const Value<F>& x = call.input(0);
  using T = value_of<F>;
  if (!has_element_type(to)) call.fail_here({"a cast to ", to_string(to), ", of which Locus has no tensors"});
  if (is_floating(to)) {
    if (x.numbers()) return call.give_as(to, *x.numbers());
    if (x.integers()) return call.give_as(to, x.integers()->there(call.device()).template as<T>());
    return call.give_as(to, x.bools()->there(call.device()).template as<T>());
  }
  const auto convert = [&](const auto& from) {
    if (to == DataType::boolean) call.give_as(to, from.template as<bool>());
    else call.give_wrapped(to, from.template as<std::int64_t>());
  };
  if (x.numbers()) return convert(call.plain(0));
  call.in_place([&](auto place) {
    if (x.integers()) convert(call.at(*x.integers(), place));
    else convert(call.at(*x.bools(), place));
  });
}

/// where(condition, x, y); x and y have one type.
template <class F>
void choose(const Call<F>& call) {
  const Value<F>& x = call.input(1);
  if (x.numbers())
    return call.give_as(x.type(), where(call.bools(0).there(call.device()), *x.numbers(), call.numbers(2)));
  call.in_place([&](auto place) {
    const auto& condition = call.at(call.bools(0), place);
    if (x.integers())
      call.give_as(x.type(), where(condition, call.at(*x.integers(), place), call.at(call.integers(2), place)));
    else call.give_as(x.type(), where(condition, call.at(*x.bools(), place), call.at(call.bools(2), place)));
  });
}

template <class F>
void prelu_of(const Call<F>& call) {
  const F &x = call.numbers(0), &slope = call.numbers(1);
  call.give_like(where(call.plain(0) < 0, x * slope.eval(), x));
}

/// Activation functions; attributes hold the coefficients of some.
template <class F>
inline constexpr Operation<F> activations[] = {
    {"Celu", [](const Call<F>& c) { map_numbers(c, [&](const F& x) { return celu(x, c.number("alpha", 1)); }); }},
    {"Elu", [](const Call<F>& c) { map_numbers(c, [&](const F& x) { return elu(x, c.number("alpha", 1)); }); }},
    {"Gelu",
     [](const Call<F>& c) {
       if (c.text("approximate", "none") == "tanh")
         return map_numbers(c, [](const F& x) { return gelu<GeluForm::tanh>(x); });
       c.require_text("approximate", "none");
       map_numbers(c, [](const F& x) { return gelu(x); });
     }},
    {"HardSigmoid",
     [](const Call<F>& c) {
       const double alpha = c.number("alpha", 0.2), beta = c.number("beta", 0.5);
       map_numbers(c, [&](const F& x) { return clamp(x * alpha + beta, 0, 1); });
     }},
    {"HardSwish", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return hardswish(x); }); }},
    {"LeakyRelu",
     [](const Call<F>& c) { map_numbers(c, [&](const F& x) { return leaky_relu(x, c.number("alpha", 0.01)); }); }},
    {"Mish", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return mish(x); }); }},
    {"PRelu", &prelu_of<F>},
    {"Relu", [](const Call<F>& c) { map_arithmetic(c, [](const auto& x) { return relu(x); }); }},
    {"Selu",
     [](const Call<F>& c) {
       const double alpha = c.number("alpha", 1.67326319217681884765625),
                    gamma = c.number("gamma", 1.05070102214813232421875);
       map_numbers(c, [&](const F& x) { return elu(x, alpha) * gamma; });
     }},
    {"Shrink",
     [](const Call<F>& c) {
       const double bias = c.number("bias", 0), limit = c.number("lambd", 0.5);
       map_arithmetic(c, [&]<class X>([[maybe_unused]] const X& x) {
         using N = std::conditional_t<std::is_same_v<value_of<X>, std::int64_t>, std::int64_t, double>;
         const N edge = static_cast<N>(limit), shift = static_cast<N>(bias);
         return where(x < -edge, x + shift, where(x > edge, x - shift, x * 0));
       });
     }},
    {"Sigmoid", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return sigmoid(x); }); }},
    {"Softplus", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return softplus(x); }); }},
    {"Softsign", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return softsign(x); }); }},
    {"Swish",
     [](const Call<F>& c) { map_numbers(c, [&](const F& x) { return x * sigmoid(x * c.number("alpha", 1)); }); }},
    {"ThresholdedRelu",
     [](const Call<F>& c) { map_numbers(c, [&](const F& x) { return threshold(x, c.number("alpha", 1), 0); }); }},
};

template <class F>
inline constexpr Operation<F> functions[] = {
    {"Abs", [](const Call<F>& c) { map_arithmetic(c, [](const auto& x) { return abs(x); }); }},
    {"Acos", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return acos(x); }); }},
    {"Acosh", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return acosh(x); }); }},
    {"Asin", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return asin(x); }); }},
    {"Asinh", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return asinh(x); }); }},
    {"Atan", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return atan(x); }); }},
    {"Atanh", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return atanh(x); }); }},
    {"Ceil", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return ceil(x); }); }},
    {"Cos", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return cos(x); }); }},
    {"Cosh", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return cosh(x); }); }},
    {"Erf", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return erf(x); }); }},
    {"Exp", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return exp(x); }); }},
    {"Floor", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return floor(x); }); }},
    {"Log", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return log(x); }); }},
    {"Neg", [](const Call<F>& c) { map_arithmetic(c, [](const auto& x) { return -x; }); }},
    {"Reciprocal", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return reciprocal(x); }); }},
    {"Round", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return round(x); }); }},
    {"Sign", [](const Call<F>& c) { map_arithmetic(c, [](const auto& x) { return sign(x); }); }},
    {"Sin", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return sin(x); }); }},
    {"Sinh", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return sinh(x); }); }},
    {"Sqrt", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return sqrt(x); }); }},
    {"Tan", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return tan(x); }); }},
    {"Tanh", [](const Call<F>& c) { map_numbers(c, [](const F& x) { return tanh(x); }); }},
};

/// Bits of an integer type; the sign of a signed one counts as one.
[[nodiscard]] inline int bits_of_type(DataType type) {
  switch (type) {
    case DataType::uint8:
    case DataType::int8: return 8;
    case DataType::uint16:
    case DataType::int16: return 16;
    case DataType::uint32:
    case DataType::int32: return 32;
    default: return 64;
  }
}
/// By counts that are negative or beyond the type, as by infinitely many.
template <class F>
void shift_bits(const Call<F>& call) {
  const bool is_left = call.text("direction", "") == "LEFT";
  if (!is_left) call.require_text("direction", "RIGHT");
  const DataType type = call.input(0).type();
  const std::int64_t bits = bits_of_type(type);
  const bool is_signed =
      type == DataType::int8 || type == DataType::int16 || type == DataType::int32 || type == DataType::int64;
  combine_integers(call, [&](const auto& a, const auto& b) {
    using X = std::remove_cvref_t<decltype(a)>;
    const auto is_within = (b >= 0 && b < bits).eval();
    const X count = where(is_within, b, is_signed && !is_left ? bits - 1 : 0);
    const X shifted = is_left ? X(a << count) : X(a >> count);
    return is_signed && !is_left ? shifted : X(where(is_within, shifted, 0));
  });
}

template <class F>
inline constexpr Operation<F> arithmetic[] = {
    {"Add", [](const Call<F>& c) { combine(c, [](const auto& a, const auto& b) { return a + b; }); }},
    {"BitShift", &shift_bits<F>},
    {"BitwiseAnd", [](const Call<F>& c) { combine_integers(c, [](const auto& a, const auto& b) { return a & b; }); }},
    {"BitwiseNot",
     [](const Call<F>& c) {
       c.in_place([&](auto place) { c.give_wrapped(c.input(0).type(), ~c.at(c.integers(0), place)); });
     }},
    {"BitwiseOr", [](const Call<F>& c) { combine_integers(c, [](const auto& a, const auto& b) { return a | b; }); }},
    {"BitwiseXor", [](const Call<F>& c) { combine_integers(c, [](const auto& a, const auto& b) { return a ^ b; }); }},
    {"Cast", [](const Call<F>& c) { cast(c, static_cast<DataType>(c.integer("to", 0))); }},
    {"CastLike", [](const Call<F>& c) { cast(c, c.input(1).type()); }},
    {"Clip", &clip<F>},
    {"Div", [](const Call<F>& c) { combine(c, Divide{}); }},
    {"Max", [](const Call<F>& c) { fold_inputs(c, [](const auto& a, const auto& b) { return maximum(a, b); }); }},
    {"Mean",
     [](const Call<F>& c) {
       (void)c.numbers(0);  // ONNX has no mean of integers
       fold_inputs(
           c, [](const auto& a, const auto& b) { return a + b; }, true);
     }},
    {"Min", [](const Call<F>& c) { fold_inputs(c, [](const auto& a, const auto& b) { return minimum(a, b); }); }},
    {"Mod",
     [](const Call<F>& c) {
       if (c.flag("fmod")) return combine(c, [](const auto& a, const auto& b) { return fmod(a, b); });
       combine(c, [](const auto& a, const auto& b) { return a % b; });
     }},
    {"Mul", [](const Call<F>& c) { combine(c, [](const auto& a, const auto& b) { return a * b; }); }},
    {"Pow", &power<F>},
    {"Sub", [](const Call<F>& c) { combine(c, [](const auto& a, const auto& b) { return a - b; }); }},
    {"Sum", [](const Call<F>& c) { fold_inputs(c, [](const auto& a, const auto& b) { return a + b; }); }},
    {"Where", &choose<F>},
};

template <class F>
inline constexpr Operation<F> comparisons[] = {
    {"And", [](const Call<F>& c) { combine_bools(c, [](const auto& a, const auto& b) { return a && b; }); }},
    {"Equal", [](const Call<F>& c) { compare(c, [](const auto& a, const auto& b) { return a == b; }); }},
    {"Greater", [](const Call<F>& c) { compare(c, [](const auto& a, const auto& b) { return a > b; }); }},
    {"GreaterOrEqual", [](const Call<F>& c) { compare(c, [](const auto& a, const auto& b) { return a >= b; }); }},
    {"IsInf",
     [](const Call<F>& c) {
       const auto& x = c.plain(0);
       const auto high = static_cast<compute_t<value_of<F>>>(__builtin_inf());
       const bool positive = c.flag("detect_positive", true), negative = c.flag("detect_negative", true);
       if (positive && negative) return c.give_as(DataType::boolean, isinf(x));
       if (positive) return c.give_as(DataType::boolean, x == high);
       if (negative) return c.give_as(DataType::boolean, x == -high);
       c.give_as(DataType::boolean, x != x && x == x);
     }},
    {"IsNaN", [](const Call<F>& c) { c.give_as(DataType::boolean, isnan(c.plain(0))); }},
    {"Less", [](const Call<F>& c) { compare(c, [](const auto& a, const auto& b) { return a < b; }); }},
    {"LessOrEqual", [](const Call<F>& c) { compare(c, [](const auto& a, const auto& b) { return a <= b; }); }},
    {"Not",
     [](const Call<F>& c) { c.in_place([&](auto place) { c.give_as(DataType::boolean, !c.at(c.bools(0), place)); }); }},
    {"Or", [](const Call<F>& c) { combine_bools(c, [](const auto& a, const auto& b) { return a || b; }); }},
    {"Xor", [](const Call<F>& c) { combine_bools(c, [](const auto& a, const auto& b) { return a != b; }); }},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
