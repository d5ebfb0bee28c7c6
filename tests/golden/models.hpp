#pragma once
// Models with the weights of make_models.py, and comparison of their gradients with models.txt.

#include <locus/autograd/traced.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/module.hpp>

#include <golden/golden.hpp>

namespace golden {

/// numbers_of in make_models.py: offset + scale k / 2^15, where k is a hash of the name and the position.
template <class D>
[[nodiscard]] locus::Tensor<float, D> numbers_of(const std::string& name, const locus::Shape& shape, float scale = 1,
                                                 float offset = 0) {
  std::uint32_t key = 2166136261U;
  for (const char letter : name) key = (key ^ static_cast<std::uint8_t>(letter)) * 16777619U;
  const locus::Tensor<float, locus::Cpu> numbers(shape);
  float* const at = numbers.data();
  const auto count = static_cast<std::uint32_t>(numbers.elements());
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t x = i * 2654435761U ^ key;
    x = (x ^ x >> 16) * 0x7FEB352DU;
    x = (x ^ x >> 15) * 0x846CA68BU;
    at[i] = offset + scale * (static_cast<float>(x >> 16) - 0x1p15F) * 0x1p-15F;
  }
  return numbers.template to<D>();
}
inline bool ends_with(const std::string& name, std::string_view end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}
/// The numbers that fill in make_models.py gives a parameter.
template <class D>
[[nodiscard]] locus::Tensor<float, D> parameter_of(const std::string& name, const locus::Shape& shape) {
  float scale = 0.25F;
  if (shape.rank() > 1) {
    scale = 1;
    for (std::int64_t rest = locus::elements(shape) / shape[0]; rest >= 8; rest /= 4) scale /= 2;
  }
  return numbers_of<D>(name, shape, scale, shape.rank() == 1 && ends_with(name, "weight") ? 0.5F : 0);
}
/// fill in make_models.py: sets all parameters and buffers of rank 1.
template <class M>
void fill(const M& model) {
  using D = locus::device_of<M>;
  for (const auto& [name, parameter] : model.named_parameters())
    parameter.value().copy_(parameter_of<D>(name, parameter.shape()));
  for (const auto& [name, buffer] : model.named_buffers())
    if (buffer.shape().rank() == 1)
      buffer.template value<float>().copy_(
          numbers_of<D>(name, buffer.shape(), 0.25F, ends_with(name, "running_var") ? 1.F : 0.F));
}

/// images_for in make_models.py.
template <class D>
[[nodiscard]] locus::Tensor<float, D> images_for(const std::string& golden_name, const locus::Shape& shape) {
  const auto number = static_cast<int>(reference(golden_name + "_images").values[0]);
  return numbers_of<D>(locus::join("images ", number), shape);
}

/// The tokens of make_gpt2.py, make_bert.py and make_llama.py, which are below 13.
template <class D = locus::Cpu>
[[nodiscard]] locus::Tensor<std::int64_t, D> tokens_of(const locus::Shape& shape) {
  const locus::Tensor<std::int64_t, locus::Cpu> numbers(shape);
  for (std::int64_t i = 0; i < numbers.elements(); ++i) numbers.data()[i] = (i * i * 5 + 3 * i) % 13;
  return numbers.template to<D>();
}

/// The summary of a gradient or buffer in models.txt: its norm and four elements.
template <class D>
locus_test::Reference shown(const locus::Tensor<float, D>& given) {
  constexpr std::int64_t entries = 4;
  const auto x = locus_test::host(given);
  double squares = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) squares += double(x.data()[i]) * double(x.data()[i]);
  std::vector<double> values{std::sqrt(squares)};
  for (std::int64_t i = 0; i < entries; ++i) values.push_back(double(x.data()[i * x.elements() / entries]));
  return {{entries + 1}, values};
}
/// Errors are relative to the root mean square, or to the expected number if larger.
template <class D>
void check_shown(const std::string& name, const locus::Tensor<float, D>& given) {
  const auto& expected = reference(name);
  const double typical = expected.values[0] / std::sqrt(double(given.elements()));
  const std::string problem = locus_test::difference_of(shown(given), expected, 1e-4, typical);
  locus_test::check_empty(problem.empty() ? problem : locus::join(name, ": ", problem), __FILE__, __LINE__);
}
template <class M, class Logits>
void check_gradients(const std::string& golden_name, const M& model, const Logits& logits) {
  const locus::Tensor<std::int64_t, locus::Cpu> labels({logits.size(0)});
  for (std::int64_t i = 0; i < labels.elements(); ++i) labels.data()[i] = 3 * i % logits.size(1);
  locus::nn::cross_entropy(logits, labels.template to<locus::device_of<M>>()).backward();
  for (const auto& [name, parameter] : model.named_parameters())
    check_shown(golden_name + "_gradient_" + name, parameter.grad());
}

}  // namespace golden
