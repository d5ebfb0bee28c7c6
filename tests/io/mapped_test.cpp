// Runs on: host.
#include <locus/io/mapped.hpp>

#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>

#include <doctest/doctest.h>

#include <golden/golden.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {

const std::string golden_file = golden::folder() + "model.safetensors";

/// A file with this header, padded to `begin` bytes before the data, which are these floats.
std::string file_of(std::string header, std::size_t begin, const std::vector<float>& data) {
  header.resize(begin - 8, ' ');
  std::string text;
  for (std::size_t shift = 0; shift < 64; shift += 8) text += static_cast<char>(header.size() >> shift & 0xff);
  text += header;
  text.append(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(float));
  return text;
}
constexpr const char* two_floats = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                   R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";

/// How often the process maps a file.
std::size_t mappings_of(const std::string& path) {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += contains(line, path);
  return count;
}

/// The bytes of a state, in order.
std::string bytes_of_all(const nn::StateDict<Cpu>& state) {
  std::string all;
  for (const auto& entry : state) {
    all += join(entry.name, " ", dtype_name(entry.type), " ", entry.shape, "\n");
    all.append(reinterpret_cast<const char*>(entry.bytes.data()), static_cast<std::size_t>(entry.bytes.elements()));
  }
  return all;
}

}  // namespace

TEST_CASE("a mapped state is the state that is read, of every element type") {
  const auto mapped = io::load_mapped(golden_file);
  CHECK(mapped.size() == 10);
  CHECK(bytes_of_all(mapped) == bytes_of_all(io::load(golden_file)));
  CHECK(mapped.file() == golden_file);
  CHECK_CLOSE(mapped.get<bool>("mask"), Reference({3}, {1, 0, 1}));
  CHECK(mapped.get<float>("nothing").shape() == Shape{0, 5});
}

TEST_CASE("mapped tensors lie in the file's memory, which lives as long as one of them") {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", file_of(two_floats, 128, {1, 2, 3}));
  Tensor<float> b;
  {
    const auto state = io::load_mapped(path);
    const Tensor<float> a = state.get<float>("a");
    b = state.get<float>("b");
    CHECK(b.data() == a.data() + 1);
    CHECK(b.buffer().whole() == a.buffer().whole());
    CHECK(reinterpret_cast<std::uintptr_t>(a.buffer().whole()) % 4096 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 4096 == 128);
    CHECK(mappings_of(path) == 1);
  }
  CHECK(mappings_of(path) == 1);
  std::filesystem::remove(path);
  CHECK_CLOSE(b + 1, {3, 4});
  b = {};
  CHECK(mappings_of(path) == 0);
}

TEST_CASE("what is written to a mapped tensor stays in it: neither the file nor another mapping changes") {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", file_of(two_floats, 128, {1, 2, 3}));
  const std::string before = content_of(path);
  const auto state = io::load_mapped(path), other = io::load_mapped(path);
  const Tensor<float> a = state.get<float>("a"), b = state.get<float>("b");
  const auto version = a.version();
  b *= 10;
  CHECK_CLOSE(state.get<float>("b"), {20, 30});
  CHECK(a.version() == version);  // a part of its own
  CHECK_CLOSE(a, {1});
  CHECK_CLOSE(other.get<float>("b"), {2, 3});
  CHECK(content_of(path) == before);
  io::save(path, state);  // over the file that is mapped
  CHECK_CLOSE(io::load(path).get<float>("b"), {20, 30});
  CHECK_CLOSE(other.get<float>("b"), {2, 3});
}

TEST_CASE("tensors at addresses that their type does not take, and those of bool, are read") {
  const TemporaryFolder folder;
  const std::string odd = folder.write("odd", file_of(two_floats, 127, {1, 2, 3}));
  const auto state = io::load_mapped(odd);
  CHECK(mappings_of(odd) == 0);  // as no tensor lies in it
  CHECK_CLOSE(state.get<float>("a"), {1});
  CHECK_CLOSE(state.get<float>("b"), {2, 3});
  CHECK(reinterpret_cast<std::uintptr_t>(state.get<float>("b").data()) % sizeof(float) == 0);

  std::string bools = file_of(R"({"a":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}})", 128, {0});
  CHECK_CLOSE(io::load_mapped(folder.write("bools", bools)).get<bool>("a"), {0, 0, 0, 0});
  bools.back() = '\2';
  CHECK_THROWS_WITH_AS((void)io::load_mapped(folder.write("bools", bools)),
                       doctest::Contains("holds other bytes than 0 and 1"), DataError);
}

TEST_CASE("a mapped file that is truncated is refused where its tensors are asked for") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("file", file_of(R"({"weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
                                   R"("bias":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                   128, {7, 8}));
  const auto state = io::load_mapped(path);
  const auto kept = state.clone();
  const nn::Linear<float, Cpu> model{1, 1};
  const float before = model.weight.value().item();
  std::filesystem::resize_file(path, 4);
  const auto refused = [&](const auto& call) {
    const std::string message = message_of<DataError>(call);
    CAPTURE(message);
    CHECK(contains(message, join("'", path, "' was truncated to 4 bytes while it was mapped; it had 136")));
  };
  refused([&] { (void)state.get<float>("weight"); });
  refused([&] { (void)state.to<Cpu>(); });
  refused([&] { (void)state.clone(); });
  refused([&] { io::save(folder.path / "other", state); });
  refused([&] { nn::load_state_dict(model, state); });
  CHECK(model.weight.value().item() == before);
  CHECK(folder.entries() == 1);
  nn::load_state_dict(model, kept);
  CHECK(model.weight.value().item() == 7);
  CHECK_THROWS_WITH_AS((void)io::load_mapped(path), doctest::Contains("it has 4 bytes; expected at least 8"),
                       DataError);
}

TEST_CASE("what is no safetensors file, or lies about itself, is refused as by load(), and nothing stays mapped") {
  const TemporaryFolder folder;
  const std::string whole = file_of(two_floats, 128, {1, 2, 3});
  std::vector<std::string> files{"", "short", std::string(100, '\xff'), whole + "x"};
  for (std::size_t end = 0; end < whole.size(); ++end) files.push_back(whole.substr(0, end));
  for (const char* const lie : {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})",
                                R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,12]}})",
                                R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,12]}})"})
    files.push_back(file_of(lie, 128, {1, 2, 3}));
  for (const std::string& content : files) {
    const std::string path = folder.write("file", content);
    const std::string read = message_of<DataError>([&] { (void)io::load(path); });
    CHECK(contains(read, "cannot read"));
    CHECK(message_of<DataError>([&] { (void)io::load_mapped(path); }) == read);
    CHECK(mappings_of(path) == 0);
  }
  CHECK_THROWS_WITH_AS((void)io::load_mapped(folder.path / "none"), doctest::Contains("No such file"), DataError);
  CHECK_THROWS_WITH_AS((void)io::load_mapped(folder.path), doctest::Contains("is a folder"), DataError);
}

TEST_CASE("a tensor that Locus cannot hold does not hide the others of a mapped file") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("mixed", file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                    R"("waves":{"dtype":"F8_E5M2","shape":[8],"data_offsets":[4,12]},)"
                                    R"("z":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}})",
                                    200, {1, 2, 3, 4, 5}));
  const auto state = io::load_mapped(path);
  CHECK(state.size() == 2);
  CHECK_CLOSE(state.get<float>("a"), {1});
  CHECK_CLOSE(state.get<float>("z"), {4, 5});
  REQUIRE(state.unread().size() == 1);
  CHECK_THROWS_WITH_AS((void)state.get<float>("waves"), doctest::Contains("the file holds F8_E5M2 of shape [8]"),
                       ArgumentError);
}

TEST_CASE("a model is loaded from a mapped file, and trains on tensors that lie in one") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "model";
  const nn::Sequential<float, Cpu> saved{nn::Linear<float, Cpu>{3, 2}}, model{nn::Linear<float, Cpu>{3, 2}};
  io::save(path, nn::state_dict(saved));
  const std::string before = content_of(path);
  nn::load_state_dict(model, io::load_mapped(path));
  CHECK(mappings_of(path) == 0);
  CHECK_CLOSE(nn::state_dict(model).get<float>("0.weight"), reference(nn::state_dict(saved).get<float>("0.weight")), 0);

  const Parameter<float> weight{io::load_mapped(path).get<float>("0.weight")};
  nn::mse_loss(linear(trace(ones({2, 3})), weight), zeros({2, 2})).backward();
  CHECK(weight.has_grad());
  weight.value().copy_(weight.value() - weight.grad());
  CHECK(reference(weight.value()).values != reference(nn::state_dict(saved).get<float>("0.weight")).values);
  CHECK(content_of(path) == before);
}
