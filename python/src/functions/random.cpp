// New tensors: filled, counted, and of random numbers.

#include "../call.hpp"
#include "../functions.hpp"

#include <locus/ops/multinomial.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

namespace locus::python {

using namespace nb::literals;

namespace {
template <class... T, class F>
[[nodiscard]] Array made(const char* caller, Types<T...> types, const Dtype& dtype, const F& f) {
  const ElementType type = dtype.element_type(caller);
  const nb::gil_scoped_release released;
  return with_type<Array>(caller, types, type, [&]<class U>() { return Array(f.template operator()<U>()); });
}

void add_filled(nb::module_& m) {
  m.def(
      "zeros",
      [](Numerals shape, const Dtype& dtype) {
        return made("zeros", Every{}, dtype, [&]<class T>() { return zeros<T>(shape.dims(), Here{}); });
      },
      "shape"_a, "dtype"_a = Dtype{"float32"}, "A tensor of zeros.");
  m.def(
      "ones",
      [](Numerals shape, const Dtype& dtype) {
        return made("ones", Every{}, dtype, [&]<class T>() { return ones<T>(shape.dims(), Here{}); });
      },
      "shape"_a, "dtype"_a = Dtype{"float32"}, "A tensor of ones.");
  m.def(
      "full",
      [](Numerals shape, Operand value, const Dtype& dtype) {
        if (!detail::is_number(value.object)) throw nb::type_error("full: value is no number");
        NumberOr number{value};
        detail::take_in("full", number);
        return made("full", Numbers{}, dtype,
                    [&]<class T>() { return full<T>(shape.dims(), detail::number_in<T>("full", number), Here{}); });
      },
      "shape"_a, "value"_a, "dtype"_a = Dtype{"float32"}, "A tensor of one number.");
  m.def(
      "arange",
      [](double start, double end, double step, const Dtype& dtype) {
        return made("arange", Numbers{}, dtype, [&]<class T>() {
          if constexpr (FloatingDType<T>) return arange<T>(start, end, step, Here{});
          else return Tensor<T, Here>(arange<double>(start, end, step, Here{}).template as<T>());
        });
      },
      "start"_a, "end"_a, "step"_a = 1.0, "dtype"_a = Dtype{"float32"}, "start, start + step, ... before end.");
  m.def(
      "linspace",
      [](double start, double end, std::int64_t steps, const Dtype& dtype) {
        return made("linspace", Floats{}, dtype, [&]<class T>() { return linspace<T>(start, end, steps, Here{}); });
      },
      "start"_a, "end"_a, "steps"_a, "dtype"_a = Dtype{"float32"}, "Numbers at equal distances, both ends included.");
  m.def(
      "eye",
      [](std::int64_t size, const Dtype& dtype) {
        return made("eye", Floats{}, dtype, [&]<class T>() { return eye<T>(size, Here{}); });
      },
      "size"_a, "dtype"_a = Dtype{"float32"}, "Ones on the diagonal, zeros elsewhere.");
}

void add_draws(nb::module_& m) {
  m.def(
      "manual_seed", [](std::uint64_t seed) { manual_seed(seed); }, "seed"_a,
      "Seeds the random numbers; equal seeds give equal numbers on every machine.");
  m.def(
      "rand",
      [](Numerals shape, const Dtype& dtype) {
        return made("rand", Floats{}, dtype, [&]<class T>() { return rand<T>(shape.dims(), Here{}); });
      },
      "shape"_a, "dtype"_a = Dtype{"float32"}, "Uniform numbers in [0, 1).");
  m.def(
      "randn",
      [](Numerals shape, const Dtype& dtype) {
        return made("randn", Floats{}, dtype, [&]<class T>() { return randn<T>(shape.dims(), Here{}); });
      },
      "shape"_a, "dtype"_a = Dtype{"float32"}, "Standard normal numbers.");
  m.def(
      "normal",
      [](double mean, double deviation, Numerals shape, const Dtype& dtype) {
        return made("normal", Floats{}, dtype,
                    [&]<class T>() { return normal<T>(mean, deviation, shape.dims(), Here{}); });
      },
      "mean"_a, "deviation"_a, "shape"_a, "dtype"_a = Dtype{"float32"}, "Normal numbers.");
  m.def(
      "exponential",
      [](double rate, Numerals shape, const Dtype& dtype) {
        return made("exponential", Floats{}, dtype,
                    [&]<class T>() { return exponential<T>(rate, shape.dims(), Here{}); });
      },
      "rate"_a, "shape"_a, "dtype"_a = Dtype{"float32"}, "Exponentially distributed numbers, with mean 1 / rate.");
  m.def(
      "randint",
      [](std::int64_t low, std::int64_t high, Numerals shape, const Dtype& dtype) {
        return made("randint", Integers{}, dtype,
                    [&]<class T>() { return randint<T>(low, high, shape.dims(), Here{}); });
      },
      "low"_a, "high"_a, "shape"_a, "dtype"_a = Dtype{"int64"}, "Uniform integers from low to high - 1.");
  m.def(
      "bernoulli",
      [](double probability, Numerals shape, const Dtype& dtype) {
        return made("bernoulli", Floats{}, dtype,
                    [&]<class T>() { return bernoulli<T>(probability, shape.dims(), Here{}); });
      },
      "probability"_a, "shape"_a, "dtype"_a = Dtype{"float32"}, "1 with a probability, else 0.");
  m.def(
      "randperm",
      [](std::int64_t n) {
        const nb::gil_scoped_release released;
        return Array(randperm(n, Here{}));
      },
      "n"_a, "The numbers 0 ... n - 1 in random order, of int64.");
  m.def(
      "multinomial",
      [](Operand weights, std::int64_t count, bool replacement) {
        return call(
            "multinomial", Floats{}, [=](const auto& weights) { return multinomial(weights, count, replacement); },
            Main{weights});
      },
      "weights"_a, "count"_a, "replacement"_a = false,
      "Draws categories of each row, with probabilities in the ratios of its weights.");
}
}  // namespace

void add_random(nb::module_& m) {
  add_filled(m);
  add_draws(m);
}

}  // namespace locus::python
