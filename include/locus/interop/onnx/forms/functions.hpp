#pragma once
// The form in ONNX of each scalar function: the nodes that compute it.

#include <locus/expr/activations.hpp>
#include <locus/expr/bits.hpp>
#include <locus/expr/chosen_activation.hpp>
#include <locus/expr/functions.hpp>
#include <locus/interop/onnx/recorder.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx {

namespace exporting {
/// A value as bool: true for numbers other than 0.
inline Value as_bool(Recorder& graph, const Value& x) {
  if (x.type() == DataType::boolean) return x;
  return graph.typed_node("Cast", DataType::boolean, {x}, {{"to", static_cast<std::int64_t>(DataType::boolean)}});
}
inline Value cast(Recorder& graph, const Value& x, DataType to) {
  if (x.type() == to) return x;
  return graph.typed_node("Cast", to, {x}, {{"to", static_cast<std::int64_t>(to)}});
}
inline Value predicate(Recorder& graph, std::string_view op_type, Recorder::Inputs inputs) {
  return graph.typed_node(op_type, DataType::boolean, inputs);
}
}  // namespace exporting

// clang-format off
// One operator of ONNX, of the same operands.
#define LOCUS_ONNX_UNARY(Functor, Operator) \
  inline Value write(Recorder& graph, const functor::Functor&, const Value& x) { return graph.node(Operator, {x}); }
#define LOCUS_ONNX_BINARY(Functor, Operator)                                                        \
  inline Value write(Recorder& graph, const functor::Functor&, const Value& x, const Value& y) {    \
    return graph.node(Operator, {x, y});                                                            \
  }
#define LOCUS_ONNX_COMPARISON(Functor, Operator)                                                    \
  inline Value write(Recorder& graph, const functor::Functor&, const Value& x, const Value& y) {    \
    return exporting::predicate(graph, Operator, {x, y});                                              \
  }
// An operator of integers, and one of bool.
#define LOCUS_ONNX_BITWISE(Functor, Operator, Logical)                                              \
  inline Value write(Recorder& graph, const functor::Functor&, const Value& x, const Value& y) {    \
    return graph.node(x.type() == DataType::boolean ? Logical : Operator, {x, y});                  \
  }
// A formula of several operators.
#define LOCUS_ONNX_FORMULA(Functor, ...)                                                            \
  inline Value write(Recorder& g, const functor::Functor&, const Value& x) { return __VA_ARGS__; }
// clang-format on

// Arithmetic

inline Value write(Recorder&, const functor::Identity&, const Value& x) { return x; }
LOCUS_ONNX_BINARY(Add, "Add")
LOCUS_ONNX_BINARY(Subtract, "Sub")
LOCUS_ONNX_BINARY(Multiply, "Mul")
/// ONNX rounds quotients of integers towards zero, Locus down: without the remainder, which has the divisor's sign, the
/// quotient is exact.
inline Value write(Recorder& graph, const functor::Divide&, const Value& x, const Value& y) {
  if (detail::is_floating(x.type())) return graph.node("Div", {x, y});
  return graph.node("Div", {graph.node("Sub", {x, graph.node("Mod", {x, y})}), y});
}
LOCUS_ONNX_UNARY(Negate, "Neg")
LOCUS_ONNX_BINARY(Power, "Pow")
LOCUS_ONNX_BINARY(Minimum, "Min")
LOCUS_ONNX_BINARY(Maximum, "Max")
inline Value write(Recorder& graph, const functor::Remainder&, const Value& x, const Value& y) {
  if (!detail::is_floating(x.type())) return graph.node("Mod", {x, y});
  return graph.node("Sub", {x, graph.node("Mul", {y, graph.node("Floor", {graph.node("Div", {x, y})})})});
}
inline Value write(Recorder& graph, const functor::Fmod&, const Value& x, const Value& y) {
  return graph.node("Mod", {x, y}, {{"fmod", 1}});
}
inline Value write(Recorder& graph, const functor::Clamp&, const Value& x, const Value& low, const Value& high) {
  return graph.node("Min", {graph.node("Max", {x, low}), high});
}
inline Value write(Recorder& graph, const functor::Where&, const Value& condition, const Value& x, const Value& y) {
  return graph.typed_node("Where", x.type(), {condition, x, y});
}
template <class R>
Value write(Recorder& graph, const functor::Choose<R>& f, const Value& condition) {
  return graph.typed_node("Where", data_type<R>(), {condition, graph.number(f.x), graph.number(f.y)});
}
template <class To>
Value write(Recorder& graph, const functor::Convert<To>&, const Value& x) {
  return exporting::cast(graph, x, data_type<To>());
}
inline Value write(Recorder& graph, const functor::Lerp&, const Value& a, const Value& b, const Value& w) {
  return graph.node("Add", {a, graph.node("Mul", {w, graph.node("Sub", {b, a})})});
}
inline Value write(Recorder& graph, const functor::Addcmul&, const Value& x, const Value& a, const Value& b,
                   const Value& factor) {
  return graph.node("Add", {x, graph.node("Mul", {factor, graph.node("Mul", {a, b})})});
}
inline Value write(Recorder& graph, const functor::Addcdiv&, const Value& x, const Value& a, const Value& b,
                   const Value& factor) {
  return graph.node("Add", {x, graph.node("Mul", {factor, graph.node("Div", {a, b})})});
}

// Powers, exponentials, logarithms, trigonometry, rounding

LOCUS_ONNX_UNARY(Exp, "Exp")
LOCUS_ONNX_UNARY(Log, "Log")
LOCUS_ONNX_UNARY(Sqrt, "Sqrt")
LOCUS_ONNX_UNARY(Reciprocal, "Reciprocal")
LOCUS_ONNX_UNARY(Erf, "Erf")
LOCUS_ONNX_UNARY(Abs, "Abs")
LOCUS_ONNX_UNARY(Sign, "Sign")
LOCUS_ONNX_UNARY(Floor, "Floor")
LOCUS_ONNX_UNARY(Ceil, "Ceil")
LOCUS_ONNX_UNARY(Round, "Round")
LOCUS_ONNX_UNARY(Sin, "Sin")
LOCUS_ONNX_UNARY(Cos, "Cos")
LOCUS_ONNX_UNARY(Tan, "Tan")
LOCUS_ONNX_UNARY(Asin, "Asin")
LOCUS_ONNX_UNARY(Acos, "Acos")
LOCUS_ONNX_UNARY(Atan, "Atan")
LOCUS_ONNX_UNARY(Sinh, "Sinh")
LOCUS_ONNX_UNARY(Cosh, "Cosh")
LOCUS_ONNX_UNARY(Asinh, "Asinh")
LOCUS_ONNX_UNARY(Acosh, "Acosh")
LOCUS_ONNX_UNARY(Atanh, "Atanh")
LOCUS_ONNX_FORMULA(Expm1, g.node("Sub", {g.node("Exp", {x}), g.number(1, x)}))
LOCUS_ONNX_FORMULA(Log1p, g.node("Log", {g.node("Add", {x, g.number(1, x)})}))
LOCUS_ONNX_FORMULA(Rsqrt, g.node("Reciprocal", {g.node("Sqrt", {x})}))
LOCUS_ONNX_FORMULA(Square, g.node("Mul", {x, x}))
LOCUS_ONNX_FORMULA(Exp2, g.node("Pow", {g.number(2, x), x}))
LOCUS_ONNX_FORMULA(Log2, g.node("Mul", {g.node("Log", {x}), g.number(1.4426950408889634, x)}))
LOCUS_ONNX_FORMULA(Log10, g.node("Mul", {g.node("Log", {x}), g.number(0.4342944819032518, x)}))
LOCUS_ONNX_FORMULA(Cbrt,
                   g.node("Mul", {g.node("Sign", {x}), g.node("Pow", {g.node("Abs", {x}), g.number(1.0 / 3, x)})}))
LOCUS_ONNX_FORMULA(Erfc, g.node("Sub", {g.number(1, x), g.node("Erf", {x})}))
LOCUS_ONNX_FORMULA(Logit, g.node("Log", {g.node("Div", {x, g.node("Sub", {g.number(1, x), x})})}))
LOCUS_ONNX_FORMULA(Trunc, g.node("Mul", {g.node("Sign", {x}), g.node("Floor", {g.node("Abs", {x})})}))
inline Value write(Recorder& graph, const functor::Hypot&, const Value& x, const Value& y) {
  return graph.node("Sqrt", {graph.node("Add", {graph.node("Mul", {x, x}), graph.node("Mul", {y, y})})});
}
inline Value write(Recorder& graph, const functor::Xlogy&, const Value& x, const Value& y) {
  const Value zero = graph.number(0, x), is_zero = exporting::predicate(graph, "Equal", {x, zero});
  return graph.typed_node("Where", x.type(), {is_zero, zero, graph.node("Mul", {x, graph.node("Log", {y})})});
}

/// The quotient's angle, turned by half a circle where x is negative.
inline Value write(Recorder& graph, const functor::Atan2&, const Value& y, const Value& x) {
  const Value zero = graph.number(0, x), pi = graph.number(3.141592653589793, x);
  const auto choose = [&](const char* condition, const Value& of, const Value& yes, const Value& no) {
    return graph.typed_node("Where", x.type(), {exporting::predicate(graph, condition, {of, zero}), yes, no});
  };
  const Value angle = graph.node("Atan", {graph.node("Div", {y, x})});
  const Value turn = choose("Less", y, graph.node("Neg", {pi}), pi);
  const Value upright = graph.node("Mul", {graph.node("Sign", {y}), graph.number(1.5707963267948966, x)});
  const Value beside = choose("Less", x, graph.node("Add", {angle, turn}), angle);
  return choose("Equal", x, upright, beside);
}
/// Giles' polynomials in w = -log((1 - x) (1 + x)) (Approximating the erfinv function, 2010), which are exact to 4e-7
/// of the result for float; for double, two steps of Newton's method follow, with ONNX's Erf. The end points are
/// infinite.
inline Value write(Recorder& graph, const functor::Erfinv&, const Value& x) {
  const auto n = [&](double number) { return graph.number(number, x); };
  const auto polynomial = [&](const Value& w, std::initializer_list<double> coefficients) {
    Value result;
    for (const double c : coefficients)
      result = result ? graph.node("Add", {graph.node("Mul", {result, w}), n(c)}) : n(c);
    return result;
  };
  const Value one = n(1);  // near the ends, (1 - x) (1 + x) keeps digits that 1 - x^2 loses
  const Value product = graph.node("Mul", {graph.node("Sub", {one, x}), graph.node("Add", {one, x})});
  const Value w = graph.node("Neg", {graph.node("Log", {product})});
  const Value centre = polynomial(graph.node("Sub", {w, n(2.5)}),
                                  {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                   -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  const Value tail = polynomial(graph.node("Sub", {graph.node("Sqrt", {w}), n(3)}),
                                {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                 -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  const Value is_centre = exporting::predicate(graph, "Less", {w, n(5)});
  Value y = graph.node("Mul", {x, graph.typed_node("Where", x.type(), {is_centre, centre, tail})});
  const Value slope = n(0.8862269254527580);  // sqrt(pi) / 2
  for (int step = 0; step < 2 && x.type() == DataType::float64; ++step) {
    const Value error = graph.node("Sub", {graph.node("Erf", {y}), x});
    const Value rise = graph.node("Mul", {slope, graph.node("Exp", {graph.node("Mul", {y, y})})});
    y = graph.node("Sub", {y, graph.node("Mul", {error, rise})});
  }
  const Value is_end = exporting::predicate(graph, "Equal", {product, n(0)});
  return graph.typed_node("Where", x.type(), {is_end, graph.node("Mul", {x, n(__builtin_inf())}), y});
}

// Comparison and logic

LOCUS_ONNX_COMPARISON(Equal, "Equal")
LOCUS_ONNX_COMPARISON(Less, "Less")
LOCUS_ONNX_COMPARISON(LessEqual, "LessOrEqual")
LOCUS_ONNX_COMPARISON(Greater, "Greater")
LOCUS_ONNX_COMPARISON(GreaterEqual, "GreaterOrEqual")
inline Value write(Recorder& graph, const functor::NotEqual&, const Value& x, const Value& y) {
  return graph.node("Not", {exporting::predicate(graph, "Equal", {x, y})});
}
inline Value write(Recorder& graph, const functor::LogicalAnd&, const Value& x, const Value& y) {
  return graph.node("And", {exporting::as_bool(graph, x), exporting::as_bool(graph, y)});
}
inline Value write(Recorder& graph, const functor::LogicalOr&, const Value& x, const Value& y) {
  return graph.node("Or", {exporting::as_bool(graph, x), exporting::as_bool(graph, y)});
}
LOCUS_ONNX_FORMULA(LogicalNot, g.node("Not", {exporting::as_bool(g, x)}))
LOCUS_ONNX_FORMULA(IsNan, exporting::predicate(g, "IsNaN", {x}))
LOCUS_ONNX_FORMULA(IsInf, exporting::predicate(g, "IsInf", {x}))
LOCUS_ONNX_FORMULA(IsFinite, g.node("Not", {g.node("Or", {exporting::predicate(g, "IsNaN", {x}),
                                                          exporting::predicate(g, "IsInf", {x})})}))
LOCUS_ONNX_BITWISE(BitAnd, "BitwiseAnd", "And")
LOCUS_ONNX_BITWISE(BitOr, "BitwiseOr", "Or")
LOCUS_ONNX_BITWISE(BitXor, "BitwiseXor", "Xor")
LOCUS_ONNX_FORMULA(BitNot, g.node(x.type() == DataType::boolean ? "Not" : "BitwiseNot", {x}))

// Activations

LOCUS_ONNX_UNARY(Tanh, "Tanh")
LOCUS_ONNX_UNARY(Sigmoid, "Sigmoid")
LOCUS_ONNX_UNARY(Relu, "Relu")
LOCUS_ONNX_UNARY(Hardswish, "HardSwish")
LOCUS_ONNX_UNARY(Mish, "Mish")
LOCUS_ONNX_UNARY(Softplus, "Softplus")
LOCUS_ONNX_UNARY(Softsign, "Softsign")
LOCUS_ONNX_UNARY(Gelu, "Gelu")
LOCUS_ONNX_FORMULA(GeluTanh, g.node("Gelu", {x}, {{"approximate", "tanh"}}))
LOCUS_ONNX_FORMULA(Silu, g.node("Mul", {x, g.node("Sigmoid", {x})}))
LOCUS_ONNX_FORMULA(Selu, g.node("Selu", {x}))
LOCUS_ONNX_FORMULA(Hardsigmoid, g.node("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}}))
inline Value write(Recorder& graph, const functor::Prelu&, const Value& x, const Value& slope) {
  return graph.node("PRelu", {x, slope});
}
template <class R>
Value write(Recorder& graph, const functor::LeakyRelu<R>& f, const Value& x) {
  return graph.node("LeakyRelu", {x}, {{"alpha", static_cast<float>(f.slope)}});
}
template <class R>
Value write(Recorder& graph, const functor::Elu<R>& f, const Value& x) {
  return graph.node("Elu", {x}, {{"alpha", static_cast<float>(f.alpha)}});
}
template <class R>
Value write(Recorder& graph, const functor::Celu<R>& f, const Value& x) {
  return graph.node("Celu", {x}, {{"alpha", static_cast<float>(f.alpha)}});
}
template <class R>
Value write(Recorder& graph, const functor::Hardtanh<R>& f, const Value& x) {
  return graph.node("Clip",
                    {x, graph.number(static_cast<double>(f.low), x), graph.number(static_cast<double>(f.high), x)});
}
template <class R>
Value write(Recorder& graph, const functor::Threshold<R>& f, const Value& x) {
  const Value is_low =
      exporting::predicate(graph, "LessOrEqual", {x, graph.number(static_cast<double>(f.threshold), x)});
  return graph.typed_node("Where", x.type(), {is_low, graph.number(static_cast<double>(f.value), x), x});
}
template <class R>
Value write(Recorder& graph, const functor::Softshrink<R>& f, const Value& x) {
  const float lambda = static_cast<float>(f.lambda);
  return graph.node("Shrink", {x}, {{"lambd", lambda}, {"bias", lambda}});
}
template <class R>
Value write(Recorder& graph, const functor::Hardshrink<R>& f, const Value& x) {
  return graph.node("Shrink", {x}, {{"lambd", static_cast<float>(f.lambda)}});
}
inline Value write(Recorder& graph, const functor::ChosenActivation& f, const Value& x) {
  Value y = x;
  f.visit([&](const auto& activation) { y = write(graph, activation, x); });
  return y;
}

#undef LOCUS_ONNX_UNARY
#undef LOCUS_ONNX_BINARY
#undef LOCUS_ONNX_COMPARISON
#undef LOCUS_ONNX_BITWISE
#undef LOCUS_ONNX_FORMULA

}}}  // namespace locus::LOCUS_ABI::onnx
