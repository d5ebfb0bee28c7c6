// The parts of a call that do not depend on types.

#include "call.hpp"

namespace locus::python {

void require_one_place(const char* caller, const Place* places, std::size_t count, bool has_sides) {
  for (std::size_t i = 1; i < count; ++i) {
    if (is_one_place(places[i], places[0])) continue;
    const std::string first = to_string(places[0]), other = to_string(places[i]);
    const std::string text = has_sides && count == 2
                                 ? join(caller, ": left operand is on ", first, ", right operand is on ", other)
                                 : join(caller, ": one tensor is on ", first, ", another on ", other);
    throw nb::type_error(join(text, "; move one with .to(\"cpu\") or .to(\"cuda\")").c_str());
  }
}

void require_one_type(const char* caller, ElementType first, ElementType second) {
  if (first == second) return;
  throw nb::type_error(join(caller, ": the operands hold different element types, ", name_of(first), " and ",
                            name_of(second), "; convert one with .astype(\"", name_of(first), "\")")
                           .c_str());
}

void refuse_type(const char* caller, ElementType given, const std::string& expected) {
  throw nb::type_error(
      join(caller, ": the tensor holds ", name_of(given), "; expected ", expected, "; convert it with .astype")
          .c_str());
}

namespace detail {

bool is_number(nb::handle object) {
  if (PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr())) return true;
  if (nb::isinstance<Array>(object) || nb::hasattr(object, "__dlpack__")) return false;
  return nb::hasattr(object, "__float__");  // a scalar of NumPy
}

std::int64_t integer_of(nb::handle object) {
  const long long number = PyLong_AsLongLong(object.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

void take_in(const char* caller, NumberOr& parameter) {
  const nb::handle object = parameter.operand.object;
  if (!is_number(object)) parameter.array = array_here(caller, parameter.operand);
  else if (PyBool_Check(object.ptr())) parameter.number = nb::cast<bool>(object);
  else if (nb::hasattr(object, "__index__")) parameter.number = integer_of(object);
  else parameter.number = nb::cast<double>(nb::float_(nb::object(nb::borrow(object))));
}

void take_in(const char* caller, Indices& parameter) {
  parameter.array = array_here(caller, parameter.operand);
  const auto converted = visit_types<Array>(Integers{}, parameter.array, [](const auto& x) {
    return Array(Tensor<std::int64_t, Here>(x.template as<std::int64_t>()));
  });
  if (!converted) refuse_type(join(caller, ", indices").c_str(), parameter.array.type(), names_of(Integers{}));
  parameter.array = *converted;
}

void take_in(const char* caller, Mask& parameter) {
  parameter.array = array_here(caller, parameter.operand);
  if (parameter.array.type() != ElementType::boolean)
    refuse_type(join(caller, ", mask").c_str(), parameter.array.type(), "bool");
}

}  // namespace detail

}  // namespace locus::python
