// Runs on: host, cuda (tensors).
#include <locus/expr/operators.hpp>
#include <locus/io/npy.hpp>

#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <cmath>
#include <cstdlib>

using namespace locus;
using namespace locus_test;

namespace {
std::string golden(const std::string& name) {
  const char* const tests = std::getenv("LOCUS_TEST_DIR");
  return join(tests ? tests : "tests", "/golden/npy/", name);
}
std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
/// A .npy file of version 1 with this header.
std::string file_of(const std::string& header, const std::string& data = "") {
  return "\x93NUMPY" + std::string{'\1', '\0', static_cast<char>(header.size()), '\0'} + header + data;
}
const Reference ramp({2, 3}, {0, 0.25, 0.5, 0.75, 1, 1.25});

template <class D>
void check_arrays(const nn::StateDict<D>& arrays) {
  CHECK_CLOSE(arrays.template get<float>("float32"), ramp);
  CHECK_CLOSE(arrays.template get<double>("float64"), Reference({2, 3}, {0, 0.125, 0.25, 0.375, 0.5, 0.625}));
  CHECK_CLOSE(arrays.template get<half>("float16"), Reference({3}, {1, -2.5, INFINITY}));
  CHECK_CLOSE(arrays.template get<std::int32_t>("int32"), Reference({2, 3}, {-3, -2, -1, 0, 1, 2}));
  CHECK_CLOSE(arrays.template get<std::int64_t>("int64"), Reference({2}, {0x1p40, -1}));
  CHECK_CLOSE(arrays.template get<std::uint8_t>("uint8"), Reference({1, 2}, {0, 255}));
  CHECK_CLOSE(arrays.template get<bool>("bool"), Reference({3}, {1, 0, 1}));
  CHECK(arrays.template get<float>("nothing").shape() == Shape{0, 5});
  CHECK_CLOSE(arrays.template get<std::int8_t>("int8"), {-128, 127});
  CHECK_CLOSE(arrays.template get<std::int16_t>("int16"),
              Reference({2, 3}, {0, -5000, -10000, -15000, -20000, -25000}));
  CHECK_CLOSE(arrays.template get<std::uint16_t>("uint16"), {65535});
  CHECK_CLOSE(arrays.template get<std::uint32_t>("uint32").template as<double>(), {4294967295});
  CHECK(host(arrays.template get<std::uint64_t>("uint64"))(0) == UINT64_MAX);
}
}  // namespace

LOCUS_DEVICE_TEST("arrays of NumPy are read, in either order, on any device", D) {
  CHECK_CLOSE((io::load_npy<float, D>(golden("rows.npy"))), ramp);
  CHECK_CLOSE((io::load_npy<double, D>(golden("columns.npy"))), ramp);
  CHECK_CLOSE((io::load_npy<double, D>(golden("scalar.npy"))), Reference(Shape{}, {0.1}));
  CHECK_CLOSE((io::load_npy<std::int64_t, D>(golden("version_2.npy"))), Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
}

LOCUS_DEVICE_TEST("archives of NumPy are read, stored and compressed, and what Locus has no type for is named", D) {
  const auto stored = io::load_npz<D>(golden("stored.npz"));
  CHECK(stored.size() == 14);
  check_arrays(stored);
  CHECK_CLOSE(abs(stored.template get<complex64>("complex64")), Reference({2, 3}, {0, 1, 2, 3, 4, 5}));
  CHECK(stored.unread().size() == 2);
  CHECK(message_of<std::exception>([&] { (void)stored.template get<float>("deep"); }).find("<f4 of shape (1, 1") !=
        std::string::npos);
  CHECK(message_of<std::exception>([&] { (void)stored.template get<float>("pairs"); }).find("[('a', '<f4')") !=
        std::string::npos);
#if LOCUS_ZLIB
  const auto compressed = io::load_npz<D>(golden("compressed.npz"));
  CHECK(compressed.size() == 15);
  check_arrays(compressed);
  const auto long_one = compressed.template get<float>("ramp").template to<Cpu>();
  CHECK(long_one(0) == 0);
  CHECK(long_one(19999) == 19);
#else
  CHECK(message_of<std::exception>([] { (void)io::load_npz<D>(golden("compressed.npz")); }).find("without zlib") !=
        std::string::npos);
#endif
}

LOCUS_DEVICE_TEST("what is written is what NumPy would write, and comes back", D) {
  const TemporaryFolder folder;
  const std::string path = folder.path / "x.npy";
  const auto x = tensor<float, D>({3, 2}, {0, 0.75, 0.25, 1, 0.5, 1.25}).transpose();
  io::save_npy(path, x);
  CHECK(content_of(path) == content_of(golden("rows.npy")));
  io::save_npy(path, x * 2.f);
  CHECK_CLOSE((io::load_npy<float, D>(path)), Reference({2, 3}, {0, 0.5, 1, 1.5, 2, 2.5}));
  io::save_npy(path, full<double, D>({}, 0.1));
  CHECK(content_of(path) == content_of(golden("scalar.npy")));
  io::save_npy(path, zeros<bool, D>({4}));
  CHECK(content_of(path).find("'descr': '|b1', 'fortran_order': False, 'shape': (4,), }") != std::string::npos);

  nn::StateDict<D> state = io::load_npz<D>(golden("stored.npz"));
  const std::string archive = folder.path / "x.npz";
  CHECK(message_of<std::exception>([&] { io::save_npz(archive, state); }).find("'pairs' would be lost") !=
        std::string::npos);
  state.drop_unread();
  io::save_npz(archive, state);
  const auto again = io::load_npz<D>(archive);
  CHECK(again.size() == state.size());
  check_arrays(again);
  const std::string first = content_of(archive);
  io::save_npz(archive, again);
  CHECK(content_of(archive) == first);
#if LOCUS_ZLIB
  io::save_npz(archive, again, {.compressed = true});
  check_arrays(io::load_npz<D>(archive));
  nn::StateDict<D> long_one;
  long_one.add("x", zeros<float, D>({300000}));
  io::save_npz(archive, long_one, {.compressed = true});
  CHECK(content_of(archive).size() < 3000);
  CHECK_CLOSE(io::load_npz<D>(archive).template get<float>("x"), reference(zeros<float, D>({300000})));
#endif
  io::save_npz(archive, nn::StateDict<D>{});
  CHECK(io::load_npz<D>(archive).size() == 0);
  CHECK(folder.entries() == 2);
}

TEST_CASE("what cannot be written is refused before anything is") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "x";
  CHECK(message_of<std::exception>([&] { io::save_npy(path, zeros<bfloat16>({2})); }) ==
        "save_npy: NumPy has no bfloat16; convert with .as<float>(), or save safetensors");
  nn::StateDict<Cpu> state;
  state.add("\xff", zeros({1}));
  CHECK(message_of<std::exception>([&] { io::save_npz(path, state); }).find("is not UTF-8") != std::string::npos);
  CHECK(folder.entries() == 0);
}

TEST_CASE("files that are no arrays, or of another type, are refused, each for what is wrong with it") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content) {
    return message_of<std::exception>([&] { (void)io::load_npy<float>(folder.write("x", content)); });
  };
  const auto says = [&](const std::string& content, const std::string& text) {
    CAPTURE(content);
    const std::string error = refused(content);
    CAPTURE(error);
    CHECK(error.find(text) != std::string::npos);
  };
  CHECK(message_of<std::exception>([] {
          (void)io::load_npy<float>(golden("columns.npy"));
        }).find("holds float64, not float32") != std::string::npos);
  CHECK(message_of<std::exception>([] { (void)io::load_npy<float>(golden("big_endian.npy")); }).find("big-endian") !=
        std::string::npos);
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  CHECK(refused(file_of(good, "1234")) == "");
  CHECK(refused(file_of(R"({"shape":(1),"fortran_order":False,"descr":"<f4"})", "1234")) == "");
  says("", "it has 0 bytes");
  says("no array at all", "does not begin as a .npy file");
  says(std::string("\x93NUMPY\x09\0\0\0", 10), "version 9");
  says(file_of(good), "have 4 bytes; it has 0");
  says(file_of(good, "12345"), "have 4 bytes; it has 5");
  says(std::string("\x93NUMPY\1\0\xff\xff", 10), "promises a header of 65535 bytes; it has 0");
  says(file_of(""), "has no '{'");
  says(file_of("{'descr': '<f4'"), "has no '}'");
  says(file_of("{'descr': '<f4', 'shape': (1,)}"), "lacks one of");
  says(file_of("{'descr': '<f4', 'descr': '<f4'}"), "a key twice");
  says(file_of("{'descr': '<f4', 'other': 1}"), "'other' that is unknown");
  says(file_of("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}"), "neither True nor False");
  says(file_of(good + "more"), "goes on after its dictionary");
  for (const char* shape : {"(-1,)", "(1 2)", "(,)", "(1,,)", "[1]", "(99999999999999999999,)", "((1,),)", "(1.0,)"})
    says(file_of(join("{'descr': '<f4', 'fortran_order': False, 'shape': ", shape, "}")), "has the shape");
  says(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2)}"), "more than 2^63 bytes");
  says(file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "x"), "holds bool, not float32");
  CHECK(message_of<std::exception>([&] {
          (void)io::load_npy<bool>(
              folder.write("x", file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "x")));
        }).find("other bytes than 0 and 1") != std::string::npos);
}

namespace {
/// Little-endian numbers with the given number of bytes each.
std::string numbers(std::initializer_list<std::pair<std::uint64_t, int>> fields) {
  std::string text;
  for (const auto& [number, bytes] : fields) io::detail::append_number(text, number, bytes);
  return text;
}
/// A stored file of an archive as its directory describes it.
struct Stored {
  std::string name;
  std::uint64_t begin, bytes;
  std::uint32_t crc;
};
/// The header of a file, which stands before its bytes.
std::string zip_header(const Stored& file) {
  return "PK\3\4" +
         numbers({{20, 2}, {0, 8}, {file.crc, 4}, {file.bytes, 4}, {file.bytes, 4}, {file.name.size(), 2}, {0, 2}}) +
         file.name;
}
/// An archive of these bytes, with the given directory.
std::string archive_of(const std::string& bytes, const std::vector<Stored>& files) {
  std::string directory;
  for (const Stored& file : files)
    directory += "PK\1\2" +
                 numbers({{20, 2},
                          {20, 2},
                          {0, 8},
                          {file.crc, 4},
                          {file.bytes, 4},
                          {file.bytes, 4},
                          {file.name.size(), 2},
                          {0, 8},
                          {0, 4},
                          {file.begin, 4}}) +
                 file.name;
  return bytes + directory + "PK\5\6" +
         numbers({{0, 4}, {files.size(), 2}, {files.size(), 2}, {directory.size(), 4}, {bytes.size(), 4}, {0, 2}});
}
}  // namespace

TEST_CASE("files of an archive that share their bytes are refused: a small one would become as large as it likes") {
  const TemporaryFolder folder;
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (25000,), }";
  const std::string array = file_of(header, std::string(100000, '\1'));
  const std::uint32_t crc = io::detail::crc32_of(array.data(), array.size());
  const auto load = [&](const std::string& bytes, const std::vector<Stored>& files) {
    return io::load_npz(folder.write("x.npz", archive_of(bytes, files)));
  };
  const Stored one{"a.npy", 0, array.size(), crc};
  const std::string stored = zip_header(one) + array;
  CHECK(load(stored, {one}).get<float>("a").size(0) == 25000);
  CHECK(load(stored + zip_header(one) + array, {one, {"b.npy", stored.size(), array.size(), crc}}).size() == 2);

  std::vector<Stored> same;
  for (int i = 0; i < 200; ++i) same.push_back({join(i, ".npy"), 0, array.size(), crc});
  CHECK_THROWS_WITH_AS((void)load(stored, same), doctest::Contains("'0.npy' shares its bytes with another file"),
                       DataError);
  // The header of a file within the bytes of the one before it.
  const std::string inner = zip_header({"b.npy", 0, array.size(), crc}) + array;
  const std::string outer =
      file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(inner.size()) + ",), }", inner);
  const Stored whole{"a.npy", 0, outer.size(), io::detail::crc32_of(outer.data(), outer.size())};
  const std::uint64_t within = zip_header(whole).size() + outer.size() - inner.size();
  CHECK_THROWS_WITH_AS((void)load(zip_header(whole) + outer, {{"b.npy", within, array.size(), crc}, whole}),
                       doctest::Contains("'a.npy' shares its bytes with another file"), DataError);
}

TEST_CASE("a file or an archive that was cut off or changed anywhere gives an error or other numbers, and never more") {
  const TemporaryFolder folder;
  std::vector<std::string> archives{"stored.npz"};
#if LOCUS_ZLIB
  archives.emplace_back("compressed.npz");
#endif
  for (const std::string& name : archives) {
    const std::string whole = content_of(golden(name));
    constexpr std::size_t step = 5;
    std::size_t refused = 0, damaged = 0;
    for (std::size_t i = 0; i < whole.size(); i += step) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
      for (const std::string& content : {whole.substr(0, i), changed}) {
        ++damaged;
        try {
          (void)io::load_npz(folder.write("x", content));
        } catch (const DataError&) {
          ++refused;
        }
      }
    }
    CAPTURE(name);
    CHECK(refused > damaged / 2);  // all truncated files, and files whose arrays do not match their checksum
  }
  const std::string rows = content_of(golden("rows.npy"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK_THROWS_AS((void)io::load_npy<float>(folder.write("x", rows.substr(0, i))), DataError);
    for (const int bit : {0, 1, 5}) {
      std::string changed = rows;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      try {
        const Tensor<float> x = io::load_npy<float>(folder.write("x", changed));
        CHECK(x.elements() == 6);
      } catch (const DataError&) {
      } catch (const ArgumentError&) {  // of another type
      }
    }
  }
}
