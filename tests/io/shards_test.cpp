// Runs on: host.
#include <locus/io/mapped.hpp>
#include <locus/io/shards.hpp>

#include <locus/tensor/factory.hpp>

#include <support/reference.hpp>
#include <support/temporary_folder.hpp>

using namespace locus;
using namespace locus_test;

namespace {

nn::StateDict<Cpu> state_of_three() {
  nn::StateDict<Cpu> state;
  state.add("a", full({4}, 1));
  state.add("b", full({2, 4}, 2));
  state.add("c", full({1}, 3));
  return state;
}

/// Two files that hold "a" and "b", and an index with this map.
struct TwoShards {
  TemporaryFolder folder;
  std::string index(const std::string& map) const {
    return folder.write("model.safetensors.index.json",
                        "{\"metadata\":{\"total_size\":8},\"weight_map\":{" + map + "}}");
  }
  TwoShards() {
    for (const char* const name : {"a", "b"}) {
      nn::StateDict<Cpu> state;
      state.add(name, full({1}, 1));
      io::save(folder.path / (std::string(name) + ".safetensors"), state);
    }
  }
};

}  // namespace

TEST_CASE("a state in several files is read as one, read or mapped, in files of limited size") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "model.safetensors";
  const std::string index = io::save_shards(path, state_of_three(), {.max_bytes = 36});
  CHECK(index == path + ".index.json");
  CHECK(folder.entries() == 3);
  CHECK(io::load(folder.path / "model-00002-of-00002.safetensors").size() == 2);
  for (const auto& state : {io::load(index), io::load_mapped(index)}) {
    CHECK(state.size() == 3);
    CHECK(state.file() == index);
    CHECK_CLOSE(state.get<float>("a"), {1, 1, 1, 1});
    CHECK_CLOSE(state.get<float>("b"), Reference({2, 4}, {2, 2, 2, 2, 2, 2, 2, 2}));
    CHECK_CLOSE(state.get<float>("c"), {3});
  }
  CHECK(content_of(index).find("\"c\": \"model-00002-of-00002.safetensors\"") != std::string::npos);
  CHECK(content_of(index).find("\"total_size\": 52") != std::string::npos);
}

TEST_CASE("a tensor that is larger than a file may be has one of its own; a small state is one file without an index") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "model.safetensors";
  CHECK(io::load(io::save_shards(path, state_of_three(), {.max_bytes = 1})).size() == 3);
  CHECK(folder.entries() == 4);
  const TemporaryFolder other;
  CHECK(io::save_shards(other.path / "model.safetensors", state_of_three()) ==
        (other.path / "model.safetensors").string());
  CHECK(io::save_shards(other.path / "none.safetensors", nn::StateDict<Cpu>()) ==
        (other.path / "none.safetensors").string());
  CHECK(other.entries() == 2);
  CHECK_THROWS_WITH_AS((void)io::save_shards(other.path / "model", state_of_three()),
                       doctest::Contains("expected a path such as folder/model.safetensors"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)io::save_shards(path, state_of_three(), {.max_bytes = 0}),
                       doctest::Contains(".max_bytes = 0; expected at least 1"), ArgumentError);
  nn::StateDict<Cpu> reserved;
  reserved.add("__metadata__", full({1}, 1));
  CHECK_THROWS_WITH_AS((void)io::save_shards(path, reserved), "save_shards: no tensor can have the name '__metadata__'",
                       ArgumentError);
}

TEST_CASE("what is wrong with an index, or with its files, is said") {
  const TwoShards two;
  const auto refused = [&](const std::string& map, const char* why) {
    CAPTURE(why);
    const std::string index = two.index(map);
    CHECK_THROWS_WITH_AS((void)io::load(index), doctest::Contains(why), DataError);
    CHECK_THROWS_WITH_AS((void)io::load_mapped(index), doctest::Contains(why), DataError);
  };
  CHECK(io::load(two.index(R"("a":"a.safetensors","b":"b.safetensors")")).size() == 2);
  refused(R"("a":"a.safetensors","b":"c.safetensors")", "of its 2 files, 1 is not in the folder: 'c.safetensors'");
  refused(R"("a":"a.safetensors","b":"../b.safetensors")", "'b' is in '../b.safetensors'; expected the name of a file");
  refused(R"("a":"a.safetensors","b":"/etc/passwd")", "expected the name of a file beside the index");
  refused(R"("a":"a.safetensors","b":"..")", "'b' is in '..'");
  refused(R"("a":"a.safetensors","b":"a\u0000.safetensors")", "'b' is in 'a\\x00.safetensors'");
  refused(R"("a":"a.safetensors","b":"\u001b[2J.safetensors")", "'b' is in '\\x1b[2J.safetensors'");
  refused(R"("a":"a.safetensors","a":"b.safetensors")", "'a' is there twice");
  refused(R"("a":"b.safetensors","b":"a.safetensors")", "'a', which the index says to be in 'b.safetensors'");
  refused(R"("a":"a.safetensors","x":"b.safetensors")", "'b', which the index does not name");
  refused(R"("a":"a.safetensors","b":"b.safetensors","x":"b.safetensors")", "'b.safetensors' does not have 'x'");
  refused(R"("a":"a.safetensors","b":"model.safetensors.index.json")", "cannot read '");
  refused(R"("a":1)", "it is no JSON object: at byte");
  nn::StateDict<Cpu> both;
  both.add("a", full({1}, 1)), both.add("b", full({1}, 1));
  io::save(two.folder.path / "b.safetensors", both);
  refused(R"("a":"a.safetensors","b":"b.safetensors")", "'a' is in two of its files, also in 'b.safetensors'");
  const auto whole = [&](const char* text, const char* why) {
    const std::string index = two.folder.write("x.index.json", text);
    CHECK_THROWS_WITH_AS((void)io::load(index), doctest::Contains(why), DataError);
  };
  whole("[]", "it is no JSON object");
  whole("{}", "it has no 'weight_map'");
  whole(R"({"weight_map":{},"weight_map":{}})", "'weight_map' is there twice");
  whole(R"({"weight_map":{}} more)", "expected the end");
  whole("", "it is no JSON object");
}
