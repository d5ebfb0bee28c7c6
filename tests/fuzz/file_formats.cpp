// Readers of files of weights under libFuzzer, which makes inputs. By hand, a format at a time:
//
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -DLOCUS_FUZZED=torch -Iinclude \
//       tests/fuzz/file_formats.cpp -o fuzz_torch -lz
//   ./fuzz_torch -max_total_time=600 -rss_limit_mb=4096 CORPUS tests/golden/torch
//
// LOCUS_FUZZED is torch, pickle, gguf, safetensors, shards or npz. Readers may throw exceptions of Locus; others, and
// reads outside of memory, are errors.

#include <locus/interop/gguf_file.hpp>
#include <locus/interop/torch_file.hpp>
#include <locus/io/npy.hpp>
#include <locus/io/safetensors_view.hpp>

#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>

namespace {
using namespace locus;

/// A file in memory with this content, and its path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : number_(memfd_create("input", 0)) {
    if (number_ < 0 || write(number_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { (void)close(number_); }
  [[nodiscard]] std::string path() const { return join("/proc/self/fd/", number_); }

 private:
  int number_;
};

/// Touches every byte, and checks that shapes fit.
void use(const nn::StateDict<Cpu>& state) {
  static volatile std::uint8_t sink = 0;
  for (const auto& entry : state) {
    if (entry.bytes.elements() != elements(entry.shape) * static_cast<std::int64_t>(size_of(entry.type))) std::abort();
    for (std::int64_t i = 0; i < entry.bytes.elements(); i += 64) sink = sink ^ entry.bytes.data()[i];
  }
}

[[maybe_unused]] void fuzz_torch(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  use(io::read_torch(file.path(), {.mapped = size % 2 == 0}).state_dict());
}
/// The archive around a pickle, with a storage of 24 bytes.
[[maybe_unused]] void fuzz_pickle(const std::uint8_t* data, std::size_t size) {
  io::detail::ZipWriter archive("fuzz", 2);
  archive.add("a/data.pkl", "", {reinterpret_cast<const char*>(data), size});
  archive.add("a/data/0", std::string(24, '\1'), "");
  std::string whole;
  for (const auto part : archive.parts()) whole += part;
  fuzz_torch(reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size());
}
[[maybe_unused]] void fuzz_gguf(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  use(io::load_gguf(file.path()));
}
[[maybe_unused]] void fuzz_safetensors(const std::uint8_t* data, std::size_t size) {
  for (const auto& view : io::parse_safetensors({reinterpret_cast<const std::byte*>(data), size}))
    if (view.data.size() > size) std::abort();
}
[[maybe_unused]] void fuzz_shards(const std::uint8_t* data, std::size_t size) {
  for (const auto& name : io::detail::parse_shard_index({reinterpret_cast<const char*>(data), size}, "fuzz").files)
    if (name.find('/') != std::string::npos) std::abort();
}
[[maybe_unused]] void fuzz_npz(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  use(io::load_npz(file.path()));
}
}  // namespace

#define LOCUS_JOINED_(a, b) a##b
#define LOCUS_JOINED(a, b) LOCUS_JOINED_(a, b)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    LOCUS_JOINED(fuzz_, LOCUS_FUZZED)(data, size);
  } catch (const Error&) {}
  return 0;
}
