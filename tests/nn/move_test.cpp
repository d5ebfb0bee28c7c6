// Runs on: host, cuda (layers); counting.
// Models move to other places and element types, and are copied.

#include <locus/models/resnet.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/nn/embedding.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <array>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {

/// A layer as a user writes it: constructor arguments, a number, a buffer, lists, layers without parameters.
template <class T, Device D>
struct Tracker : nn::Layer<Tracker<T, D>, T, D> {
  int width;
  double factor = 1;
  nn::Linear<T, D> inner;
  nn::Buffer<T, D> seen;
  nn::Buffer<std::int64_t, D> calls{full<std::int64_t, D>({}, 3)};
  std::vector<nn::Linear<T, D>> floors;
  std::vector<nn::Module<T, D>> modules;
  std::array<Parameter<T, D>, 2> scales{Parameter<T, D>(ones<T, D>({1})), Parameter<T, D>(full<T, D>({1}, T(2)))};
  nn::ReLU activation;
  Parameter<T, D> none;

  explicit Tracker(int units) : width(units), inner(units, units), seen(randn<T, D>({units})) {}

  template <class X>
  auto forward(const X& x) const {
    auto y = (inner(x) * scales[1] + seen).eval();
    for (const auto& floor : floors) y = floor(activation(y));
    for (const auto& module : modules) y = module(y);
    return (y * static_cast<compute_t<T>>(factor)).eval();
  }
  void members(const auto& visit) const {
    visit("inner", inner);
    visit("seen", seen);
    visit("calls", calls);
    visit("floors", floors);
    visit("modules", modules);
    visit("scales", scales);
    visit("activation", activation);
    visit("none", none);
  }
  template <class U, class E>
  auto twin() const {
    Tracker<U, E> layer(width);
    layer.factor = factor;
    return layer;
  }
};

template <class T, Device D>
Tracker<T, D> tracker() {
  Tracker<T, D> layer(4);
  layer.factor = 3;
  layer.floors.emplace_back(4, 4, false);
  layer.floors.emplace_back(4, 4);
  layer.modules.emplace_back(nn::Sequential<T, D>{nn::Tanh{}, nn::Linear<T, D>{4, 4}});
  return layer;
}

/// Every layer of Locus with state, and some without.
template <class T, Device D>
nn::Sequential<T, D> network() {
  return {nn::Linear<T, D>{4, 6},
          nn::ReLU{},
          nn::BatchNorm1d<T, D>{6, {.momentum = std::nullopt}},
          nn::Linear<T, D>{6, 4},
          nn::SiLU{},
          nn::LayerNorm<T, D>{4, 1e-3},
          nn::RMSNorm<T, D>{4, 1e-3},
          nn::LeakyReLU{.3},
          nn::Sequential<T, D>{nn::GELU<>{}, nn::Linear<T, D>{4, 4, false}},
          nn::GELU<GeluForm::exact>{},
          nn::GroupNorm<T, D>{2, 4},
          nn::MultiheadAttention<T, D>{4, 2},
          nn::PReLU<T, D>{4},
          nn::Flatten{}};
}

template <class M>
std::string names_of(const M& model) {
  std::string names;
  for (const auto& [name, parameter] : model.named_parameters()) names += name + " ";
  for (const auto& [name, buffer] : model.named_buffers()) names += name + " ";
  return names;
}

const char* const moved_message = "belonged to a model that was moved";

}  // namespace

LOCUS_DEVICE_TEST("a model moves from the host to a device and back, and computes the same", D) {
  const auto x = sample<float, Cpu>({5, 4});
  auto model = network<float, Cpu>();
  (void)model(trace(x));  // running statistics
  const auto names = names_of(model);
  const auto expected = reference(model(x));
  const auto weight = model.parameters()[0];

  const auto there = std::move(model).template to<D>();
  static_assert(std::is_same_v<decltype(there), const nn::Sequential<float, D>>);
  CHECK(names_of(there) == names);
  CHECK_CLOSE(there(x.template to<D>()), expected, 1e-5);

  auto copy = there;
  const auto back = std::move(copy).template to<Cpu>();
  CHECK_CLOSE(back(x), expected, 1e-5);
  CHECK_THROWS_WITH_AS((void)weight.value(), doctest::Contains(moved_message), ArgumentError);
  CHECK_THROWS_WITH_AS((void)there(x.template to<D>()), doctest::Contains(moved_message), ArgumentError);
}

TEST_CASE("a model that is there already is itself, and stays as it is") {
  auto model = network<float, Cpu>();
  const auto same = std::move(model).to<Cpu>();
  CHECK(same.parameters()[0] == model.parameters()[0]);
  CHECK(same.buffers()[0] == model.buffers()[0]);
  CHECK(model(ones({1, 4})).shape() == Shape{1, 4});
  CHECK(std::move(model).as<float>().parameters()[0] == same.parameters()[0]);
}

/// Shares a buffer of float with a layer whose buffers change their type.
template <class T, class D>
struct Sharing : nn::Layer<Sharing<T, D>, T, D> {
  nn::BatchNorm1d<T, D> norm{2};
  nn::Buffer<float, D> mean;
  auto forward(const auto& x) const { return norm(x); }
  void members(const auto& visit) const { visit("norm", norm), visit("mean", mean); }
  template <class U, class E> auto twin() const { return Sharing<U, E>{}; }
};

TEST_CASE("a model on several ordinals moves to one as a whole, and its copies stay on them") {
  const nn::Linear<float, Counting> one{2, 2, true, Counting{1}}, zero{2, 2, true, Counting{0}};
  const auto ordinals_of = [](const auto& model) {
    std::string text;
    for (const auto& parameter : model.parameters()) text += std::to_string(parameter.device().ordinal);
    for (const auto& buffer : model.buffers()) text += std::to_string(buffer.device().ordinal);
    return text;
  };
  const nn::Sequential<float, Counting> model{one, nn::BatchNorm1d<float, Counting>{2}, zero};
  REQUIRE(ordinals_of(model) == "110000000");
  CHECK(ordinals_of(model.clone()) == "110000000");
  CHECK(ordinals_of(model.as<double>()) == "110000000");
  const auto there = nn::Sequential<float, Counting>(model).to(Counting{0});
  CHECK(ordinals_of(there) == "000000000");
  CHECK_THROWS_AS((void)one.weight.value(), ArgumentError);  // was moved
  auto again = nn::Sequential<float, Counting>(there).to(Counting{0});
  CHECK(again.parameters()[0] == there.parameters()[0]);  // all is there already
  CHECK(ordinals_of(std::move(again).to(Counting{1})) == "111111111");
}

TEST_CASE("a buffer that layers share may not become one of two types") {
  Sharing<float, Cpu> layer;
  layer.mean = layer.norm.running_mean;
  CHECK_THROWS_WITH_AS((void)std::move(layer).as<double>(), doctest::Contains("give each layer a buffer of its own"),
                       ArgumentError);
}

TEST_CASE("a move that stays where it is may name layers, as generic code does") {
  const auto x = sample<float, Cpu>({3, 4});
  nn::Sequential<float, Cpu> network{tracker<float, Cpu>(), nn::ReLU{}};
  const auto expected = reference(network(x));
  auto moved = std::move(network).to<Cpu, Tracker<float, Cpu>>();
  CHECK_CLOSE(moved(x), expected, 0);
  CHECK_CLOSE((moved.as<float, Tracker<float, Cpu>>()(x)), expected, 0);
  CHECK_CLOSE((std::move(moved).as<float, Tracker<float, Cpu>>()(x)), expected, 0);
}

LOCUS_DEVICE_TEST("a layer of your own moves by its twin(), alone and in networks that are told of it", D) {
  const auto x = sample<float, Cpu>({3, 4});
  auto layer = tracker<float, Cpu>();
  const auto expected = reference(layer(x));
  const auto names = names_of(layer);
  nn::Sequential<float, Cpu> network{layer, nn::ReLU{}, nn::Sequential<float, Cpu>{layer}};

  const auto shared = network.clone();
  CHECK(shared.parameters().size() == network.parameters().size());

  auto single = layer.clone();
  const auto there = std::move(single).template to<D>();
  static_assert(std::is_same_v<decltype(there), const Tracker<float, D>>);
  CHECK(names_of(there) == names);
  CHECK(there.factor == 3);
  CHECK(there.floors.size() == 2);
  CHECK_CLOSE(there(x.template to<D>()), expected, 1e-5);
  CHECK_CLOSE(there.calls, Reference(Shape{}, {3}));

  {
    auto again = network;
    CHECK_THROWS_WITH_AS((void)std::move(again).template to<D>(),
                         doctest::Contains("Tracker<float, locus::Cpu>>(), or .as<T, "), ArgumentError);
    CHECK_CLOSE(layer(x), expected);  // nothing was moved
    const auto outside = reference(network(x));
    const auto moved = std::move(network).template to<D, Tracker<float, Cpu>>();
    CHECK_CLOSE(moved(x.template to<D>()), outside, 1e-5);
    CHECK(moved.parameters().size() == layer.parameters().size());  // the shared parameters are still shared
    CHECK_THROWS_WITH_AS((void)layer(x), doctest::Contains(moved_message), ArgumentError);
    CHECK_THROWS_WITH_AS((void)layer.seen.value(), doctest::Contains("this buffer belonged"), ArgumentError);
    CHECK_THROWS_AS((void)nn::state_dict(layer), ArgumentError);
  }
}

LOCUS_DEVICE_TEST("a clone has parameters and buffers of its own, of the same names", D) {
  const auto x = sample<float, D>({3, 4});
  const auto model = network<float, D>();
  const auto layer = tracker<float, D>();
  const auto expected = reference(model(x)), of_layer = reference(layer(x));
  const auto twin = model.clone();
  const Tracker<float, D> copy = layer.clone();
  CHECK(names_of(twin) == names_of(model));
  CHECK(names_of(copy) == names_of(layer));
  CHECK(copy.factor == 3);
  for (const auto& parameter : model.parameters()) parameter.value().fill_(0);
  for (const auto& parameter : layer.parameters()) parameter.value().fill_(0);
  layer.seen.value().fill_(0);
  (void)model(trace(x));
  CHECK_CLOSE(twin(x), expected);
  CHECK_CLOSE(copy(x), of_layer);
  const nn::Linear<float, D> linear{4, 2};
  CHECK_FALSE(linear.clone().weight == linear.weight);
  const nn::Module<float, D> erased = layer;
  CHECK(erased.clone().template target<Tracker<float, D>>() != nullptr);

  const nn::Linear<float, D> tied{4, 4};
  const nn::Sequential<float, D> twice{tied, nn::ReLU{}, tied};
  const auto other = twice.clone();
  CHECK(other.parameters().size() == 2);
  CHECK(nn::state_dict(other).size() == 4);
  CHECK_CLOSE(other(x), reference(twice(x)));
}

LOCUS_DEVICE_TEST("a model of another element type, as a copy or moved", D) {
  const auto x = sample<float, D>({5, 4});
  auto model = network<float, D>();
  const auto expected = reference(model(x));
  const auto wide = model.template as<double>();
  static_assert(std::is_same_v<decltype(wide), const nn::Sequential<double, D>>);
  CHECK_CLOSE(wide(x.template as<double>()), expected, 1e-5);
  CHECK_CLOSE(model(x), expected);  // as it was
  CHECK(nn::state_dict(wide).template get<double>("0.weight").shape() == Shape{6, 4});

  nn::BatchNorm1d<float, D> norm{4};
  const auto normalized = reference(norm(x));
  const auto norm16 = std::move(norm).template as<bfloat16>();
  static_assert(std::is_same_v<typename decltype(norm16.weight)::value_type, bfloat16>);
  CHECK_CLOSE(norm16(x.template as<bfloat16>()), normalized, 2e-2);
  CHECK_THROWS_WITH_AS((void)norm(x), doctest::Contains(moved_message), ArgumentError);
  CHECK(norm16.buffers()[0].type() == ElementType::float32);  // statistics stay as they are computed
  CHECK(norm16.buffers()[2].type() == ElementType::int64);

  auto layer = tracker<float, D>();
  const auto of_layer = reference(layer(x));
  const auto seen = layer.seen;
  CHECK_CLOSE(std::move(layer).template as<double>()(x.template as<double>()), of_layer, 1e-5);
  CHECK_THROWS_AS((void)seen.value(), ArgumentError);
}

TEST_CASE("a model of 16 bits keeps names and shapes, and its float statistics and counters their types") {
  nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{4, 6}, nn::BatchNorm1d<float, Cpu>{6}, nn::ReLU{},
                                   Tracker<float, Cpu>{6}};
  const auto x = sample<float, Cpu>({5, 4});
  const auto expected = reference(model(x));
  const auto parameters = model.named_parameters();
  const auto buffers = model.named_buffers();
  std::vector<Tensor<float>> values;
  for (const auto& [name, parameter] : parameters) values.push_back(parameter.value().clone());
  const auto model16 = std::move(model).as<bfloat16, Tracker<float, Cpu>>();
  CHECK_CLOSE(model16(x.as<bfloat16>()), expected, 3e-2);

  const auto parameters16 = model16.named_parameters();
  const auto buffers16 = model16.named_buffers();
  REQUIRE(parameters16.size() == parameters.size());
  REQUIRE(buffers16.size() == buffers.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CHECK(parameters16[i].name == parameters[i].name);
    CHECK_CLOSE(parameters16[i].parameter.value(), reference(values[i].as<bfloat16>()), 0);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    CAPTURE(buffers[i].name);
    CHECK(buffers16[i].name == buffers[i].name);
    const bool is_of_the_model = buffers[i].name == "3.seen";  // an nn::Buffer<T, D>
    const bool counts = buffers[i].name == "1.num_batches_tracked" || buffers[i].name == "3.calls";
    CHECK(buffers16[i].buffer.type() == (is_of_the_model ? ElementType::bfloat16
                                         : counts        ? ElementType::int64
                                                         : ElementType::float32));
  }
}

TEST_CASE("where layers of Locus are named at the move, these alone are looked for, beside a Sequential") {
  using Inner = nn::Sequential<float, Cpu>;
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{4, 6}, Inner{nn::Tanh{}, nn::Linear<float, Cpu>{6, 2}}};
  const auto x = sample<float, Cpu>({5, 4});
  const auto model16 = model.as<half, nn::Linear<float, Cpu>, nn::Tanh>();
  CHECK_CLOSE(model16(x.as<half>()), reference(model(x)), 2e-3);
  CHECK_THROWS_WITH_AS((void)(model.as<half, nn::Linear<float, Cpu>, nn::ReLU>()),
                       doctest::Contains("not among those you name, locus::nn::Tanh, and has forgotten that type; name "
                                         "it where you move the model: std::move(model).to<D, locus::nn::Tanh>()"),
                       ArgumentError);
}

LOCUS_DEVICE_TEST("networks that begin with an Embedding move, too", D) {
  nn::Sequential model{nn::Embedding<float, Cpu>{5, 4, {.padding_idx = 1}}, nn::Flatten{}, nn::Dropout{0.1},
                       nn::Linear<float, Cpu>{8, 2}};
  const auto words = tensor<std::int64_t, Cpu>({2, 2}, {1, 4, 0, 3});
  const auto expected = reference(model(words));
  const auto there = std::move(model).template to<D>();
  static_assert(std::is_same_v<decltype(there), const nn::Sequential<float, D, std::int64_t>>);
  CHECK_CLOSE(there(words.template to<D>()), expected, 1e-5);
  sum(there(trace(words.template to<D>()))).backward();
  CHECK_CLOSE(there.parameters()[0].grad().select(0, 1), {0, 0, 0, 0});  // padding still
  const auto wide = there.template as<double>();
  CHECK_CLOSE(wide(words.template to<D>()), expected, 1e-5);
}

LOCUS_DEVICE_TEST("an optimizer of a model that moved throws when it is used; one of the new model trains it", D) {
  const auto x = sample<double, D>({5, 4});
  auto model = nn::Sequential<float, D>{nn::Linear<float, D>{4, 3}, nn::ReLU{}, nn::Linear<float, D>{3, 2}};
  optim::Adam optimizer{model.parameters(), {.lr = 0.1}};
  sum(model(trace(x.template as<float>()))).backward();
  auto wide = std::move(model).template as<double>();
  CHECK_THROWS_WITH_AS(optimizer.step(), doctest::Contains("make its optimizer from that one's parameters()"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS(optimizer.zero_grad(), doctest::Contains(moved_message), ArgumentError);
  CHECK_THROWS_WITH_AS((optim::Sgd{model.parameters(), {.lr = 0.1}}), doctest::Contains(moved_message), ArgumentError);
  CHECK_FALSE(wide.parameters()[0].has_grad());
  optim::Sgd next{wide.parameters(), {.lr = 0.1}};
  const double before = sum(square(wide(x))).item();
  for (int step = 0; step < 5; ++step) {
    const auto loss = sum(square(wide(trace(x))));
    next.zero_grad();
    loss.backward();
    next.step();
  }
  CHECK(sum(square(wide(x))).item() < before);
}

LOCUS_DEVICE_TEST("moving and copying draw no random numbers", D) {
  auto layer = tracker<float, D>();
  manual_seed(5);
  const auto expected = reference(randn<float, D>({3}));
  manual_seed(5);
  (void)layer.clone();
  (void)layer.template as<double>();
  CHECK_CLOSE(randn<float, D>({3}), expected, 0);
}

namespace {
/// A layer with a twin of other members, and a layer that holds a layer by a pointer.
template <class T, Device D>
struct Grown : nn::Layer<Grown<T, D>, T, D> {
  std::vector<nn::Linear<T, D>> floors;
  bool has_bias = true, forgets = false;
  Parameter<T, D> bias{ones<T, D>({4})};
  auto forward(const auto& x) const { return x + bias; }
  void members(const auto& visit) const {
    visit("floors", floors);
    if (has_bias) visit("bias", bias);
  }
  template <class U, class E>
  auto twin() const {
    Grown<U, E> layer;
    layer.has_bias = !forgets;
    return layer;
  }
};
template <Device D>
struct Pointing : nn::Layer<Pointing<D>, float, D> {
  const nn::Linear<float, D>* inner;
  explicit Pointing(const nn::Linear<float, D>& layer) : inner(&layer) {}
  auto forward(const auto& x) const { return (*inner)(x); }
  void members(const auto& visit) const { visit("inner", *inner); }
};
}  // namespace

LOCUS_DEVICE_TEST("what cannot be copied is said", D) {
  Grown<float, D> grown;
  grown.floors.emplace_back(4, 4);
  CHECK(grown.template as<double>().parameters().size() == 3);
  grown.forgets = true;  // the twin lists less
  CHECK_THROWS_WITH_AS((void)grown.template as<double>(),
                       doctest::Contains("twin() of a layer makes one whose members"), ArgumentError);
  grown.has_bias = grown.forgets = false;  // and more
  CHECK_THROWS_WITH_AS((void)grown.template as<double>(), doctest::Contains("from 'bias' on"), ArgumentError);
  const nn::Linear<float, D> layer{4, 4};
  const Pointing<D> pointing{layer};
  CHECK_THROWS_WITH_AS((void)pointing.clone(), doctest::Contains("member 'inner' is held by a pointer"), ArgumentError);
  CHECK(layer.weight.defined());
}

TEST_CASE("a ResNet is copied and moved with its names and statistics") {
  using D = Counting;
  const auto x = sample<float, D>({2, 3, 8, 8});
  auto model = models::resnet50<float, D>({.classes = 4, .small_images = true, .width = 4});
  (void)model(trace(x));  // updates the statistics
  const auto expected = reference(model(x));
  const auto names = names_of(model);
  const auto clone = model.clone();
  CHECK(names_of(clone) == names);
  for (const auto& parameter : clone.parameters()) parameter.value().fill_(0);
  CHECK_CLOSE(model(x), expected);
  nn::load_state_dict(clone, nn::state_dict(model));
  CHECK_CLOSE(clone(x), expected);
  const auto moved = std::move(model).to<Cpu>();
  CHECK(names_of(moved) == names);
  CHECK_CLOSE(moved(x.to<Cpu>()), expected, 1e-4);
  const nn::Sequential<float, Cpu> network{moved, nn::Tanh{}};
  CHECK(network.parameters().size() == moved.parameters().size());
  CHECK(network(trace(x.to<Cpu>())).shape() == Shape{2, 4});
  CHECK_THROWS_WITH_AS((void)model(x), doctest::Contains(moved_message), ArgumentError);
}
