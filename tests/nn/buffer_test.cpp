// Runs on: host, cuda (layers).
#include <locus/nn/buffer.hpp>

#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

#include <string>

using namespace locus;
using namespace locus_test;

namespace {

/// A layer with buffers of two types, one in a list, and an empty one.
template <class T, Device D>
struct Tracker : nn::Layer<Tracker<T, D>, T, D> {
  nn::Linear<T, D> inner{2, 2};
  nn::Buffer<T, D> seen{zeros<T, D>({2})};
  std::vector<nn::Buffer<std::int64_t, D>> counts{nn::Buffer(full<std::int64_t, D>({}, 7))};
  nn::Buffer<bool, D> none;

  template <class X>
  X forward(const X& x) const {
    if constexpr (X::role == Role::traced) seen.value() += sum(x.value(), 0);
    return inner(x) + seen;
  }
  void members(const auto& visit) const {
    visit("inner", inner);
    visit("seen", seen);
    visit("counts", counts);
    visit("none", none);
  }
};

template <class M>
std::string buffer_names(const M& model) {
  std::string names;
  for (const auto& [name, buffer] : model.named_buffers()) names += name + " ";
  return names;
}

/// One buffer under two names, and two buffers under one name.
struct SharedBuffer : nn::Layer<SharedBuffer, float, Cpu> {
  nn::Buffer<float, Cpu> a{ones({2})}, b = a;
  auto forward(const auto& x) const { return x + a; }
  void members(const auto& visit) const {
    visit("a", a);
    visit("b", b);
  }
};
struct ListedTwice : nn::Layer<ListedTwice, float, Cpu> {
  nn::Buffer<float, Cpu> a{ones({2})};
  auto forward(const auto& x) const { return x + a; }
  void members(const auto& visit) const {
    visit("a", a);
    visit("a", a);
  }
};

}  // namespace

LOCUS_DEVICE_TEST("buffers of any element type are listed, and are no parameters", D) {
  const Tracker<float, D> layer;
  CHECK(buffer_names(layer) == "seen counts.0 ");
  CHECK(layer.parameters().size() == 2);
  const nn::Sequential<float, D> model{layer, nn::Linear<float, D>{2, 3}, layer};
  CHECK(buffer_names(model) == "0.seen 0.counts.0 ");  // once, though the layer is there twice
  CHECK(model.buffers().size() == 2);
  const auto buffers = model.buffers();
  CHECK(buffers[0].type() == ElementType::float32);
  CHECK(buffers[1].type() == ElementType::int64);
  CHECK(buffers[1].shape() == Shape{});
  CHECK_CLOSE(buffers[1].template value<std::int64_t>(), Reference(Shape{}, {7}));
  CHECK_THROWS_WITH_AS((void)buffers[1].template value<float>(), "value: the buffer holds int64, not float32",
                       ArgumentError);
}

LOCUS_DEVICE_TEST("a buffer is a plain tensor in a formula, collects no gradient and is changed in place", D) {
  const Tracker<float, D> layer;
  layer.inner.weight.value().fill_(1);
  layer.inner.bias.value().fill_(0);
  const auto x = tensor<float, D>({2, 2}, {1, 2, 3, 4});
  CHECK_CLOSE(layer(x), {{2, 2}, {3, 3, 7, 7}});
  sum(layer(trace(x))).backward();  // forward updates the buffer first
  CHECK_CLOSE(layer.seen, {4, 6});
  CHECK_CLOSE(layer.inner.weight.grad(), {{2, 2}, {4, 6, 4, 6}});
  CHECK_CLOSE(layer(x), {{2, 2}, {7, 9, 11, 13}});
  const auto copy = layer;  // shares it, as copies share parameters
  CHECK(copy.seen == layer.seen);
  const nn::Buffer<float, D> own = layer.seen.clone();
  own.value().fill_(0);
  CHECK_CLOSE(layer.seen, {4, 6});
  const Tensor<float, D> strided = tensor<float, D>({2, 2}, {1, 2, 3, 4}).transpose();
  CHECK(nn::Buffer(strided).value().is_contiguous());
}

LOCUS_DEVICE_TEST("buffers are saved and loaded with the parameters, under full names", D) {
  const nn::Sequential<float, D> model{nn::Linear<float, D>{2, 2}, Tracker<float, D>{}};
  const auto seen = model.buffers()[0].template value<float>();
  seen.copy_(tensor<float, D>({2}, {3, 5}));
  const auto state = nn::state_dict(model).clone();
  CHECK(state.size() == 6);
  CHECK_CLOSE(state.template get<float>("1.seen"), {3, 5});
  CHECK_CLOSE(state.template get<std::int64_t>("1.counts.0"), Reference(Shape{}, {7}));
  seen.fill_(0);
  model.buffers()[1].template value<std::int64_t>().fill_(0);
  nn::load_state_dict(model, state);
  CHECK_CLOSE(seen, {3, 5});
  CHECK_CLOSE(model.buffers()[1].template value<std::int64_t>(), Reference(Shape{}, {7}));

  auto other = state.clone();
  other.erase("1.counts.0");
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, other), doctest::Contains("'1.counts.0'"), ArgumentError);
  other.add("1.counts.0", zeros<float, D>({}));
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, other), doctest::Contains("holds float32, but int64 in the model"),
                       ArgumentError);
  other.erase("1.counts.0");
  other.add("1.counts.0", zeros<std::int64_t, D>({1}));
  CHECK_THROWS_AS(nn::load_state_dict(model, other), ShapeError);
}

LOCUS_DEVICE_TEST("appending a layer or a network copies nothing, and a clone has all of its names", D) {
  const Tracker<float, D> layer;
  nn::Sequential<float, D> inner, model;
  const auto before = memory_stats(D{});
  inner.push_back(layer);
  model.push_back(nn::ReLU{});
  model.push_back(inner);
  for (int i = 0; i < 20; ++i) model.push_back(layer);  // which moves the layers appended before
  const auto after = memory_stats(D{});
  CHECK(after.allocated_bytes == before.allocated_bytes);
  CHECK(after.requests == before.requests);
  CHECK(model.parameters() == layer.parameters());  // the very same, listed once
  CHECK(buffer_names(model) == "1.0.seen 1.0.counts.0 ");
  (void)inner(trace(ones<float, D>({1, 2})));
  CHECK_CLOSE(model.buffers()[0].template value<float>(), {1, 1});
  CHECK_CLOSE(layer.seen, {1, 1});

  const auto names_of = [](const auto& any) {
    std::string names;
    for (const auto& entry : nn::state_dict(any)) names += entry.name + " ";
    for (const auto& [name, child] : any.children()) names += name + " ";
    return names;
  };
  const auto clone = model.clone();
  CHECK(names_of(clone) == names_of(model));
  CHECK(contains(names_of(clone), "1.0.inner.weight 1.0.inner.bias 1.0.seen 1.0.counts.0 2.inner.weight"));
  CHECK(clone.parameters().size() == 2);  // shared parameters are shared in the clone
  CHECK_FALSE(clone.parameters() == model.parameters());
  (void)clone(trace(ones<float, D>({1, 2})));
  CHECK_CLOSE(layer.seen, {1, 1});
}

LOCUS_DEVICE_TEST("an optimizer changes no buffer", D) {
  const Tracker<float, D> layer;
  optim::Sgd optimizer{layer.parameters(), {.lr = 0.1}};
  sum(layer(trace(ones<float, D>({1, 2})))).backward();
  optimizer.step();
  CHECK_CLOSE(layer.seen, {1, 1});
}

TEST_CASE("a buffer under two names is listed once and saved under both; two of one name are refused") {
  const SharedBuffer shared;
  CHECK(buffer_names(shared) == "a ");
  CHECK(nn::state_dict(shared).size() == 2);
  nn::StateDict<Cpu> state;
  state.add("b", full({2}, 3.f));
  CHECK(nn::load_state_dict(shared, state).missing.empty());
  CHECK_CLOSE(shared.a, {3, 3});
  CHECK_THROWS_WITH_AS((void)nn::state_dict(ListedTwice{}),
                       doctest::Contains("parameters or buffers of the model have the name 'a'"), ArgumentError);
}
