// A program's own names beside `using namespace locus`, overloads for numbers and tensors, and layers of half: Locus's
// refusing overloads do not interfere.
#include <locus/locus.hpp>
// compilers: gcc clang clang19

#include <algorithm>
#include <functional>
#include <ranges>
#include <variant>
#include <vector>

using namespace locus;

// Names of functions in headers that locus.hpp does not include.
double median(const std::vector<double>& x) { return x[0]; }
const std::function<double(const std::vector<double>&)> as_function(median);
[[maybe_unused]] const auto pointer = median;
int mode = 3;
struct histogram {
  int bins = mode;
};
[[maybe_unused]] const histogram own;

void sorts(std::vector<int>& v) {
  using namespace std::ranges;
  sort(v);
}
void sorts_by_argument(std::vector<int>& v) { sort(v.begin(), v.end()); }

// An overload for numbers beside one for tensors, given an expression.
struct Meter {
  void add(double) {}
  void add(const Tensor<float>&) {}
};
struct TracedMeter {
  void add(double) {}
  void add(const Traced<float, Cpu>&) {}
};
struct Value {
  Value(double) {}
  Value(const Tensor<float>&) {}
};
void meter(const Tensor<float>& x, const Traced<float, Cpu>& y) {
  Meter().add(x * 2.f);
  Meter().add(mean(x));
  TracedMeter().add(y * 2.f);
  (void)Value(x + x);
  const std::variant<float, Tensor<float>> either = x;
  (void)either;
}
static_assert(!std::is_constructible_v<double, Tensor<float>>);

// A layer that is not a template: names of element types, and free functions of nn.
struct Halves : nn::Layer<Halves, half, Cpu> {
  nn::Linear<half, Cpu> fc{3, 3};
  half scale{2.f};
  auto forward(const auto& x) const { return fc(x).template as<float>().template as<half>(); }
  void members(const auto& visit) const { visit("fc", fc); }
};
namespace nets {
using namespace locus::nn;
struct Reloaded : Layer<Reloaded, float, Cpu> {
  Linear<float, Cpu> fc{3, 3};
  auto forward(const auto& x) const { return fc(x); }
  void members(const auto& visit) const { visit("fc", fc); }
  void reload() const { (void)load_state_dict(*this, state_dict(*this)); }
};
}  // namespace nets
// Members of these names.
struct Modal : nn::Layer<Modal, float, Cpu> {
  nn::Linear<float, Cpu> fc{3, 3};
  bool train = true;
  int half() const { return 1; }
  void eval() { train = false; }
  auto state_dict() const { return nn::state_dict(*this); }
  auto forward(const auto& x) const { return fc(x); }
  void members(const auto& visit) const { visit("fc", fc); }
};
void modal() {
  Modal net;
  net.eval();
  (void)(net.half() + static_cast<int>(net.train));
  (void)net.state_dict();
}
