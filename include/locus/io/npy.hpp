#pragma once
// Tensors from and to NumPy: .npy files of one array, and .npz archives of several by name.

#include <locus/core/system/file.hpp>
#include <locus/data/files/npy_header.hpp>
#include <locus/expr/operands.hpp>
#include <locus/io/utf8.hpp>
#include <locus/io/zip.hpp>
#include <locus/nn/state.hpp>

#include <bit>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {

static_assert(std::endian::native == std::endian::little, ".npy files are written with little-endian numbers");

/// A source of bytes for read_npy_header: a whole file.
class WholeFile {
 public:
  WholeFile(InputFile& file, const std::string& what) : file_(file), what_(what), left_(file.bytes()) {}
  [[nodiscard]] std::uint64_t left() const { return left_; }
  void read(void* target, std::size_t count) {
    if (file_.read(target, count) != count) fail<DataError>({what_, ": it ended while it was read"});
    left_ -= count;
  }

 private:
  InputFile& file_;
  const std::string& what_;
  std::uint64_t left_;
};

/// Converts elements from column-major to row-major order.
template <class Word>
[[nodiscard]] Tensor<std::uint8_t, Cpu> by_rows(const Tensor<std::uint8_t, Cpu>& bytes, const Shape& shape) {
  Shape reversed = shape;
  Axes order;
  for (int d = shape.rank(); d-- > 0;) {
    reversed[shape.rank() - 1 - d] = shape[d];
    order.push_back(d);
  }
  const Tensor<Word, Cpu> words(bytes.buffer(), reinterpret_cast<Word*>(bytes.data()), reversed, row_major(reversed));
  return nn::detail::bytes_of(words.permute(order).contiguous());
}

/// Reads the elements as bytes, in row-major order. throws DataError
template <class Source>
[[nodiscard]] Tensor<std::uint8_t, Cpu> read_npy_elements(Source& source, const NpyArray& array,
                                                          const std::string& what) {
  Tensor<std::uint8_t, Cpu> bytes({static_cast<std::int64_t>(array.bytes)});
  source.read(bytes.data(), array.bytes);
  if (array.type == ElementType::boolean)
    for (std::uint64_t i = 0; i < array.bytes; ++i)
      if (bytes.data()[i] > 1) fail<DataError>({what, ": it is of bool, and holds other bytes than 0 and 1"});
  if (!array.is_column_major) return bytes;
  switch (size_of(array.type)) {
    case 16: return by_rows<complex128>(bytes, array.shape);
    case 8: return by_rows<std::int64_t>(bytes, array.shape);
    case 4: return by_rows<std::int32_t>(bytes, array.shape);
    case 2: return by_rows<std::uint16_t>(bytes, array.shape);
    default: return by_rows<std::uint8_t>(bytes, array.shape);
  }
}

template <DType T>
[[nodiscard]] Tensor<T, Cpu> read_npy(const std::string& path) {
  InputFile file(path, "a .npy file");
  const std::string what = join("cannot read '", path, "' as .npy");
  WholeFile source(file, what);
  const NpyArray array = read_npy_header(source, what);
  if (!array.unread.empty())
    fail<DataError>({what, ": it holds ", array.unread, "; expected ", dtype_name<T>(), " of up to ", max_rank,
                     " dimensions: convert it where it is written"});
  if (array.type != element_type<T>)
    fail<ArgumentError>({"load_npy: '", path, "' holds ", dtype_name(array.type), ", not ", dtype_name<T>(),
                         "; load it as what it holds and convert with .as<T>()"});
  const Tensor<std::uint8_t, Cpu> bytes = read_npy_elements(source, array, what);
  return {bytes.buffer(), reinterpret_cast<T*>(bytes.data()), array.shape, row_major(array.shape)};
}

[[nodiscard]] inline nn::StateDict<Cpu> read_npz(const std::string& path) {
  constexpr std::string_view ending = ".npy";
  InputFile file(path, "a .npz file");
  const std::string what = join("cannot read '", path, "' as .npz");
  const ZipDirectory directory(file, what, "numpy.savez");
  nn::StateDict<Cpu> state;
  state.set_file(path);
  for (const ZipEntry& entry : directory) {
    if (!entry.name.ends_with(ending)) {
      state.add_unread(entry.name, "a file that is no array");
      continue;
    }
    const std::string name = entry.name.substr(0, entry.name.size() - ending.size());
    const std::string of_array = join(what, ": '", locus::detail::printable(name), "'");
    if (state.contains(name)) fail<DataError>({of_array, " is there twice"});
    ZipReader source(file, directory, entry, what);
    const NpyArray array = read_npy_header(source, of_array);
    if (array.unread.empty()) state.add({name, array.type, array.shape, read_npy_elements(source, array, of_array)});
    else state.add_unread(name, array.unread);
  }
  return state;
}

inline void write_npz(const std::string& path, const nn::StateDict<Cpu>& state, bool is_compressed) {
  state.require_all_read("save_npz");
  ZipWriter archive("save_npz", state.size(), is_compressed);
  for (const auto& entry : state) {
    if (!is_utf8(entry.name))
      fail<ArgumentError>(
          {"save_npz: the name of an array, '", locus::detail::printable(entry.name), "', is not UTF-8"});
    archive.add(entry.name + ".npy", npy_header("save_npz", entry.type, entry.shape),
                {reinterpret_cast<const char*>(entry.bytes.data()), static_cast<std::size_t>(entry.bytes.elements())});
  }
  write_file_atomically(path, archive.parts());
}

}  // namespace detail

/// Reads the array of a .npy file of elements of T, row-major or column-major, into the memory of D.
/// throws DataError, which names the defect, for a file that is missing, truncated, malformed, or of a type that Locus
/// lacks, such as records; ArgumentError for another element type than T; OutOfMemory, CudaUnavailable
///
///     auto x = io::load_npy<float, Cuda>("x.npy");
template <DType T, class D = Cpu>
[[nodiscard]] Tensor<T, D> load_npy(const std::string& path, D place = {}) {
  static_assert(MemorySpace<D>,
                "load_npy<T, D>: D is a place; for Cuda, #include <locus/cuda/backend.hpp> (or <locus/locus.hpp>)");
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"},
                                         [&] { return detail::read_npy<T>(path).template to<D>(place); });
}

/// Writes a tensor or an expression as a .npy file: to a temporary file beside it, which is then renamed. throws
/// DataError if it cannot be written; ArgumentError for bfloat16, which NumPy lacks; OutOfMemory
///
///     io::save_npy("x.npy", x);   // numpy.load("x.npy")
template <TensorLike X>
void save_npy(const std::string& path, const X& x) {
  using T = value_of<X>;
  locus::detail::or_out_of_memory({"cannot write '", path, "': out of memory"}, [&] {
    const std::string header = detail::npy_header("save_npy", element_type<T>, x.shape());
    const Tensor<T, Cpu> dense = x.eval().value().template to<Cpu>().contiguous();
    const std::string_view parts[] = {
        header, {reinterpret_cast<const char*>(dense.data()), static_cast<std::size_t>(dense.elements()) * sizeof(T)}};
    write_file_atomically(path, parts);
  });
}

/// Reads the arrays of a .npz file by name, into the memory of D. Arrays whose type or rank load_npy does not read are
/// left out: .unread() of the state names them, and getting one is an error. Compressed archives need zlib.
/// throws DataError, which names the defect, for a file that is missing, truncated or malformed, or whose arrays share
/// bytes; OutOfMemory, CudaUnavailable
///
///     const auto arrays = io::load_npz("data.npz");   // numpy.savez("data.npz", x=x, y=y)
///     auto x = arrays.get<float>("x");
template <class D = Cpu>
[[nodiscard]] nn::StateDict<D> load_npz(const std::string& path, D place = {}) {
  static_assert(MemorySpace<D>,
                "load_npz<D>: D is a place; for Cuda, #include <locus/cuda/backend.hpp> (or <locus/locus.hpp>)");
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"},
                                         [&] { return detail::read_npz(path).template to<D>(place); });
}

/// How arrays are written.
struct NpzOptions {
  bool compressed = false;  ///< as numpy.savez_compressed
};

/// Writes tensors by name as a .npz file, each as by save_npy; equal states give equal files.
/// throws DataError if it cannot be written; ArgumentError for bfloat16, a name that is not UTF-8, more than 4 GB, for
/// a state that was read without some tensors, and for compression in a program without zlib; OutOfMemory
///
///     io::save_npz("data.npz", state, {.compressed = true});
template <class D>
void save_npz(const std::string& path, const nn::StateDict<D>& state, const NpzOptions& options = {}) {
  locus::detail::or_out_of_memory({"cannot write '", path, "': out of memory"},
                                  [&] { detail::write_npz(path, state.template to<Cpu>(), options.compressed); });
}

}}}  // namespace locus::LOCUS_ABI::io
