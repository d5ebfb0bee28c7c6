// Runs on: host.
// Models of which each rank has a part.

#include <locus/distributed/checkpoint.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

#include <doctest/doctest.h>

#include <limits>

#include <support/sharded_training.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {
using Comm = dist::Communicator<Cpu>;
using Net = nn::Sequential<float, Cpu>;
constexpr dist::ShardedOptions many{.least_unit_bytes = 0};

Net convolutional() {
  return Net{nn::Conv2d<float, Cpu>{1, 16, 3}, nn::BatchNorm2d<float, Cpu>{16}, nn::ReLU{}, nn::Flatten{},
             nn::Linear<float, Cpu>{256, 4}};
}
Tensor<float> images(int rank) {
  Generator<Cpu> numbers{static_cast<std::uint64_t>(10 + rank)};
  return randn<float>({4, 1, 6, 6}, numbers);
}
template <class T>
nn::Sequential<T, Cpu> wide() {
  manual_seed(3);
  return nn::Sequential<float, Cpu>{nn::Linear<float, Cpu>{20, 40}, nn::Tanh{}, nn::Linear<float, Cpu>{40, 40},
                                    nn::Tanh{}, nn::Linear<float, Cpu>{40, 3}}
      .template as<T>();
}
/// The weights of a model after steps on this rank's samples, one value after another; of a sharded one, all of them.
template <class M, class Step>
std::vector<float> after_steps(const M& model, const Step& step) {
  using T = value_of<M>;
  for (int i = 0; i < 3; ++i) step(i);
  std::vector<float> result;
  const auto add = [&](const Tensor<T>& x) {
    for (const float value : numbers_of(x.template as<float>().eval())) result.push_back(value);
  };
  if constexpr (requires { model.parts(); }) {
    std::map<std::string, std::vector<float>> by_name;
    model.for_each_whole([&](const std::string& name, const Tensor<T>& x) {
      by_name[name] = numbers_of(x.template as<float>().eval());
    });
    for (const auto& [name, values] : by_name) result.insert(result.end(), values.begin(), values.end());
  } else {
    std::map<std::string, Tensor<T>> by_name;
    for (const auto& [name, p] : model.named_parameters()) by_name[name] = p.value();
    for (const auto& [name, value] : by_name) add(value);
  }
  return result;
}
/// Six layers y = x * scale + bias, of which a pass uses some.
struct Scale : nn::Layer<Scale, float, Cpu> {
  Parameter<float, Cpu> scale{zeros({64})}, bias{zeros({64})};
  auto forward(const auto& x) const { return x * scale + bias; }
  void members(const auto& visit) const {
    visit("scale", scale);
    visit("bias", bias);
  }
};
struct Chain : nn::Layer<Chain, float, Cpu> {
  std::vector<Scale> h;
  Chain() {
    for (int i = 0; i < 6; ++i) {
      h.push_back({});
      (void)h.back().scale.value().fill_(1 + 0.5f * static_cast<float>(i));
      (void)h.back().bias.value().fill_(0.1f * static_cast<float>(i));
    }
  }
  auto forward(const auto& x) const { return h[5](h[4](h[3](h[2](h[1](h[0](x)))))); }
  void members(const auto& visit) const { visit("h", h); }
};
/// The value of f(model) and all gradients, of the plain model and of a sharded one on two ranks that do the same.
template <class F>
void check_pass(const F& f, const dist::ShardedOptions& options = many) {
  dist::spawn<Cpu>(2, [&](const Comm& comm) {
    const Chain plain;
    const auto wanted = f(plain).eval();
    wanted.backward();
    const auto model = dist::sharded(Chain(), comm, options);
    const auto found = model.call(f).eval();
    CHECK(found.item() == doctest::Approx(wanted.item()).epsilon(1e-6));
    found.backward();
    const auto parameters = plain.named_parameters();
    for (const auto& part : model.parts())
      for (const auto& [name, parameter] : parameters) {
        if (name != part.name || part.part.elements() == 0) continue;
        REQUIRE((part.part.has_grad() || !parameter.has_grad()));
        if (!part.part.has_grad()) continue;
        const auto mine = numbers_of(part.part.grad());
        const auto all = parameter.has_grad() ? numbers_of(parameter.grad()) : std::vector<float>(64);
        for (std::size_t i = 0; i < mine.size(); ++i)
          CHECK(mine[i] == doctest::Approx(all[static_cast<std::size_t>(part.first) + i]).epsilon(1e-5));
      }
  });
}
/// f(comm) on two ranks, whose messages are returned.
template <class E, class F>
std::vector<std::string> thrown_by_two(const F& f) {
  std::vector<std::string> messages(2);
  dist::spawn<Cpu>(
      2, [&](const Comm& comm) { messages[static_cast<std::size_t>(comm.rank())] = message_of<E>([&] { f(comm); }); });
  return messages;
}
}  // namespace

TEST_CASE("ranks with parts of a GPT-2 train as one process") {
  for (const int ranks : {1, 2, 4})
    CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [](const Comm& comm) { check_sharded(comm); }));
}

TEST_CASE("a sharded model has the weights and the buffers of a distributed one, bit for bit") {
  dist::spawn<Cpu>(2, [](const Comm& comm) {
    manual_seed(4);
    const Net whole = convolutional();
    const auto distributed = dist::distributed(whole.clone(), comm);
    const auto sharded = dist::sharded(whole.clone(), comm, many);
    CHECK(sharded.units() == 3);
    const auto train = [&](const auto& model) {
      optim::AdamW adam{model.parameters(), {.lr = 1e-2}};
      return after_steps(model, [&](int i) {
        adam.zero_grad();
        mean(square(model(trace(images(2 * i + comm.rank()))))).backward();
        adam.step();
      });
    };
    const auto of_both = {train(distributed), train(sharded)};
    CHECK(*of_both.begin() == *(of_both.begin() + 1));
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(numbers_of(sharded.buffers()[i].bytes()) == numbers_of(distributed.buffers()[i].bytes()));
    CHECK(numbers_of(sharded(images(0))) == numbers_of(distributed(images(0))));
    std::int64_t mine = 0, all = 0;
    for (const auto& p : sharded.parameters()) mine += p.elements();
    for (const auto& p : whole.parameters()) all += p.elements();
    CHECK(mine < all * 6 / 10);
  });
}

TEST_CASE("sharded models of 16 bits keep float masters of their parts, and scalers skip on all ranks") {
  dist::spawn<Cpu>(2, [](const Comm& comm) {
    const auto train = [&](const auto& model) {
      using T = value_of<std::remove_cvref_t<decltype(model)>>;
      optim::Adam adam{model.parameters(), {.lr = 1e-3}};
      optim::GradScaler scaler{{.init_scale = 8}};
      const auto result = after_steps(model, [&](int i) {
        Generator<Cpu> numbers{static_cast<std::uint64_t>(2 * i + comm.rank())};
        auto x = randn<float>({4, 20}, numbers);
        if (i == 1 && comm.rank() == 1) x(0, 0) = std::numeric_limits<float>::infinity();
        adam.zero_grad();
        const auto loss = mean(square(model(trace(x.template as<T>().eval())).template as<float>()));
        scaler.scale(loss).backward();
        scaler.unscale(adam);
        scaler.step(adam);
        scaler.update();
      });
      CHECK(scaler.skipped_steps() == 1);
      CHECK(scaler.scale_factor() == 4);
      return result;
    };
    CHECK(train(dist::sharded(wide<bfloat16>(), comm, many)) == train(dist::distributed(wide<bfloat16>(), comm)));
  });
}

TEST_CASE("frozen parameters of a sharded model stay whole, and are rank 0's") {
  dist::spawn<Cpu>(2, [](const Comm& comm) {
    const auto net = wide<float>();
    const auto parameters = net.parameters();
    parameters[0].requires_grad_(false);
    if (comm.rank() == 1) (void)parameters[0].value().fill_(0);
    const auto model = dist::sharded(net, comm, many);
    CHECK(numbers_of(parameters[0].value()) == numbers_of(wide<float>().parameters()[0].value()));
    parameters[0].requires_grad_(true);
    CHECK(contains(message_of<GraphError>([&] {
                     (void)model(ones({2, 20}));
                   }),
                   "'0.weight', of shape (40, 20), was frozen"));
    parameters[0].requires_grad_(false);
    const auto before = numbers_of(parameters[0].value());
    optim::Sgd sgd{model.parameters(), {.lr = 0.1}};
    sum(square(model(trace(ones({2, 20}))))).backward();
    sgd.step();
    CHECK(numbers_of(parameters[0].value()) == before);
    CHECK(comm.all_gather(model(ones({2, 20}))).shape() == Shape{2, 2, 3});
  });
}

TEST_CASE("fit and evaluate take a sharded model") {
  dist::spawn<Cpu>(2, [](const Comm& comm) {
    const auto x = randn<float>({24, 20}), y = (x.slice(1, 0, 3) * 0.5f).eval();
    const data::TensorDataset samples{x, y};
    const auto train = [&](const auto& model) {
      optim::Sgd sgd{model.parameters(), {.lr = 0.05}};
      History history;
      const data::DistributedSampler share{samples, comm, {.shuffle = false}};
      auto batches = data::loader<Cpu>(samples, share, {.batch_size = 4});
      fit(model, sgd, nn::MSELoss{}, batches, data::loader<Cpu>(samples, share, {.batch_size = 4}), history,
          {.epochs = 2, .accumulate = 3, .before_step = [&] { (void)optim::clip_grad_norm_(model.parameters(), 1); }});
      return history.records()[1].valid_loss;
    };
    const double sharded = train(dist::sharded(wide<float>(), comm, many));
    CHECK(sharded == doctest::Approx(train(dist::distributed(wide<float>(), comm))).epsilon(1e-6));
  });
}

TEST_CASE("a sharded model and its optimizer are saved by ranks, and go on with another number of them") {
  const TemporaryFolder folder;
  const auto step = [](const auto& model, auto& adam) {
    adam.zero_grad();
    mean(square(model(trace(ones({2, 20}))))).backward();
    adam.step();
  };
  const auto on_ranks = [&](int ranks, int steps, bool loads) {
    std::vector<float> result;
    dist::spawn<Cpu>(ranks, [&](const Comm& comm) {
      const auto model = dist::sharded(wide<float>(), comm, many);
      optim::Adam adam{model.parameters(), {.lr = 1e-2}};
      dist::Parts parts;
      parts.add("model", model).add("adam", adam);
      if (loads) (void)dist::load_parts((folder.path / "2").string(), comm, parts);
      const auto values = after_steps(model, [&](int i) {
        if (i < steps) step(model, adam);
      });
      if (!loads && steps == 2) dist::save_parts((folder.path / "2").string(), comm, parts);
      if (comm.rank() == 0) result = values;
    });
    return result;
  };
  (void)on_ranks(2, 2, false);
  const auto found = on_ranks(3, 1, true), wanted = on_ranks(2, 3, false);
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-5));
  CHECK(dist::whole_state((folder.path / "2").string(), "model.").size() == 6);
}

TEST_CASE("units that take turns in memory are there when an operation reads them, or it is refused") {
  const auto x = ones({2, 64});
  check_pass([&](const auto& net) { return sum(net(trace(x))); });  // one expression of all layers, or parts of it
  check_pass([&](const auto& net) { return sum(net(trace(x)).eval()); }, {.ahead = 0, .least_unit_bytes = 0});
  check_pass([&](const auto& net) {  // named before, computed after the others
    const auto skip = x * trace(net.h[0].bias);
    return sum(skip + net(trace(x)).eval());
  });
  check_pass(
      [&](const auto& net) { return sum(net.h[4](net.h[2](net.h[4](trace(x)).eval()).eval()) + net.h[1](trace(x))); },
      {.ahead = 0, .least_unit_bytes = 0});
  for (int ahead : {0, 1, 4})
    dist::spawn<Cpu>(2, [&](const Comm& comm) {
      const auto model = dist::sharded(Chain(), comm, {.ahead = ahead, .least_unit_bytes = 0});
      const auto all = [](const auto& net) {
        return concat(0, trace(net.h[0].bias), trace(net.h[1].bias), trace(net.h[2].bias), trace(net.h[3].bias));
      };
      if (ahead < 4)
        CHECK(contains(message_of<GraphError>([&] { (void)model.call(all); }), "whose units share memory"));
      else CHECK(numbers_of(model.call(all).value()) == numbers_of(all(Chain()).value()));
    });
}

TEST_CASE("a backward pass within a call reduces gradients") {
  dist::spawn<Cpu>(2, [](const Comm& comm) {
    const auto model = dist::sharded(wide<float>(), comm, many);
    (void)model.call([&](const auto& net) {
      const auto loss = sum(square(net(trace(ones({2, 20}))))).eval();
      loss.backward();
      return loss;
    });
    for (const auto& part : model.parts()) CHECK(part.part.has_grad());
    CHECK(optim::clip_grad_norm_(model.parameters(), 1).item() > 0);
    CHECK(model(ones({2, 20})).elements() == 6);
  });
}

TEST_CASE("lists of some parameters of a sharded model are the same on all ranks, also where a rank has none of them") {
  dist::spawn<Cpu>(4, [](const Comm& comm) {
    const Net tiny{nn::Linear<float, Cpu>{3, 3, false}};
    const auto first = dist::sharded(tiny, comm);  // one rank has all of it
    optim::Adam adam{first.parameters(), {.lr = 0.1}};
    sum(square(first(trace(ones({2, 3}))))).backward();
    CHECK(optim::clip_grad_norm_(first.parameters(), 1).item() > 0);
    adam.step();
    const auto model = dist::sharded(wide<float>(), comm, many);
    std::vector<Parameter<float, Cpu>> weights, biases;
    for (const auto& [name, parameter] : model.named_parameters())
      (name.ends_with("bias") ? biases : weights).push_back(parameter);
    CHECK(biases.size() == 3);
    optim::AdamW groups{std::vector<optim::Group<float, Cpu>>{{weights, {.weight_decay = 0.1}}, {biases, {}}},
                        {.lr = 0.1}};
    sum(square(model(trace(ones({2, 20}))))).backward();
    const float norm = optim::clip_grad_norm_(biases, 1e9).item();
    groups.step();
    const auto plain = wide<float>();
    sum(square(plain(trace(ones({2, 20}))))).backward();
    double squares = 0;
    for (const auto& [name, parameter] : plain.named_parameters())
      if (name.ends_with("bias"))
        for (const float g : numbers_of(parameter.grad())) squares += double{g} * double{g};
    CHECK(norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-5));
  });
}

TEST_CASE("ranks whose passes of a sharded model differ learn of it") {
  for (const auto& text : thrown_by_two<CollectiveError>([](const Comm& comm) {
         const auto model = dist::sharded(Chain(), comm, {.gather_again = false, .least_unit_bytes = 0});
         const auto x = ones({2, 64});
         const auto loss = model.call([&](const Chain& net) {
           return comm.rank() == 0 ? sum(net.h[1](net.h[0](trace(x)))).eval()
                                   : sum(net.h[0](net.h[1](trace(x)))).eval();
         });
         loss.backward();
       }))
    CHECK(contains(text, "of a sharded model"));
}

TEST_CASE("mistakes with sharded models are named") {
  for (const auto& text : thrown_by_two<ArgumentError>(
           [](const Comm& comm) { (void)dist::sharded(wide<float>(), comm, {.ranks_of_copy = 3}); }))
    CHECK(text == "sharded: .ranks_of_copy is 3 on rank 0 of 2; expected a divisor of the number of ranks, or 0");
  CHECK(contains(thrown_by_two<ArgumentError>(
                     [](const Comm& comm) { (void)dist::sharded(wide<float>(), comm, {.ahead = comm.rank()}); })[0],
                 "sharded: the options of rank 1 are"));
  CHECK(contains(thrown_by_two<ArgumentError>([](const Comm& comm) {
                   const Net net{nn::Conv2d<float, Cpu>{2, 16, 3}};
                   net.parameters()[0].channels_last_();
                   (void)dist::sharded(net, comm);
                 })[0],
                 "is laid out with channels last; call dist::sharded on the model as it was built"));
  dist::spawn<Cpu>(2, [](const Comm& comm) {
    const auto net = wide<float>();
    const auto x = ones({2, 20});
    {
      const auto model = dist::sharded(net, comm, many);
      CHECK(contains(message_of<GraphError>([&] { (void)net(x); }),
                     "its whole value is here within a pass of the model alone; call the result of dist::sharded"));
      CHECK(contains(message_of<GraphError>([&] {
                       const optim::Sgd sgd{net.parameters(), {.lr = 1}};
                     }),
                     "optimizer: the parameter belongs to a sharded model"));
      CHECK(contains(message_of<GraphError>([&] { (void)optim::clip_grad_norm_(net.parameters(), 1); }),
                     "clip_grad_norm_: the parameter belongs to a sharded model"));
      CHECK(contains(message_of<ArgumentError>([&] { (void)dist::sharded(net, comm); }), "is part of a sharded model"));
      optim::Sgd sgd{model.parameters(), {.lr = 1}};
      sum(model(trace(x))).backward();
      const auto late = sum(model(trace(x)));
      sgd.step();
      CHECK(
          contains(message_of<StaleError>([&] { late.backward(); }), "its parameters changed after the forward pass"));
      net.parameters()[0].requires_grad_(false);
      CHECK(contains(message_of<GraphError>([&] { (void)model(x); }), "freeze parameters before dist::sharded"));
    }
    CHECK(contains(message_of<GraphError>([&] { (void)net(x); }), "a sharded model, which is gone"));
  });
}

TEST_CASE("gradients of a sharded model within no_sync() are not stepped, until they are reduced or dropped") {
  dist::spawn<Cpu>(2, [](const Comm& comm) {
    const auto model = dist::sharded(wide<float>(), comm, many);
    optim::Sgd sgd{model.parameters(), {.lr = 0.1}};
    const auto pass = [&] { sum(square(model(trace(ones({2, 20}))))).backward(); };
    {
      const auto guard = model.no_sync();
      pass();
      CHECK(contains(message_of<GraphError>([&] { sgd.step(); }), "gradients are those of this rank alone"));
      CHECK_THROWS_AS((void)optim::clip_grad_norm_(model.parameters(), 1), GraphError);
    }
    pass();
    CHECK_NOTHROW(sgd.step());
    {
      const auto guard = model.no_sync();
      pass();
    }
    CHECK_THROWS_AS(sgd.step(), GraphError);
    model.zero_grad();
    CHECK_NOTHROW(sgd.step());
  });
}

TEST_CASE("a backward pass that throws in the middle ends the training of a sharded model on all ranks") {
  for (const auto& text : thrown_by_two<CollectiveError>([](const Comm& comm) {
         const auto model = dist::sharded(wide<float>(), comm, many);
         const auto x = ones({2, 20});
         try {
           auto y = model(trace(x));
           const auto hook = y.on_gradient([&](const auto&) {
             if (comm.rank() == 1) throw std::runtime_error("in the middle");
           });
           sum(y).backward();
         } catch (const std::runtime_error& error) {
           if (comm.rank() == 0) throw;
         }
         (void)model(x);
       }))
    CHECK(contains(text, "rank 1"));
}
