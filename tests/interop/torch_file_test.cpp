// Runs on: host.
#include <locus/interop/torch_file.hpp>

#include <locus/nn/batch_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>

#include <golden/golden.hpp>
#include <support/fuzz.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <random>

using namespace locus;
using namespace locus_test;
using namespace std::string_literals;

namespace {

std::string torch_file(const std::string& name) { return golden::folder() + "torch/" + name; }

/// An archive of stored files, below the folder "archive".
std::string torch_archive_of(const std::vector<std::pair<std::string, std::string>>& files) {
  io::detail::ZipWriter writer("test", files.size());
  for (const auto& [name, content] : files) writer.add("archive/" + name, "", content);
  std::string whole;
  for (const auto part : writer.parts()) whole += part;
  return whole;
}
/// An archive of this pickle, without its first two bytes and its last, and of a storage "0".
std::string torch_file_of(const std::string& pickle, const std::string& storage = std::string(24, '\1')) {
  return torch_archive_of({{"data.pkl", "\x80\2" + pickle + "."}, {"byteorder", "little"}, {"data/0", storage}});
}

std::string pickled_text(const std::string& value) {
  return "X" + std::string{static_cast<char>(value.size()), '\0', '\0', '\0'} + value;
}
std::string pickled_tuple(const std::string& values) {
  std::string result = "(";
  for (const char value : values) result += {'K', value};
  return result + "t";
}
/// Calls _rebuild_tensor_v2 of a storage of floats.
std::string pickled_tensor(const std::string& count, const std::string& offset, const std::string& shape,
                           const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled_text("storage") + "ctorch\nFloatStorage\n" +
         pickled_text("0") + pickled_text("cpu") + count + "tQ" + offset + shape + strides + "\x89}tR";
}
std::string pickled_state(const std::string& tensor) { return "}" + pickled_text("w") + tensor + "s"; }

void check_tensors(const nn::StateDict<Cpu>& state) {
  const auto x = [](int i, int j) { return (6 * i + j) / 4.0; };
  std::vector<double> rows, columns, part;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j) rows.push_back(x(i, j));
  for (int j = 0; j < 6; ++j)
    for (int i = 0; i < 4; ++i) columns.push_back(x(i, j));
  for (int i = 1; i < 3; ++i)
    for (int j = 2; j < 5; ++j) part.push_back(x(i, j));
  CHECK_CLOSE(state.get<float>("x"), Reference({4, 6}, rows));
  CHECK_CLOSE(state.get<float>("transposed"), Reference({6, 4}, columns));
  CHECK_CLOSE(state.get<float>("part"), Reference({2, 3}, part));
  CHECK_CLOSE(state.get<float>("expanded"), Reference({3, 4}, std::vector<double>(12, 1.0)));
  CHECK(state.get<std::int64_t>("scalar").item() == 7);
  CHECK(state.get<float>("empty").shape() == Shape{0, 5});
  CHECK_CLOSE(state.get<float>("parameter"), {0, 0.25, 0.5, 0.75, 1, 1.25});
  CHECK_CLOSE(state.get<bool>("bool"), {1, 0, 1});
  CHECK_CLOSE(state.get<double>("float64"), {1, 2, 3});
  CHECK_CLOSE(state.get<half>("float16"), {1, 2, 3});
  CHECK_CLOSE(state.get<bfloat16>("bfloat16"), {1, 2, 3});
  CHECK_CLOSE(state.get<std::int8_t>("int8"), {1, 2, 3});
  CHECK_CLOSE(state.get<std::int16_t>("int16"), {1, 2, 3});
  CHECK_CLOSE(state.get<std::int32_t>("int32"), {1, 2, 3});
  CHECK_CLOSE(state.get<std::int64_t>("int64"), {1, 2, 3});
  CHECK_CLOSE(state.get<std::uint8_t>("uint8"), {1, 2, 3});
  CHECK_CLOSE(state.get<std::uint16_t>("uint16"), {1, 2, 3});
  CHECK_CLOSE(state.get<std::uint32_t>("uint32"), {1, 2, 3});
  CHECK_CLOSE(state.get<std::uint64_t>("uint64"), {1, 2, 3});
  CHECK_CLOSE(abs(state.get<complex64>("complex64")), {1, 2, 3});
  CHECK(state.size() == 20);
  REQUIRE(state.unread().size() == 2);
  CHECK_THROWS_WITH_AS((void)state.get<float>("float8_e4m3fn"), doctest::Contains("torch.float8_e4m3fn of shape (3,)"),
                       ArgumentError);
}

}  // namespace

TEST_CASE("tensors that PyTorch saved are read from both formats, read or mapped, of every type and layout") {
  for (const char* const name : {"tensors.pt", "tensors_old.pt"})
    for (const bool mapped : {false, true}) {
      CAPTURE(name);
      CAPTURE(mapped);
      check_tensors(io::load_torch(torch_file(name), {.mapped = mapped}));
    }
}

TEST_CASE("tensors share memory as in the file, and changes of a mapped one do not reach the file") {
  const std::string path = torch_file("tensors.pt");
  const std::string before = content_of(path);
  for (const bool mapped : {false, true}) {
    const io::Value file = io::read_torch(path, {.mapped = mapped});
    const auto x = file["x"].tensor<float>(), transposed = file["transposed"].tensor<float>();
    CHECK(transposed.strides() == Strides{1, 6});
    x(1, 2) = 100.f;
    CHECK(transposed(2, 1) == 100.f);
    CHECK(file.state_dict().get<float>("x").data() == x.data());
  }
  CHECK(content_of(path) == before);
}

TEST_CASE("a tensor of a mapped file that was truncated since is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.write("x.pt", content_of(torch_file("tensors.pt")));
  const io::Value file = io::read_torch(path, {.mapped = true});
  std::filesystem::resize_file(path, 1);
  CHECK_THROWS_WITH_AS((void)file["x"].tensor<float>(), doctest::Contains("was truncated to 1 bytes"), DataError);
  CHECK_THROWS_WITH_AS((void)file.state_dict(), doctest::Contains("was truncated to 1 bytes"), DataError);
}

TEST_CASE("a checkpoint is a tree of values") {
  for (const char* const name : {"checkpoint.pt", "checkpoint_old.pt"}) {
    CAPTURE(name);
    const io::Value file = io::read_torch(torch_file(name));
    CHECK(file["epoch"].integer() == 3);
    CHECK(file["best"].number() == 0.75);
    CHECK(file["nothing"].is_none());
    CHECK_FALSE(file["done"].boolean());
    CHECK(file["size"][1].integer() == 3);
    CHECK(file["type"].text() == "torch.bfloat16");
    CHECK(file["device"].text() == "cuda:1");
    CHECK(file["seed"].natural() == (std::uint64_t{1} << 63) + 5);
    CHECK_THROWS_AS((void)file["seed"].integer(), ArgumentError);
    CHECK(file["below"].integer() == -300);
    CHECK(file["below"].number() == -300);
    CHECK_THROWS_AS((void)file["huge"].natural(), ArgumentError);
    CHECK(file["bytes"].text() == "\0\xff"s);
    CHECK(file["names"].size() == 1);
    CHECK(file["pair"][0].text() == "\xc3\xa4");
    CHECK(file["pair"][1][1].integer() == std::int64_t{1} << 33);
    const io::Value group = file["optimizer"]["param_groups"][0];
    CHECK(group["lr"].number() == 0.0625);
    CHECK(group["betas"][1].number() == 0.999);
    CHECK(group["params"].size() == 4);
    CHECK(file["optimizer"]["state"][0]["exp_avg"].tensor<float>().shape() == Shape{2, 3});
    CHECK(file["scheduler"]["milestones"][5].integer() == 1);
    CHECK(file.items()[0].key.text() == "model");
    CHECK_THROWS_WITH_AS((void)file["none"], doctest::Contains("no key 'none'; there are 'model'"), ArgumentError);
    CHECK_THROWS_WITH_AS((void)file["epoch"].text(), doctest::Contains("holds an integer here; expected a text"),
                         ArgumentError);
    CHECK_THROWS_AS((void)group["params"][4], IndexError);
    CHECK_THROWS_AS((void)file["optimizer"]["state"][9], IndexError);
    CHECK_THROWS_WITH_AS((void)file["rng"].tensor<float>(), doctest::Contains("expected float32, not uint8"),
                         ArgumentError);
  }
}

TEST_CASE("the state of a checkpoint is found, and loaded into a model") {
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{3, 2}, nn::BatchNorm1d<float, Cpu>{2}};
  for (const char* const name : {"checkpoint.pt", "checkpoint_old.pt"}) {
    const auto state = io::load_torch(torch_file(name));
    CHECK(state.size() == 7);
    CHECK(nn::load_state_dict(model, state).missing.empty());
    const io::Value file = io::read_torch(torch_file(name));
    CHECK_CLOSE(model.parameters()[0].value(), reference(file["model"]["module.0.weight"].tensor<float>()));
    CHECK(nn::state_dict(model).get<std::int64_t>("1.num_batches_tracked").item() == 1);
  }
  CHECK_THROWS_WITH_AS((void)io::load_torch(torch_file("checkpoint.pt"), {.key = "ema"}),
                       doctest::Contains("no key 'ema'; there are 'model', 'optimizer'"), ArgumentError);
  const TemporaryFolder folder;
  const std::string two = folder.write(
      "two.pt", torch_file_of("}" + pickled_text("a") +
                              pickled_state(pickled_tensor("K\6", "K\0"s, pickled_tuple("\6"), pickled_tuple("\1"))) +
                              "s" + pickled_text("n") + "K\1s"));
  CHECK_THROWS_WITH_AS((void)io::load_torch(two), doctest::Contains("but the dictionaries 'a'; say which one"),
                       ArgumentError);
  CHECK(io::read_torch(two)["a"].state_dict().get<float>("w").shape() == Shape{6});
  const auto all = io::read_torch(two).state_dict();
  CHECK(all.contains("a.w"));
  REQUIRE(all.unread().size() == 1);
  CHECK(all.unread()[0].type == "an integer");
}

TEST_CASE("compressed archives are read, and pickles of protocol 4") {
  const TemporaryFolder folder;
  const std::string pickle = "\x80\4\x95" + std::string(8, '\0') +
                             "}\x94\x8c\1w\x8c\x0c"
                             "torch._utils\x8c\x12_rebuild_tensor_v2\x93((" +
                             pickled_text("storage") +
                             "\x8c\5torch\x8c\x0c"
                             "FloatStorage\x93" +
                             pickled_text("0") + pickled_text("cpu") + "K\6tQK\1K\5\x85K\1\x85\x89}tRs.";
  const std::string path =
      folder.write("four.pt", torch_archive_of({{"data.pkl", pickle}, {"data/0", std::string(24, '\0')}}));
  CHECK_CLOSE(io::load_torch(path).get<float>("w"), {0, 0, 0, 0, 0});
#if LOCUS_ZLIB
  CHECK_CLOSE(io::load_torch(torch_file("deflated.pt"), {.mapped = true}).get<float>("w"),
              Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
#endif
}

TEST_CASE("a file that would execute something is refused, and the function is named") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content, const char* why) {
    CAPTURE(why);
    CHECK_THROWS_WITH_AS((void)io::load_torch(folder.write("x.pt", content)), doctest::Contains(why), DataError);
  };
  refused(torch_file_of("cposix\nsystem\n" + pickled_text("touch owned") + "\x85R"),
          "the file calls posix.system, which Locus does not execute");
  refused(torch_file_of("cbuiltins\neval\n)R"), "calls builtins.eval");
  refused(torch_file_of("c__builtin__\ngetattr\n)R"), "calls __builtin__.getattr");
  refused(torch_file_of("\x8c\2os\x8c\6system\x93)R"), "calls os.system");
  refused(torch_file_of("ctorch._utils\n_rebuild_tensor_v2\n" + pickled_text("x") + "R"),
          "has a text where a list is expected");
  refused(torch_file_of(pickled_text("os.system") + ")R"), "has a text where a name is expected");
  refused(torch_file_of("ctorch\nFloatStorage\n)R"), "calls torch.FloatStorage, which is a type here");
  refused(torch_file_of("i" + "os\nsystem\n"s), "has the operation 105");
  CHECK_THROWS_WITH_AS((void)io::read_torch(torch_file("module.pt")),
                       doctest::Contains("calls torch.nn.modules.linear.Linear, which Locus does not execute"),
                       DataError);
  refused(torch_archive_of({{"data.pkl", "\x80\2}."}, {"constants.pkl", ""}}), "it holds a program (torch.jit.save)");
}

TEST_CASE("what is wrong with a file of torch.save is said") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content, const char* why) {
    CAPTURE(why);
    for (const bool mapped : {false, true})
      CHECK_THROWS_WITH_AS((void)io::load_torch(folder.write("x.pt", content), {.mapped = mapped}),
                           doctest::Contains(why), DataError);
  };
  const std::string good = pickled_state(pickled_tensor("K\6", "K\0"s, pickled_tuple("\2\3"), pickled_tuple("\3\1")));
  CHECK_CLOSE(io::load_torch(folder.write("x.pt", torch_file_of(good, std::string(24, '\0')))).get<float>("w"),
              Reference({2, 3}, {0, 0, 0, 0, 0, 0}));
  const auto of_tensor = [](const std::string& offset, const std::string& shape, const std::string& strides) {
    return torch_file_of(pickled_state(pickled_tensor("K\6", offset, shape, strides)));
  };
  const std::string whole = content_of(torch_file("tensors.pt"));
  refused("", "it begins with ''; expected a zip archive");
  refused("other and more", "it begins with 'other an'");
  refused("GGUF and more", "it is a GGUF file; io::load_gguf reads it");
  refused("\x2\0\0\0\0\0\0\0{}"s, "it is a safetensors file; io::load reads it");
  refused(whole.substr(0, whole.size() / 2), "it is no zip archive, or cut off");
  refused(torch_archive_of({{"other", ""}}), "it has no data.pkl");
  refused(torch_archive_of({{"data.pkl", "\x80\2}."}, {"byteorder", "big"}}),
          "its byte order is 'big'; expected 'little'");
  refused(torch_archive_of({{"data.pkl", "\x80\2}."}, {"data.pkl", "\x80\2}."}}), "'archive/data.pkl' is there twice");
  refused(torch_archive_of({{"data.pkl", "\x80\2" + good + "."}}), "it has no 'data/0'; it is damaged or cut off");
  refused(torch_file_of(good, "short"), "the storage '0' has 5 bytes; expected 24");
  refused(of_tensor("K\1", pickled_tuple("\2\3"), pickled_tuple("\3\1")), "goes beyond its storage of 6 elements");
  refused(of_tensor("K\0"s, pickled_tuple("\2\3"), pickled_tuple("\4\1")), "goes beyond its storage");
  refused(of_tensor("K\7", pickled_tuple("\0\3"s), pickled_tuple("\3\1")), "goes beyond its storage");
  refused(of_tensor("J\xff\xff\xff\xff", pickled_tuple("\1"), pickled_tuple("\1")), "begins before its storage");
  refused(of_tensor("K\0"s, "(J\xff\xff\xff\xfft", pickled_tuple("\1")),
          "an extent or a stride that is no number from 0");
  refused(of_tensor("K\0"s, pickled_tuple("\2"), "(J\xff\xff\xff\xfft"),
          "an extent or a stride that is no number from 0");
  refused(of_tensor("K\0"s, pickled_tuple("\2\3"), pickled_tuple("\1")), "2 extents and 1 strides");
  const auto of_rank = [&](std::size_t rank) {
    return of_tensor("K\0"s, pickled_tuple(std::string(rank, '\1')), pickled_tuple(std::string(rank, '\1')));
  };
  CHECK(io::load_torch(folder.write("x.pt", of_rank(64))).unread().size() == 1);
  refused(of_rank(65), "has a tensor of 65 dimensions; expected at most 64");
  refused(torch_file_of("ccollections\nOrderedDict\n(" + std::string(17, 'N') + "tR"),
          "gives 17 arguments; expected at most 16");
  refused(torch_file_of("(" + std::string(17, 'N') + "tQ"), "gives 17 arguments; expected at most 16");
  refused(torch_file_of("(" + pickled_text("storage") + "ctorch\nFloatStorage\nX\1\1\0\0"s + std::string(257, '0') +
                        pickled_text("cpu") + "K\6tQ"),
          "names a storage by 257 bytes; expected at most 256");
  refused(of_tensor("K\0"s, "(\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7ft",
                    pickled_tuple("\0\0"s)),
          "goes beyond its storage");
  refused(of_tensor("K\0"s, "(\x8a\x06\0\0\0\0\0\x01t"s, pickled_tuple("\0"s)), "its tensors repeat their elements");
  refused(torch_file_of(pickled_state(pickled_tensor("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "K\0"s,
                                                     pickled_tuple("\1"), pickled_tuple("\1")))),
          "more than 2^63 bytes");
  refused(torch_file_of("}" + pickled_text("w") + "K\1s" + pickled_text("w") + "K\2s"), "'w' is there twice");
  refused(torch_file_of("K\1s"), "takes a value that is not there");
  refused(torch_file_of("h\5"), "takes the value 5 of its memo");
  refused(torch_file_of("}K\1e"), "has no mark");
  refused(torch_file_of("]K\1K\2s"), "adds to a list; expected a dictionary");
  refused(torch_file_of("}(K\1u"), "has a key without a value");
  refused(torch_file_of("X\xff\xff\xff\xff"), "promises 4294967295 bytes");
  refused(torch_file_of("X\1\0\0\0\xff"s), "has a text that is not UTF-8");
  refused(torch_archive_of({{"data.pkl", "\x80\2}"}}), "is cut off");
  refused(torch_archive_of({{"data.pkl", "(lp0\n."}}), "has no protocol of 2 or later");
  refused(torch_archive_of({{"data.pkl", "\x80\7}."}}), "has protocol 7; expected 2 to 5");
  refused(content_of(torch_file("tensors_old.pt")).substr(0, 3000), "it is damaged or cut off");
  std::string tar(600, '\0');
  tar.replace(257, 5, "ustar");
  refused(tar, "PyTorch before 0.1.10");
  const std::string data = std::string(4, '\0') + "\0\0\x80\x3e"s + "\0\0\0\x3f"s;  // 0, 0.25, 0.5 of "x"
  std::string damaged = whole;
  REQUIRE(whole.find(data) != std::string::npos);
  damaged[whole.find(data)] ^= 1;
  CHECK_THROWS_WITH_AS((void)io::load_torch(folder.write("x.pt", damaged)),
                       doctest::Contains("is damaged: its checksum is another one"), DataError);
  CHECK_THROWS_WITH_AS((void)io::read_torch(folder.path / "none.pt"), doctest::Contains("No such file"), DataError);
}

TEST_CASE("dictionaries within themselves neither hang nor overflow a stack") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& pickle, const char* why) {
    const io::Value file = io::read_torch(folder.write("x.pt", torch_file_of(pickle)));
    CHECK_THROWS_WITH_AS((void)file.state_dict(), doctest::Contains(why), DataError);
  };
  refused("}q\1" + pickled_text("a") + "h\1s", "dictionaries are within each other, more than 32 deep");
  std::string doubled = "}" + pickled_text("a") + "K\1s";  // each dictionary has the one before it twice
  for (char i = 1; i < 31; ++i)
    doubled = doubled + "q"s + i + "0}" + pickled_text("a") + "h" + i + "s" + pickled_text("b") + "h" + i + "s";
  refused(doubled, "its dictionaries each other, to more than memory should hold");
}

TEST_CASE("a damaged file of torch.save gives an error or other numbers, and never reads beyond its memory") {
  const TemporaryFolder folder;
  std::mt19937_64 random(fuzz_seed(1));
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::string pickle =
      "\x80\2" + pickled_state(pickled_tensor("K\6", "K\0"s, pickled_tuple("\2\3"), pickled_tuple("\3\1"))) + ".";
  std::size_t refused = 0, read = 0;
  for (std::int64_t count = fuzz_count(1500); count > 0; --count) {
    std::string content = count % 3 == 0 ? content_of(torch_file("checkpoint_old.pt")) : pickle;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(locus::detail::smaller<std::size_t>(content.size(), 4000));
      if (below(3) == 0) content.erase(at, 1 + below(3));
      else content[at] = below(2) ? static_cast<char>(random()) : "\x80.(0Nq}]tRQ\x85h\x8a"[below(15)];
    }
    const bool mapped = below(2) == 0;
    if (count % 3 != 0) content = torch_archive_of({{"data.pkl", content}, {"data/0", std::string(24, '\0')}});
    try {
      const auto state = io::read_torch(folder.write("x.pt", content), {.mapped = mapped}).state_dict();
      for (const auto& entry : state)
        CHECK(entry.bytes.elements() == elements(entry.shape) * static_cast<std::int64_t>(size_of(entry.type)));
      ++read;
    } catch (const DataError&) {
      ++refused;
    } catch (const ArgumentError&) {  // no dictionary
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(read > 0);
}
