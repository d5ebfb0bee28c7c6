#pragma once
// What of safetensors.hpp needs nlohmann-json, which costs a program seconds: reading and writing the files.

#include <locus/core/file.hpp>
#include <locus/nn/state_dict.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <set>

namespace locus::inline LOCUS_ABI::io {

namespace detail {

static_assert(std::endian::native == std::endian::little, "safetensors files hold little-endian numbers");

/// A file, its name for messages, and how much of it there is.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) fail<DataError>({"cannot read '", path, "': ", std::strerror(errno)});
    if (!S_ISREG(info.st_mode)) refuse("it is no regular file");
    bytes_ = static_cast<std::uint64_t>(info.st_size);
    file_ = std::fopen(path.c_str(), "rb");
    if (!file_) fail<DataError>({"cannot read '", path, "': ", std::strerror(errno)});
  }
  Reader(const Reader&) = delete;
  ~Reader() { std::fclose(file_); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  void read(void* target, std::size_t bytes) {
    if (bytes && std::fread(target, 1, bytes, file_) != bytes) refuse("it ended while it was read");
  }
  template <class... Text>
  [[noreturn]] void refuse(const Text&... what) const {
    fail<DataError>({"cannot read '", path_, "' as safetensors: ", what...});
  }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  std::uint64_t bytes_ = 0;
};

struct SafetensorsType {
  std::string_view name;
  ElementType type;
};
inline constexpr SafetensorsType safetensors_types[] = {{"F32", ElementType::float32}, {"F64", ElementType::float64},
                                                        {"I32", ElementType::int32},   {"I64", ElementType::int64},
                                                        {"U8", ElementType::uint8},    {"BOOL", ElementType::boolean},
                                                        {"F16", ElementType::float16}, {"BF16", ElementType::bfloat16}};

/// Where a file says that a tensor lies, in bytes from the end of its header.
struct Placed {
  std::string name;
  ElementType type;
  Shape shape;
  std::uint64_t begin, end;
};

/// A part of a file as it may stand in a message: escaped, and not too long.
[[nodiscard]] inline std::string shown(const nlohmann::json& value) {
  constexpr std::size_t most = 80;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

[[nodiscard]] inline std::uint64_t natural_number(const Reader& file, const nlohmann::json& value,
                                                  const std::string& name) {
  if (!value.is_number_unsigned())
    file.refuse(shown(name), " has ", shown(value), " where a number from 0 is expected");
  return value.get<std::uint64_t>();
}

[[nodiscard]] inline Placed placed(const Reader& file, const std::string& name, const nlohmann::json& entry,
                                   std::uint64_t available) {
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!entry.is_object() || !entry.contains(key)) file.refuse(shown(name), " has no ", key);
  Placed result{name, {}, {}, 0, 0};
  const auto& dtype = entry["dtype"];
  const auto* known = std::find_if(std::begin(safetensors_types), std::end(safetensors_types), [&](const auto& type) {
    return dtype.is_string() && dtype.get_ref<const std::string&>() == type.name;
  });
  if (known == std::end(safetensors_types))
    file.refuse(shown(name), " has dtype ", shown(dtype), "; expected F32, F64, F16, BF16, I32, I64, U8 or BOOL");
  result.type = known->type;
  if (!entry["shape"].is_array() || entry["shape"].size() > max_rank)
    file.refuse(shown(name), " has shape ", shown(entry["shape"]), "; expected a list of at most ", max_rank,
                " extents");
  std::uint64_t bytes = size_of(result.type);
  bool overflows = false;
  for (const auto& value : entry["shape"]) {
    const std::uint64_t extent = natural_number(file, value, name);
    overflows |= extent > INT64_MAX || __builtin_mul_overflow(bytes, extent, &bytes) || bytes > INT64_MAX;
    if (!overflows) result.shape.push_back(static_cast<std::int64_t>(extent));
  }
  if (overflows) file.refuse(shown(name), " of shape ", shown(entry["shape"]), " has more than 2^63 bytes");
  const auto& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2)
    file.refuse(shown(name), " has data_offsets ", shown(offsets), "; expected [begin, end]");
  result.begin = natural_number(file, offsets[0], name);
  result.end = natural_number(file, offsets[1], name);
  if (result.begin > result.end || result.end > available || result.end - result.begin != bytes)
    file.refuse(shown(name), " of ", dtype_name(result.type), " and shape ", result.shape, " lies from byte ",
                result.begin, " to ", result.end, " of ", available, "; expected ", bytes, " bytes");
  return result;
}

/// Finds the first key that an object has twice. (The parser of whole documents keeps the last of equal ones.)
class RepeatedKey final : public nlohmann::json_sax<nlohmann::json> {
 public:
  [[nodiscard]] const std::string& name() const { return repeated_; }

  bool start_object(std::size_t) override { return objects_.emplace_back(), true; }
  bool end_object() override { return objects_.pop_back(), true; }
  bool key(string_t& name) override {
    if (!objects_.back().insert(name).second && repeated_.empty()) repeated_ = name;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  std::vector<std::set<std::string>> objects_;  ///< the keys of those that are open
  std::string repeated_;
};

/// Reads the header; the file then stands at the data. Tensors in the order of their bytes.
[[nodiscard]] inline std::vector<Placed> read_header(Reader& file) {
  constexpr std::uint64_t most = 100'000'000;  // as in the reference implementation
  std::uint64_t length = 0;
  if (file.bytes() < sizeof length) file.refuse("it has ", file.bytes(), " bytes; expected at least 8");
  file.read(&length, sizeof length);
  const std::uint64_t rest = file.bytes() - sizeof length;
  if (length > rest || length > most)
    file.refuse("its header is said to have ", length, " bytes; it has ", rest, ", and at most ", most, " are read");
  std::string text(length, ' ');
  file.read(text.data(), text.size());

  const auto header = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) file.refuse("its header is no JSON object");
  RepeatedKey repeated;
  nlohmann::json::sax_parse(text, &repeated);
  if (!repeated.name().empty()) file.refuse(shown(repeated.name()), " is there twice");
  const auto metadata = header.find("__metadata__");
  if (metadata != header.end() &&
      !(metadata->is_object() &&
        std::all_of(metadata->begin(), metadata->end(), [](const auto& value) { return value.is_string(); })))
    file.refuse("its __metadata__ is ", shown(*metadata), "; expected an object of strings");

  std::vector<Placed> tensors;
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__") tensors.push_back(placed(file, name, entry, rest - length));
  std::sort(tensors.begin(), tensors.end(),
            [](const Placed& a, const Placed& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t end = 0;
  for (const Placed& tensor : tensors) {
    if (tensor.begin != end)
      file.refuse(shown(tensor.name), " begins at byte ", tensor.begin, ", but the one before it ends at ", end);
    end = tensor.end;
  }
  if (end != rest - length) file.refuse("its tensors have ", end, " bytes; it has ", rest - length);
  return tensors;
}

/// Reads a tensor of T from where the file stands, and adds it to a state.
template <DType T>
void read_tensor(Reader& file, const Placed& tensor, nn::StateDict<Cpu>& state) {
  const Tensor<T, Cpu> x(tensor.shape);
  auto* const bytes = reinterpret_cast<unsigned char*>(x.data());
  const std::size_t count = tensor.end - tensor.begin;
  file.read(bytes, count);
  if (std::is_same_v<T, bool> && std::any_of(bytes, bytes + count, [](unsigned char byte) { return byte > 1; }))
    file.refuse(shown(tensor.name), " of bool holds other bytes than 0 and 1");
  state.add(tensor.name, x);
}

inline void read_tensor(Reader& file, const Placed& tensor, nn::StateDict<Cpu>& state) {
  switch (tensor.type) {
    case ElementType::float32: return read_tensor<float>(file, tensor, state);
    case ElementType::float64: return read_tensor<double>(file, tensor, state);
    case ElementType::int32: return read_tensor<std::int32_t>(file, tensor, state);
    case ElementType::int64: return read_tensor<std::int64_t>(file, tensor, state);
    case ElementType::uint8: return read_tensor<std::uint8_t>(file, tensor, state);
    case ElementType::boolean: return read_tensor<bool>(file, tensor, state);
    case ElementType::float16: return read_tensor<half>(file, tensor, state);
    case ElementType::bfloat16: return read_tensor<bfloat16>(file, tensor, state);
  }
}

template <class D>
nn::StateDict<D> read_safetensors(const std::string& path) {
  Reader file(path);
  nn::StateDict<D> state;
  for (const Placed& tensor : read_header(file)) read_tensor(file, tensor, state);
  return state;
}

template <class D>
void write_safetensors(const std::string& path, const nn::StateDict<D>& state) {
  std::vector<const typename nn::StateDict<D>::Entry*> entries;
  for (const auto& entry : state) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(),  // so that every tensor is aligned
                   [](const auto* a, const auto* b) { return size_of(a->type) > size_of(b->type); });

  nlohmann::json header;
  header["__metadata__"]["format"] = "pt";
  std::uint64_t offset = 0;
  for (const auto* entry : entries) {
    if (entry->name == "__metadata__") fail<ArgumentError>({"save: no tensor can have the name '__metadata__'"});
    const auto* type = std::find_if(std::begin(safetensors_types), std::end(safetensors_types),
                                    [&](const auto& known) { return known.type == entry->type; });
    const auto bytes = static_cast<std::uint64_t>(entry->bytes.elements());
    header[entry->name] = {{"dtype", type->name},
                           {"shape", std::vector<std::int64_t>(entry->shape.begin(), entry->shape.end())},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text(sizeof(std::uint64_t), '\0');
  try {
    text += header.dump();
  } catch (const nlohmann::json::exception&) {
    fail<ArgumentError>({"save: the name of a tensor is not UTF-8"});
  }
  while (text.size() % 8) text += ' ';
  const std::uint64_t length = text.size() - sizeof length;
  std::memcpy(text.data(), &length, sizeof length);

  std::vector<std::string_view> parts{text};
  for (const auto* entry : entries)
    parts.emplace_back(reinterpret_cast<const char*>(entry->bytes.data()),
                       static_cast<std::size_t>(entry->bytes.elements()));
  write_file_atomically(path, parts);
}

}  // namespace detail

}  // namespace locus::inline LOCUS_ABI::io
