// Runs on: host, cuda (tensors).
#include <locus/io/safetensors.hpp>

#include <locus/core/std/posix.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>

#include <cmath>

#include <sys/stat.h>

using namespace locus;
using namespace locus_test;

namespace {

const std::string golden_file = golden::folder() + "model.safetensors";

/// A file with this header and the given number of data bytes.
std::string file_of(const std::string& header, std::size_t data = 0) {
  std::string text;
  for (std::size_t shift = 0; shift < 64; shift += 8) text += static_cast<char>(header.size() >> shift & 0xff);
  return text + header + std::string(data, '\1');
}

template <class T>
std::string one_tensor(const std::string& name, const T& values) {
  return join("{\"", name, "\":{", values, "}}");
}

}  // namespace

LOCUS_DEVICE_TEST("what the reference implementation wrote is read, on any device", D) {
  const auto state = io::load<D>(golden_file);
  CHECK(state.size() == 10);
  CHECK_CLOSE(state.template get<float>("0.weight"), Reference({2, 3}, {0, 0.25, 0.5, 0.75, 1, 1.25}));
  CHECK_CLOSE(state.template get<float>("0.bias"), Reference({2}, {-1.5, 2.5}));
  CHECK_CLOSE(state.template get<half>("half"), Reference({3}, {1, -2.5, INFINITY}));
  CHECK_CLOSE(state.template get<bfloat16>("brain"), Reference({2, 1}, {1.5, -3}));
  CHECK_CLOSE(state.template get<double>("double"), Reference(Shape{}, {0.1}));
  CHECK_CLOSE(state.template get<std::int64_t>("steps"), Reference({2}, {0x1p40, -1}));
  CHECK_CLOSE(state.template get<std::int32_t>("small"), Reference({2}, {7, -7}));
  CHECK_CLOSE(state.template get<std::uint8_t>("pixels"), Reference({1, 2}, {0, 255}));
  CHECK_CLOSE(state.template get<bool>("mask"), Reference({3}, {1, 0, 1}));
  CHECK(state.template get<float>("nothing").shape() == Shape{0, 5});
}

LOCUS_DEVICE_TEST("a model is saved under PyTorch's names, and loaded into another", D) {
  const TemporaryFolder folder;
  const std::string path = folder.path / "model.safetensors";
  const nn::Sequential<float, D> trained{nn::Linear<float, D>{3, 4}, nn::ReLU{}, nn::Linear<float, D>{4, 2}};
  const nn::Sequential<float, D> model{nn::Linear<float, D>{3, 4}, nn::ReLU{}, nn::Linear<float, D>{4, 2}};
  const auto x = tensor<float, D>({1, 3}, {1, 2, 3});
  io::save(path, nn::state_dict(trained));
  CHECK(folder.entries() == 1);

  const auto state = io::load<D>(path);
  std::string names;
  for (const auto& entry : state) names += join(entry.name, " ", entry.shape, " ");
  CHECK(names == "0.weight (4, 3) 0.bias (4,) 2.weight (2, 4) 2.bias (2,) ");
  const auto loaded = nn::load_state_dict(model, state);
  CHECK((loaded.missing.empty() && loaded.unexpected.empty()));
  CHECK_CLOSE(model(x), reference(trained(x)));
}

TEST_CASE("every element type comes back bit by bit, aligned, in a header of whole words") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "all";
  nn::StateDict<Cpu> state;
  state.add("odd", tensor<std::uint8_t, Cpu>({3}, {1, 2, 3}));
  state.add("b", tensor<bool, Cpu>({2}, {true, false}));
  state.add("h", tensor<half, Cpu>({1}, {0.1}));
  state.add("bf", tensor<bfloat16, Cpu>({1}, {-0.1}));
  state.add("f", tensor<float, Cpu>({2, 1}, {-0.f, NAN}));
  state.add("i", tensor<std::int32_t, Cpu>({1}, {INT32_MIN}));
  state.add("d", tensor<double, Cpu>({1}, {5e-324}));
  state.add("l", tensor<std::int64_t, Cpu>({1}, {INT64_MIN}));
  state.add("view \"\xc3\xa4\"", arange<float>(6).reshape({2, 3}).transpose());
  io::save(path, state);
  const auto back = io::load(path);
  CHECK(back.size() == state.size());
  for (const auto& entry : state) {
    CAPTURE(entry.name);
    const auto found = std::find_if(back.begin(), back.end(), [&](const auto& e) { return e.name == entry.name; });
    REQUIRE(found != back.end());
    CHECK(found->type == entry.type);
    CHECK(found->shape == entry.shape);
    CHECK(std::equal(found->bytes.begin(), found->bytes.end(), entry.bytes.begin(), entry.bytes.end()));
  }
  CHECK_CLOSE(back.get<float>("view \"\xc3\xa4\""), Reference({3, 2}, {0, 3, 1, 4, 2, 5}));

  const std::string text = content_of(path);
  std::uint64_t header = 0;
  std::memcpy(&header, text.data(), sizeof header);
  CHECK(header % 8 == 0);
  for (const auto& tensor : io::detail::HeaderReader(text.substr(8, header), "test", text.size() - 8 - header).read()) {
    CAPTURE(tensor.name);
    CHECK(tensor.begin % size_of(tensor.type) == 0);
  }
}

TEST_CASE("a state says what it holds and what it does not") {
  nn::StateDict<Cpu> state;
  CHECK_THROWS_WITH_AS((void)state.get<float>("w"), doctest::Contains("there are none"), ArgumentError);
  state.add("w", ones({2}));
  CHECK_THROWS_WITH_AS(state.add("w", ones({2})), doctest::Contains("'w' already"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)state.get<float>("v"), doctest::Contains("there are 'w'"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)state.get<double>("w"), doctest::Contains("'w' holds float32, not float64"),
                       ArgumentError);
  const Tensor<float> shared = state.get<float>("w");
  shared.fill_(3);
  CHECK_CLOSE(state.get<float>("w"), {3, 3});
}

TEST_CASE("a state that does not fit a model changes nothing of it") {
  const nn::Linear<float, Cpu> model{2, 2};
  const auto before = reference(model.parameters()[0].value());
  const auto with = [](const std::string& name, const Tensor<float>& weight) {
    nn::StateDict<Cpu> state;
    state.add("weight", weight);
    state.add(name, ones({2}));
    return state;
  };
  CHECK_THROWS_WITH_AS(
      nn::load_state_dict(model, with("shift", ones({2, 2}))),
      doctest::Contains("only the model has: 'bias'; that only the state has: 'shift'; to load the others, say"),
      ArgumentError);
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, with("bias", ones({2, 3}))),
                       doctest::Contains("'weight' has shape (2, 3), but (2, 2) in the model"), ShapeError);
  CHECK_CLOSE(model.parameters()[0].value(), before);
  const auto loaded = nn::load_state_dict(model, with("shift", ones({2, 2})), {.strict = false});
  CHECK(loaded.missing == std::vector<std::string>{"bias"});
  CHECK(loaded.unexpected == std::vector<std::string>{"shift"});
  CHECK_CLOSE(model.parameters()[0].value(), {{2, 2}, {1, 1, 1, 1}});
}

TEST_CASE("where no name of a state is the model's, the message says why that may be") {
  const nn::Linear<float, Cpu> model{2, 2};
  nn::StateDict<Cpu> wrapped, other;
  for (const auto& entry : nn::state_dict(model)) wrapped.add("module." + entry.name, full({2, 2}, 7));
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, wrapped),
                       doctest::Contains("each name of the state is one of the model's after 'module.': load "
                                         "state.without_prefix(\"module.\")"),
                       ArgumentError);
  CHECK(wrapped.without_prefix("module.").contains("bias"));
  CHECK_THROWS_WITH_AS((void)nn::state_dict(model).without_prefix("module."),
                       doctest::Contains("'weight' does not begin with 'module.'"), ArgumentError);
  other.add("conv1.weight", ones({2}));
  other.add("fc.weight", ones({2}));
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, other),
                       doctest::Contains("the state is probably that of a model of another architecture"),
                       ArgumentError);
  other.add("weight", ones({2, 2}));  // one name is in both
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, other), doctest::Contains("say {.strict = false}"), ArgumentError);
}

TEST_CASE("what does not fit is said with the name of the file, of the tensor, and both shapes") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "narrow.safetensors";
  const nn::Sequential<float, Cpu> narrow{nn::Linear<float, Cpu>{2, 2}}, wide{nn::Linear<float, Cpu>{2, 3}};
  io::save(path, nn::state_dict(narrow));
  const auto state = io::load(path).to<Cpu>().clone();
  CHECK(state.file() == path);
  CHECK(nn::state_dict(narrow).file().empty());
  const auto says = [](const std::string& words) { return doctest::Contains(words.c_str()); };
  CHECK_THROWS_WITH_AS(nn::load_state_dict(wide, state),
                       says(join("'0.weight' has shape (2, 2) in '", path, "', but (3, 2) in the model")), ShapeError);
  CHECK_THROWS_WITH_AS(nn::load_state_dict(nn::Linear<float, Cpu>{2, 2}, state),
                       says(join("that only the state in '", path, "' has: '0.weight', '0.bias'")), ArgumentError);
  CHECK_THROWS_WITH_AS(nn::load_state_dict(nn::Sequential<double, Cpu>{nn::Linear<double, Cpu>{2, 2}}, state),
                       says(join("'0.weight' holds float32 in '", path,
                                 "', but float64 in the model; load nn::converted_for(model, state)")),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)state.get<float>("1.weight"), says(join("StateDict of '", path, "': there is no tensor")),
                       ArgumentError);
}

TEST_CASE("a state of other floating-point numbers is converted on request, and the rest of it stays as it is") {
  const TemporaryFolder folder;
  const auto halves = tensor<half, Cpu>({2}, {1.5, -65504});
  const auto counts = full<std::int64_t>({2}, std::int64_t{1} << 60);
  nn::StateDict<Cpu> saved;
  saved.add("h", halves);
  saved.add("b", full<bfloat16>({1}, 3.25));
  saved.add("f", full({1}, 0.1f));
  saved.add("d", tensor<double, Cpu>({2}, {0.1, 1e300}));
  saved.add("i", counts);
  saved.set_file("of.these");
  saved.add_unread("c", "F8_E5M2 of shape [2]");
  const auto state = saved.as<float>();
  CHECK_CLOSE(state.get<float>("h"), {1.5, -65504}, 0);
  CHECK_CLOSE(state.get<float>("b"), {3.25}, 0);
  CHECK(state.get<float>("f").data() == saved.get<float>("f").data());
  CHECK(state.get<float>("d")(0) == 0.1f);
  CHECK(std::isinf(state.get<float>("d")(1)));
  CHECK(state.get<std::int64_t>("i").data() == counts.data());
  CHECK(state.file() == "of.these");
  CHECK(state.unread().size() == 1);
  CHECK(state.size() == saved.size());
  const auto narrow = saved.as<half>();
  CHECK(narrow.get<half>("h").data() == halves.data());
  CHECK(static_cast<float>(narrow.get<half>("f")(0)) == static_cast<float>(half(0.1f)));

  const nn::Linear<float, Cpu> model{3, 2};
  const auto weights = nn::state_dict(model).as<bfloat16>();
  const nn::Linear<float, Cpu> other{3, 2};
  CHECK_THROWS_WITH_AS(nn::load_state_dict(other, weights), doctest::Contains("nn::converted_for"), ArgumentError);
  nn::load_state_dict(other, nn::converted_for(other, weights));
  CHECK_CLOSE(other.parameters()[0].value(), reference(model.parameters()[0].value().as<bfloat16>()), 0);
}

TEST_CASE("a model of halves takes weights in half and statistics in float, of a state in either") {
  const nn::Sequential<float, Cpu> of_floats{nn::BatchNorm2d<float, Cpu>{2}};
  const nn::Sequential<half, Cpu> of_halves{nn::BatchNorm2d<half, Cpu>{2}};
  auto all_half = nn::state_dict(of_floats).as<half>().clone();  // as net.half() of PyTorch saves
  all_half.get<half>("0.running_mean").fill_(half(0.1f));
  all_half.get<half>("0.weight").fill_(half(3.f));
  CHECK_THROWS_WITH_AS(nn::load_state_dict(of_halves, all_half),
                       doctest::Contains("'0.running_mean' holds float16, but float32 in the model"), ArgumentError);
  nn::load_state_dict(of_halves, nn::converted_for(of_halves, all_half));
  nn::load_state_dict(of_floats, nn::converted_for(of_floats, all_half));
  const auto halves = nn::state_dict(of_halves), floats = nn::state_dict(of_floats);
  CHECK(static_cast<float>(halves.get<half>("0.weight")(1)) == 3);
  CHECK(halves.get<float>("0.running_mean")(1) == static_cast<float>(half(0.1f)));
  CHECK(floats.get<float>("0.weight")(1) == 3);
  CHECK(floats.get<float>("0.running_mean")(0) == static_cast<float>(half(0.1f)));
}

TEST_CASE("a file that is cut short, at any byte, is refused") {
  const TemporaryFolder folder;
  const std::string whole = content_of(golden_file);
  REQUIRE(whole.size() > 700);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_THROWS_AS((void)io::load(folder.write("cut", whole.substr(0, length))), DataError);
  }
  CHECK_THROWS_WITH_AS((void)io::load(folder.write("long", whole + " ")), doctest::Contains("its tensors have"),
                       DataError);
}

TEST_CASE("no byte of a header, changed, makes it read what is not there") {
  const TemporaryFolder folder;
  const std::string whole = content_of(golden_file);
  const std::size_t header = 8 + static_cast<unsigned char>(whole[0]) + 256u * static_cast<unsigned char>(whole[1]);
  for (std::size_t at = 0; at < header; ++at) {
    for (const char other : {'\0', '9', '"', '{', '\xff'}) {
      std::string changed = whole;
      changed[at] = other;
      try {
        for (const auto& entry : io::load(folder.write("changed", changed)))
          CHECK(entry.bytes.elements() == elements(entry.shape) * static_cast<std::int64_t>(size_of(entry.type)));
      } catch (const DataError&) {}
    }
  }
}

TEST_CASE("what is wrong with a file is said") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& file, const char* why) {
    CAPTURE(why);
    CHECK_THROWS_WITH_AS((void)io::load(folder.write("file", file)), doctest::Contains(why), DataError);
  };
  const auto tensor = [](const std::string& fields, std::size_t data) {
    return file_of(one_tensor("w", fields), data);
  };
  refused("short", "expected at least 8");
  refused("PK\3\4 and more", "it is a zip archive; io::load_torch reads those of torch.save");
  refused("GGUF and more", "it is a GGUF file; io::load_gguf reads it");
  refused(std::string(8, '\xff'),
          "it is no safetensors file, or cut off. Its first 8 bytes promise a header of 18446744073709551615 bytes");
  refused(file_of("[]"), "its header is no JSON object");
  refused(file_of("{"), "its header is no JSON object");
  refused(file_of(std::string(100000, '[')), "its header is no JSON object");
  refused(file_of(R"({"w":7})"), "\"w\" has no dtype");
  refused(tensor(R"("dtype":"F32","shape":[1])", 4), "\"w\" has no data_offsets");
  refused(tensor(R"("dtype":8,"shape":[1],"data_offsets":[0,1])", 1), "\"w\" has dtype 8; expected a string");
  refused(tensor(R"("dtype":"F32","shape":7,"data_offsets":[0,4])", 4),
          "\"w\" has shape 7; expected a list of extents");
  refused(tensor(R"("dtype":"I16","shape":[3],"data_offsets":[0,4])", 4), "expected 6 bytes");
  refused(tensor(R"("dtype":"F99","shape":[3],"data_offsets":[0,5])", 4), "lies from byte 0 to 5 of 4");
  refused(tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4), "-1 where a number from 0 is expected");
  refused(tensor(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4])", 4), "more than 2^63 bytes");
  refused(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])", 4), "expected [begin, end]");
  refused(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4), "expected 8 bytes");
  refused(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", 4), "lies from byte 4 to 0");
  refused(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", 4), "lies from byte 4 to 8 of 4");
  refused(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", 8), "begins at byte 4");
  refused(file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],)"
                  R"("data_offsets":[1,3]}})",
                  3),
          "\"b\" begins at byte 1, but the one before it ends at 2");
  refused(file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],)"
                  R"("data_offsets":[0,1]}})",
                  1),
          "\"a\" is there twice");
  refused(tensor(R"("dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1])", 1), "\"dtype\" is there twice");
  refused(file_of(R"({"__metadata__":{"epoch":3}})"),
          "its __metadata__ is {\"epoch\":3}; expected an object of strings");
  refused(file_of("{\"a\\u001b[31m\":" + std::string(5000, '[') + std::string(5000, ']') + "}"),
          "\"a\\x1b[31m\" has no dtype");
  std::string bools = tensor(R"("dtype":"BOOL","shape":[1],"data_offsets":[0,1])", 1);
  bools.back() = '\2';
  refused(bools, "holds other bytes than 0 and 1");
  CHECK_THROWS_WITH_AS((void)io::load(folder.path / "none"), doctest::Contains("No such file"), DataError);
  CHECK_THROWS_WITH_AS((void)io::load(folder.path), doctest::Contains("is a folder"), DataError);
  REQUIRE(mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS((void)io::load(folder.path / "pipe"), doctest::Contains("is a pipe or device"), DataError);
  CHECK_THROWS_WITH_AS((void)io::load(folder.write("m", "old") + std::string("\0.new", 5)),
                       doctest::Contains("m\\x00.new': a path cannot hold a zero byte"), DataError);
}

namespace {
/// The error message of loading the file; "read" if there is none.
std::string complaint_of(const std::string& path) {
  try {
    (void)io::load(path);
  } catch (const DataError& error) {
    return error.what();
  }
  return "read";
}
}  // namespace

TEST_CASE("whatever a file holds, however deep, the message about it is short") {
  const TemporaryFolder folder;
  const auto refused_briefly = [&](const std::string& header) {
    const std::string complaint = complaint_of(folder.write("file", file_of(header, 4)));
    CAPTURE(complaint);
    CHECK(complaint.find("cannot read") == 0);
    CHECK(complaint.size() < 500);
  };
  const auto lists_of = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  constexpr std::size_t depth = 80'000;
  const std::string lists = lists_of(depth);
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
  objects += "1" + std::string(depth, '}');
  for (const std::string& deep : {lists, objects, "\"" + std::string(depth, 'x') + "\""}) {
    for (const std::string& header :
         {one_tensor("w", "\"dtype\":" + deep + R"(,"shape":[1],"data_offsets":[0,8])"),
          one_tensor("w", R"("dtype":"F32","data_offsets":[0,4],"shape":)" + deep),
          one_tensor("w", R"("dtype":"F32","data_offsets":[0,4],"shape":[)" + deep + "]"),
          one_tensor("w", R"("dtype":"F32","shape":[1],"data_offsets":)" + deep),
          one_tensor("w", R"("dtype":"F32","shape":[1],"data_offsets":[0,)" + deep + "]"), "{\"w\":" + deep + "}",
          "{\"__metadata__\":" + deep + "}", "{\"__metadata__\":{\"a\":[" + deep + "]}}", deep, deep.substr(0, depth)})
      refused_briefly(header);
  }
  refused_briefly(one_tensor("w", "\"dtype\":" + lists_of(2'000'000) + R"(,"shape":[1],"data_offsets":[0,8])"));
  // Unknown keys are ignored.
  CHECK(io::load(folder.write("file", file_of(one_tensor("w", R"("dtype":"F32","shape":[1],"x":)" + lists +
                                                                  R"(,"data_offsets":[0,4])"),
                                              4)))
            .size() == 1);
}

TEST_CASE("names that a file made up do not make messages long, or send codes to a terminal") {
  const TemporaryFolder folder;
  const std::string endless = std::string(100'000, 'n') + "\\u001b[2J";
  const auto state = io::load(
      folder.write("file", file_of(one_tensor(endless, R"("dtype":"U8","shape":[1],"data_offsets":[0,1])"), 1)));
  const nn::Linear<float, Cpu> model{1, 1};
  const auto short_and_plain = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      const std::string text = error.what();
      CAPTURE(text);
      CHECK(text.size() < 1500);
      CHECK(text.find('\x1b') == std::string::npos);
      return;
    }
    FAIL("nothing was thrown");
  };
  short_and_plain([&] { (void)state.get<float>("w"); });
  short_and_plain([&] { (void)state.get<float>((*state.begin()).name); });
  short_and_plain([&] { nn::load_state_dict(model, state); });
  short_and_plain([&] { nn::StateDict<Cpu>(state).add((*state.begin()).name, ones({1})); });
  nn::StateDict<Cpu> many;
  for (int i = 0; i < 10'000; ++i) many.add(join("name ", i), ones({1}));
  short_and_plain([&] { nn::load_state_dict(model, many); });
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, many), doctest::Contains("'name 7' and 9992 more"), ArgumentError);
}

TEST_CASE("complex numbers of 64 bits are written and read; those of 128 bits are refused by name") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "z";
  nn::StateDict<Cpu> state;
  state.add("z", from<complex64>({complex64(1, -2), 3}));
  io::save(path, state);
  const auto read = io::load(path).get<complex64>("z");
  CHECK(read(0) == complex64(1, -2));
  CHECK(read(1) == complex64(3));
  state.add("wide", ones<complex128>({2}));
  CHECK_THROWS_WITH_AS(io::save(path, state), doctest::Contains("tensor 'wide' holds complex128"), ArgumentError);
}

TEST_CASE("tensors that Locus cannot hold leave the others readable, and are named when they are asked for") {
  const TemporaryFolder folder;
  std::string content = file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                R"("quantized":{"dtype":"F8_E4M3","shape":[4,1],"data_offsets":[2,6]},)"
                                R"("waves":{"dtype":"F8_E5M2","shape":[8],"data_offsets":[6,14]},)"
                                R"("newer":{"dtype":"F4","shape":[3],"data_offsets":[14,16]},)"
                                R"("deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[16,17]},)"
                                R"("z":{"dtype":"BOOL","shape":[],"data_offsets":[17,18]}})",
                                18);
  content.replace(content.size() - 16, 15, 15, '\7');  // no bools
  const std::string path = folder.write("mixed", content);
  const auto state = io::load(path);
  CHECK(state.size() == 2);
  CHECK_CLOSE(state.get<std::uint8_t>("a"), {1, 1});
  CHECK(state.get<bool>("z").item());
  CHECK_FALSE(state.contains("waves"));
  REQUIRE(state.unread().size() == 4);
  CHECK(state.unread()[0].name == "quantized");
  CHECK_THROWS_WITH_AS(
      (void)state.get<float>("quantized"),
      doctest::Contains("'quantized' was not read: the file holds F8_E4M3 of shape [4,1]; expected floats"),
      ArgumentError);
  CHECK_THROWS_WITH_AS((void)state.get<float>("waves"), doctest::Contains("F8_E5M2 of shape [8]"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)state.get<float>("newer"), doctest::Contains("F4 of shape [3]"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)state.get<std::uint8_t>("deep"), doctest::Contains("of up to 8 dimensions"),
                       ArgumentError);

  // Unread tensors stay named in copies; saving without them needs an explicit request.
  CHECK_THROWS_WITH_AS((void)state.clone().to<Cpu>().get<float>("waves"), doctest::Contains("F8_E5M2"), ArgumentError);
  CHECK_THROWS_WITH_AS(io::save(path, state), doctest::Contains("'quantized' would be lost"), ArgumentError);
  auto others = state;
  others.drop_unread();
  CHECK(others.erase("a"));
  CHECK_FALSE(others.erase("a"));
  CHECK(others.get<bool>("z").item());
  io::save(path, others);
  CHECK(io::load(path).size() == 1);
}

TEST_CASE("integers of every width are read and written, under the names of the format") {
  const TemporaryFolder folder;
  nn::StateDict<Cpu> state;
  state.add("i8", from<std::int8_t>({-128, 127}));
  state.add("i16", from<std::int16_t>({-32768}));
  state.add("u16", from<std::uint16_t>({65535}));
  state.add("u32", from<std::uint32_t>({4294967295}));
  state.add("u64", Tensor<std::uint64_t>({1}).fill_(UINT64_MAX));
  io::save(folder.path / "integers", state);
  const std::string content = content_of(folder.path / "integers");
  for (const char* type : {"I8", "I16", "U16", "U32", "U64"})
    CHECK(content.find(join("\"dtype\":\"", type, "\"")) != std::string::npos);
  const auto again = io::load(folder.path / "integers");
  CHECK(again.unread().empty());
  CHECK_CLOSE(again.get<std::int8_t>("i8"), {-128, 127});
  CHECK_CLOSE(again.get<std::int16_t>("i16"), {-32768});
  CHECK_CLOSE(again.get<std::uint16_t>("u16"), {65535});
  CHECK_CLOSE(again.get<std::uint32_t>("u32"), {4294967295});
  CHECK(again.get<std::uint64_t>("u64").item() == UINT64_MAX);
}

TEST_CASE("a model whose weight a file has in another type is told which") {
  const TemporaryFolder folder;
  const auto state =
      io::load(folder.write("quantized", file_of(R"({"weight":{"dtype":"F8_E5M2","shape":[1,1],"data_offsets":[0,1]},)"
                                                 R"("scales":{"dtype":"I16","shape":[1],"data_offsets":[1,3]}})",
                                                 3)));
  const nn::Linear<float, Cpu> model{1, 1};
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, state, {.strict = false}),
                       doctest::Contains("'weight' was not read: the file holds F8_E5M2 of shape [1,1]"),
                       ArgumentError);
  CHECK(state.get<std::int16_t>("scales").item() == 0x0101);
  nn::StateDict<Cpu> rest;
  rest.add_unread("scales", "I16 of shape [1]");
  CHECK_THROWS_WITH_AS(nn::load_state_dict(model, rest), doctest::Contains("only the state has: 'scales'"),
                       ArgumentError);
  CHECK(nn::load_state_dict(model, rest, {.strict = false}).unexpected == std::vector<std::string>{"scales"});
}

LOCUS_DEVICE_TEST("a clone of a state keeps the weights while training goes on; what .to its own place gives does not",
                  D) {
  const nn::Sequential<float, D> model{nn::Linear<float, D>{3, 2}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1f}};
  const auto best = nn::state_dict(model).clone();
  const auto same = nn::state_dict(model).template to<D>();
  const auto before = reference(nn::state_dict(model).template get<float>("0.weight"));
  const auto x = tensor<float, D>({2, 3}, {1, 2, 3, 4, 5, 6}), y = tensor<float, D>({2, 2}, {1, 0, 0, 1});
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    nn::mse_loss(model(trace(x)), y).backward();
    optimizer.step();
  }
  const auto after = reference(nn::state_dict(model).template get<float>("0.weight"));
  CHECK(after.values != before.values);
  CHECK_CLOSE(best.template get<float>("0.weight"), before);
  CHECK_CLOSE(same.template get<float>("0.weight"), after);
  CHECK(best.size() == 2);
  nn::load_state_dict(model, best);
  CHECK_CLOSE(nn::state_dict(model).template get<float>("0.weight"), before);
}

TEST_CASE("a state that cannot be written leaves the old file as it was") {
  const TemporaryFolder folder;
  const std::string path = folder.write("model", "old");
  nn::StateDict<Cpu> state;
  state.add("bad \xff", ones({2}));
  CHECK_THROWS_WITH_AS(io::save(path, state), doctest::Contains("not UTF-8"), ArgumentError);
  nn::StateDict<Cpu> reserved;
  reserved.add("__metadata__", ones({2}));
  CHECK_THROWS_AS(io::save(path, reserved), ArgumentError);
  CHECK(content_of(path) == "old");
  CHECK_THROWS_WITH_AS(io::save(folder.path / "none" / "m", nn::StateDict<Cpu>()),
                       doctest::Contains("there is no folder"), DataError);
  io::save(path, nn::StateDict<Cpu>());
  CHECK(io::load(path).size() == 0);
}

namespace {
/// Two names for one layer, as language models have for their embedding.
struct Tied : nn::Layer<Tied, float, Cpu> {
  nn::Linear<float, Cpu> first{2, 2}, second = first;
  auto forward(const auto& x) const { return second(first(x)); }
  void members(const auto& visit) const {
    visit("first", first);
    visit("second", second);
  }
};
struct Twice : nn::Layer<Twice, float, Cpu> {
  Parameter<float> a{ones({1})}, b{ones({1})};
  void members(const auto& visit) const {
    visit("a", a);
    visit("a", b);
  }
};
}  // namespace

TEST_CASE("what layers share is saved under all of its names, and loaded from any of them") {
  const Tied model;
  const auto state = nn::state_dict(model);
  CHECK(state.size() == 4);
  CHECK((state.contains("first.weight") && state.contains("second.weight")));
  const Tied other;
  nn::load_state_dict(other, state);
  CHECK_CLOSE(other.first.parameters()[0].value(), reference(model.first.parameters()[0].value()));

  nn::StateDict<Cpu> half_of_it;
  half_of_it.add("second.weight", ones({2, 2}));
  half_of_it.add("first.bias", ones({2}));
  CHECK(nn::load_state_dict(model, half_of_it).missing.empty());
  CHECK_CLOSE(model.first.parameters()[0].value(), {{2, 2}, {1, 1, 1, 1}});
}

TEST_CASE("two parameters of one name are refused") {
  CHECK_THROWS_WITH_AS((void)nn::state_dict(Twice{}), doctest::Contains("have the name 'a'"), ArgumentError);
  nn::StateDict<Cpu> state;
  state.add("a", zeros({1}));
  CHECK_THROWS_AS(nn::load_state_dict(Twice{}, state), ArgumentError);
}

TEST_CASE("a state of the model's own memory is read before the model changes") {
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{2, 2}, nn::Linear<float, Cpu>{2, 2}};
  const auto before = nn::state_dict(model);
  const auto first = reference(before.get<float>("0.weight")), second = reference(before.get<float>("1.weight"));
  nn::StateDict<Cpu> swapped;
  swapped.add("0.weight", before.get<float>("1.weight"));
  swapped.add("1.weight", before.get<float>("0.weight"));
  nn::load_state_dict(model, swapped, {.strict = false});
  CHECK_CLOSE(nn::state_dict(model).get<float>("0.weight"), second);
  CHECK_CLOSE(nn::state_dict(model).get<float>("1.weight"), first);
}

TEST_CASE("a file of four times as many tensors takes about four times as long, not sixteen") {
  const TemporaryFolder folder;
  const auto seconds = [&](int tensors) {
    nn::StateDict<Cpu> state;
    for (int i = 0; i < tensors; ++i) state.add(std::to_string(i), Tensor<float>(Shape{0}));
    double best = INFINITY;
    for (int run = 0; run < 3; ++run) {
      const Stopwatch watch;
      io::save(folder.path / "many", state);
      CHECK(io::load(folder.path / "many").size() == static_cast<std::size_t>(tensors));
      best = std::min(best, watch.seconds());
    }
    return best;
  };
  const double few = seconds(10000), many = seconds(40000);
  CAPTURE(few);
  CAPTURE(many);
  CHECK(many < 9 * few);
}

TEST_CASE("what was not read is dropped by one call, which the message names; erase() takes out tensors alone") {
  const TemporaryFolder folder;
  nn::StateDict<Cpu> state;
  state.add("b", zeros({2}));
  for (const char* name : {"a", "b", "c"}) state.add_unread(name, "I16 of shape [1]");
  CHECK_THROWS_WITH_AS(io::save(folder.path / "state", state), doctest::Contains("state.drop_unread()"), ArgumentError);
  CHECK_FALSE(state.erase("a"));
  CHECK(state.erase("b"));
  CHECK(state.unread().size() == 3);
  state.drop_unread();
  CHECK(state.unread().empty());
  io::save(folder.path / "state", state);
  CHECK(io::load(folder.path / "state").size() == 0);
}

TEST_CASE("a tensor without elements is loaded as it was saved, however large its other extents are") {
  const TemporaryFolder folder;
  constexpr std::int64_t large = std::int64_t{1} << 62;
  for (const Shape& shape : {Shape{large, 4, 0}, Shape{0, large, 4}, Shape{large, 0, large}}) {
    nn::StateDict<Cpu> state;
    state.add("x", zeros(shape));
    io::save(folder.path / "empty", state);
    CHECK(io::load(folder.path / "empty").get<float>("x").shape() == shape);
  }
}
