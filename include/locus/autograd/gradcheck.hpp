#pragma once
// Compares the gradients of a function with finite differences: the test for every new operation.

#include <locus/autograd/parameter.hpp>
#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct GradcheckOptions {
  double step = 1e-5;      ///< half the distance of the central difference
  double absolute = 1e-6;  ///< tolerated difference, plus `relative` times the numerical gradient
  double relative = 1e-4;
  std::uint64_t seed = 1;  ///< seed of the random cotangent
};

/// Result of gradcheck: true if all gradients agree; otherwise its text names the first gradient that does not.
class GradcheckResult {
 public:
  GradcheckResult() = default;
  explicit GradcheckResult(std::string difference) : difference_(std::move(difference)) {}
  [[nodiscard]] explicit operator bool() const { return difference_.empty(); }
  [[nodiscard]] const std::string& what() const { return difference_; }

 private:
  std::string difference_;
};

namespace detail {

/// throws ArgumentError for options with which nothing would be checked
LOCUS_OUT_OF_LINE inline void require_valid(const GradcheckOptions& options) {
  require_not_negative("gradcheck", "step", options.step);
  if (options.step == 0) fail<ArgumentError>({"gradcheck: step is 0; expected a positive number"});
  require_not_negative("gradcheck", "absolute", options.absolute);
  require_not_negative("gradcheck", "relative", options.relative);
}

/// The parts of a complex number as numbers; other numbers as they are.
template <class T>
[[nodiscard]] real_t<T>* numbers_of(T* data) {
  return reinterpret_cast<real_t<T>*>(data);
}
template <class T>
inline constexpr std::int64_t numbers_per_element = is_complex<T> ? 2 : 1;

/// sum(output * cotangent) on the host, in double; of complex numbers the real part of sum(output * conj(cotangent)).
template <class U, class D>
[[nodiscard]] double weighted_sum(const Tensor<U, D>& output, const Tensor<U, Cpu>& cotangent) {
  const auto values = output.template to<Cpu>().contiguous();
  double sum = 0;
  const auto *const value = numbers_of(values.data()), *const weight = numbers_of(cotangent.data());
  for (std::int64_t i = 0; i < values.elements() * numbers_per_element<U>; ++i) {
    sum += convert<double>(value[i]) * convert<double>(weight[i]);
  }
  return sum;
}

/// A type-erased function of the inputs on the host, so that the loop below is compiled once per element type.
struct WeightedOutput {
  double (*call)(const void* state);
  const void* state;
};

/// Compares the gradient of input number `index`, perturbing one element of `x` at a time, of a complex one each part.
template <class T>
[[nodiscard]] std::string gradient_difference(int index, const Tensor<T, Cpu>& x, const Tensor<T, Cpu>& analytic,
                                              WeightedOutput output, const GradcheckOptions& options) {
  using R = real_t<T>;
  constexpr std::int64_t parts = numbers_per_element<T>;
  for (std::int64_t i = 0; i < x.elements() * parts; ++i) {
    R& number = numbers_of(x.data())[i];
    const R original = number;
    const auto output_at = [&](double offset) {
      number = convert<R>(convert<double>(original) + offset);
      return output.call(output.state);
    };
    const double numerical = (output_at(options.step) - output_at(-options.step)) / (2 * options.step);
    number = original;
    const auto found = convert<double>(numbers_of(analytic.data())[i]);
    const double difference = found > numerical ? found - numerical : numerical - found;
    const double magnitude = numerical < 0 ? -numerical : numerical;
    if (!(difference <= options.absolute + options.relative * magnitude)) {
      return join(parts == 1       ? ""
                  : i % parts == 0 ? "real part of the "
                                   : "imaginary part of the ",
                  "gradient of input ", index, " at element ", i / parts, " of shape ", x.shape(), " is ", found,
                  ", finite differences give ", numerical,
                  std::is_same_v<R, double> ? "" : "; differences of this type are coarse: use inputs of double");
    }
  }
  return {};
}

/// The gradient that a variable collected, dense on the host; zeros if there is none.
template <class T, class D>
[[nodiscard]] Tensor<T, Cpu> collected_gradient(const Traced<T, D>& x) {
  if (!x.node()->has_gradient()) return Tensor<T, Cpu>(x.shape()).fill_(convert<T>(0));
  return x.grad().template to<Cpu>().contiguous();
}

}  // namespace detail

/// Whether backward() of f at these inputs agrees with central differences. f takes tensors (plain or traced) and
/// returns a tensor-like; inputs are best double. cost: two evaluations of f per input element
///
///     const auto x = randn<double>({3, 4}), w = randn<double>({4, 2});
///     CHECK(gradcheck([](auto x, auto w) { return tanh(matmul(x, w)); }, x, w));
template <class F, DifferentiableDType... T, Device D>
[[nodiscard]] GradcheckResult gradcheck(const F& f, const GradcheckOptions& options, const Tensor<T, D>&... inputs) {
  detail::require_valid(options);
  const Tuple variables{variable(inputs.clone())...};
  const auto output = detail::unpack(variables, [&](const auto&... x) { return Traced(f(x...).eval()); });
  Generator<D> generator{options.seed};
  const auto cotangent = randn<value_of<decltype(output)>>(output.shape(), generator, output.device());
  output.backward(cotangent);
  const Tuple<Tensor<T, Cpu>...> host{inputs.template to<Cpu>().clone()...};
  const auto weighted = [&f, &host, device = output.device(), weights = cotangent.template to<Cpu>()] {
    const auto at = [&](const auto&... x) { return Tensor(f(x.clone().template to<D>(device)...).eval()); };
    return detail::weighted_sum(detail::unpack(host, at), weights);
  };
  const detail::WeightedOutput erased{
      [](const void* state) { return (*static_cast<const decltype(weighted)*>(state))(); }, &weighted};
  std::string difference;
  static_for<static_cast<int>(sizeof...(T))>([&]<int i> {
    if (!difference.empty()) return;
    difference =
        detail::gradient_difference(i, get<i>(host), detail::collected_gradient(get<i>(variables)), erased, options);
  });
  return GradcheckResult(std::move(difference));
}
template <class F, DifferentiableDType... T, Device D>
[[nodiscard]] GradcheckResult gradcheck(const F& f, const Tensor<T, D>&... inputs) {
  return gradcheck(f, GradcheckOptions{}, inputs...);
}

}}  // namespace locus::LOCUS_ABI
