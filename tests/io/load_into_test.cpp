// Runs on: host.
#include <locus/io/load_into.hpp>

#include <locus/io/shards.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/tensor/factory.hpp>

#include <support/counting.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// Two layers that share a weight, and one whose weight a file holds in three parts.
template <class T, class D>
struct Tied final : nn::Layer<Tied<T, D>, T, D> {
  nn::Linear<T, D> first, second, packed;
  explicit Tied(std::int64_t width = 4)
      : first(width, width, false), second(width, width, false), packed(width, 3 * width, false) {
    second.weight = first.weight;
  }
  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return packed(second(first(x))); }
  void members(const auto& visit) const {
    visit("first", first);
    visit("second", second);
    visit("packed", packed);
  }
  template <class U, class E> [[nodiscard]] auto twin() const { return Tied<U, E>(1); }
  static nn::StateTarget target_of(std::string_view name) {
    if (name == "mask") return {};
    for (const std::int64_t part : {0, 1, 2})
      if (name == join("part", part)) return {"packed.weight", part, 3};
    return {std::string(name)};
  }
};

/// A file of Tied: `first`, three parts, and a buffer that is left out.
nn::StateDict<Cpu> published(std::int64_t width = 4) {
  nn::StateDict<Cpu> state;
  state.add("first.weight", arange<float>(width * width).reshape({width, width}));
  for (const std::int64_t part : {2, 0, 1})
    state.add(join("part", part), full({width, width}, static_cast<double>(part) + 0.5));
  state.add("mask", zeros({2}));
  return state;
}
/// A header that ends at an odd byte, and the bytes of the tensors.
std::string misaligned(const nn::StateDict<Cpu>& state, const std::string& path) {
  io::save(path, state);
  std::string text = content_of(path);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  text.insert(8 + length, " ");
  ++length;
  std::memcpy(text.data(), &length, sizeof length);
  return text;
}
template <class M>
void check_loaded(const M& model) {
  for (const std::int64_t i : {0, 5, 15})
    CHECK(reference(model.first.weight.value()).values[std::size_t(i)] == double(i));
  for (const std::int64_t part : {0, 1, 2})
    CHECK_CLOSE(model.packed.weight.value().slice(0, 4 * part, 4 * part + 4),
                Reference({4, 4}, std::vector<double>(16, double(part) + 0.5)), 0);
}

}  // namespace

TEST_CASE("weights load from a file, an index or a folder, of any floating-point type, on any device") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "model.safetensors";
  for (const bool in_shards : {false, true}) {
    const auto state = published();
    const std::string path =
        in_shards ? io::save_shards(file, state, {.max_bytes = 80}) : (io::save(file, state), file);
    CHECK(path.ends_with(in_shards ? ".index.json" : "model.safetensors"));
    for (const std::string& from : {path, folder.path.string()}) {
      const Tied<float, Cpu> model;
      CHECK(io::load_into(model, from).missing.empty());
      check_loaded(model);
      const Tied<bfloat16, Counting> elsewhere;
      io::load_into(elsewhere, from);
      check_loaded(elsewhere);
    }
    std::filesystem::remove(file);
  }
  const std::string half_file = folder.path / "half";
  io::save(half_file, published().as<bfloat16>());
  const Tied<float, Cpu> model;
  io::load_into(model, half_file);
  check_loaded(model);
  const Tied<bfloat16, Counting> narrow;
  io::load_into(narrow, folder.write("odd", misaligned(published(), half_file)));
  check_loaded(narrow);
  const Tied<float, Cpu> copied;
  io::load_into(copied, folder.path / "odd");
  check_loaded(copied);
  nn::load_state_dict(model, nn::renamed_for(model, published()));
  check_loaded(model);
}

TEST_CASE("buffers of a model load too, whatever their type, and own names need a function") {
  const TemporaryFolder folder;
  const nn::BatchNorm1d<bfloat16, Counting> model{3};
  nn::StateDict<Cpu> state;
  for (const char* const name : {"weight", "bias", "running_mean", "running_var"})
    state.add(join("net.", name), full({3}, 2));
  state.add("net.num_batches_tracked", full<std::int64_t>({}, 7));
  io::save(folder.path / "file", state);
  CHECK_THROWS_WITH_AS(
      (void)io::load_into(model, folder.path / "file"),
      doctest::Contains("each name of the state is one of the model's after 'net.': give load_into a function "
                        "that returns names without 'net.'"),
      ArgumentError);
  const auto names = io::load_into(model, folder.path / "file",
                                   [](std::string_view name) { return nn::StateTarget{std::string(name.substr(4))}; });
  CHECK(names.unexpected.empty());
  const auto loaded = nn::state_dict(model);
  CHECK_CLOSE(loaded.get<float>("running_var"), {2, 2, 2});
  CHECK_CLOSE(loaded.get<bfloat16>("bias"), {2, 2, 2});
  CHECK(loaded.get<std::int64_t>("num_batches_tracked").item() == 7);
}

TEST_CASE("no more than one tensor is in memory twice") {
  const TemporaryFolder folder;
  constexpr std::int64_t width = 64, bytes = width * width * 4;
  const std::string file = folder.path / "model", odd = folder.path / "odd";
  io::save(file, published(width).as<bfloat16>());
  (void)folder.write("odd", misaligned(published(width), folder.path / "other"));
  const Tied<bfloat16, Counting> model(width);
  for (const auto& [path, most] : {std::pair{file, bytes / 2}, {odd, bytes}}) {
    const std::int64_t before = restart_peak();
    io::load_into(model, path);
    CHECK(counting_peak - before <= most + 64);
    CHECK(counting_peak - before >= most);
    CHECK(counting_bytes == before);
  }
  const Tied<float, Cpu> host(width);
  const auto before = memory_stats(Cpu{});
  io::load_into(host, file);  // converted from the mapped file into the parameters
  CHECK(memory_stats(Cpu{}).requests - before.requests <= 8);
  const std::int64_t held = memory_stats(Cpu{}).allocated_bytes;
  CHECK(held == before.allocated_bytes);
  CHECK(memory_stats(Cpu{}).peak_bytes <= (before.peak_bytes > held + bytes ? before.peak_bytes : held + bytes));
}

TEST_CASE("what does not fit the model is named, and the model stays as it was") {
  const TemporaryFolder folder;
  const std::string file = folder.path / "file";
  const Tied<float, Cpu> model;
  const auto before = reference(model.first.weight.value()).values;
  const auto refused = [&]<class E>(const auto& change, const char* why, E*) {
    auto state = published();
    change(state);
    io::save(file, state);
    CAPTURE(why);
    CHECK_THROWS_WITH_AS((void)io::load_into(model, file), doctest::Contains(why), E);
    CHECK(reference(model.first.weight.value()).values == before);
  };
  constexpr ArgumentError* argument = nullptr;
  constexpr ShapeError* shape = nullptr;
  constexpr DataError* data = nullptr;
  refused([](auto& state) { state.erase("part1"); }, "only the model has: 'packed.weight (1 of its 3 parts)'",
          argument);
  refused([](auto& state) { state.erase("first.weight"); }, "only the model has: 'first.weight', 'second.weight'",
          argument);
  refused([](auto& state) { state.add("other", zeros({1})); }, "has: 'other'; to load the others, say {.strict",
          argument);
  refused(
      [](auto& state) {
        state.erase("part1"), state.add("part1", zeros({4, 3}));
      },
      "'part1' has shape (4, 3) in '", shape);
  refused(
      [](auto& state) {
        state.erase("part1"), state.add("part1", zeros<std::int64_t>({4, 4}));
      },
      "but float32 in the model", argument);
  refused(
      [](auto& state) {
        state.add("second.weight", zeros({4, 4}));
      },
      "'first.weight' and 'second.weight' differ in '", data);
  refused([](auto& state) { state.add("packed.weight", zeros({12, 4})); }, "differ in '", data);
  refused(
      [](auto& state) {
        state.erase("part0"), state.erase("part2"), state.add("packed.weight", zeros({12, 4}));
      },
      "'part1' and 'packed.weight' differ in '", data);
  io::save(file, published());
  const auto in_five = [](std::string_view) { return nn::StateTarget{"packed.weight", 0, 5}; };
  CHECK_THROWS_WITH_AS((void)io::load_into(model, file, in_five),
                       "load_into: 'first.weight' is one of 5 parts of 'packed.weight' of shape (12, 4); expected rows "
                       "that they divide",
                       ShapeError);
  auto state = published();
  state.add("second.weight", state.get<float>("first.weight"));  // the same numbers twice
  state.add("other", zeros({1}));
  state.erase("part0");
  io::save(file, state);
  const auto names = io::load_into(model, file, {.strict = false});
  CHECK(names.missing == std::vector<std::string>{"packed.weight (1 of its 3 parts)"});
  CHECK(names.unexpected == std::vector<std::string>{"other"});
  CHECK(reference(model.first.weight.value()).values[15] == 15);
  CHECK_THROWS_WITH_AS((void)io::load_into(model, folder.path),
                       doctest::Contains("has neither model.safetensors nor model.safetensors.index.json"), DataError);
  const std::string shard = folder.path / "m-00001-of-00002.safetensors";
  io::save(shard, state);
  CHECK_THROWS_WITH_AS((void)io::load_into(model, folder.path),
                       doctest::Contains("the folder has m-00001-of-00002.safetensors, and no model.safetensors.index"),
                       DataError);
  CHECK_THROWS_WITH_AS((void)io::load_into(model, shard),
                       doctest::Contains("the file is one of several: name their folder, or their index"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::renamed_for(model, state), "renamed: part 0 of 3 of 'packed.weight' is missing",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::renamed(state,
                                         [](std::string_view) {
                                           return nn::StateTarget{"x", 0, 2};
                                         }),
                       doctest::Contains("differ, and are both part 0 of 'x'"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::renamed(state,
                                         [](std::string_view) {
                                           return nn::StateTarget{"x", 2, 2};
                                         }),
                       doctest::Contains("is part 2 of 2 of 'x'; expected 0 to parts - 1"), ArgumentError);
}

TEST_CASE("shards that are missing, or that the index leaves out, are named") {
  const TemporaryFolder folder;
  const std::string index = io::save_shards(folder.path / "model.safetensors", published(), {.max_bytes = 64});
  const Tied<float, Cpu> model;
  const std::string first = folder.path / "model-00001-of-00005.safetensors";
  std::filesystem::copy_file(first, folder.path / "model-00006-of-00005.safetensors");
  std::filesystem::copy_file(first, folder.path / "model-00001-of-00009.safetensors");  // of another save
  const auto refused = [&](const char* why) {
    CHECK_THROWS_WITH_AS((void)io::load_into(model, folder.path), doctest::Contains(why), DataError);
    CHECK_THROWS_WITH_AS((void)io::load(index), doctest::Contains(why), DataError);
  };
  refused("it does not name 'model-00006-of-00005.safetensors', of the same series");
  std::filesystem::remove(folder.path / "model-00006-of-00005.safetensors");
  std::filesystem::remove(first), std::filesystem::remove(folder.path / "model-00003-of-00005.safetensors");
  refused("of its 5 files, 2 are not in the folder: 'model-00001-of-00005.safetensors', 'model-00003-of-");
}
