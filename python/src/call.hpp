#pragma once
// A call from Python: imports the operands, checks that their places and element types agree, computes without the
// GIL, and records the operation if an operand is recorded.

#include "exchange.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <tuple>
#include <vector>

namespace locus::python {

/// Numbers of a shape or of axes: one number, or a sequence.
struct Numerals {
  std::vector<std::int64_t> values;
  [[nodiscard]] Dims dims() const { return Dims(values); }
};

// The kinds of parameters that are tensors. Main, Optional, NumberOr and List share the element type of the first of
// them, and are all traced if one is recorded.

/// A tensor.
struct Main {
  Operand operand;
  Array array = {};
};
/// A tensor or None, which becomes an empty tensor.
struct Optional {
  std::optional<Operand> operand;
  Array array = {};
};
/// A tensor, or a number, which takes the element type of the other operands.
struct NumberOr {
  Operand operand;
  Array array = {};
  Here place = {};  ///< of the other operands
  std::variant<std::monostate, bool, std::int64_t, double> number = {};
};
/// A list of tensors.
struct List {
  std::vector<Operand> operands;
  std::vector<Array> arrays = {};
};
/// Indices or labels, which collect no gradient: int32 is converted to int64.
struct Indices {
  Operand operand;
  Array array = {};
};
/// A tensor of bool.
struct Mask {
  Operand operand;
  Array array = {};
};

/// throws TypeError if operands are in several places
void require_one_place(const char* caller, const Place* places, std::size_t count, bool has_sides);
/// throws TypeError for two element types
void require_one_type(const char* caller, ElementType first, ElementType second);
/// throws TypeError that names the expected types
[[noreturn]] void refuse_type(const char* caller, ElementType given, const std::string& expected);

namespace detail {

// The steps of a call, for each kind of parameter: places, import, element type, tensor.

using Places = std::vector<Place>;
/// Whether an object is a number, of Python or a scalar of NumPy.
[[nodiscard]] bool is_number(nb::handle object);
/// throws Python's OverflowError for an integer of more than 64 bits
[[nodiscard]] std::int64_t integer_of(nb::handle object);

inline void add_place(const char* caller, Places& places, const Operand& operand) {
  places.push_back(place_of(caller, operand));
}
template <class P>
void add_places(const char* caller, Places& places, const P& parameter) {
  add_place(caller, places, parameter.operand);
}
inline void add_places(const char* caller, Places& places, const Optional& parameter) {
  if (parameter.operand) add_place(caller, places, *parameter.operand);
}
inline void add_places(const char* caller, Places& places, const NumberOr& parameter) {
  if (!is_number(parameter.operand.object)) add_place(caller, places, parameter.operand);
}
inline void add_places(const char* caller, Places& places, const List& parameter) {
  for (const Operand& operand : parameter.operands) add_place(caller, places, operand);
}

void take_in(const char* caller, NumberOr& parameter);
void take_in(const char* caller, Indices& parameter);
void take_in(const char* caller, Mask& parameter);
inline void take_in(const char* caller, Main& parameter) { parameter.array = array_here(caller, parameter.operand); }
inline void take_in(const char* caller, Optional& parameter) {
  if (parameter.operand) parameter.array = array_here(caller, *parameter.operand);
}
inline void take_in(const char* caller, List& parameter) {
  for (const Operand& operand : parameter.operands) parameter.arrays.push_back(array_here(caller, operand));
}

/// The element type that the parameters share, and whether one of them is recorded.
struct Common {
  std::optional<ElementType> type;
  Here place = {};
  bool is_recorded = false;
  void add(const char* caller, const Array& array) {
    if (!type) type = array.type(), place = array.place();
    require_one_type(caller, *type, array.type());
    is_recorded |= array.is_recorded();
  }
};

/// Calls f with each array that shares the element type.
template <class F>
void for_each_array(Main& parameter, const F& f) {
  f(parameter.array);
}
template <class F>
void for_each_array(Optional& parameter, const F& f) {
  if (parameter.operand) f(parameter.array);
}
template <class F>
void for_each_array(NumberOr& parameter, const F& f) {
  if (parameter.number.index() == 0) f(parameter.array);
}
template <class F>
void for_each_array(List& parameter, const F& f) {
  for (Array& array : parameter.arrays) f(array);
}
template <class F>
void for_each_array(Indices&, const F&) {}
template <class F>
void for_each_array(Mask&, const F&) {}

template <class P>
void put_beside(const P&, Here) {}
inline void put_beside(NumberOr& parameter, Here place) { parameter.place = place; }

template <class T, bool recorded>
[[nodiscard]] auto tensor_in(const Array& array) {
  if constexpr (recorded) {
    if (const auto* traced = std::get_if<Traced<T, Here>>(&array.traced)) return *traced;
    return trace(std::get<Tensor<T, Here>>(array.plain));
  } else return std::get<Tensor<T, Here>>(array.plain);
}

template <class T, bool recorded>
[[nodiscard]] auto operand_in(const char*, const Main& parameter) {
  return tensor_in<T, recorded>(parameter.array);
}
template <class T, bool recorded>
[[nodiscard]] auto operand_in(const char*, const Optional& parameter) {
  using X = decltype(tensor_in<T, recorded>(parameter.array));
  return parameter.operand ? tensor_in<T, recorded>(parameter.array) : X();
}
/// The number of a parameter that has one. throws ArgumentError for a fraction or an integer that T does not represent
template <class T>
[[nodiscard]] T number_in(const char* caller, const NumberOr& parameter) {
  return std::visit(
      [&]<class N>(const N& number) -> T {
        if constexpr (std::is_same_v<N, std::monostate>) return T();
        else if constexpr (std::is_same_v<N, double> && !FloatingDType<T>)
          fail<ArgumentError>({caller, ": the number ", number, " beside a tensor of ", name_of(element_type<T>),
                               "; choose another element type, as with .astype(\"float32\")"});
        else if constexpr (std::is_same_v<N, std::int64_t> && !FloatingDType<T>) {
          if (number != static_cast<std::int64_t>(static_cast<T>(number)))
            fail<ArgumentError>({caller, ": the number ", number, " does not fit ", name_of(element_type<T>),
                                 "; choose another element type, as with .astype(\"int64\")"});
          return static_cast<T>(number);
        } else return static_cast<T>(number);
      },
      parameter.number);
}
template <class T, bool recorded>
[[nodiscard]] auto operand_in(const char* caller, const NumberOr& parameter) {
  if (parameter.number.index() == 0) return tensor_in<T, recorded>(parameter.array);
  const Tensor<T, Here> scalar = full<T>({}, number_in<T>(caller, parameter), parameter.place);
  if constexpr (recorded) return trace(scalar);
  else return scalar;
}
template <class T, bool recorded>
[[nodiscard]] auto operand_in(const char*, const List& parameter) {
  std::vector<decltype(tensor_in<T, recorded>(parameter.arrays[0]))> tensors;
  for (const Array& array : parameter.arrays) tensors.push_back(tensor_in<T, recorded>(array));
  return tensors;
}
template <class T, bool recorded>
[[nodiscard]] auto operand_in(const char*, const Indices& parameter) {
  return std::get<Tensor<std::int64_t, Here>>(parameter.array.plain);
}
template <class T, bool recorded>
[[nodiscard]] auto operand_in(const char*, const Mask& parameter) {
  return std::get<Tensor<bool, Here>>(parameter.array.plain);
}

// The results of a call as arrays.

template <class T>
[[nodiscard]] Array result_of(const Tensor<T, Here>& x) {
  return x;
}
/// Without a node, nothing would collect a gradient: such a result is plain.
template <class T>
[[nodiscard]] Array result_of(const Traced<T, Here>& x) {
  return x.node() ? Array(x) : Array(x.value());
}
template <class E>
  requires locus::detail::is_expr<E>
[[nodiscard]] Array result_of(const E& x) {
  return result_of(x.eval());
}
[[nodiscard]] inline bool result_of(bool x) { return x; }
template <class X>
[[nodiscard]] std::vector<Array> result_of(const std::vector<X>& tensors) {
  std::vector<Array> arrays;
  for (const auto& x : tensors) arrays.push_back(result_of(x));
  return arrays;
}
template <class... X>
[[nodiscard]] auto result_of(const std::tuple<X...>& results) {
  return std::apply([](const auto&... x) { return std::tuple(result_of(x)...); }, results);
}

/// Calls f with each array of a result.
template <class F>
void for_each_result(bool, const F&) {}
template <class F>
void for_each_result(Array& result, const F& f) {
  f(result);
}
template <class F>
void for_each_result(std::vector<Array>& results, const F& f) {
  for (Array& result : results) f(result);
}
template <class... R, class F>
void for_each_result(std::tuple<R...>& results, const F& f) {
  std::apply([&](auto&... result) { (for_each_result(result, f), ...); }, results);
}

// Results in the memory of read-only operands.

template <class R, class P>
void protect_as(R& result, const P& parameter) {
  for_each_result(result, [&](Array& array) { array.protect_as(parameter.array); });
}
template <class R>
void protect_as(R& result, const List& parameter) {
  for (const Array& operand : parameter.arrays)
    for_each_result(result, [&](Array& array) { array.protect_as(operand); });
}

/// Whether a function of these element types computes tensors of 16 bits in float: it takes float, and not their type.
template <class... T>
[[nodiscard]] bool is_widened(Types<T...>, ElementType type) {
  constexpr bool takes_float = (std::is_same_v<T, float> || ...);
  return takes_float && (type == ElementType::float16 || type == ElementType::bfloat16) &&
         !((type == element_type<T>) || ...);
}
/// The element types that a function takes, for messages.
template <class... T>
[[nodiscard]] std::string names_taken(Types<T...> types) {
  constexpr bool takes_float = (std::is_same_v<T, float> || ...);
  if constexpr (takes_float) return names_of(Types<T..., half, bfloat16>{});
  else return names_of(types);
}

/// Whether a function has a gradient.
enum class Gradient : bool { no, yes };

template <Gradient gradient, class T, class F, class... P>
[[nodiscard]] auto compute(const char* caller, bool is_recorded, const F& f, const P&... parameters) {
  if constexpr (gradient == Gradient::yes && FloatingDType<T>) {
    if (is_recorded) return result_of(f(operand_in<T, true>(caller, parameters)...));
  }
  return result_of(f(operand_in<T, false>(caller, parameters)...));
}

template <Gradient gradient, class... T, class F, class... P>
[[nodiscard]] auto call(const char* caller, Types<T...> types, const F& f, P... parameters) {
  constexpr bool has_sides = sizeof...(P) == 2;
  Places places;
  places.reserve(8);
  (add_places(caller, places, parameters), ...);
  require_one_place(caller, places.data(), places.size(), has_sides);
  for (const Place& place : places) require_here(caller, place);
  (take_in(caller, parameters), ...);
  Common common;
  (for_each_array(parameters, [&](const Array& array) { common.add(caller, array); }), ...);
  if (!common.type) fail<ArgumentError>({caller, ": no tensor was given; expected at least one"});
  (put_beside(parameters, common.place), ...);

  using First = std::tuple_element_t<0, std::tuple<T...>>;
  using Result = decltype(compute<gradient, First>(caller, false, f, parameters...));
  std::optional<Result> result;
  {
    const nb::gil_scoped_release released;
    const bool widened = is_widened(types, *common.type);
    const auto computed = widened ? ElementType::float32 : *common.type;
    if (widened) (for_each_array(parameters, [](Array& array) { array = converted(array, element_type<float>); }), ...);
    (void)((computed == element_type<T> &&
            (result.emplace(compute<gradient, T>(caller, common.is_recorded, f, parameters...)), true)) ||
           ...);
    if (widened)
      for_each_result(*result, [&](Array& array) {
        if (array.type() == ElementType::float32) array = converted(array, *common.type);
      });
  }
  if (!result) refuse_type(caller, *common.type, names_taken(types));
  (protect_as(*result, parameters), ...);
  return std::move(*result);
}

}  // namespace detail

/// Calls f with the plain tensors of the parameters. `types` are the element types that f computes with. If float is
/// one of them, operands of 16 bits are converted to float, and results of float to the operands' type. throws
/// TypeError for another element type
template <class... T, class F, class... P>
[[nodiscard]] auto call(const char* caller, Types<T...> types, const F& f, P... parameters) {
  return detail::call<detail::Gradient::no>(caller, types, f, std::move(parameters)...);
}
/// As above, or with traced tensors if an operand is recorded.
template <class... T, class F, class... P>
[[nodiscard]] auto differentiable(const char* caller, Types<T...> types, const F& f, P... parameters) {
  return detail::call<detail::Gradient::yes>(caller, types, f, std::move(parameters)...);
}

/// The class Tensor, for operators.
[[nodiscard]] inline nb::class_<Array> tensor_class() { return nb::borrow<nb::class_<Array>>(nb::type<Array>()); }

/// Adds a function of the module whose first operand is named x, and the method of Tensor of that name.
template <class F, class... A>
void add_with_method(nb::module_& m, const char* name, const F& function, const A&... extra) {
  m.def(name, function, nb::arg("x"), extra...);
  tensor_class().def(name, function, extra...);
}

/// Values and indices of one of Locus's results, for named<"ValuesAndIndices">.
template <class R>
[[nodiscard]] auto both(const R& result) {
  const auto& [values, indices] = result;
  return std::tuple(values, indices);
}

/// A name of a NamedTuple of locus._results.
template <std::size_t n>
struct ResultName {
  char text[n] = {};
  constexpr ResultName(const char (&name)[n]) {
    for (std::size_t i = 0; i < n; ++i) text[i] = name[i];
  }
};
/// Several arrays as a NamedTuple of locus._results.
template <ResultName name, class... A>
struct Named {
  std::tuple<A...> parts;
};
template <ResultName name, class... A>
[[nodiscard]] Named<name, A...> named(std::tuple<A...> parts) {
  return {std::move(parts)};
}

}  // namespace locus::python

namespace nanobind::detail {

template <>
struct type_caster<locus::python::Numerals> {
  NB_TYPE_CASTER(locus::python::Numerals, const_name("int | collections.abc.Sequence[int]"))
  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::int64_t> number;
    if (number.from_python(source, flags, cleanup)) {
      value.values.assign(1, number.value);
      return true;
    }
    make_caster<std::vector<std::int64_t>> list;
    if (!list.from_python(source, flags, cleanup)) return false;
    value.values = std::move(list.value);
    return true;
  }
};

template <locus::python::ResultName name, class... A>
struct type_caster<locus::python::Named<name, A...>> {
  using Value = locus::python::Named<name, A...>;
  static constexpr auto Name = const_name("locus._results.") + const_name(name.text);
  template <class T>
  using Cast = Value;
  static handle from_cpp(const Value& value, rv_policy, cleanup_list*) {
    static PyObject* const type = object(module_::import_("locus._results").attr(name.text)).release().ptr();
    return std::apply([](const A&... part) { return handle(type)(part...).release(); }, value.parts);
  }
};

}  // namespace nanobind::detail
