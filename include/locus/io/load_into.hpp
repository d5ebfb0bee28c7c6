#pragma once
// Weights of safetensors files straight into the parameters of a model, converted and moved one tensor at a time.

#include <locus/io/mapped.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/nn/state_target.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {

/// The file of weights of a folder, as Hugging Face names it; other paths as they are. throws DataError
[[nodiscard]] inline std::string weights_in(const std::string& path) {
  if (!is_folder(path)) return path;
  for (const char* const name : {"model.safetensors", "model.safetensors.index.json"})
    if (std::string file = join(path, "/", name); exists(file)) return file;
  if (const std::string shard = some_shard_in(path); !shard.empty())
    fail<DataError>({"cannot load '", path, "': the folder has ", shard, ", and no model.safetensors.index.json; copy ",
                     "the index beside the files"});
  fail<DataError>({"cannot load '", path, "': the folder has neither model.safetensors nor ",
                   "model.safetensors.index.json; name the file of weights, or read others by io::load_torch and ",
                   "io::load_gguf"});
}
[[nodiscard]] inline nn::StateDict<Cpu> map_bytes(const std::string& path) {
  return is_shard_index(path) ? read_shards(path, map_safetensors<Mapped::bytes>)
                              : map_safetensors<Mapped::bytes>(path);
}

/// The elements of an entry on D: in the file's memory if that is D's, and aligned for S.
template <class S, class D>
[[nodiscard]] Tensor<S, D> elements_on(const nn::StateDict<Cpu>::Entry& entry, D device) {
  entry.bytes.buffer().require_readable();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(entry.bytes.data()) % sizeof(S) == 0;
  const Tensor<std::uint8_t, D> bytes =
      std::is_same_v<D, Cpu> && !is_aligned ? entry.bytes.clone().to<D>(device) : entry.bytes.to<D>(device);
  return {bytes.buffer(), reinterpret_cast<S*>(bytes.data()), entry.shape, row_major(entry.shape)};
}
/// Writes an entry to part of a parameter or buffer, of the same type or, if both are, another floating-point type.
template <class T, class D>
void copy_entry(const nn::StateDict<Cpu>::Entry& entry, const Tensor<T, D>& target) {
  const auto copy = [&]<class S>(S) { (void)target.copy_(elements_on<S>(entry, target.device())); };
  if (entry.type == element_type<T>) return copy(T());
  if constexpr (FloatingDType<T>) {
    switch (entry.type) {
      case ElementType::float16: return copy(half());
      case ElementType::bfloat16: return copy(bfloat16());
      case ElementType::float32: return copy(float());
      default: return copy(double());
    }
  }
}

/// Tensors of a file and the members of a model that take them.
template <class T, class D>
class LoadInto {
 public:
  nn::LoadedState names;

  template <class M, class F>
  LoadInto(const M& model, const std::string& path, const F& target_of)
      : state_(map_bytes(path)), members_(nn::detail::state_members(model)) {
    for (std::size_t i = 0; i < members_.size(); ++i) positions_.emplace(members_[i].name, i);
    for (const auto& entry : state_) add(entry, target_of(entry.name));
    for (const auto& each : state_.unread())
      if (const nn::StateTarget target = target_of(each.name); positions_.contains(target.name))
        (void)state_.find(each.name);  // throws: it was not read
      else if (!target.name.empty()) names.unexpected.push_back(each.name);
    for (std::size_t i = 0; i < members_.size(); ++i) note_missing(i);
  }
  /// throws ArgumentError if there are names that do not fit
  void require_all_names() const {
    if (names.missing.empty() && names.unexpected.empty()) return;
    std::set<std::string_view> models;
    for (const auto& [name, position] : positions_) models.insert(name);
    const std::string guess =
        nn::detail::guess_about_names(names, models, {"give load_into a function that returns names without '", "'"});
    fail<ArgumentError>({"load_into: names that only the model has: ", nn::detail::shown_names(names.missing),
                         "; that only '", state_.file(), "' has: ", nn::detail::shown_names(names.unexpected),
                         !guess.empty() ? guess
                         : series_of_shard(state_.file()).empty()
                             ? "; to load the others, say {.strict = false}"
                             : "; the file is one of several: name their folder, or their index"});
  }
  void apply() const {
    for (const Piece& piece : pieces_) piece.entry->bytes.buffer().require_readable();
    for (const Piece& piece : pieces_) write(piece);
  }

 private:
  struct Piece {
    const nn::StateDict<Cpu>::Entry* entry;
    std::size_t member;
    std::int64_t part, parts;
  };

  void add(const nn::StateDict<Cpu>::Entry& entry, const nn::StateTarget& target) {
    if (target.name.empty()) return;
    nn::detail::require_part(entry.name, target);
    const auto found = positions_.find(target.name);
    if (found == positions_.end()) return names.unexpected.push_back(entry.name);
    const Piece piece{&entry, found->second, target.part, target.parts};
    require_fit(piece);
    for (const Piece& other : pieces_)
      if (members_[other.member].is(members_[piece.member]) && (other.part == piece.part || other.parts != piece.parts))
        return require_same(other, piece);
    pieces_.push_back(piece);
  }
  /// throws ArgumentError, ShapeError
  void require_fit(const Piece& piece) const {
    const auto& entry = *piece.entry;
    const auto& member = members_[piece.member];
    const std::string shown = join("load_into: '", locus::detail::printable(entry.name), "'");
    if (entry.type != member.type() && !(is_floating(entry.type) && is_converted(member.type())))
      fail<ArgumentError>({shown, " holds ", dtype_name(entry.type), " in '", state_.file(), "', but ",
                           dtype_name(member.type()), " in the model"});
    Shape shape = member.shape();
    const bool is_divisible = piece.parts == 1 || (shape.rank() > 0 && shape[0] % piece.parts == 0);
    if (!is_divisible)
      fail<ShapeError>({shown, " is one of ", piece.parts, " parts of '", member.name, "' of shape ", shape,
                        "; expected rows that they divide"});
    if (piece.parts > 1) shape[0] /= piece.parts;
    if (!(entry.shape == shape))
      fail<ShapeError>({shown, " has shape ", entry.shape, " in '", state_.file(), "', but ", shape, " in the model",
                        piece.parts > 1 ? join(", as part of '", member.name, "'") : ""});
    if (entry.type == ElementType::boolean)
      for (std::int64_t i = 0; i < entry.bytes.elements(); ++i)
        if (entry.bytes.data()[i] > 1)
          fail<DataError>({shown, " of bool holds other bytes than 0 and 1 in '", state_.file(), "'"});
  }
  [[nodiscard]] static bool is_converted(ElementType type) {
    return is_floating(type) && (type == element_type<T> || type == element_type<compute_t<T>>);
  }
  /// Two tensors for one parameter, tied weights, must be equal. throws DataError
  void require_same(const Piece& a, const Piece& b) const {
    const auto &first = *a.entry, &second = *b.entry;
    first.bytes.buffer().require_readable(), second.bytes.buffer().require_readable();
    const auto bytes = static_cast<std::size_t>(first.bytes.elements());
    if (a.parts == b.parts && first.type == second.type &&
        (bytes == 0 || std::memcmp(first.bytes.data(), second.bytes.data(), bytes) == 0))
      return;
    fail<DataError>({"load_into: '", locus::detail::printable(first.name), "' and '",
                     locus::detail::printable(second.name), "' differ in '", state_.file(),
                     "', and are one parameter of the model, '", members_[a.member].name,
                     "': the file is of another model, which does not share it"});
  }
  /// Notes a member that no tensor sets, under this or another name.
  void note_missing(std::size_t i) {
    std::int64_t parts = 1, set = 0;
    for (const Piece& piece : pieces_)
      if (members_[piece.member].is(members_[i])) parts = piece.parts, ++set;
    if (set == parts) return;
    names.missing.push_back(set == 0 ? members_[i].name
                                     : join(members_[i].name, " (", parts - set, " of its ", parts, " parts)"));
  }
  void write(const Piece& piece) const {
    const auto& member = members_[piece.member];
    const auto to = [&]<class U>(const Tensor<U, D>& whole) {
      if (piece.parts == 1) return copy_entry(*piece.entry, whole);
      const std::int64_t rows = whole.size(0) / piece.parts;
      copy_entry(*piece.entry, whole.slice(0, piece.part * rows, (piece.part + 1) * rows));
    };
    if (!member.is_buffer()) return to(member.parameter.value());
    const auto& buffer = member.kept[0];
    if (buffer.type() == element_type<T>) return to(buffer.template value<T>());
    if (buffer.type() == element_type<compute_t<T>>) return to(buffer.template value<compute_t<T>>());
    member.write(elements_on<std::uint8_t>(
        {piece.entry->name, ElementType::uint8, piece.entry->bytes.shape(), piece.entry->bytes}, buffer.device()));
  }

  nn::StateDict<Cpu> state_;
  std::vector<nn::detail::StateMember<T, D>> members_;
  std::map<std::string, std::size_t, std::less<>> positions_;
  std::vector<Piece> pieces_;
};
}  // namespace detail

/// Loads the weights of a safetensors file, of the files of an index, model.safetensors.index.json, or of a folder with
/// one of these, into a model. The files are mapped; each tensor goes straight to the place and the element type of its
/// parameter. Floating-point numbers are rounded to nearest. target_of(name) is the StateTarget of a tensor; an empty
/// name leaves it out. By default, it is the model's own: models of Locus know the names of Hugging Face. A parameter
/// that layers share needs one tensor; two must be equal.
/// cost:   no second copy of the weights: at most one tensor is in memory twice, beside the pages of the files, which
///         the system can drop
/// throws DataError for files that are missing, damaged, do not fit their index, or are truncated meanwhile;
///        ArgumentError for names that do not fit, unless not strict, and for types that do not convert; ShapeError;
///        OutOfMemory. All is checked before the model changes.
///
///     io::load_into(model, "bert-base-uncased");
///     io::load_into(model, "resnet/model.safetensors", [](std::string_view name) {
///       return nn::StateTarget{std::string(name.substr(name.find('.') + 1))};
///     });
template <class M, nn::detail::NamesTargets F>
  requires nn::detail::ListsMembers<M>
nn::LoadedState load_into(const M& model, const std::string& path, const F& target_of,
                          const nn::LoadOptions& options = {}) {
  return locus::detail::or_out_of_memory({"cannot load '", path, "': out of memory"}, [&] {
    detail::LoadInto<value_of<M>, device_of<M>> load(model, detail::weights_in(path), target_of);
    if (options.strict) load.require_all_names();
    load.apply();
    return std::move(load.names);
  });
}
template <class M>
  requires nn::detail::ListsMembers<M>
nn::LoadedState load_into(const M& model, const std::string& path, const nn::LoadOptions& options = {}) {
  return load_into(model, path, nn::detail::TargetOf<M>{model}, options);
}

}}}  // namespace locus::LOCUS_ABI::io
