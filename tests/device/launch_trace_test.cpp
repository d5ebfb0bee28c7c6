// Runs on: host, cuda (tensors).
// The lines of a launch trace, and the expressions parsed from type names.

#include <locus/device/trace/launch_trace.hpp>

#include <locus/locus.hpp>

#include <support/device_list.hpp>
#include <support/temporary_folder.hpp>

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace {
using namespace locus;
using locus_test::note_skip;

/// The lines that f() writes to stderr while launches are traced.
template <class F>
std::vector<std::string> traced(const F& f) {
  const locus_test::TemporaryFolder folder;
  std::fflush(stderr);
  const int before = dup(2);
  REQUIRE(std::freopen((folder.path / "stderr").c_str(), "w", stderr) != nullptr);
  trace_launches(true);
  f();
  trace_launches(false);
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  std::ifstream file(folder.path / "stderr");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("expressions are read from the names of types, as compilers spell them") {
  const auto expression_text = [](const std::string& text) {
    return std::string(detail::expression_text(text).view());
  };
  const char* const gcc = "const char* locus::v::detail::type_text() [with F = ";
  const auto of = [&](const char* type) { return expression_text(std::string(gcc) + type + "]"); };
  CHECK(of("locus::v::detail::Forward<locus::v::Apply<locus::v::functor::Relu, locus::v::Apply<locus::v::functor::Add, "
           "locus::v::Apply<locus::v::functor::Multiply, locus::v::Symbol<0>, locus::v::Symbol<1> >, "
           "locus::v::Constant<float> > >, float, float, float>") == "relu(x0 * x1 + c)");
  CHECK(of("Forward<Apply<functor::Multiply, Apply<functor::Add, Symbol<0>, Symbol<1>>, Symbol<2>>, float>") ==
        "(x0 + x1) * x2");
  CHECK(of("Forward<Apply<functor::Subtract, Symbol<0>, Apply<functor::Subtract, Symbol<1>, Symbol<2>>>, float>") ==
        "x0 - (x1 - x2)");
  CHECK(of("Forward<Apply<functor::Negate, Apply<functor::Add, Symbol<0>, Symbol<1>>>, float>") == "-(x0 + x1)");
  CHECK(of("Forward<Apply<functor::Convert<double>, Symbol<0>>, double>") == "double(x0)");
  CHECK(of("Forward<Apply<functor::LeakyRelu, Symbol<0>>, float>") == "leaky_relu(x0)");
  CHECK(of("Forward<Apply<mine::Swish<float>, Symbol<0> >, float>") == "Swish(x0)");
  CHECK(of("Forward<Apply<main()::<lambda(float, float)>, Symbol<0>, Symbol<1> >, float>") ==
        "main()::<lambda(float, float)>(x0, x1)");
  CHECK(of("Forward<Apply<(lambda at a.cpp:3:5), Symbol<0>>, float>") == "(lambda at a.cpp:3:5)(x0)");
  CHECK(of("Forward<Apply<{anonymous}::Mine, Symbol<0> >, float>") == "Mine(x0)");
  CHECK(of("Backward<Apply<functor::Sigmoid, Symbol<0>>, 1, float>") == "gradient of sigmoid(x0)");
  CHECK(of("Folded<Apply<functor::Equal, Symbol<0>, Symbol<1>>, fold::Sum<bool>, float>") == "sum(x0 == x1)");
  CHECK(of("locus::v::detail::SoftmaxRow<float, false>") == "SoftmaxRow<float, false>");
  CHECK(of("Outer<int>::Inner") == "Inner");
  for (const char* broken : {"", "<", ">", "Forward<", "Forward<Apply<", "a<b,c", ">>>", "Apply<,,>", "((("})
    CHECK_NOTHROW((void)of(broken));
}

LOCUS_DEVICE_TEST("every launch is a line: device, verb, time, bytes, speed, extents, expression", D) {
  const auto x = full<float, D>({100, 50}, 2.f), y = full<float, D>({50}, 3.f);
  const auto lines = traced([&] {
    const Tensor z = relu(x * y + 1.f);
    const Tensor s = sum(x * y, 1);
    const Tensor p = softmax(x, 1);
    const Tensor q = matmul(x, x.transpose());
  });
  REQUIRE(lines.size() >= 4);
  const std::string device = std::is_same_v<D, Cuda> ? "cuda:0" : "cpu";
  for (const auto& line : lines) {
    INFO(line);
    CHECK(line.rfind("locus: " + device + "  ", 0) == 0);
    CHECK(line.find(" ms  ") != std::string::npos);
  }
  const auto has = [&](std::size_t i, const char* part) {
    INFO(lines[i], " has ", part);
    CHECK(lines[i].find(part) != std::string::npos);
  };
  has(0, "  map  ");
  has(0, "(100, 50)  relu(x0 * x1 + c)");
  has(0, "  40.2 kB  ");  // 2 x 5000 + 50 floats
  has(1, "  reduce  ");
  has(1, "(100, 50)  sum(x0 * x1)");
  has(1, "  20.6 kB  ");
  has(2, "  for_each_row  ");
  has(2, "  40 kB  ");
  has(2, "(100, 50)  SoftmaxRow<float, false>");
  has(3, "  gemm  ");
  has(3, "  1 Mflop  ");
  has(3, "flop/s  ");
  if (std::is_same_v<D, Cuda>) {
    has(0, "% of peak  ");
    has(0, "  grid ");
    has(2, "  grid ");
  }
  CHECK(traced([] {}).empty());
}

LOCUS_DEVICE_TEST("profilers are told of every launch", D) {
  static std::vector<std::string> told;
  told.clear();
  static const detail::LaunchRanges ranges{[](const char* name) { told.emplace_back(name); },
                                           [] { told.emplace_back("end"); }};
  const auto x = full<float, D>({100}, 2.f);
  detail::launch_ranges.store(&ranges);
  const Tensor y = tanh(x);
  detail::launch_ranges.store(nullptr);
  const Tensor z = tanh(x);
  CHECK(told == std::vector<std::string>{"map tanh(x0)", "end"});
}

}  // namespace
