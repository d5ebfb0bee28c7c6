#pragma once
// Random tensors. Element i depends on (seed, offset + i) alone, so equal seeds give equal tensors on every device
// (randn: to rounding). Without a generator they draw from the device's default one; see manual_seed.

#include <locus/core/generator.hpp>
#include <locus/core/system/out_of_memory.hpp>
#include <locus/tensor/from.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// One launch of f(index, out&) over a new tensor.
template <class T, Device D, class F>
[[nodiscard]] Tensor<T, D> from_indices(const Shape& shape, D device, const F& f) {
  Tensor<T, D> out(shape, device);
  const auto plan = make_plan<2>(shape, {operand_of(out), operand_of(out)});
  Backend<D>::map(device, plan, f, Pack<LinearIndex>(LinearIndex{}), Pack<T*>(out.data()));
  return out;
}

/// A function draw(count) on a given generator, which must outlive the function.
template <class D>
[[nodiscard]] auto draw_from(Generator<D>& generator) {
  return [&generator](std::int64_t count) {
    restore_if_abandoned(generator);
    return Generator<D>{generator.seed, generator.reserve(count)};
  };
}

/// One launch of element(index, out&) over a new tensor, with the seed and offset that draw(count) gives, also in each
/// replay.
template <class T, Device D, class Draw, class Element>
[[nodiscard]] Tensor<T, D> randomly(const Shape& shape, D device, const Draw& draw, Element element) {
  Tensor<T, D> out(shape, device);
  const auto plan = make_plan<2>(shape, {operand_of(out), operand_of(out)});
  const auto advanced = [draw, element, count = out.elements()] {
    const Generator<D> numbers = draw(count);
    Element next = element;
    next.seed = numbers.seed;
    next.offset = numbers.offset;
    return next;
  };
  map_anew(device, plan, advanced, Pack<LinearIndex>(LinearIndex{}), Pack<T*>(out.data()));
  return out;
}

/// Uniform in [0, 1), also after rounding: uses as many random bits as T has digits.
template <class T>
struct UniformElement {
  std::uint64_t seed = 0, offset = 0;
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    const std::uint64_t position = offset + static_cast<std::uint64_t>(index);
    if constexpr (std::is_same_v<T, double>) {
      out = uniform_double(seed, position, stream_of_64_bits);
    } else if constexpr (is_16_bit_float<T>) {
      constexpr int digits = std::is_same_v<T, half> ? 11 : 8;
      const std::uint32_t bits = random_bits(seed, position, stream_of_32_bits) >> (32 - digits);
      out = static_cast<float>(static_cast<std::int32_t>(bits)) * (1.0f / static_cast<float>(1 << digits));
    } else {
      out = uniform(seed, position, stream_of_32_bits);
    }
  }
};

template <class T>
struct NormalElement {
  static constexpr bool takes_long = true;
  std::uint64_t seed = 0, offset = 0;
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    const std::uint64_t position = offset + static_cast<std::uint64_t>(index);
    if constexpr (std::is_same_v<T, double>) out = normal_double(seed, position, stream_of_double_normals);
    else out = standard_normal(seed, position, stream_of_normals);
  }
};

/// Real and imaginary part of variance 1/2, so that the mean of |z|^2 is 1.
template <class R>
struct NormalElement<Complex<R>> {
  static constexpr bool takes_long = true;
  std::uint64_t seed = 0, offset = 0;
  LOCUS_FN void operator()(std::int64_t index, Complex<R>& out) const {
    constexpr R scale = static_cast<R>(0.70710678118654752440);
    const std::uint64_t position = offset + static_cast<std::uint64_t>(index);
    const PhiloxBlock lanes = random_block(seed, position, stream_of_complex_normals);
    NormalPair<R> parts;
    if constexpr (std::is_same_v<R, double>) parts = normal_pair_double(lanes);
    else parts = normal_pair(lanes.x, lanes.y);
    out = {scale * parts.first, scale * parts.second};
  }
};

/// mean + deviation z for standard normal z
template <class T>
struct ScaledNormalElement : NormalElement<T> {
  compute_t<T> mean, deviation;
  ScaledNormalElement(double centre, double spread)
      : mean(finite_as<compute_t<T>>("normal", "the mean", centre)),
        deviation(finite_as<compute_t<T>>("normal", "the standard deviation", spread)) {
    if (spread < 0) fail<ArgumentError>({"normal: a standard deviation of ", spread, "; expected 0 or more"});
  }
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    NormalElement<T>::operator()(index, out);
    out = mean + deviation * out;
  }
};

/// -log(u) / rate for uniform u in (0, 1], from 32 random bits, or 53 for double
template <class T>
struct ExponentialElement {
  static constexpr bool takes_long = true;
  std::uint64_t seed = 0, offset = 0;
  compute_t<T> rate;
  explicit ExponentialElement(double given) : rate(finite_as<compute_t<T>>("exponential", "the rate", given)) {
    if (!(rate > 0)) fail<ArgumentError>({"exponential: a rate of ", given, "; expected more than 0"});
  }
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    const std::uint64_t position = offset + static_cast<std::uint64_t>(index);
    compute_t<T> u = 1;
    if constexpr (std::is_same_v<T, double>) u -= uniform_double(seed, position, stream_of_64_bits);
    else u = static_cast<float>(random_bits(seed, position, stream_of_32_bits)) * 0x1p-32f + 0x1p-33f;
    out = (0 - random_log(u)) / rate;
  }
};

/// Uses 64 random bits, so the bias is below (high - low) / 2^64.
template <class T>
struct RandintElement {
  std::uint64_t seed = 0, offset = 0;
  std::int64_t low;
  std::uint64_t range;

  RandintElement(std::int64_t from, std::int64_t to)
      : low(from), range(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) {
    if (from < to && static_cast<std::int64_t>(static_cast<T>(from)) == from &&
        static_cast<std::int64_t>(static_cast<T>(to - 1)) == to - 1) {
      return;
    }
    fail<ArgumentError>(
        {"randint: from ", from, " to below ", to, "; expected low < high, both within ", dtype_name<T>()});
  }
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    const std::uint64_t position = offset + static_cast<std::uint64_t>(index);
    const PhiloxBlock lanes = random_block(seed, position / 2, stream_of_64_bits);
    const std::uint64_t bits =
        position % 2 ? std::uint64_t{lanes.z} << 32 | lanes.w : std::uint64_t{lanes.x} << 32 | lanes.y;
    out = static_cast<compute_t<T>>(static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + bits % range));
  }
};

/// 1 where 32 random bits, as a number, lie below probability * 2^32.
template <class T>
struct BernoulliElement {
  std::uint64_t seed = 0, offset = 0, below = 0;

  explicit BernoulliElement(double probability) {
    if (!(probability >= 0 && probability <= 1))
      fail<ArgumentError>({"bernoulli: a probability of ", probability, "; expected 0 to 1"});
    below = static_cast<std::uint64_t>(__builtin_round(probability * 0x1p32));
  }
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    const std::uint32_t bits = random_bits(seed, offset + static_cast<std::uint64_t>(index), stream_of_32_bits);
    out = static_cast<compute_t<T>>(bits < below);
  }
};

/// The mistake in using a generator of E for a tensor explicitly on D.
template <class D, class E>
struct GeneratorMistake : NoMistake {};
template <class D, class E>
  requires(!std::is_void_v<D> && !std::is_same_v<D, E>)
struct GeneratorMistake<D, E>
    : MistakeOf<Wrong::places,
                error::device_mismatch<error::tensor_is_on<D>, error::generator_is_on<E>,
                                       error::make_the_generator_for_the_device_of_the_tensor>,
                D, E> {};

}  // namespace detail

/// Uniform in [0, 1).
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> rand(const Shape& shape, Generator<D>& generator, D device = {}) {
  return detail::randomly<T>(shape, device, detail::draw_from(generator), detail::UniformElement<T>{});
}
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> rand(const Shape& shape, D device = {}) {
  return detail::randomly<T>(shape, device, detail::draw_from_default<D>, detail::UniformElement<T>{});
}

/// Standard normal. Complex numbers have real and imaginary parts of variance 1/2.
template <DifferentiableDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> randn(const Shape& shape, Generator<D>& generator, D device = {}) {
  return detail::randomly<T>(shape, device, detail::draw_from(generator), detail::NormalElement<T>{});
}
template <DifferentiableDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> randn(const Shape& shape, D device = {}) {
  return detail::randomly<T>(shape, device, detail::draw_from_default<D>, detail::NormalElement<T>{});
}

/// Normal with a mean and a standard deviation. Devices agree to rounding.
/// throws ArgumentError unless both are finite in the type of computation and the deviation is 0 or more
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> normal(double mean, double deviation, const Shape& shape, Generator<D>& generator,
                                  D device = {}) {
  const detail::ScaledNormalElement<T> element(mean, deviation);
  return detail::randomly<T>(shape, device, detail::draw_from(generator), element);
}
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> normal(double mean, double deviation, const Shape& shape, D device = {}) {
  const detail::ScaledNormalElement<T> element(mean, deviation);
  return detail::randomly<T>(shape, device, detail::draw_from_default<D>, element);
}

/// Exponentially distributed, with mean 1 / rate. Devices agree to rounding. throws ArgumentError unless rate > 0
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> exponential(double rate, const Shape& shape, Generator<D>& generator, D device = {}) {
  const detail::ExponentialElement<T> element(rate);
  return detail::randomly<T>(shape, device, detail::draw_from(generator), element);
}
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> exponential(double rate, const Shape& shape, D device = {}) {
  const detail::ExponentialElement<T> element(rate);
  return detail::randomly<T>(shape, device, detail::draw_from_default<D>, element);
}

/// Uniform integers from low to high - 1. throws ArgumentError unless low < high, and low and high - 1 fit T
template <IntegerDType T = std::int64_t, Device D = Cpu>
[[nodiscard]] Tensor<T, D> randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator<D>& generator,
                                   D device = {}) {
  const detail::RandintElement<T> element(low, high);
  return detail::randomly<T>(shape, device, detail::draw_from(generator), element);
}
template <IntegerDType T = std::int64_t, Device D = Cpu>
[[nodiscard]] Tensor<T, D> randint(std::int64_t low, std::int64_t high, const Shape& shape, D device = {}) {
  const detail::RandintElement<T> element(low, high);
  return detail::randomly<T>(shape, device, detail::draw_from_default<D>, element);
}

/// 1 with the given probability, else 0: bitwise equal on every device. The probability is rounded to a multiple of
/// 2^-32; 0 and 1 are exact. throws ArgumentError unless it is 0 to 1
template <DType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> bernoulli(double probability, const Shape& shape, Generator<D>& generator, D device = {}) {
  const detail::BernoulliElement<T> element(probability);
  return detail::randomly<T>(shape, device, detail::draw_from(generator), element);
}
template <DType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> bernoulli(double probability, const Shape& shape, D device = {}) {
  const detail::BernoulliElement<T> element(probability);
  return detail::randomly<T>(shape, device, detail::draw_from_default<D>, element);
}

namespace detail {
/// The numbers 0 ... n - 1 in the random order of draw(n).
template <class T, class D, class Draw>
[[nodiscard]] Tensor<T, D> randomly_ordered(std::int64_t n, D device, const Draw& draw) {
  if (n < 0 || (n > 0 && static_cast<std::int64_t>(static_cast<T>(n - 1)) != n - 1)) {
    fail<ArgumentError>({"randperm: ", n, " numbers; expected 0 or more, within ", dtype_name<T>()});
  }
  auto numbers = vector_of<std::int64_t>(n, "randperm", "numbers");
  for (std::int64_t i = 0; i < n; ++i) numbers[static_cast<std::size_t>(i)] = i;
  const Generator<D> generator = draw(n);
  Philox engine(generator.seed, generator.offset, stream_of_orders);
  shuffle(numbers, engine);
  return written_by<T>({n}, device, [&](T* out) {
    for (const auto number : numbers) *out++ = static_cast<T>(number);
  });
}
}  // namespace detail

/// The numbers 0 ... n - 1 in random order, every order equally likely. Shuffled on the host.
/// throws ArgumentError for a negative n, or if n - 1 does not fit T; OutOfMemory
template <IntegerDType T = std::int64_t, MemorySpace D = Cpu>
[[nodiscard]] Tensor<T, D> randperm(std::int64_t n, Generator<D>& generator, D device = {}) {
  return detail::randomly_ordered<T>(n, device, detail::draw_from(generator));
}
template <IntegerDType T = std::int64_t, MemorySpace D = Cpu>
[[nodiscard]] Tensor<T, D> randperm(std::int64_t n, D device = {}) {
  return detail::randomly_ordered<T>(n, device, detail::draw_from_default<D>);
}

template <class T = void, detail::HasPlace X>
  requires FloatingDType<std::conditional_t<std::is_void_v<T>, value_of<X>, T>>
[[nodiscard]] auto rand_like(const X& x) {
  return rand<std::conditional_t<std::is_void_v<T>, value_of<X>, T>>(x.shape(), x.device());
}
template <class T = void, detail::HasPlace X>
  requires DifferentiableDType<std::conditional_t<std::is_void_v<T>, value_of<X>, T>>
[[nodiscard]] auto randn_like(const X& x) {
  return randn<std::conditional_t<std::is_void_v<T>, value_of<X>, T>>(x.shape(), x.device());
}

#include <locus/refuse/tensor/random.inc>

}}  // namespace locus::LOCUS_ABI
