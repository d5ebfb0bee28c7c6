#pragma once
// Results of PyTorch that tests compare with. make_NAME.py writes NAME.txt, and make_golden.py ops.txt.

#include <support/reference.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace golden {

/// The folder of the files, with a trailing slash.
[[nodiscard]] inline std::string folder() {
  const char* const tests = std::getenv("LOCUS_TEST_DIR");
  const std::string here = __FILE__;
  return tests ? tests + std::string("/golden/") : here.substr(0, here.rfind('/') + 1);
}

namespace detail {
using Numbers = std::map<std::string, locus_test::Reference>;

inline void read(const std::string& path, Numbers& numbers) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, word;
    words >> name;
    if (name == "#") continue;
    locus::Shape shape;
    while (words >> word && word != ":") shape.push_back(std::stoll(word));
    std::vector<double> values;
    for (double value; words >> value;) values.push_back(value);
    if (!numbers.emplace(name, locus_test::Reference(shape, values)).second)
      throw std::runtime_error(path + ": the name " + name + " was there before");
  }
}
inline Numbers read_all() {
  Numbers numbers;
  for (const char* name :
       {"ops.txt",          "training.txt",      "layers.txt",       "windows.txt",    "convolutions.txt",
        "feature_maps.txt", "init.txt",          "losses.txt",       "attention.txt",  "models.txt",
        "gpt2.txt",         "parts.txt",         "averages.txt",     "functions.txt",  "more_layers.txt",
        "complex.txt",      "products.txt",      "linalg.txt",       "spectra.txt",    "recurrent.txt",
        "forward_mode.txt", "distributions.txt", "sixteen_bits.txt", "generation.txt", "bert.txt",
        "llama.txt"})
    read(folder() + name, numbers);
  return numbers;
}
}  // namespace detail

/// PyTorch's result with this name.
[[nodiscard]] inline const locus_test::Reference& reference(const std::string& name) {
  static const auto all = detail::read_all();
  const auto found = all.find(name);
  if (found == all.end())
    throw std::runtime_error("no golden numbers named " + name + "; were the files in tests/golden read?");
  return found->second;
}

/// PyTorch's result with this name as a tensor.
template <class T, class D>
[[nodiscard]] locus::Tensor<T, D> tensor(const std::string& name) {
  return locus_test::tensor<T, D>(*reference(name).shape, reference(name).values);
}

/// Compares a result with NAME, and the gradients of its inputs for the cotangent NAME_cotangent with NAME_dINPUT.
template <class Y, class... X>
void check(const std::string& name, const Y& traced, const char* file, int line,
           std::initializer_list<const char*> inputs, const X&... variables) {
  using T = typename Y::value_type;
  using D = typename Y::device_type;
  constexpr double allowed = std::is_same_v<T, double> ? 1e-10 : 2e-5;
  const auto& y = traced.eval();
  locus_test::check_empty(locus_test::difference(y, reference(name), allowed), file, line);
  y.backward(tensor<T, D>(name + "_cotangent"));
  auto input = inputs.begin();
  (locus_test::check_empty(locus_test::difference(variables.grad(), reference(name + "_d" + *input++), allowed), file,
                           line),
   ...);
}

}  // namespace golden

/// CHECK_GOLDEN("matmul", matmul(a, b), ({"a", "b"}), a, b): the result and all gradients.
#define CHECK_GOLDEN(name, result, inputs, ...) \
  golden::check(name, result, __FILE__, __LINE__, LOCUS_UNWRAP_ inputs, __VA_ARGS__)
#define LOCUS_UNWRAP_(...) __VA_ARGS__
