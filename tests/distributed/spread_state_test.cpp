// Runs on: host.
// States of models whose parameters are spread over ranks, beside the state of one process.

#include <locus/io/safetensors.hpp>
#include <locus/models/parallel_gpt2.hpp>

#include <doctest/doctest.h>

#include <support/spread_training.hpp>
#include <support/temporary_folder.hpp>

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
                                      .resid_pdrop = 0};
models::GPT2<float, Cpu> drawn_model(std::uint64_t seed) {
  const auto model = models::gpt2<float>(options);
  Generator<Cpu> numbers{seed};
  for (const auto& p : model.parameters()) p.value().copy_(randn<float>(p.value().shape(), numbers));
  return model;
}
/// Throws unless both have the same names, in any order, with the same bits.
void require_same(const nn::StateDict<Cpu>& found, const nn::StateDict<Cpu>& expected) {
  if (found.size() != expected.size()) wrong(join(found.size(), " tensors, expected ", expected.size()));
  for (const auto& entry : expected) {
    const auto& other = found.find(entry.name, entry.type);
    if (!(other.shape == entry.shape)) wrong(join(entry.name, " has shape ", to_string(other.shape)));
    if (max(abs(other.bytes.as<int>() - entry.bytes.as<int>())).item() != 0) wrong(entry.name + " differs");
  }
}

/// Parameters and a buffer that are the same on all ranks, and a weight that is divided along two axes.
struct Mixed {
  Over<Parameter<float>> whole;
  Over<Parameter<float>, Replicated<Data>> replicated;
  Over<nn::Buffer<std::int64_t, Cpu>> count;
  Over<Parameter<float>, Varying<Model>, Varying<Data>> part;
  int second = 0;
  void members(const auto& visit) const {
    visit("whole", whole), visit("replicated", replicated), visit("count", count);
    visit("part", part, dist::Divided<Data>{.dim = 0, .blocks = 2}, dist::Divided<Model>{.dim = second});
  }
};
/// The parts that are the same on all ranks.
struct Same {
  Over<Parameter<float>> whole;
  Over<nn::Buffer<float, Cpu>, Replicated<Data>> mean;
  void members(const auto& visit) const { visit("whole", whole), visit("mean", mean); }
};
}  // namespace

TEST_CASE("a divided GPT-2 is saved and loaded as one process does it, also where parts differ in size") {
  const auto first = drawn_model(1), second = drawn_model(2);
  const auto expected = nn::state_dict(first.transformer), other = nn::state_dict(second.transformer);
  const TemporaryFolder folder;
  const std::string file = (folder.path / "model.safetensors").string();
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{1, 1}, {1, 4}, {2, 2}})
    CHECK_NOTHROW(
        dist::spawn<Cpu>(rows * columns, [&, rows = rows, columns = columns](const dist::Communicator<Cpu>& comm) {
          const dist::Mesh<Cpu, Data, Model> mesh(comm, {rows, columns});
          const auto& model = mesh.along<Model>();
          const models::ParallelGPT2<float, Cpu, Model, Replicated<Data>> net(first, options, model);
          const auto state = dist::state_dict(net, model);
          require_same(state, expected);
          dist::on_rank_zero(comm, [&] { io::save(file, nn::state_dict(second)); });
          const auto names = dist::load_state_dict(net, io::load<Cpu>(file).without_prefix("transformer."), {}, model);
          if (!names.missing.empty() || !names.unexpected.empty()) wrong("names are missing");
          require_same(dist::state_dict(net, model), other);
        }));
}

TEST_CASE("members that are divided along two axes, in blocks, have the whole of all ranks") {
  for (const int second : {0, 1})
    CHECK_NOTHROW(dist::spawn<Cpu>(4, [second](const dist::Communicator<Cpu>& comm) {
      const dist::Mesh<Cpu, Data, Model> mesh(comm, {2, 2});
      const auto& data = mesh.along<Data>();
      const auto& model = mesh.along<Model>();
      const auto parameter = [](const Shape& shape) { return Parameter<float>(zeros<float>(shape)); };
      const Mixed net{
          mesh.same(parameter({3})), mesh.label<Replicated<Data>, Invariant<Model>>(parameter({2})),
          mesh.label<Invariant<Data>, Invariant<Model>>(nn::Buffer<std::int64_t, Cpu>(zeros<std::int64_t>({}))),
          mesh.label<Varying<Data>, Varying<Model>>(parameter(second == 0 ? Shape{2, 6} : Shape{4, 3})), second};
      nn::StateDict<Cpu> whole;
      whole.add("whole", (arange<float>(0, 3) + 1.f).eval());
      whole.add("replicated", (arange<float>(0, 2) + 5.f).eval());
      whole.add("count", full<std::int64_t>({}, 7));
      whole.add("part", arange<float>(0, 48).reshape({8, 6}).eval());
      dist::load_state_dict(net, whole, {}, data, model);
      // Of the rows 0 to 3 and 4 to 7, Data divides both blocks; Model the rows that are left, or the columns.
      const float expected = static_cast<float>(6 * (2 * data.rank() + (second == 0 ? 4 * model.rank() : 0)) +
                                                (second == 0 ? 0 : 3 * model.rank()));
      const float first_element = net.part.local().value()(0, 0);
      if (second == 1 && first_element != expected) wrong(join("the part begins with ", first_element));
      if (net.count.local().value().item() != 7) wrong("a buffer is not loaded");
      require_same(dist::state_dict(net, data, model), whole);
    }));
}

TEST_CASE("members that are the same on all ranks are saved without ranks, and share memory") {
  CHECK_NOTHROW(dist::spawn<Cpu>(2, [](const dist::Communicator<Cpu>& comm) {
    const dist::Mesh<Cpu, Data> mesh(comm, {2});
    const Same net{mesh.same(Parameter<float>(ones({4}))),
                   mesh.label<Replicated<Data>>(nn::Buffer<float, Cpu>(ones({2})))};
    const auto state = dist::state_dict(net);
    if (state.size() != 2 || state.get<float>("whole").data() != net.whole.local().value().data()) wrong("a copy");
    nn::StateDict<Cpu> other = state.clone();
    other.get<float>("mean").fill_(3);
    dist::load_state_dict(net, other, {});
    if (net.mean.local().value()(1) != 3) wrong("the buffer is not loaded");
    const Problem<Cpu> problem;
    const auto parallel = dist::distributed(nn::Sequential<float, Cpu>{problem.first}, mesh.along<Data>());
    require_same(dist::state_dict(parallel), nn::state_dict(nn::Sequential<float, Cpu>{problem.first}));
  }));
}

TEST_CASE("states that do not fit a divided model are refused, with the names and shapes, and nothing is copied") {
  dist::spawn<Cpu>(2, [](const dist::Communicator<Cpu>& comm) {
    const dist::Mesh<Cpu, Data, Model> mesh(comm, {1, 2});
    const auto& model = mesh.along<Model>();
    const Problem<Cpu> problem;
    const locus_test::Divided<Cpu> net{{problem.first, model}, {problem.second, model}};
    const auto state = dist::state_dict(net, model).clone();
    const auto with = [&](const char* name, const Tensor<float>& x) {
      nn::StateDict<Cpu> result = state;
      result.erase(name);
      result.add(name, x);
      result.get<float>("first.bias").fill_(9);
      return result;
    };
    const auto check = [&](const nn::StateDict<Cpu>& given, const char* text) {
      CHECK_THROWS_WITH_AS(dist::load_state_dict(net, given, {}, model), doctest::Contains(text), ShapeError);
    };
    check(with("first.weight", ones({10, 12})),
          "'first.weight' has shape (10, 12), of which this rank's part is not (6, 12)");
    check(with("second.weight", ones({4})), "'second.weight' has shape (4,), of which this rank's part is not (4, 6)");
    check(with("second.bias", ones({5})), "'second.bias' has shape (5,), but (4,) in the model");
    CHECK(net.first.bias.local().value()(0) != 9);
    nn::StateDict<Cpu> lacking = state;
    lacking.erase("second.bias");
    lacking.add("more", ones({1}));
    CHECK_THROWS_WITH_AS(dist::load_state_dict(net, lacking, {}, model),
                         doctest::Contains("only the model has: 'second.bias'"), ArgumentError);
    const auto names = dist::load_state_dict(net, lacking, {.strict = false}, model);
    CHECK((names.missing.size() == 1 && names.unexpected.size() == 1));
    comm.barrier();
  });
}
