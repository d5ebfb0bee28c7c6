#pragma once
// Random tensors of the gamma, Poisson and binomial distributions. Not part of locus/locus.hpp. Element i depends on
// (seed, offset + i) alone, as for the fills of tensor/random.hpp, and rejected candidates change no other element.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/core/rejection.hpp>
#include <locus/expr/elementwise.hpp>
#include <locus/ops/reduction.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/host_reads.hpp>
#include <locus/tensor/random.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// A number of the sampler's distribution, of parameters that are read as In.
template <class T, class Sampler, class... In>
struct SampledElement {
  static constexpr bool takes_long = true;
  std::uint64_t seed = 0, offset = 0;
  Sampler sampler;
  LOCUS_FN void operator()(std::int64_t index, compute_t<In>... in, compute_t<T>& out) const {
    Subsequence numbers(seed, offset + static_cast<std::uint64_t>(index), Sampler::stream);
    out = static_cast<compute_t<T>>(sampler.template draw<T>(numbers, static_cast<double>(in)...));
  }
};

/// The smallest normal number of T: a gamma-distributed number is not below it, so that its logarithm is finite.
template <class T>
LOCUS_FN constexpr double smallest_normal() {
  return std::is_same_v<T, double> ? 0x1p-1022 : std::is_same_v<T, half> ? 0x1p-14 : 0x1p-126;
}

struct GammaSampler {
  static constexpr auto stream = stream_of_gammas;
  template <class T>
  LOCUS_FN double draw(Subsequence& numbers, double concentration) const {
    const GammaDraw drawn = gamma_draw(concentration, numbers);
    const double x = drawn.log_factor == 0.0 ? drawn.value : drawn.value * math::exp(drawn.log_factor);
    return x < smallest_normal<T>() ? smallest_normal<T>() : x;
  }
};
struct PoissonSampler {
  static constexpr auto stream = stream_of_poissons;
  template <class T>
  LOCUS_FN double draw(Subsequence& numbers, double rate) const {
    return poisson_draw(rate, numbers);
  }
};
struct BinomialSampler {
  static constexpr auto stream = stream_of_binomials;
  template <class T>
  LOCUS_FN double draw(Subsequence& numbers, double count, double probability) const {
    return binomial_draw(count, probability, numbers);
  }
};

/// One launch of a sampler over parameters that broadcast to `shape`.
template <class T, class D, class Source, class Sampler, class... In>
[[nodiscard]] Tensor<T, D> sampled(const Shape& shape, const Source& source, const Sampler& sampler,
                                   const Tensor<In, D>&... parameter) {
  const Tuple<Tensor<In, D>...> given{parameter.expand(shape)...};
  const D device = get<0>(given).device();
  const Tensor<T, D> out(shape, device);
  require_same_ordinal("random numbers", out, parameter...);
  unpack(given, [&](const auto&... in) {
    const auto plan =
        make_plan<2 + static_cast<int>(sizeof...(In))>(shape, {operand_of(out), operand_of(in)..., operand_of(out)});
    const auto advanced = [source, sampler, count = out.elements()] {
      const Generator<D> numbers = source(count);
      return SampledElement<T, Sampler, In...>{numbers.seed, numbers.offset, sampler};
    };
    map_anew(device, plan, advanced, Pack<LinearIndex, const In*...>(LinearIndex{}, in.data()...),
             Pack<T*>(out.data()));
  });
  return out;
}

/// throws ArgumentError naming the first element that `valid` rejects, if the host can read them
template <class T, class D, class Valid>
void require_parameter(const char* function, const char* parameter, const Tensor<T, D>& given, const char* expected,
                       const Valid& valid) {
  check_elements(given, [&](T element, std::int64_t position) {
    const auto number = static_cast<double>(load_as_register(element));
    if (!valid(number))
      fail<ArgumentError>({function, ": ", parameter, " is ", number, " at element ", position, " of shape ",
                           given.shape(), "; expected ", expected});
  });
}
template <class T, class D>
void require_concentration(const char* function, const Tensor<T, D>& given) {
  require_parameter(function, "the concentration", given, "more than 0, finite",
                    [](double x) { return x > 0 && x < __builtin_inf(); });
}
template <class T, class D>
void require_rate(const char* function, const Tensor<T, D>& given) {
  require_parameter(function, "the rate", given, "0 or more, finite",
                    [](double x) { return x >= 0 && x < __builtin_inf(); });
}
template <class T, class D>
void require_count(const char* function, const Tensor<T, D>& given) {
  require_parameter(function, "the number of trials", given, "a whole number, 0 or more",
                    [](double x) { return x >= 0 && x < __builtin_inf() && __builtin_floor(x) == x; });
}
template <class T, class D>
void require_probability(const char* function, const Tensor<T, D>& given) {
  require_parameter(function, "the probability", given, "0 to 1", [](double x) { return x >= 0 && x <= 1; });
}

/// g times the derivative of a gamma-distributed number y by its concentration.
struct GammaPull {
  static constexpr bool takes_long = true;
  static constexpr bool differentiable = false;
  template <class R>
  LOCUS_FN R operator()(R g, R concentration, R y) const {
    return g == R(0) ? R(0) : g * math::gamma_slope(concentration, y);
  }
};

/// Draws whose gradient is known in backward mode alone.
template <class T>
constexpr void require_recorded_draw() {
  static_assert(!is_dual<T>,
                "a draw has no derivative in forward mode by concentrations; differentiate in backward mode");
}

}  // namespace detail

namespace operation {

/// The gradient is that of the number at the same probability: implicit reparametrization (Figurnov, Mohamed and Mnih,
/// 2018).
template <class Source>
struct Gamma {
  static constexpr const char* name = "gamma";
  Source source;

  template <class T, class D>
  auto forward(const Tensor<T, D>& concentration) const {
    detail::require_recorded_draw<T>();
    detail::require_concentration(name, concentration);
    const Tensor<T, D> y = detail::sampled<T>(concentration.shape(), source, detail::GammaSampler{}, concentration);
    return Forwarded{y, Tuple(concentration, y)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& da) const {
    detail::map_to(da, detail::GammaPull{}, g, get<0>(saved), get<1>(saved));
  }
};

}  // namespace operation

namespace detail {

template <class X>
concept PlainFloatingOperand = FloatingOperand<X> && bare_t<X>::role == Role::plain;
/// Two operands of random numbers without a gradient: a tensor, and a tensor or number.
template <class L, class R>
concept PlainFloatingPair =
    Combinable<L, R> && FloatingOrNumber<L> && FloatingOrNumber<R> &&
    (!TensorLike<L> || bare_t<L>::role == Role::plain) && (!TensorLike<R> || bare_t<R>::role == Role::plain);

/// The mistake in drawing for the elements of X from a generator of E.
template <class X, class E>
struct DrawMistake : FloatingMistake<X> {};
template <HasPlace X, class E>
  requires IsWrong<FloatingMistake<X>, Wrong::nothing>
struct DrawMistake<X, E> : GeneratorMistake<device_of<X>, E> {};

/// A number as a tensor of one element, or the tensor itself.
template <class T, class D, class X>
[[nodiscard]] Tensor<T, D> as_parameter(const X& x, [[maybe_unused]] D device) {
  if constexpr (Scalar<X>) return full<T>({}, x, device);
  else return x.eval().value();
}

template <class T, class D, class Source>
[[nodiscard]] Tensor<T, D> poisson(const Shape& shape, const Tensor<T, D>& rate, const Source& source) {
  require_rate("poisson", rate);
  return sampled<T>(shape, source, PoissonSampler{}, rate);
}
template <class T, class D, class Source>
[[nodiscard]] Tensor<T, D> binomial(const Shape& shape, const Tensor<T, D>& count, const Tensor<T, D>& probability,
                                    const Source& source) {
  require_count("binomial", count);
  require_probability("binomial", probability);
  return sampled<T>(shape, source, BinomialSampler{}, count, probability);
}
template <class N, class P, class Source>
[[nodiscard]] auto binomial_of(const N& count, const P& probability, const Source& source) {
  using T = typename CommonValue<N, P>::type;
  const auto device = [&] {
    if constexpr (TensorLike<N>) return count.device();
    else return probability.device();
  }();
  const auto n = as_parameter<T>(count, device), p = as_parameter<T>(probability, device);
  return binomial(broadcast(n.shape(), p.shape(), "binomial"), n, p, source);
}
template <class T, class D, class Source>
[[nodiscard]] Tensor<T, D> gamma_of_number(double concentration, const Shape& shape, D device, const Source& source) {
  const Tensor<T, D> given = full<T>({}, concentration, device);
  require_concentration("gamma", given);
  return sampled<T>(shape, source, GammaSampler{}, given);
}

}  // namespace detail

/// Gamma-distributed with rate 1 and a concentration for each element; of mean and variance `concentration`.
/// gradient: g dy/da at the same probability, as torch.distributions.Gamma.rsample, to 1e-9
/// cost:  one launch, some 50 ns for each element and thread; backward one
/// throws ArgumentError for a concentration that is not above 0, if the host can read it; on a GPU the number is NaN
///
///     auto waiting = gamma(variable(concentration)) / rate;
template <detail::FloatingOperand X>
[[nodiscard]] auto gamma(const X& concentration) {
  const auto source = detail::draw_from_default<device_of<X>>;
  return apply(operation::Gamma<decltype(source)>{source}, concentration);
}
template <detail::FloatingOperand X>
[[nodiscard]] auto gamma(const X& concentration, Generator<device_of<X>>& generator) {
  const auto source = detail::draw_from(generator);
  return apply(operation::Gamma<decltype(source)>{source}, concentration);
}
/// One concentration for a tensor of this shape.
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> gamma(double concentration, const Shape& shape, Generator<D>& generator, D device = {}) {
  return detail::gamma_of_number<T>(concentration, shape, device, detail::draw_from(generator));
}
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> gamma(double concentration, const Shape& shape, D device = {}) {
  return detail::gamma_of_number<T>(concentration, shape, device, detail::draw_from_default<D>);
}

/// Poisson-distributed with a rate for each element: whole numbers as floating-point numbers, without a gradient.
/// cost:  one launch
/// throws ArgumentError for a rate that is negative or not finite, if the host can read it; on a GPU the number is NaN
template <detail::PlainFloatingOperand X>
[[nodiscard]] auto poisson(const X& rate) {
  const auto given = rate.eval().value();
  return detail::poisson(given.shape(), given, detail::draw_from_default<device_of<X>>);
}
template <detail::PlainFloatingOperand X>
[[nodiscard]] auto poisson(const X& rate, Generator<device_of<X>>& generator) {
  const auto given = rate.eval().value();
  return detail::poisson(given.shape(), given, detail::draw_from(generator));
}
/// One rate for a tensor of this shape.
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> poisson(double rate, const Shape& shape, Generator<D>& generator, D device = {}) {
  return detail::poisson(shape, Tensor<T, D>(full<T>({}, rate, device)), detail::draw_from(generator));
}
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> poisson(double rate, const Shape& shape, D device = {}) {
  return detail::poisson(shape, Tensor<T, D>(full<T>({}, rate, device)), detail::draw_from_default<D>);
}

/// The number of successes of `count` trials, of a probability each; both tensors, or one a number. Without a gradient.
/// cost:  one launch
/// throws ShapeError unless the shapes broadcast; ArgumentError for a count that is negative or no whole number, or a
///        probability outside of 0 to 1, if the host can read them; on a GPU the number is NaN
///
///     auto heads = binomial(10, from({0.25f, 0.5f}));
template <class N, class P>
  requires detail::PlainFloatingPair<N, P>
[[nodiscard]] auto binomial(const N& count, const P& probability) {
  return detail::binomial_of(count, probability,
                             detail::draw_from_default<device_of<detail::first_with_place_t<N, P>>>);
}
template <class N, class P>
  requires detail::PlainFloatingPair<N, P>
[[nodiscard]] auto binomial(const N& count, const P& probability,
                            Generator<device_of<detail::first_with_place_t<N, P>>>& generator) {
  return detail::binomial_of(count, probability, detail::draw_from(generator));
}
/// One count and probability for a tensor of this shape.
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> binomial(std::int64_t count, double probability, const Shape& shape, Generator<D>& generator,
                                    D device = {}) {
  return detail::binomial(shape, Tensor<T, D>(full<T>({}, count, device)),
                          Tensor<T, D>(full<T>({}, probability, device)), detail::draw_from(generator));
}
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> binomial(std::int64_t count, double probability, const Shape& shape, D device = {}) {
  return detail::binomial(shape, Tensor<T, D>(full<T>({}, count, device)),
                          Tensor<T, D>(full<T>({}, probability, device)), detail::draw_from_default<D>);
}

#include <locus/refuse/ops/random.inc>

}}  // namespace locus::LOCUS_ABI
