#pragma once
// Runs the random programs of golden/make_programs.py and golden/make_second_derivatives.py, which explain the form of
// their lines.

#include <locus/autograd/grad.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <golden/golden.hpp>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace locus_test::programs {
using namespace locus;

using Value = Traced<double, Cpu>;

/// The operands and arguments of a step.
struct Given {
  std::vector<Value> v;
  std::vector<double> a;

  [[nodiscard]] const Value& x() const { return v[0]; }
  [[nodiscard]] const Value& y() const { return v[1]; }
  [[nodiscard]] int i(std::size_t n) const { return static_cast<int>(a[n]); }
  [[nodiscard]] bool flag(std::size_t n) const { return a[n] != 0; }
  /// Arguments from number n on.
  template <class Container>
  [[nodiscard]] Container from(std::size_t n) const {
    Container rest;
    for (; n < a.size(); ++n) rest.push_back(static_cast<typename Container::value_type>(a[n]));
    return rest;
  }
  [[nodiscard]] Shape shape(std::size_t n, std::size_t end) const {
    Shape rest;
    for (; n < end; ++n) rest.push_back(static_cast<std::int64_t>(a[n]));
    return rest;
  }
  [[nodiscard]] std::vector<int> axes(std::size_t n) const { return from<std::vector<int>>(n); }
  [[nodiscard]] Tensor<std::int64_t> indices(std::size_t n) const {
    const auto list = from<std::vector<std::int64_t>>(n);
    return locus::from(Span<const std::int64_t>(list.data(), list.size()), {static_cast<std::int64_t>(list.size())});
  }
  [[nodiscard]] Reduction reduction() const {
    return std::array{Reduction::none, Reduction::mean, Reduction::sum}[static_cast<std::size_t>(a[0])];
  }
};

using Step = std::function<Value(const Given&)>;

/// Operations by their names in make_programs.py.
using Steps = std::map<std::string, Step>;

inline double weight_of(std::size_t i) { return 1 - static_cast<double>(i % 7) / 4; }

/// The parts of a line between colons.
inline std::vector<std::string> parts_of(const std::string& line) {
  std::vector<std::string> parts;
  std::istringstream rest(line);
  for (std::string part; std::getline(rest, part, ':');) parts.push_back(part);
  parts.resize(3);
  return parts;
}
inline std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  std::istringstream words(text);
  for (double number; words >> number;) numbers.push_back(number);
  return numbers;
}
inline Shape shape_of(const std::string& text) {
  Shape shape;
  for (const double extent : numbers_of(text)) shape.push_back(static_cast<std::int64_t>(extent));
  return shape;
}
inline bool is_close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a) + std::abs(b)); }

/// Runs programs line by line, and reports the error of each.
class Runner {
 public:
  explicit Runner(const Steps& steps) : steps_(steps) {}

  void file(const std::string& path) {
    std::ifstream lines(path);
    for (std::string text; std::getline(lines, text);) line(text);
    MESSAGE(programs_, " programs");
  }
  void line(const std::string& text) {
    const auto parts = parts_of(text);
    std::istringstream words(parts[0]);
    std::string name;
    words >> name;
    if (name.empty() || name == "#") return;
    if (name == "program") {
      begin(text);
    } else if (wrong_.empty()) {
      try {
        if (name == "input") input(words, parts[1]);
        else if (name == "gradient") gradient(words, parts[1]);
#if LOCUS_DOUBLE_BACKWARD
        else if (name == "second") second(words, parts[1]);
#endif
        else step(name, words, parts);
      } catch (const std::exception& error) {
        wrong_ = join("threw ", error.what());
      }
      if (!wrong_.empty()) MESSAGE(program_, ", ", text.substr(0, 60), ": ", wrong_);
      failed_ += wrong_.empty() ? 0 : 1;
    }
  }

  [[nodiscard]] int programs() const { return programs_; }
  [[nodiscard]] int failed() const { return failed_; }
  [[nodiscard]] const std::set<std::string>& used() const { return used_; }

 private:
  void begin(const std::string& text) {
    program_ = text;
    values_.clear();
    second_.clear();
    inputs_ = 0;
    wrong_.clear();
    is_differentiated_ = false;
    ++programs_;
  }
  void input(std::istringstream& extents, const std::string& numbers) {
    std::string rest;
    std::getline(extents, rest);
    ++inputs_;
    values_.push_back(variable(locus_test::tensor<double, Cpu>(shape_of(rest), numbers_of(numbers))));
  }
  void step(const std::string& name, std::istringstream& words, const std::vector<std::string>& parts) {
    Given given;
    std::string word;
    while (words >> word && word != ",") given.v.push_back(values_.at(std::stoul(word.substr(1))));
    for (double argument; words >> argument;) given.a.push_back(argument);
    const auto found = steps_.find(name);
    if (found == steps_.end()) throw std::runtime_error("this test has no operation of that name");
    used_.insert(name);
    const Value y = found->second(given);
    if (!(y.shape() == shape_of(parts[1]))) {
      wrong_ = join("the shape is ", y.shape(), "; expected", parts[1]);
      return;
    }
    const double sum = weighted_sum(y.value()), expected = numbers_of(parts[2]).at(0);
    if (!is_close(sum, expected)) wrong_ = join("the weighted sum is ", sum, "; expected ", expected);
    values_.push_back(y);
  }
  void gradient(std::istringstream& words, const std::string& numbers) {
    if (!std::exchange(is_differentiated_, true))
      values_.back().backward(cotangent(values_.back().shape()), {.retain_graph = true});
    const Value& x = operand(words);
    compare(x.node()->has_gradient() ? x.grad() : zeros<double>(x.shape()), numbers);
  }
#if LOCUS_DOUBLE_BACKWARD
  /// The gradient of half the weighted sum of the squares of all inputs' gradients.
  void second(std::istringstream& words, const std::string& numbers) {
    if (second_.empty()) second_ = second_derivatives();
    const auto number = static_cast<std::size_t>(&operand(words) - values_.data());
    compare(second_.at(number), numbers);
  }
  [[nodiscard]] std::vector<Tensor<double>> second_derivatives() const {
    const std::vector<Value> inputs(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(inputs_));
    const Value& y = values_.back();
    const auto gradients =
        grad(y, inputs, {.grad_outputs = trace(cotangent(y.shape())), .create_graph = true, .allow_unused = true});
    Value penalty = trace(zeros<double>({}));
    for (const Value& g : gradients) penalty = penalty + sum(square(g) * cotangent(g.shape())) / 2;
    if (!penalty.requires_gradient()) {
      std::vector<Tensor<double>> none;
      for (const Value& x : inputs) none.push_back(zeros<double>(x.shape()));
      return none;
    }
    return grad(penalty, inputs, {.allow_unused = true});
  }
#endif
  const Value& operand(std::istringstream& words) const {
    std::string word;
    words >> word;
    return values_.at(std::stoul(word.substr(1)));
  }
  void compare(const Tensor<double>& found, const std::string& numbers) {
    const auto expected = numbers_of(numbers);
    const Tensor<double> dense = found.contiguous();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (is_close(dense.data()[i], expected[i])) continue;
      wrong_ = join("element ", i, " is ", dense.data()[i], "; expected ", expected[i]);
      return;
    }
  }

  static double weighted_sum(const Tensor<double>& y) {
    const Tensor<double> dense = y.contiguous();
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(dense.elements()); ++i) sum += dense.data()[i] * weight_of(i);
    return sum;
  }
  static Tensor<double> cotangent(const Shape& shape) {
    Tensor<double> weights(shape);
    for (std::size_t i = 0; i < static_cast<std::size_t>(weights.elements()); ++i) weights.data()[i] = weight_of(i);
    return weights;
  }

  const Steps& steps_;
  std::string program_, wrong_;
  std::vector<Value> values_;
  std::vector<Tensor<double>> second_;
  std::size_t inputs_ = 0;
  std::set<std::string> used_;
  bool is_differentiated_ = false;
  int programs_ = 0, failed_ = 0;
};

/// Runs all programs of a golden file, or of the one that LOCUS_FUZZ_PROGRAMS names: at least so many, none of them may
/// fail, and each operation must occur.
inline void check_programs(const Steps& operations, const char* file, int least) {
  const char* const other = std::getenv("LOCUS_FUZZ_PROGRAMS");
  Runner runner(operations);
  runner.file(other && *other ? other : golden::folder() + file);
  CHECK(runner.programs() >= least);
  CHECK(runner.failed() == 0);
  for (const auto& operation : operations) {
    INFO(operation.first);
    CHECK(runner.used().contains(operation.first));
  }
}

}  // namespace locus_test::programs
