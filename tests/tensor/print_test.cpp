// Runs on: host.
#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/print.hpp>

#include <cmath>
#include <sstream>
#include <support/device_list.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// The text of the elements, without the last line.
template <class X>
std::string elements_of(const X& x) {
  const std::string text = to_string(x);
  return text.substr(0, text.rfind('\n'));
}

template <class X>
concept Streamable = requires(std::ostringstream& out, X x) { out << x; };
template <class X>
concept HasText = requires(X x) { to_string(x); };

}  // namespace

TEST_CASE("a tensor is written as NumPy writes it, and says what and where it is") {
  CHECK(to_string(from({{1, 2.5}, {-3, 4}})) ==
        "[[ 1.   2.5]\n"
        " [-3.   4. ]]\n"
        "Tensor<float32, cpu> (2, 2)");
  CHECK(to_string(from<std::int64_t>({1, -20, 300})) == "[  1 -20 300]\nTensor<int64, cpu> (3,)");
  CHECK(to_string(from<bool>({true, false})) == "[ true false]\nTensor<bool, cpu> (2,)");
  CHECK(to_string(full<half>({}, 0.5)) == "0.5\nTensor<float16, cpu> ()");
  CHECK(to_string(zeros<bfloat16>({2, 0})) == "[]\nTensor<bfloat16, cpu> (2, 0)");
  CHECK(to_string(Tensor<double>()) == "[]\nTensor<float64, cpu> (0,)");
}

TEST_CASE("16-bit numbers are written to streams as floats are") {
  std::ostringstream text;
  text.precision(3);
  text << full<half>({}, 1.5).item() << " " << bfloat16(-3.14159f);
  CHECK(text.str() == "1.5 -3.14");
}

TEST_CASE("numbers have as many decimals as they need, at most four") {
  CHECK(elements_of(from({1, 2, 3})) == "[1. 2. 3.]");
  CHECK(elements_of(from<double>({0.1, 0.123456, 10})) == "[ 0.1     0.1235 10.    ]");
  CHECK(elements_of(from<double>({1.0 / 3, -2.0 / 3})) == "[ 0.3333 -0.6667]");
  CHECK(elements_of(from({0, -0.0})) == "[ 0. -0.]");
  CHECK(elements_of(from<std::uint8_t>({1, 200})) == "[  1 200]");
}

TEST_CASE("numbers far apart, large or small are scientific") {
  CHECK(elements_of(from<double>({1, 10000})) == "[1.e+00 1.e+04]");
  CHECK(elements_of(from<double>({1.5e-5, 2e-5})) == "[1.5e-05 2.0e-05]");
  CHECK(elements_of(from<double>({1e8, 2.25e8})) == "[1.00e+08 2.25e+08]");
  CHECK(elements_of(from<double>({0, 999})) == "[  0. 999.]");
}

TEST_CASE("nan and infinities align with numbers") {
  CHECK(elements_of(from<double>({1.5, NAN, -INFINITY, INFINITY})) == "[ 1.5  nan -inf  inf]");
  CHECK(elements_of(from<double>({NAN})) == "[nan]");
}

TEST_CASE("blocks of higher rank are set apart by blank lines") {
  CHECK(elements_of(arange<int>(8).reshape({2, 2, 2})) ==
        "[[[0 1]\n"
        "  [2 3]]\n"
        "\n"
        " [[4 5]\n"
        "  [6 7]]]");
  CHECK(elements_of(arange<int>(4).reshape({2, 1, 1, 2})) ==
        "[[[[0 1]]]\n"
        "\n"
        "\n"
        " [[[2 3]]]]");
}

TEST_CASE("views are written as they are seen") {
  const auto x = arange<int>(6).reshape({2, 3});
  CHECK(elements_of(x.transpose()) == "[[0 3]\n [1 4]\n [2 5]]");
  CHECK(elements_of(x.select(0, 1).slice(0, 0, to_end, 2)) == "[3 5]");
  CHECK(elements_of(x.select(1, 0).unsqueeze(0).expand({2, 2})) == "[[0 3]\n [0 3]]");
}

TEST_CASE("more than a thousand elements are summarized; long rows are wrapped") {
  CHECK(elements_of(arange<int>(1001)) == "[   0    1    2 ...  998  999 1000]");
  CHECK(elements_of(arange<int>(2000).reshape({1000, 2})) ==
        "[[   0    1]\n"
        " [   2    3]\n"
        " [   4    5]\n"
        " ...\n"
        " [1994 1995]\n"
        " [1996 1997]\n"
        " [1998 1999]]");
  CHECK(elements_of(zeros<int>({3, 7, 100})).find("...\n") != std::string::npos);
  CHECK(elements_of(arange<int>(1000)).find("...") == std::string::npos);
  std::istringstream lines(elements_of(full<int>({40}, 1234)));
  std::string line;
  std::getline(lines, line);
  CHECK(line.size() == 100);
  std::getline(lines, line);
  CHECK(line.starts_with(" 1234"));
}

TEST_CASE("printing a large tensor costs what is shown") {
  const auto x = full<std::uint8_t>({1}, 7).expand({1 << 20, 1 << 20});
  CHECK(to_string(x).size() < 300);
}

TEST_CASE("streams take tensors and expressions; an expression is computed once") {
  const auto x = from({1, 2});
  std::ostringstream out;
  auto y = x + 1;
  LaunchLog log;
  out << y << '|' << y << '|' << x * 2;
  CHECK(log.launches() == 2);
  CHECK(out.str() ==
        "[2. 3.]\nTensor<float32, cpu> (2,)|[2. 3.]\nTensor<float32, cpu> (2,)|[2. 4.]\nTensor<float32, cpu> (2,)");
  CHECK(join("x = ", x) == "x = [1. 2.]\nTensor<float32, cpu> (2,)");
}

TEST_CASE("what the host cannot read is not printed") {
  CHECK(Streamable<Tensor<float>>);
  CHECK(HasText<Tensor<float>>);
  CHECK_FALSE(Streamable<Tensor<float, Counting>>);
  CHECK_FALSE(HasText<Tensor<float, Counting>>);
  using Pending = decltype(std::declval<Tensor<float, Counting>>() + 1);
  CHECK_FALSE(Streamable<Pending>);
}
