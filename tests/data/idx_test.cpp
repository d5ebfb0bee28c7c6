// Runs on: host.
#include <locus/data/files/idx.hpp>

#include <doctest/doctest.h>

#include <support/temporary_folder.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace locus;
using namespace locus_test;
namespace fs = std::filesystem;

namespace {

using namespace std::string_literals;

std::string extent(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}

/// An IDX file of unsigned bytes: header with these extents, then the payload.
std::string idx(std::initializer_list<std::uint32_t> extents, const std::string& payload) {
  std::string text = "\0\0\x08"s + static_cast<char>(extents.size());
  for (auto value : extents) text += extent(value);
  return text + payload;
}

/// The error message of read_idx; "read" if there is none.
std::string complaint(const std::string& path, std::optional<int> rank = {}) {
  try {
    (void)data::read_idx(path, rank);
  } catch (const DataError& error) {
    return error.what();
  }
  return "read";
}

bool contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE("'" << part << "' is not in: " << text);
  return false;
}

#if LOCUS_ZLIB
std::string gzip(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
#endif

const std::string payload = "abcdefghijklmnopqrstuvwx";  // 24 bytes

}  // namespace

TEST_CASE("an IDX file gives its extents and bytes") {
  const TemporaryFolder folder;
  const auto file = data::read_idx(folder.write("f", idx({2, 3, 4}, payload)));
  CHECK(file.extents == Dims{2, 3, 4});
  CHECK(std::string(file.bytes.begin(), file.bytes.end()) == payload);
}

TEST_CASE("an IDX file may have one to eight dimensions, and none of its elements") {
  const TemporaryFolder folder;
  CHECK(data::read_idx(folder.write("a", idx({24}, payload)), 1).extents == Dims{24});
  CHECK(data::read_idx(folder.write("b", idx({1, 2, 1, 3, 1, 4, 1, 1}, payload))).bytes.size() == 24);
  const auto none = data::read_idx(folder.write("c", idx({0, 28, 28}, "")));
  CHECK(none.extents == Dims{0, 28, 28});
  CHECK(none.bytes.empty());
}

TEST_CASE("bytes above 127 and extents above 2^16 keep their value") {
  const TemporaryFolder folder;
  const auto file = data::read_idx(folder.write("f", idx({70'001}, std::string(70'000, '\xff') + '\x80')));
  CHECK(file.extents == Dims{70'001});
  CHECK(file.bytes.front() == 255);
  CHECK(file.bytes.back() == 128);
}

TEST_CASE("a missing file, a folder, a device and an empty file are named") {
  const TemporaryFolder folder;
  const std::string root = folder.path;
  CHECK(complaint(root + "/none") ==
        "cannot read '" + root + "/none': No such file or directory; expected an IDX file, plain or .gz");
  CHECK(complaint(root) == "'" + root + "' is a folder; expected an IDX file, plain or .gz");
  CHECK(complaint("/dev/zero") == "'/dev/zero' is a pipe or device; expected an IDX file, plain or .gz");
  CHECK(contains(complaint(folder.write("empty", "")), "is empty; expected an IDX file"));
}

TEST_CASE("every header that is cut short is refused") {
  const TemporaryFolder folder;
  const auto whole = idx({2, 3, 4}, "");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    CHECK(contains(complaint(folder.write("f", whole.substr(0, length))), "ends within its header"));
  }
}

TEST_CASE("a path with a zero byte is refused, not cut off") {
  const TemporaryFolder folder;
  const std::string path = folder.write("f", idx({24}, payload));
  CHECK(contains(complaint(path + ".gz\0"s), "f.gz\\x00': a path cannot hold a zero byte"));
  CHECK(contains(complaint(path + "\0.gz"s), "a path cannot hold a zero byte"));
  CHECK(contains(complaint(""), "cannot read a file without a name"));
  CHECK_THROWS_WITH_AS((void)data::find_idx(folder.path.string() + "\0"s, "a-idx1-ubyte"),
                       doctest::Contains("a path cannot hold a zero byte"), DataError);
}

TEST_CASE("a wrong magic number is shown") {
  const TemporaryFolder folder;
  CHECK(contains(complaint(folder.write("zip", "PK\x03\x04" + payload)),
                 "is not an IDX file: it begins with 50 4b 03 04; expected 00 00 08 and the number of dimensions"));
  CHECK(contains(complaint(folder.write("a", "\0\1\x08\x01"s + payload)), "is not an IDX file"));
  CHECK(contains(complaint(folder.write("b", "\0\0\x0a\x01"s + payload)), "is not an IDX file"));
  CHECK(contains(complaint(folder.write("c", "\x01\x08\0\0"s + payload)), "is not an IDX file"));  // little-endian
}

TEST_CASE("another element type is named") {
  const TemporaryFolder folder;
  const std::pair<char, const char*> types[] = {
      {'\x09', "signed byte"}, {'\x0b', "int16"}, {'\x0c', "int32"}, {'\x0d', "float32"}, {'\x0e', "float64"}};
  for (const auto& [code, name] : types) {
    const auto text = complaint(folder.write("f", "\0\0"s + code + '\x01' + extent(1) + payload));
    CHECK(contains(text, join("holds elements of type ", name, "; expected unsigned bytes")));
  }
}

TEST_CASE("a rank out of range or other than asked for is refused") {
  const TemporaryFolder folder;
  CHECK(contains(complaint(folder.write("none", idx({}, "a"))), "has 0 dimensions; expected 1 to 8"));
  CHECK(contains(complaint(folder.write("nine", idx({1, 1, 1, 1, 1, 1, 1, 1, 1}, "a"))), "expected 1 to 8"));
  CHECK(contains(complaint(folder.write("many", "\0\0\x08\xff"s + payload)), "has 255 dimensions"));
  CHECK(contains(complaint(folder.write("labels", idx({24}, payload)), 3), "has 1 dimensions; expected 3"));
}

TEST_CASE("a header that promises more than the file holds is refused") {
  const TemporaryFolder folder;
  const auto text = complaint(folder.write("f", idx({60'000, 28, 28}, payload)));
  CHECK(contains(text, "promises (60000, 28, 28) elements, 47040000 bytes"));
  CHECK(
      contains(complaint(folder.write("g", idx({5, 5}, payload))), "promises (5, 5) elements, 25 bytes, but holds 24"));
}

TEST_CASE("extents whose product overflows are refused without allocating") {
  const TemporaryFolder folder;
  const std::uint32_t most = 0xffffffffu;
  CHECK(contains(complaint(folder.write("a", idx({most, most, most}, payload))), "more than 2^64 bytes"));
  CHECK(contains(complaint(folder.write("b", idx({1u << 31, 1u << 31, 4}, payload))), "more than 2^64 bytes"));
  CHECK(contains(complaint(folder.write("c", idx({most, most}, payload))), "18446744065119617025 bytes"));
  CHECK(data::read_idx(folder.write("d", idx({most, most, most, 0}, ""))).bytes.empty());
}

TEST_CASE("bytes after the promised ones are refused") {
  const TemporaryFolder folder;
  CHECK(contains(complaint(folder.write("f", idx({23}, payload))),
                 "goes on after the 23 bytes that its header promises"));
  CHECK(contains(complaint(folder.write("g", idx({0}, payload))), "goes on after the 0 bytes"));
}

TEST_CASE("find_idx knows the usual names, plain before compressed") {
  const TemporaryFolder folder;
  const std::string root = folder.path;
  const auto images = [&] { return data::find_idx(root, "train-images-idx3-ubyte").substr(root.size() + 1); };
  (void)folder.write("train-images.idx3-ubyte.gz", "");
  CHECK(images() == "train-images.idx3-ubyte.gz");
  (void)folder.write("train-images.idx3-ubyte", "");
  CHECK(images() == "train-images.idx3-ubyte");
  (void)folder.write("train-images-idx3-ubyte.gz", "");
  CHECK(images() == "train-images-idx3-ubyte.gz");
  (void)folder.write("train-images-idx3-ubyte", "");
  CHECK(images() == "train-images-idx3-ubyte");
  CHECK(data::find_idx(root + "/", "train-images-idx3-ubyte") == root + "/train-images-idx3-ubyte");
}

TEST_CASE("find_idx says what it looked for") {
  const TemporaryFolder folder;
  const std::string root = folder.path;
  fs::create_directories(folder.path / "train-labels-idx1-ubyte");  // a folder is not a file
  CHECK_THROWS_WITH_AS((void)data::find_idx(root, "train-labels-idx1-ubyte"),
                       ("the folder '" + root +
                        "' holds none of train-labels-idx1-ubyte, train-labels-idx1-ubyte.gz, train-labels.idx1-ubyte, "
                        "train-labels.idx1-ubyte.gz; expected one of them")
                           .c_str(),
                       DataError);
  CHECK_THROWS_WITH_AS(
      (void)data::find_idx(root + "/none", "a-idx1-ubyte"),
      ("there is no folder '" + root + "/none'; expected one that holds a-idx1-ubyte (or a-idx1-ubyte.gz)").c_str(),
      DataError);
  CHECK_THROWS_AS((void)data::find_idx("", "a-idx1-ubyte"), DataError);
}

#if LOCUS_ZLIB

TEST_CASE("a gzip file reads like the plain one, whatever its name") {
  const TemporaryFolder folder;
  const auto file = data::read_idx(folder.write("f", gzip(idx({2, 3, 4}, payload))));
  CHECK(file.extents == Dims{2, 3, 4});
  CHECK(std::string(file.bytes.begin(), file.bytes.end()) == payload);
  CHECK(data::read_idx(folder.write("plain.gz", idx({24}, payload))).extents == Dims{24});
}

TEST_CASE("what follows a gzip file is another one, or padding of zeros, or refused") {
  const TemporaryFolder folder;
  const auto whole = gzip(idx({2, 3, 4}, payload));
  for (const std::string& rest :
       {"garbage"s, "\x1f"s, "\x1f\x8b"s, "\0\0x"s, whole.substr(0, 9), std::string(200'000, '\0') + "x"}) {
    const auto text = complaint(folder.write("f.gz", whole + rest));
    CHECK_MESSAGE(contains(text, "is damaged: "), text);
  }
  CHECK(contains(complaint(folder.write("f.gz", whole + "garbage")),
                 "it goes on after its gzip stream with something else"));
  CHECK(contains(complaint(folder.write("f.gz", whole + whole)), "goes on after the 24 bytes"));
  CHECK(contains(complaint(folder.write("f.gz", whole + '\0' + whole)), "goes on after the 24 bytes"));
  const std::string header = idx({2, 3, 4}, "");
  for (const std::string& good :
       {whole + std::string(512, '\0'), whole + std::string(300'000, '\0'), whole + gzip(""),
        gzip(header) + gzip(payload), gzip(header + payload.substr(0, 7)) + "\0\0"s + gzip(payload.substr(7))}) {
    const auto file = data::read_idx(folder.write("f.gz", good));
    CHECK(std::string(file.bytes.begin(), file.bytes.end()) == payload);
  }
}

TEST_CASE("every gzip file that is cut short is refused") {
  const TemporaryFolder folder;
  const auto whole = gzip(idx({2, 3, 4}, payload));
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const auto text = complaint(folder.write("f.gz", whole.substr(0, length)));
    CHECK_MESSAGE(text != "read", "of ", length, " bytes");
  }
  CHECK(contains(complaint(folder.write("f.gz", whole.substr(0, whole.size() - 4))), "its gzip stream ends early"));
}

TEST_CASE("a gzip file with any bit of its data or checksum flipped is refused") {
  const TemporaryFolder folder;
  const auto whole = gzip(idx({2, 3, 4}, payload));
  for (std::size_t byte = 10; byte < whole.size(); ++byte) {
    auto damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 4);
    CHECK_MESSAGE(complaint(folder.write("f.gz", damaged)) != "read", "byte ", byte);
  }
  auto wrong_sum = whole;
  wrong_sum[whole.size() - 8] = static_cast<char>(wrong_sum[whole.size() - 8] + 1);
  CHECK(contains(complaint(folder.write("f.gz", wrong_sum)), "is damaged: incorrect data check"));
}

TEST_CASE("a gzip file of the wrong length is refused") {
  const TemporaryFolder folder;
  CHECK(contains(complaint(folder.write("a.gz", gzip(idx({25}, payload)))), "25 bytes, but holds 24"));
  CHECK(contains(complaint(folder.write("b.gz", gzip(idx({23}, payload)))), "goes on after the 23 bytes"));
  CHECK(contains(complaint(folder.write("c.gz", gzip(""))), "is empty"));
  CHECK(contains(complaint(folder.write("d.gz", gzip("PK\x03\x04"))), "is not an IDX file"));
}

TEST_CASE("a gzip file is not decompressed past what its header promises") {
  const TemporaryFolder folder;
  const auto bomb = folder.write("bomb.gz", gzip(idx({24}, std::string(64u << 20, '\0'))));
  CHECK(fs::file_size(bomb) < 80'000);
  CHECK(contains(complaint(bomb), "goes on after the 24 bytes"));
}

TEST_CASE("a small gzip file cannot make the reader allocate what it promises") {
  const TemporaryFolder folder;
  const auto text = complaint(folder.write("f.gz", gzip(idx({1u << 31, 1u << 10}, payload))));
  CHECK(contains(text, "2199023255552 bytes, but can hold at most"));
}

TEST_CASE("a gzip file at the best possible compression is within the bound") {
  const TemporaryFolder folder;
  const std::uint32_t count = 8u << 20;
  CHECK(data::read_idx(folder.write("f.gz", gzip(idx({count}, std::string(count, '\0'))))).bytes.size() == count);
}

#else

TEST_CASE("a gzip file without zlib says how to get on") {
  const TemporaryFolder folder;
  CHECK(contains(
      complaint(folder.write("f.gz", "\x1f\x8b\x08\0"s + payload)),
      "this program was built without zlib; install zlib1g-dev and build with -DLOCUS_ZLIB=1 and -lz (a single "
      "header: scripts/single_header --zlib), or decompress the file"));
}

#endif
