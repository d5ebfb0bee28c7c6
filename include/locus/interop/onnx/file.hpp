#pragma once
// Reading and writing ONNX files. Protobuf messages are read and written by protozero, a library of headers (Debian:
// libprotozero-dev).

#if !__has_include(<protozero/pbf_reader.hpp>)
#error \
    "locus/interop/onnx needs protozero, a library of headers; on Debian and Ubuntu: apt-get install libprotozero-dev"
#endif

#include <locus/core/system/file.hpp>
#include <locus/interop/onnx/reader.hpp>
#include <locus/interop/onnx/writer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx {

/// Reads a model. Tensors are in the mapped memory of the file, and of external files in the model's folder: pages are
/// read when they are first touched, and the mapping ends with the last tensor. Fields of Model, Graph, Node and
/// ValueInfo without a name here are kept, and written back by write_onnx; other messages lose them, such as the
/// documentation of tensors and attributes. Operators are not checked.
///
/// While tensors refer to a file, replace it by a new one, as write_onnx does; do not change it in place.
/// cost: memory for nodes and names, not for tensors
/// throws DataError for a file that is missing, cut off or malformed, for tensors whose bytes are not as many as their
/// shape has, and for external files outside the model's folder; OutOfMemory
[[nodiscard]] inline Model read_onnx(const std::string& path) {
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"}, [&] {
    io::detail::InputFile file(path, "an ONNX file");
    const std::string what = join("cannot read '", path, "'");
    if (file.bytes() == 0) fail<DataError>({what, " as ONNX: it is empty"});
    const Buffer<Cpu> memory = detail::mapped(std::move(file));
    detail::Files files(what, std::string(io::detail::folder_of(path)), memory);
    return detail::ModelReader(files).read_model({static_cast<const char*>(memory.data()), memory.bytes()});
  });
}

/// Reads a model from memory, which is copied. throws as read_onnx; also for external files
[[nodiscard]] inline Model parse_onnx(std::string_view bytes) {
  return locus::detail::or_out_of_memory({"cannot read a model: out of memory"}, [&] {
    const std::string what = "cannot read a model";
    const Buffer<Cpu> memory(Cpu{}, bytes.size());
    if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
    detail::Files files(what, "", memory);
    return detail::ModelReader(files).read_model({static_cast<const char*>(memory.data()), memory.bytes()});
  });
}

struct WriteOptions {
  std::string external_data = {};          ///< name of a file beside the model for large initial values; empty: none
  std::uint64_t external_at_least = 1024;  ///< bytes of a tensor that is written there
};

/// Writes a model; the file appears whole or not at all. With `.external_data`, initial values of 1024 bytes and more
/// are written to a file of this name in the same folder first, each at a multiple of 64 bytes.
/// cost: memory for the file without external data
/// throws DataError for a folder that does not exist or may not be written, for a name of external data with a folder
/// or of the model's own file, and for a model of 2 GiB and more, which protobuf cannot hold; OutOfMemory
///
///     onnx::write_onnx("net.onnx", model, {.external_data = "net.onnx.data"});
inline void write_onnx(const std::string& path, const Model& model, const WriteOptions& options = {}) {
  if (!options.external_data.empty() && path.substr(path.find_last_of('/') + 1) == options.external_data)
    fail<DataError>({"write_onnx: .external_data = '", options.external_data,
                     "' is the model's own file, which would replace it; expected another name"});
  if (options.external_data.find('/') != std::string::npos || options.external_data == "..")
    fail<DataError>({"write_onnx: .external_data = '", options.external_data,
                     "'; expected the name of a file without a folder: it is written beside the model"});
  locus::detail::or_out_of_memory({"cannot write '", path, "': out of memory"}, [&] {
    detail::ExternalPart external{options.external_data, options.external_at_least};
    const std::string text = detail::ModelWriter(external).write(model);
    if (text.size() > INT32_MAX)
      fail<DataError>({"cannot write '", path, "': the model has ", text.size(),
                       " bytes, and ONNX files at most 2^31 - 1; write it with .external_data"});
    if (!external.parts.empty())
      io::write_file_atomically(join(io::detail::folder_of(path), "/", options.external_data), external.parts);
    io::write_file_atomically(path, text);
  });
}

/// The bytes of a model's file, all tensors included.
[[nodiscard]] inline std::string encode_onnx(const Model& model) {
  detail::ExternalPart none;
  return detail::ModelWriter(none).write(model);
}

}}}  // namespace locus::LOCUS_ABI::onnx
