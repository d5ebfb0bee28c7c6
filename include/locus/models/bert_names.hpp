#pragma once
// Names of the tensors of BERT's published files, and of models::BertModel, whose layers have PyTorch's.

#include <locus/nn/state_target.hpp>

#include <initializer_list>

namespace locus { inline namespace LOCUS_ABI { namespace models {

namespace detail {
/// The beginning of a layer's name in a file, and in a model, which joins queries, keys and values.
struct BertName {
  std::string_view in_file, in_model;
  std::int64_t part = 0, parts = 1;
};
inline constexpr BertName bert_names[] = {{"attention.self.query.", "self_attn.in_proj_", 0, 3},
                                          {"attention.self.key.", "self_attn.in_proj_", 1, 3},
                                          {"attention.self.value.", "self_attn.in_proj_", 2, 3},
                                          {"attention.output.dense.", "self_attn.out_proj."},
                                          {"attention.output.LayerNorm.", "norm1."},
                                          {"intermediate.dense.", "linear1."},
                                          {"output.dense.", "linear2."},
                                          {"output.LayerNorm.", "norm2."}};
inline constexpr std::string_view bert_prefix = "bert.", bert_layers = "encoder.layer.";

/// Where the name of a layer's tensor goes on after "bert.encoder.layer.0."; 0 for other names.
[[nodiscard]] inline std::size_t end_of_layer(std::string_view name) {
  const std::size_t begin = name.starts_with(bert_prefix) ? bert_prefix.size() : 0;
  if (!name.substr(begin).starts_with(bert_layers)) return 0;
  const std::size_t dot = name.find('.', begin + bert_layers.size());
  return dot == name.npos ? 0 : dot + 1;
}
/// The target of a tensor of a published file, of names with and without "bert.", in a model whose encoder has the
/// prefix. Names that begin as one of `others` are left out.
[[nodiscard]] inline nn::StateTarget bert_target(std::string_view name, std::string_view prefix,
                                                 std::initializer_list<std::string_view> others) {
  if (name.starts_with(bert_prefix)) name.remove_prefix(bert_prefix.size());
  if (name == "embeddings.position_ids") return {};  // 0, 1, 2, ...
  for (const std::string_view other : others)
    if (name.starts_with(other)) return {};
  if (name == "cls.predictions.decoder.weight") return {join(prefix, "embeddings.word_embeddings.weight")};
  if (name == "cls.predictions.decoder.bias") return {"cls.predictions.bias"};
  std::string known(name);  // files of the first releases call weight and bias of norms so:
  for (const auto& [old, now] : {std::pair{".gamma", ".weight"}, {".beta", ".bias"}})
    if (name.ends_with(old)) known.replace(known.rfind('.'), known.npos, now);
  if (known.starts_with("cls.") || known.starts_with("classifier.")) return {known};
  const std::size_t end = end_of_layer(known);
  for (const auto& [in_file, in_model, part, parts] : bert_names)
    if (end > 0 && known.compare(end, in_file.size(), in_file) == 0)
      return {join(prefix, known.substr(0, end), in_model, known.substr(end + in_file.size())), part, parts};
  return {join(prefix, known)};
}
}  // namespace detail

/// The state of a BERT under Hugging Face's names, queries, keys and values apart, for from_pretrained().
///
///     io::save("folder/model.safetensors", models::bert_file_state(nn::state_dict(model)));
template <class D>
[[nodiscard]] nn::StateDict<D> bert_file_state(const nn::StateDict<D>& state) {
  state.require_all_read("bert_file_state");
  nn::StateDict<D> result;
  result.set_file(state.file());
  const auto add = [&](const auto& entry, std::size_t end, const detail::BertName& name) {
    Shape shape = entry.shape;
    if (name.parts > 1) shape[0] /= name.parts;
    const std::int64_t bytes = entry.bytes.elements() / name.parts;
    result.add({join(entry.name.substr(0, end), name.in_file, entry.name.substr(end + name.in_model.size())),
                entry.type, shape, entry.bytes.slice(0, name.part * bytes, (name.part + 1) * bytes)});
  };
  for (const auto& entry : state) {
    const std::size_t end = detail::end_of_layer(entry.name);
    bool is_known = false;
    for (const auto& name : detail::bert_names) {
      if (end == 0 || entry.name.compare(end, name.in_model.size(), name.in_model) != 0) continue;
      if (name.parts > 1 && (entry.shape.rank() == 0 || entry.shape[0] % name.parts != 0))
        fail<ShapeError>({"bert_file_state: '", locus::detail::printable(entry.name), "' has shape ", entry.shape,
                          "; expected ", name.parts, " parts of equal rows"});
      add(entry, end, name);
      is_known = true;
    }
    if (!is_known) result.add(entry);
  }
  return result;
}

}}}  // namespace locus::LOCUS_ABI::models
