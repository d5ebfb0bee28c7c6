// Layers of many shapes, all of which compile.

#include <locus/locus.hpp>

#include <functional>

using namespace locus;

namespace {

using Plain = Tensor<float>;
using Recorded = Traced<float>;

template <class Derived>
struct Base : nn::Layer<Derived, float, Cpu> {
  nn::Linear<float, Cpu> inner{4, 4};
  void members(const auto& visit) const { visit("inner", inner); }
};

struct ByReference : Base<ByReference> {
  auto forward(const auto& x) const { return inner(x); }
};
struct ByValue : Base<ByValue> {
  auto forward(auto x) const { return inner(x); }
};
struct Forwarded : Base<Forwarded> {
  auto forward(auto&& x) const { return inner(x); }
};
struct Constrained : Base<Constrained> {
  auto forward(const TensorLike auto& x) const { return inner(x); }
};
struct OfATensor : Base<OfATensor> {
  template <class T, class D> auto forward(const Tensor<T, D>& x) const { return inner(x); }
  template <class T, class D> auto forward(const Traced<T, D>& x) const { return inner(x); }
};
struct WithADefault : Base<WithADefault> {
  auto forward(const auto& x, int times = 2) const { return inner(x) * static_cast<float>(times); }
};
struct Variadic : Base<Variadic> {
  auto forward(const auto&... x) const { return (inner(x), ...); }
};
struct VariadicForwarded : Base<VariadicForwarded> {
  auto forward(auto&&... x) const { return (inner(x), ...); }
};
struct Overloaded : Base<Overloaded> {
  Plain forward(const Plain& x) const { return inner(x); }
  Recorded forward(const Recorded& x) const { return inner(x); }
};
struct OnBoth : Base<OnBoth> {
  auto forward(const auto& x) const { return inner(x); }
  auto forward(const auto& x) { return inner(x) * 2.f; }
};
struct Static : Base<Static> {
  static auto forward(const auto& x) { return x * 2.f; }
};
struct Final final : Base<Final> {
  auto forward(const auto& x) const { return inner(x); }
};
struct Derived : ByReference {};
struct Virtual : Base<Virtual> {
  virtual ~Virtual() = default;
  virtual Plain forward(const Plain& x) const { return inner(x); }
  virtual Recorded forward(const Recorded& x) const { return inner(x); }
};
class Friendly : public Base<Friendly> {
  friend class nn::Layer<Friendly, float, Cpu>;
  auto forward(const auto& x) const { return inner(x); }
};
struct AnyTensor {
  Plain value;
  AnyTensor(const Plain& x) : value(x) {}
};
struct Converting : Base<Converting> {
  Plain forward(const AnyTensor& x) const { return inner(x.value); }
};
struct Function : Base<Function> {
  std::function<Plain(const Plain&)> forward = [](const Plain& x) { return x; };
};
struct Counting : nn::Layer<Counting, float, Cpu> {
  int members = 3;
  auto forward(const auto& x) const { return x * static_cast<float>(members); }
};
struct Tree : nn::Layer<Tree, float, Cpu> {
  std::vector<Tree> branches;
  auto forward(const auto& x) const { return x * 2.f; }
  auto members(const auto& visit) const { visit("branches", branches); }
};
struct Many : nn::Layer<Many, float, Cpu> {
  Parameter<float> scale{ones({4})};
  std::vector<ByReference> list;
  std::vector<std::vector<Parameter<float>>> lists;
  nn::ReLU activation;
  nn::Module<float, Cpu> module{nn::Tanh{}};
  nn::Sequential<float, Cpu> network{nn::Linear<float, Cpu>{4, 4}, nn::ReLU{}};
  auto forward(const auto& x) const { return network(x) * scale; }
  void members(const auto& visit) const {
    visit("scale", scale);
    visit("list", list);
    visit("lists", lists);
    visit("activation", activation);
    visit("module", module);
    visit("network", network);
  }
};

// Detectable by `requires`: moving a model, given as an rvalue, whose layers have a twin; and normalizing with
// statistics of the same place and type.
template <class M>
concept Moves = requires(M model) { std::move(model).template to<Cuda>(); };
template <class M>
concept MovesAway = requires(M& model) { model.template to<Cuda>(); };
template <class M>
concept Converts = requires(const M& model) { model.template as<double>(); };
static_assert(Moves<nn::Linear<float, Cpu>> && !MovesAway<nn::Linear<float, Cpu>> && Converts<nn::Linear<float, Cpu>>);
static_assert(Moves<nn::Sequential<float, Cpu>> && Moves<nn::Module<float, Cpu, std::int64_t>>);
static_assert(!Moves<Many> && !Converts<Many> && requires(const Many& layer) { layer.clone(); });
template <class X, class R>
concept Normalizes = requires(const X& x, const R& running) { batch_norm(x, running); };
static_assert(Normalizes<Plain, RunningStatistics<float, Cpu>> && !Normalizes<Plain, RunningStatistics<float, Cuda>> &&
              !Normalizes<Plain, RunningStatistics<double, Cpu>> &&
              !Normalizes<Tensor<int>, RunningStatistics<int, Cpu>>);

template <class... Layers>
void call_all(const Plain& x, const Layers&... layers) {
  ((void)layers(x), ...);
  ((void)layers(x * 2.f), ...);
  ((void)layers(trace(x)), ...);
}

[[maybe_unused]] void all(const Plain& x, data::Loader<data::LabelledImages, Cpu>& batches,
                          optim::Sgd<float, Cpu>& optimizer) {
  call_all(x, ByReference{}, ByValue{}, Forwarded{}, Constrained{}, OfATensor{}, WithADefault{}, Variadic{},
           VariadicForwarded{}, Overloaded{}, OnBoth{}, Static{}, Final{}, Derived{}, Virtual{}, Friendly{}, Counting{},
           Tree{}, Many{});
  (void)Converting{}(x);
  (void)Function{}(x);
  const nn::Sequential network{ByReference{}, nn::ReLU{},     ByValue{},  Forwarded{},  Constrained{},
                               OfATensor{},   WithADefault{}, Variadic{}, Overloaded{}, Final{},
                               Derived{},     Virtual{},      Many{},     Tree{}};
  (void)network.parameters();
  (void)network.children();
  const nn::Sequential copy{network};
  const nn::Sequential of_one{nn::Linear<float, Cpu>{4, 4}};
  static_assert(std::is_same_v<decltype(of_one), const nn::Sequential<float, Cpu>>);
  static_assert(std::is_same_v<decltype(copy), const nn::Sequential<float, Cpu>>);

  const auto flat = [&](const auto& images) { return network(images.reshape({-1, 4})); };
  (void)evaluate(flat, batches);
  (void)evaluate(network, batches);
  History history;
  fit(flat, optimizer, batches, batches, history);
  fit(network, optimizer, batches, batches, history);
}

}  // namespace
