#pragma once
// GGUF files of llama.cpp: metadata, and tensors of floats, integers and two kinds of blocks.

#include <locus/core/system/out_of_memory.hpp>
#include <locus/interop/gguf_header.hpp>
#include <locus/io/mapped_memory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// A GGUF file, mapped into memory: pages come from the disk when they are first touched. Its tensors share the mapping
/// and may outlive this object; as with load_mapped, reading them ends the program if the file was truncated meanwhile.
///
///     const io::GgufFile file("model.gguf");
///     const std::int64_t layers = file.metadata()["llama.block_count"].integer();
///     const auto weight = file.get_float("blk.0.attn_q.weight");   // Tensor<float>, computed from Q8_0
class GgufFile {
 public:
  /// Reads the header. throws DataError for a file that is missing, truncated or malformed, whose tensors lie outside
  /// of it or within each other, or of an unknown type; OutOfMemory
  explicit GgufFile(const std::string& path)
      : GgufFile(
            locus::detail::or_out_of_memory({"cannot map '", path, "': out of memory"}, [&] { return read(path); })) {}

  /// A dictionary of numbers, texts, booleans and lists: metadata()["general.architecture"].text()
  [[nodiscard]] const Value& metadata() const { return metadata_; }
  /// In the file's order.
  [[nodiscard]] const std::vector<GgufTensor>& tensors() const { return tensors_; }

  /// A tensor that the file holds as elements of T, without a copy. throws ArgumentError for a name that is not there,
  /// or another type; DataError if the file was truncated since
  template <DType T>
  [[nodiscard]] Tensor<T, Cpu> get(std::string_view name) const {
    const GgufTensor& tensor = find(name);
    const detail::GgufType& type = type_of(tensor);
    if (type.reading != detail::GgufReading::plain || type.type != element_type<T>)
      fail<ArgumentError>({"'", path_, "': '", locus::detail::printable(name), "' is ", type.name, ", not ",
                           dtype_name<T>(), "; say .get_float(name) for a converted tensor"});
    const Tensor<std::uint8_t, Cpu> bytes = bytes_of(tensor);
    return {bytes.buffer(), reinterpret_cast<T*>(bytes.data()), tensor.shape, row_major(tensor.shape)};
  }
  /// A tensor as floats: converted from F16, BF16 or F64, computed from Q8_0 or Q4_0, and without a copy for F32.
  /// throws ArgumentError for a name that is not there, and for other types, which it names
  [[nodiscard]] Tensor<float, Cpu> get_float(std::string_view name) const {
    const GgufTensor& tensor = find(name);
    const detail::GgufType& type = type_of(tensor);
    switch (type.reading == detail::GgufReading::plain ? type.type : ElementType::uint8) {
      case ElementType::float32: return get<float>(name);
      case ElementType::float16: return get<half>(name).template as<float>();
      case ElementType::bfloat16: return get<bfloat16>(name).template as<float>();
      case ElementType::float64: return get<double>(name).template as<float>();
      default: break;
    }
    if (type.reading == detail::GgufReading::none || type.reading == detail::GgufReading::plain)
      fail<ArgumentError>({"'", path_, "': '", locus::detail::printable(name), "' is ", type.name,
                           "; expected F32, F16, BF16, F64, Q8_0 or Q4_0: convert the file with llama-quantize"});
    return dequantized(tensor);
  }
  /// All tensors: plain ones share the mapping, blocks of Q8_0 and Q4_0 are computed as floats. Tensors of other types
  /// are named in .unread().
  [[nodiscard]] nn::StateDict<Cpu> state_dict() const {
    memory_.require_readable();
    nn::StateDict<Cpu> state;
    state.set_file(path_);
    for (const GgufTensor& tensor : tensors_) {
      const detail::GgufType& type = type_of(tensor);
      if (type.reading == detail::GgufReading::none)
        state.add_unread(tensor.name, join(type.name, " of shape ", tensor.shape));
      else if (type.reading == detail::GgufReading::plain)
        state.add({tensor.name, type.type, tensor.shape, bytes_of(tensor)});
      else state.add(tensor.name, dequantized(tensor));
    }
    return state;
  }

 private:
  struct Content {
    std::string path;
    Buffer<Cpu> memory;
    Value metadata;
    std::vector<GgufTensor> tensors;
  };
  explicit GgufFile(Content content)
      : path_(std::move(content.path)),
        memory_(std::move(content.memory)),
        metadata_(std::move(content.metadata)),
        tensors_(std::move(content.tensors)) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) positions_.emplace(tensors_[i].name, i);
  }
  [[nodiscard]] static Content read(const std::string& path) {
    const std::string what = join("cannot read '", path, "' as GGUF");
    detail::InputFile file(path, "a GGUF file");
    const Buffer<Cpu> memory = detail::memory_of(new detail::MappedFile(std::move(file)));
    auto* const tree = new detail::ValueTree(path);
    const Shared<const detail::ValueTree> owner(tree);
    detail::GgufHeaderReader reader({static_cast<const char*>(memory.data()), memory.bytes()}, what, *tree);
    const detail::ValueIndex metadata = reader.read();
    return {path, memory, {owner, metadata}, std::move(reader.tensors())};
  }
  [[nodiscard]] const GgufTensor& find(std::string_view name) const {
    memory_.require_readable();
    if (const auto found = positions_.find(name); found != positions_.end()) return tensors_[found->second];
    locus::detail::NameList names;
    for (const GgufTensor& tensor : tensors_) names.add(tensor.name);
    fail<ArgumentError>(
        {"'", path_, "': there is no tensor '", locus::detail::printable(name), "'; there are ", names.text()});
  }
  [[nodiscard]] static const detail::GgufType& type_of(const GgufTensor& tensor) {
    const detail::GgufType* type = detail::gguf_types;
    while (type->name != tensor.type) ++type;  // found when the header was read
    return *type;
  }
  /// The bytes of a tensor in the mapping, at a multiple of 8.
  [[nodiscard]] Tensor<std::uint8_t, Cpu> bytes_of(const GgufTensor& tensor) const {
    return detail::bytes_in(memory_, tensor.begin, tensor.bytes);
  }
  [[nodiscard]] Tensor<float, Cpu> dequantized(const GgufTensor& tensor) const {
    Tensor<float, Cpu> result(tensor.shape);
    detail::dequantize(type_of(tensor).reading, static_cast<const unsigned char*>(memory_.data()) + tensor.begin,
                       result.elements(), result.data());
    return result;
  }

  std::string path_;
  Buffer<Cpu> memory_;
  Value metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> positions_;
};

/// Reads the tensors of a GGUF file into the memory of D, as GgufFile::state_dict(); on Cpu, plain tensors share the
/// mapped file. llama.cpp gives the names: "blk.0.attn_q.weight".
/// throws as GgufFile; CudaUnavailable
///
///     const auto state = io::load_gguf<D>("model.gguf");
template <class D = Cpu>
[[nodiscard]] nn::StateDict<D> load_gguf(const std::string& path, D place = {}) {
  static_assert(MemorySpace<D>,
                "load_gguf<D>: D is a place; for Cuda, #include <locus/cuda/backend.hpp> (or <locus/locus.hpp>)");
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"}, [&] {
    nn::StateDict<Cpu> state = GgufFile(path).state_dict();
    if constexpr (std::is_same_v<D, Cpu>) return state;
    else return state.template to<D>(place);
  });
}

}}}  // namespace locus::LOCUS_ABI::io
