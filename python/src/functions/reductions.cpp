// Reductions over one axis, several axes or all elements.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/cov.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/reduce.hpp>

#include <limits>

namespace locus::python {

using namespace nb::literals;

namespace {
[[nodiscard]] ReduceAxes axes_of(const std::optional<Numerals>& axis) {
  return axis ? ReduceAxes(axis->dims()) : ReduceAxes();
}

// NumPy's functions, such as np.mean(x), call the method with its own arguments dtype and out.
void refuse_given(const char* name, const nb::object& dtype, const nb::object& out) {
  if (!dtype.is_none() || !out.is_none())
    fail<ArgumentError>({name, ": ", out.is_none() ? "dtype" : "out", " is given; expected None: say ", name,
                         "(x).astype(...), and use the result"});
}

template <class... T, class F>
void add(nb::module_& m, const char* name, Types<T...> types, F f, const char* text) {
  const auto function = [name, types, f](Operand x, std::optional<Numerals> axis, bool keepdim) {
    const ReduceAxes axes = axes_of(axis);
    return differentiable(
        name, types, [&](const auto& x) { return f(x, axes, keepdim); }, Main{x});
  };
  m.def(name, function, "x"_a, "axis"_a = nb::none(), "keepdim"_a = false, text);
  tensor_class().def(
      name,
      [name, function](nb::handle x, std::optional<Numerals> axis, bool keepdim, nb::object dtype, nb::object out) {
        refuse_given(name, dtype, out);
        return function({x}, std::move(axis), keepdim);
      },
      "axis"_a = nb::none(), "keepdim"_a = false, nb::kw_only(), "dtype"_a = nb::none(), "out"_a = nb::none(), text);
}
template <class F>
void add_position(nb::module_& m, const char* name, F f, const char* text) {
  add_with_method(
      m, name,
      [name, f](Operand x, std::optional<int> axis, bool keepdim) {
        const ReduceAxes axes = axis ? ReduceAxes(*axis) : ReduceAxes();
        return call(
            name, Ordered{}, [&](const auto& x) { return f(x, axes, keepdim); }, Main{x});
      },
      "axis"_a = nb::none(), "keepdim"_a = false, text);
}
template <class F>
void add_moment(nb::module_& m, const char* name, F f, const char* text) {
  const auto function = [name, f](Operand x, std::optional<Numerals> axis, double correction, bool keepdim) {
    const ReduceAxes axes = axes_of(axis);
    const VarOptions options{.correction = correction, .keepdim = keepdim};
    return differentiable(
        name, Floats{}, [&](const auto& x) { return f(x, axes, options); }, Main{x});
  };
  m.def(name, function, "x"_a, "axis"_a = nb::none(), nb::kw_only(), "correction"_a = 1.0, "keepdim"_a = false, text);
  tensor_class().def(
      name,
      [name, function](nb::handle x, std::optional<Numerals> axis, double correction, bool keepdim,
                       std::optional<double> ddof, nb::object dtype, nb::object out) {
        refuse_given(name, dtype, out);
        return function({x}, std::move(axis), ddof.value_or(correction), keepdim);
      },
      "axis"_a = nb::none(), nb::kw_only(), "correction"_a = 1.0, "keepdim"_a = false, "ddof"_a = nb::none(),
      "dtype"_a = nb::none(), "out"_a = nb::none(), text);
}
}  // namespace

void add_reductions(nb::module_& m) {
  add(
      m, "sum", Numbers{}, [](const auto& x, const auto& axes, bool keepdim) { return sum(x, axes, keepdim); },
      "Sum over axes, all of them by default. Integers give int64.");
  add(
      m, "mean", Floats{}, [](const auto& x, const auto& axes, bool keepdim) { return mean(x, axes, keepdim); },
      "Mean over axes, all of them by default.");
  add(
      m, "prod", Numbers{}, [](const auto& x, const auto& axes, bool keepdim) { return prod(x, axes, keepdim); },
      "Product over axes, all of them by default. Integers give int64.");
  add(
      m, "max", Numbers{}, [](const auto& x, const auto& axes, bool keepdim) { return max(x, axes, keepdim); },
      "The largest element over axes, all of them by default. NaN wins.");
  add(
      m, "min", Numbers{}, [](const auto& x, const auto& axes, bool keepdim) { return min(x, axes, keepdim); },
      "The smallest element over axes, all of them by default. NaN wins.");
  add_position(
      m, "argmax", [](const auto& x, const auto& axes, bool keepdim) { return argmax(x, axes, keepdim); },
      "The position of the largest element along an axis, or of all; of equal ones the first.");
  add_position(
      m, "argmin", [](const auto& x, const auto& axes, bool keepdim) { return argmin(x, axes, keepdim); },
      "The position of the smallest element along an axis, or of all; of equal ones the first.");
  add_moment(
      m, "var", [](const auto& x, const auto& axes, const auto& options) { return var(x, axes, options); },
      "Variance over axes, all of them by default; divided by the count less the correction.");
  add_moment(
      m, "std", [](const auto& x, const auto& axes, const auto& options) { return stddev(x, axes, options); },
      "Standard deviation over axes, all of them by default.");
  add_with_method(
      m, "norm",
      [](Operand x, double p, std::optional<Numerals> axis, bool keepdim) {
        const ReduceAxes axes = axes_of(axis);
        return differentiable(
            "norm", Floats{}, [&](const auto& x) { return norm(x, p, axes, keepdim); }, Main{x});
      },
      "p"_a = 2.0, "axis"_a = nb::none(), "keepdim"_a = false, "Vector norm of any order over axes.");
  m.def(
      "count_nonzero",
      [](Operand x, std::optional<Numerals> axis, bool keepdim) {
        const ReduceAxes axes = axes_of(axis);
        return call(
            "count_nonzero", Ordered{}, [&](const auto& x) { return count_nonzero(x, axes, keepdim); }, Main{x});
      },
      "x"_a, "axis"_a = nb::none(), "keepdim"_a = false, "The number of nonzero elements over axes.");
  m.def(
      "cov",
      [](Operand x, double correction) {
        return differentiable(
            "cov", Floats{}, [=](const auto& x) { return cov(x, correction); }, Main{x});
      },
      "x"_a, "correction"_a = 1.0, "Covariances between every two rows.");
  m.def(
      "corrcoef",
      [](Operand x) {
        return differentiable(
            "corrcoef", Floats{}, [](const auto& x) { return corrcoef(x); }, Main{x});
      },
      "x"_a, "Correlation coefficients between every two rows.");
}

}  // namespace locus::python
