// Runs on: host.
// GPT-2 whose layers and vocabulary are divided among ranks, beside one process.

#include <locus/models/parallel_gpt2.hpp>

#include <doctest/doctest.h>

#include <support/spread_training.hpp>

using namespace locus;
using namespace locus_test;

namespace {
constexpr models::GPT2Options options{.vocab_size = 29,
                                      .n_positions = 16,
                                      .n_embd = 16,
                                      .n_layer = 2,
                                      .n_head = 4,
                                      .embd_pdrop = 0,
                                      .attn_pdrop = 0,
                                      .resid_pdrop = 0,
                                      .initializer_range = 0.3};

struct Texts {
  Tensor<std::int64_t> tokens, next;
  Texts() {
    Generator<Cpu> numbers{5};
    const auto text = randint(0, options.vocab_size, {4, 11}, numbers);
    tokens = text.slice(1, 0, 10).contiguous(), next = text.slice(1, 1, 11).contiguous();
  }
};
models::GPT2<float, Cpu> whole_model() {
  manual_seed(3);
  return models::gpt2<float>(options);
}
/// The losses of steps of one process, and the weights afterwards.
struct Run {
  std::vector<float> losses;
  std::vector<Tensor<float>> weights;
};
Run of_one_process(int steps) {
  const auto model = whole_model();
  const Texts texts;
  optim::Sgd sgd{model.parameters(), {.lr = 0.1}};
  Run run;
  for (int i = 0; i < steps; ++i) {
    const auto loss = model.loss(trace(texts.tokens), texts.next);
    sgd.zero_grad();
    loss.backward();
    (void)optim::clip_grad_norm_(model.parameters(), 1);
    sgd.step();
    run.losses.push_back(loss.item());
  }
  for (const auto& p : model.parameters()) run.weights.push_back(p.value().clone());
  return run;
}

/// Collects this rank's parameters of a model that lists its members.
struct Collecting {
  std::vector<Tensor<float>>& into;
  template <class... S>
  void operator()(std::string_view, const Over<Parameter<float>, S...>& w, const auto&...) const {
    into.push_back(w.local().value());
  }
  template <class M>
    requires requires(const M& layer, const Collecting& visit) { layer.members(visit); }
  void operator()(std::string_view, const M& layer) const {
    layer.members(*this);
  }
};
template <class M>
std::vector<Tensor<float>> parameters_of(const M& model) {
  std::vector<Tensor<float>> found;
  model.members(Collecting{found});
  return found;
}
}  // namespace

namespace {
/// Trains a GPT-2 divided along A as one process does.
template <class A>
void check_training(const dist::Communicator<Cpu>& comm, int rows, int columns, const Run& expected) {
  const dist::Mesh<Cpu, Data, Model> mesh(comm, {rows, columns});
  const auto& data = mesh.along<Data>();
  const auto& model = mesh.along<Model>();
  const auto whole = whole_model();
  using Net = models::ParallelGPT2<float, Cpu, A, Replicated<Data>>;
  const Net net(whole, options, model);
  const Texts texts;
  const auto part = [&](const auto& of) { return data.part(mesh.label<Replicated<Data>, Invariant<Model>>(of), 0); };
  const auto tokens = part(texts.tokens), next = part(texts.next);
  dist::Optimizer<optim::Sgd<float, Cpu>, Data, Model> sgd(net, optim::SgdOptions{.lr = 0.1});
  for (std::size_t i = 0; i < 3; ++i) {
    const auto loss = net.loss(model, trace(tokens), next);
    static_assert(spread_of<decltype(loss), Model> == Spread::invariant &&
                  spread_of<decltype(loss), Data> == Spread::varying);
    const auto total = data.partial(loss / static_cast<float>(data.size())).eval();
    sgd.zero_grad();
    total.backward();
    (void)sgd.clip_and_step(1, data, model);
    const float shown = data.all_reduce(total.value()).item();
    if (std::fabs(shown - expected.losses[i]) > 1e-6f * expected.losses[i])
      wrong(join("loss ", shown, ", expected ", expected.losses[i]));
  }
  const auto trained = whole_model();
  const auto weights = trained.parameters();
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i].value().copy_(expected.weights[i]);
  const auto found = parameters_of(net), wanted = parameters_of(Net(trained, options, model));
  if (found.size() != 1 + 1 + 2 * 12 + 2 || wanted.size() != found.size()) wrong("another number of parameters");
  for (std::size_t i = 0; i < found.size(); ++i)
    if (const double d = distance(found[i], wanted[i]); !(d < 2e-6)) wrong(join("parameter ", i, " differs by ", d));
}
}  // namespace

TEST_CASE("a GPT-2 on meshes of several forms trains as one process does") {
  const Run expected = of_one_process(3);
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{1, 1}, {1, 4}, {2, 2}})
    CHECK_NOTHROW(
        dist::spawn<Cpu>(rows * columns, [&, rows = rows, columns = columns](const dist::Communicator<Cpu>& comm) {
          check_training<Model>(comm, rows, columns, expected);
        }));
}

TEST_CASE("a GPT-2 whose sequence is divided, too, trains as one process does") {
  const Run expected = of_one_process(3);
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{1, 1}, {1, 2}, {2, 2}})
    CHECK_NOTHROW(
        dist::spawn<Cpu>(rows * columns, [&, rows = rows, columns = columns](const dist::Communicator<Cpu>& comm) {
          check_training<dist::Sequence<Model>>(comm, rows, columns, expected);
        }));
}

namespace {
/// Compares gradients of a GPT-2 with dropout with finite differences: generators of one seed draw the same numbers.
template <class A>
void check_dropout(const dist::Communicator<Cpu>& comm) {
  const dist::Mesh<Cpu, Data, Model> mesh(comm, {1, 2});
  const auto& model = mesh.along<Model>();
  models::GPT2Options dropping = options;
  dropping.n_layer = 1, dropping.embd_pdrop = 0.2, dropping.attn_pdrop = 0.3, dropping.resid_pdrop = 0.25;
  manual_seed(3);
  const models::ParallelGPT2<double, Cpu, A> net(models::gpt2<double>(dropping), dropping, model);
  const Texts texts;
  const auto tokens = mesh.label<Invariant<Data>, Invariant<Model>>(texts.tokens),
             next = mesh.label<Invariant<Data>, Invariant<Model>>(texts.next);
  const auto loss = [&] {
    auto alike = mesh.generator<Invariant<Data>, Invariant<Model>>(1);
    auto own = mesh.generator<Invariant<Data>, Varying<Model>>(2);
    return net.loss(model, trace(tokens), next, alike, own);
  };
  CHECK_THROWS_WITH_AS((void)net.loss(model, trace(tokens), next), doctest::Contains("dropout of 0.2 without numbers"),
                       ArgumentError);
  const double inferred = net.loss(model, tokens, next).item();
  if (std::fabs(loss().item() - inferred) < 1e-4) wrong("nothing is dropped");
  loss().backward();
  const auto check = [&](const char* name, const auto& w, std::int64_t at) {
    using W = std::remove_cvref_t<decltype(w)>;
    const bool is_part = spread_of<W, Model> == Spread::varying;
    const Tensor<double> values = w.local().value().flatten(), gradients = w.local().grad().contiguous();
    Tensor<double> of_all = gradients.clone();
    if (spread_of<W, Model> == Spread::replicated) model.communicator().all_reduce(of_all);
    const double found = of_all.flatten()(at), before = values(at);
    for (int rank = 0; rank < (is_part ? 2 : 1); ++rank) {
      double sides[2];
      for (const int side : {0, 1}) {
        if (!is_part || model.rank() == rank) values(at) = before + (side == 0 ? -1e-5 : 1e-5);
        sides[side] = loss().item();
      }
      values(at) = before;
      const double expected = (sides[1] - sides[0]) / 2e-5;
      if ((!is_part || model.rank() == rank) && std::fabs(found - expected) > 1e-7)
        wrong(join("the gradient of ", name, " is ", found, ", expected ", expected));
    }
  };
  const auto& block = net.h[0];
  check("ln_1.weight", block.ln_1_weight, 3), check("c_attn.weight", block.c_attn.weight, 17);
  check("c_proj.weight", block.attn_c_proj.weight, 5), check("c_proj.bias", block.attn_c_proj.bias, 2);
  check("c_fc.bias", block.c_fc.bias, 7), check("wpe", net.wpe, 40), check("wte", net.wte.weight, 33);
  check("ln_f.bias", net.ln_f_bias, 1);
}
}  // namespace

TEST_CASE("dropout of a divided GPT-2 has the gradients of finite differences") {
  CHECK_NOTHROW(dist::spawn<Cpu>(2, [](const dist::Communicator<Cpu>& comm) { check_dropout<Model>(comm); }));
  CHECK_NOTHROW(
      dist::spawn<Cpu>(2, [](const dist::Communicator<Cpu>& comm) { check_dropout<dist::Sequence<Model>>(comm); }));
}

TEST_CASE("the cross-entropy of a divided vocabulary has the value and the gradients of the whole") {
  const Texts texts;
  Generator<Cpu> numbers{8};
  const Tensor<float> logits = randn<float>({4, 10, options.vocab_size}, numbers) * 30.f;
  const auto whole = variable(logits);
  const auto expected = cross_entropy(whole.reshape({40, options.vocab_size}), texts.next.reshape({40}));
  expected.backward();
  for (const int ranks : {1, 3, 4})
    CHECK_NOTHROW(dist::spawn<Cpu>(ranks, [&](const dist::Communicator<Cpu>& comm) {
      const dist::Mesh<Cpu, Model> mesh(comm, {comm.size()});
      const auto& model = mesh.along<Model>();
      const dist::VocabularyPart<Model, Cpu> part(model, options.vocab_size);
      const auto mine = variable(mesh.label<Varying<Model>>(logits.slice(2, part.begin(), part.end()).contiguous()));
      const auto loss = dist::vocabulary_cross_entropy(model, part, mine, mesh.label<Invariant<Model>>(texts.next));
      loss.backward();
      if (std::fabs(loss.item() - expected.item()) > 1e-5f * expected.item()) wrong(join("the loss is ", loss.item()));
      require_close("the distance of gradients",
                    distance(mine.grad().local(), whole.grad().slice(2, part.begin(), part.end())), 0);
    }));
}

TEST_CASE("options that cannot be divided are refused on all ranks") {
  dist::spawn<Cpu>(3, [](const dist::Communicator<Cpu>& comm) {
    const dist::Mesh<Cpu, Model> mesh(comm, {3});
    const auto& model = mesh.along<Model>();
    using Net = models::ParallelGPT2<float, Cpu, Model>;
    CHECK_THROWS_WITH_AS(Net(whole_model(), options, model), doctest::Contains(".n_head = 4 among 3 ranks"),
                         ArgumentError);
    using Part = dist::VocabularyPart<Model, Cpu>;
    CHECK_THROWS_WITH_AS(Part(model, 2), doctest::Contains("2 tokens among 3 ranks"), ArgumentError);
    comm.barrier();
  });
  dist::spawn<Cpu>(2, [](const dist::Communicator<Cpu>& comm) {
    const dist::Mesh<Cpu, Model> mesh(comm, {2});
    const auto& model = mesh.along<Model>();
    const models::ParallelGPT2<float, Cpu, Model> net(whole_model(), options, model);
    for (const std::int64_t token : {std::int64_t{-1}, options.vocab_size}) {
      const auto tokens = mesh.label<Invariant<Model>>(full<std::int64_t>({1, 2}, token));
      CHECK_THROWS_AS((void)net.forward(model, tokens), IndexError);
    }
    const auto tokens = mesh.label<Invariant<Model>>(zeros<std::int64_t>({1, 17}));
    CHECK_THROWS_WITH_AS((void)net.forward(model, tokens), doctest::Contains("of a length up to 16"), ShapeError);
    const models::ParallelGPT2<float, Cpu, dist::Sequence<Model>> divided(whole_model(), options, model);
    CHECK_THROWS_WITH_AS((void)divided.forward(model, mesh.label<Invariant<Model>>(zeros<std::int64_t>({1, 3}))),
                         doctest::Contains("does not divide into equal parts for 2 ranks"), ShapeError);
    comm.barrier();
  });
}
