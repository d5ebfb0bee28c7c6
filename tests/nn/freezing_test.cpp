// Runs on: host, cuda (layers); counting.
// Frozen parameters: recording, computing, saving for backward and stepping without them, and their selection in a
// model.

#include <locus/autograd/checkpoint.hpp>
#include <locus/nn/averaged_model.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/nn/embedding.hpp>
#include <locus/nn/frozen.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/optim/sgd.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <optim/recorded.hpp>

#include <string>

using namespace locus;
using namespace locus_test;

namespace {

/// Two layers as in fine-tuning: the base is kept, the head is trained.
template <class D>
struct Pair : nn::Layer<Pair<D>, float, D> {
  nn::BatchNorm1d<float, D> norm{6};
  auto forward(const auto& x, const auto& two) const {
    const auto& [a, b] = two;
    auto y = norm(x);
    return Tuple(y, norm(a) + b);
  }
  void members(const auto& visit) const { visit("norm", norm); }
};
template <class D>
struct Net : nn::Layer<Net<D>, float, D> {
  nn::Linear<float, D> base{6, 5}, head{5, 3};
  template <class X> auto forward(const X& x) const { return head(tanh(base(x))); }
  void members(const auto& visit) const { visit("base", base), visit("head", head); }
};

template <class D>
[[nodiscard]] Tensor<float, D> batch() {
  return sample<float, D>({4, 6}, 3);
}
template <class M>
[[nodiscard]] std::string trained_names(const M& model) {
  std::string names;
  for (const auto& [name, parameter] : model.named_parameters())
    if (parameter.requires_grad()) names += name + " ";
  return names;
}
template <class M>
[[nodiscard]] std::string names_with_gradients(const M& model) {
  std::string names;
  for (const auto& [name, parameter] : model.named_parameters())
    if (parameter.has_grad()) names += name + " ";
  return names;
}

}  // namespace

LOCUS_DEVICE_TEST("a frozen parameter collects no gradient, until it is trained again", D) {
  const Parameter w(tensor<float, D>({2}, {1, 2})), same = w;
  int calls = 0;
  const auto hook = w.on_gradient([&](const auto&) { ++calls; });
  const auto loss = [&] { return sum(trace(tensor<float, D>({2}, {3, 4})) * w); };
  CHECK(w.requires_grad());
  loss().backward();
  CHECK(calls == 1);
  same.requires_grad_(false);
  CHECK_FALSE(w.requires_grad());
  CHECK_FALSE(w.has_grad());  // the gradient is forgotten
  CHECK_THROWS_WITH_AS((void)w.grad(), doctest::Contains("frozen"), GraphError);
  CHECK_FALSE(loss().eval().requires_gradient());
  CHECK_FALSE(trace(w).requires_gradient());
  CHECK_FALSE(w.clone().requires_grad());
  CHECK(calls == 1);
  w.requires_grad_();
  CHECK_FALSE(w.has_grad());
  loss().backward();
  CHECK_CLOSE(w.grad(), {3, 4});
  w.requires_grad_(true);  // as it is already
  CHECK(w.has_grad());
  CHECK(calls == 2);
}

LOCUS_DEVICE_TEST("what was recorded before a parameter was frozen drops its gradient", D) {
  const Parameter w(tensor<float, D>({2}, {1, 2})), b(tensor<float, D>({2}, {0, 0}));
  const auto flat = flatten(std::vector{w, b});
  const auto loss = sum(trace(tensor<float, D>({2}, {3, 4})) * w + b).eval();
  w.requires_grad_(false);
  loss.backward();
  CHECK_FALSE(w.has_grad());
  CHECK_CLOSE(b.grad(), {1, 1});
  double total = 0;
  for (const double x : reference(flat.gradients()).values) total += x;
  CHECK(total == 2);
  w.requires_grad_();
  CHECK_FALSE(w.has_grad());
}

TEST_CASE("an empty parameter cannot be frozen or trained") {
  const Parameter<float> none;
  CHECK_FALSE(none.requires_grad());
  CHECK_THROWS_WITH_AS(none.requires_grad_(false), doctest::Contains("requires_grad_: the parameter is empty"),
                       ArgumentError);
}

LOCUS_DEVICE_TEST("a backward pass ends where everything before is frozen: launches and memory of the head alone", D) {
  const Net<D> model;
  const auto x = batch<D>();
  const auto labels = tensor<std::int64_t, D>({4}, {0, 1, 2, 0});
  const auto launches_of_backward = [&](const auto& logits) {
    const auto loss = nn::cross_entropy(logits, labels);
    const LaunchLog log;
    loss.backward();
    return log.launches();
  };
  const Tensor<float, D> features = tanh(model.base(x));
  const auto of_head = launches_of_backward(model.head(trace(features)));
  model.zero_grad();
  const auto of_all = launches_of_backward(model(trace(x)));
  const auto wanted = model.head.weight.grad().clone();
  model.zero_grad();
  model.base.requires_grad_(false);
  CHECK(launches_of_backward(model(trace(x))) == of_head);
  CHECK(of_head < of_all);
  CHECK(names_with_gradients(model) == "head.weight head.bias ");
  CHECK_CLOSE(model.head.weight.grad(), reference(wanted), 1e-6);

  const auto before = memory_stats(D{}).allocated_bytes;
  const auto kept = tanh(model.base(trace(x))).eval();
  CHECK_FALSE(kept.requires_gradient());
  const auto of_result = memory_stats(D{}).allocated_bytes - before;
  const auto copy = kept.value().clone();
  CHECK(memory_stats(D{}).allocated_bytes - before == 2 * of_result);  // the result, and nothing for a backward pass
}

LOCUS_DEVICE_TEST("a frozen layer in the middle hands gradients on", D) {
  const nn::Sequential model{nn::Linear<float, D>{6, 5}, nn::Linear<float, D>{5, 4}, nn::Linear<float, D>{4, 2}};
  const auto loss = [&] { return sum(square(model(trace(batch<D>())))); };
  loss().backward();
  const auto first = model.parameters()[0].grad().clone(), last = model.parameters()[4].grad().clone();
  model.zero_grad();
  model.requires_grad_(false, "1");
  loss().backward();
  CHECK(names_with_gradients(model) == "0.weight 0.bias 2.weight 2.bias ");
  CHECK_CLOSE(model.parameters()[0].grad(), reference(first), 0);
  CHECK_CLOSE(model.parameters()[4].grad(), reference(last), 0);
}

TEST_CASE("layers and parameters are frozen by name") {
  const nn::Sequential model{nn::Linear<float, Cpu>{6, 5}, nn::ReLU{}, nn::Linear<float, Cpu>{5, 4, false},
                             nn::BatchNorm1d<float, Cpu>{4}};
  const auto trained = [&] { return trained_names(model); };
  model.requires_grad_(false);
  CHECK(trained() == "");
  model.requires_grad_(true, "2", "3.bias");
  CHECK(trained() == "2.weight 3.bias ");
  model.requires_grad_();
  model.requires_grad_(false, std::string("*.bias"));
  CHECK(trained() == "0.weight 2.weight 3.weight ");
  model.requires_grad_(false, "*");
  model.requires_grad_(true, "*.w*t");
  CHECK(trained() == "0.weight 2.weight 3.weight ");
  // Parts of names do not match: "0.w" is refused, and so is a layer without parameters.
  for (const char* name : {"0.w", "1", "weight", "", "0.", "*.weight.*"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(model.requires_grad_(false, "0", name), ArgumentError);
  }
  CHECK_THROWS_WITH_AS(
      model.requires_grad_(false, "layer1"),
      "requires_grad_: no parameter or layer has the name 'layer1'; parameters are '0.weight', '0.bias', '2.weight', "
      "'3.weight', '3.bias'; name one of them, or a layer, such as 'layer1', or a pattern, such as '*.bias'",
      ArgumentError);
  CHECK(trained() == "0.weight 2.weight 3.weight ");  // nothing was changed
}

namespace {
/// Layers that share a parameter under two names.
struct Tied : nn::Layer<Tied, float, Cpu> {
  nn::Linear<float, Cpu> in{3, 3}, out = in;
  auto forward(const auto& x) const { return out(in(x)); }
  void members(const auto& visit) const { visit("in", in), visit("out", out); }
};
}  // namespace

TEST_CASE("a parameter of several names is frozen by any of them, and is the same in all") {
  const Tied model;
  model.requires_grad_(false, "out.weight");
  CHECK(trained_names(model) == "in.bias ");
}

TEST_CASE("copies, converted and moved models have the same parameters frozen; files of weights do not say") {
  Net<Cpu> model;
  model.base.requires_grad_(false);
  CHECK(trained_names(model.clone()) == "head.weight head.bias ");
  const nn::Sequential net{nn::Linear<float, Cpu>{2, 2}, nn::Linear<float, Cpu>{2, 2}};
  net.requires_grad_(false, "0");
  CHECK(trained_names(net.as<double>()) == "1.weight 1.bias ");
  CHECK(trained_names(net.clone()) == "1.weight 1.bias ");
  const nn::AveragedModel average{net};
  CHECK(trained_names(average.module()) == "1.weight 1.bias ");
  const auto state = nn::state_dict(net).clone();
  CHECK(state.size() == 4);
  (void)net.parameters()[0].value().fill_(7);
  net.requires_grad_(false, "1");
  nn::load_state_dict(net, state);  // frozen ones, too
  CHECK(net.parameters()[0].value()(0, 0) != 7);
  CHECK(trained_names(net) == "");
  const auto moved = std::move(net).as<bfloat16>();
  CHECK(trained_names(moved) == "");
}

namespace {
template <class D, template <class, class> class Optimizer, class Options>
void check_frozen_steps(const std::string& name, const Options& options) {
  Recorded<double, D> run{"rules"};
  Optimizer<double, D> optimizer(std::vector{run.w, run.b}, options);
  // The parameter b is frozen after step 5 had its gradient.
  const auto values = recorded_tensor<double, D>(name + "_b");
  const auto expected_w = recorded_tensor<double, D>(name + "_w");
  const auto loss = [](const auto& p, const auto& g) { return sum(trace(p) * trace(p) * 0.15 + trace(p) * g); };
  for (int step = 0; step < run.steps; ++step) {
    CAPTURE(step);
    optimizer.zero_grad();
    run.b.requires_grad_(!(step > 5 && step <= 12));
    (loss(run.w, run.gw.select(0, step)) + loss(run.b, run.gb.select(0, step))).backward();
    (void)optim::clip_grad_norm_(optimizer.parameters(), 1e6);
    const LaunchLog log;
    optimizer.step();
    CHECK(log.launches() == (step > 12 ? 2 : 1));  // w and b made different numbers of steps from then on
    CHECK_CLOSE(run.w.value(), reference(expected_w.select(0, step)), 1e-10);
    CHECK_CLOSE(run.b.value(), reference(values.select(0, step)), 1e-10);
  }
  CHECK(optimizer.steps() == std::vector<std::int64_t>{20, 13});
}
}  // namespace

LOCUS_DEVICE_TEST("steps leave a frozen parameter, its state and its count of steps as they are, as PyTorch's do", D) {
  check_frozen_steps<D, optim::AdamW>("frozen_adamw", optim::AdamWOptions{.lr = 0.05, .weight_decay = 0.3});
  check_frozen_steps<D, optim::Sgd>("frozen_sgd", optim::SgdOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.2});
}

LOCUS_DEVICE_TEST("clipping measures the gradients that are there, and a scaler steps beside a frozen parameter", D) {
  const Parameter a = two<D>(1, 2), frozen = two<D>(3, 4), b = two<D>(5, 6);
  const std::vector parameters{a, frozen, b};
  const auto flat = flatten(parameters);
  for (const auto& parameter : parameters) give(parameter, 10);
  frozen.requires_grad_(false);
  give(a, tensor<float, D>({2}, {3, 0}));
  give(b, tensor<float, D>({2}, {0, 4}));
  CHECK(optim::clip_grad_norm_(parameters, 1).item() == 5);
  CHECK_CLOSE(a.grad(), {0.6, 0}, 1e-5);
  CHECK_CLOSE(b.grad(), {0, 0.8}, 1e-5);
  CHECK_CLOSE(flat.gradients(1, 2).slice(0, 0, 2), {0, 0});

  for (const bool first_is_frozen : {false, true}) {
    a.requires_grad_(!first_is_frozen);
    optim::Sgd optimizer{parameters, {.lr = 1}};
    optim::GradScaler<D> scaler{{.init_scale = 8, .growth_interval = 1}};
    for (int step = 0; step < 2; ++step) {
      const auto loss = sum(trace(tensor<float, D>({2}, {1, 1})) * a * frozen * b);
      const auto value_a = reference(a.value()), value_b = reference(b.value()), value = reference(frozen.value());
      optimizer.zero_grad();
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
      for (std::size_t i = 0; i < 2; ++i) {
        const double va = value_a.values[i], vb = value_b.values[i], vf = value.values[i];
        CHECK(reference(a.value()).values[i] == doctest::Approx(first_is_frozen ? va : va - vf * vb));
        CHECK(reference(b.value()).values[i] == doctest::Approx(vb - va * vf));
        CHECK(reference(frozen.value()).values[i] == vf);
      }
    }
    CHECK(scaler.skipped_steps() == 0);
    CHECK(scaler.scale_factor() == 32);
  }
}

LOCUS_DEVICE_TEST("a checkpoint gives no gradient to what is frozen, and is none where all of it is", D) {
  const Net<D> model;
  const auto loss = [&](bool again) {
    const auto x = trace(batch<D>());
    return sum(square(again ? checkpoint(model, x) : model(x).eval()));
  };
  model.requires_grad_(false, "base.weight", "head.bias");
  loss(false).backward();
  const auto bias = model.base.bias.grad().clone(), weight = model.head.weight.grad().clone();
  model.zero_grad();
  loss(true).backward();
  CHECK(names_with_gradients(model) == "base.bias head.weight ");
  CHECK_CLOSE(model.base.bias.grad(), reference(bias), 1e-6);
  CHECK_CLOSE(model.head.weight.grad(), reference(weight), 1e-6);
  model.requires_grad_(false);
  CHECK_FALSE(loss(true).eval().requires_gradient());
  CHECK_THROWS_WITH_AS(loss(true).eval().backward(), doctest::Contains("requires_grad_()"), GraphError);
  const auto recorded = [&] {
    model.requires_grad_(true, "head");
    const auto kept = loss(true).eval();
    model.requires_grad_(true, "base");
    return kept;
  }();
  CHECK_THROWS_WITH_AS(recorded.backward(), doctest::Contains("had not used before"), GraphError);
}

namespace {
/// Checks that the backward pass of f throws StaleError naming `operation` after `value` was changed in place.
template <class D, class F>
void check_stale(const F& f, const Tensor<float, D>& value, const char* operation) {
  const auto x = variable(batch<D>());
  const auto loss = sum(square(f(x))).eval();
  (void)value.fill_(7);
  CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains(operation), StaleError);
}
}  // namespace

LOCUS_DEVICE_TEST("a checkpoint notices what was changed in place of frozen parameters", D) {
  const Net<D> model;
  const Parameter scale(sample<float, D>({4, 6}, 9));
  model.requires_grad_(false);
  scale.requires_grad_(false);
  const auto again = [](const auto& f) { return [&f](const auto& x) { return checkpoint(f, x); }; };
  const auto whole = [&](const auto& x) { return model(x); };
  check_stale<D>(whole, model.base.weight.value(), "linear");
  for (const auto& value : {model.base.weight.value(), model.head.weight.value()}) {
    check_stale<D>(again(model), value, "checkpoint");  // of the head's, too, whose operand has no node within
    check_stale<D>(again(again(model)), value, "checkpoint");
  }
  const auto seen = [&](const auto& x) { return x * square(seen_by(x, scale)); };
  const auto traced = [&](const auto& x) { return x * square(trace(scale)); };
  const auto expression = [&](const auto& x) { return x * scale * 2.f; };
  const auto in_einsum = [&](const auto& x) { return einsum("ij,ij->i", x, scale); };
  check_stale<D>(again(seen), scale.value(), "checkpoint");
  check_stale<D>(again(traced), scale.value(), "checkpoint");
  check_stale<D>(again(expression), scale.value(), "checkpoint");
  check_stale<D>(again(in_einsum), scale.value(), "checkpoint");
  const auto compared = [&](const auto& x) {
    const auto mask = (x < scale).eval();
    return where(mask, x, x * 2.f).eval();
  };
  check_stale<D>(again(compared), scale.value(), "checkpoint");
  scale.requires_grad_();
  check_stale<D>(again(compared), scale.value(), "checkpoint");
  CHECK_FALSE(checkpoint(compared, trace(batch<D>())).requires_gradient());
}

LOCUS_DEVICE_TEST("batch norm of frozen weights learns statistics in training, and not of a frozen input", D) {
  const nn::BatchNorm1d<float, D> norm{3};
  norm.requires_grad_(false);
  const auto x = sample<float, D>({8, 3}, 5);
  const auto y = norm(frozen(trace(x))).eval();
  CHECK_CLOSE(y, reference(norm(x).eval()), 1e-6);
  CHECK(norm.num_batches_tracked.value().item() == 0);
  CHECK_FALSE(y.requires_gradient());
  const nn::BatchNorm1d<float, D> whole{3};
  const auto of = [&](const auto& layer) {
    const auto input = variable(x);
    const auto result = layer(input).eval();
    sum(square(result) * result).backward();
    return std::pair(result.value(), input.grad());
  };
  const auto [given, gradient] = of(norm);
  const auto [wanted, wanted_gradient] = of(whole);
  CHECK_CLOSE(given, reference(wanted), 0);
  CHECK_CLOSE(gradient, reference(wanted_gradient), 0);
  CHECK_FALSE(norm.weight.has_grad());
  CHECK(norm.num_batches_tracked.value().item() == 1);
  CHECK_CLOSE(norm.running_mean, reference(whole.running_mean.value()), 0);
  // A plain input gives the same beside the trace of a frozen parameter as beside a trained parameter.
  const RunningStatistics<float, D> running{norm.running_mean.value(), norm.running_var.value(), {}};
  CHECK_CLOSE(batch_norm(x, running, trace(norm.weight), norm.bias), reference(wanted), 0);
  CHECK_CLOSE(batch_norm(x, running, norm.weight, norm.bias), reference(norm(x)), 0);
}

LOCUS_DEVICE_TEST("layers of a Frozen model act as in inference, and those after it as in training", D) {
  const nn::BatchNorm1d<float, D> norm{6}, after{6};
  norm.running_mean.value().fill_(0.5f);
  const nn::Frozen part{nn::Sequential<float, D>{norm, nn::Dropout{0.5}}};
  const auto x = batch<D>();
  const auto input = variable(x), same = variable(x);
  const auto y = part(input).eval();
  CHECK_CLOSE(y, reference(part(x).eval()), 0);
  sum(square(y)).backward();
  sum(square(norm(frozen(same)))).backward();
  CHECK_CLOSE(input.grad(), reference(same.grad()), 0);
  CHECK(norm.weight.has_grad());
  CHECK(norm.num_batches_tracked.value().item() == 0);
  CHECK_FALSE(y.is_frozen());
  CHECK(part(frozen(input)).eval().is_frozen());

  const nn::Sequential<float, D> net{part, after};
  CHECK_FALSE(net(trace(x)).is_frozen());
  CHECK(after.num_batches_tracked.value().item() == 1);
  CHECK(norm.num_batches_tracked.value().item() == 0);

  const nn::Frozen pair{Pair<D>{}};  // of Tuples
  const auto [u, v] = pair(trace(x), Tuple(trace(x), x));
  CHECK_FALSE(u.is_frozen());
  CHECK_FALSE(v.is_frozen());
  CHECK(pair.module().norm.num_batches_tracked.value().item() == 0);
  const auto [frozen_u, frozen_v] = pair(trace(x), Tuple(frozen(trace(x)), x));
  CHECK(frozen_u.is_frozen());
  CHECK(frozen_v.is_frozen());
}

TEST_CASE("a Frozen model has the model's names, shares its parameters, and is copied and moved with it") {
  using D = Counting;
  const nn::Frozen shared{Net<D>{}};
  CHECK(shared.module().base.weight == shared.parameters()[0]);
  CHECK(shared.named_parameters()[0].name == "base.weight");
  shared.requires_grad_(false, "base");
  CHECK(trained_names(shared.module()) == "head.weight head.bias ");
  CHECK(shared.children().size() == 2);
  const auto copy = shared.clone();
  CHECK_FALSE(copy.module().base.weight == shared.module().base.weight);
  CHECK(trained_names(copy) == "head.weight head.bias ");
  const auto x = batch<D>();
  CHECK_CLOSE(copy(trace(x)), reference(shared(x).eval()), 0);

  using Part = nn::Frozen<nn::Sequential<float, D>>;
  const Part net{nn::Sequential<float, D>{nn::BatchNorm1d<float, D>{6}, nn::Dropout{0.5}}};
  const nn::Frozen<nn::Sequential<double, D>> wide = net.as<double>();
  CHECK_CLOSE(wide(trace(x.template as<double>())), reference(net(x).eval()), 1e-6);
  nn::Sequential<float, D> holder{net};
  const nn::Sequential<float, Cpu> moved = std::move(holder).template to<Cpu, Part>();
  CHECK(moved(trace(x.template to<Cpu>())).shape() == x.shape());
  CHECK_THROWS_AS((void)net(x), ArgumentError);  // it moved with its holder

  const nn::Frozen table{nn::Embedding<float, D>{4, 3}};
  CHECK(table(trace(Tensor<std::int64_t, D>({2}).fill_(1))).shape() == Shape{2, 3});
}
