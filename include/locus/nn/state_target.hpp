#pragma once
// Where the tensors of published files go in a model whose names, or whose matrices, are divided otherwise.

#include <locus/fwd.hpp>
#include <locus/nn/state.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// The parameter or buffer of a model that takes a tensor of a file: the whole, or one of `parts` equal parts along its
/// first dimension.
///
///     nn::StateTarget{"self_attn.in_proj_weight", 1, 3}   // the keys of queries, keys and values
struct StateTarget {
  std::string name;  ///< empty: the tensor is left out
  std::int64_t part = 0, parts = 1;
};

namespace detail {
template <class F>
concept NamesTargets = requires(const F& target_of, std::string_view name) {
  { target_of(name) } -> std::convertible_to<StateTarget>;
};
/// A model that knows the names of published files: `nn::StateTarget target_of(std::string_view name) const`.
template <class M>
concept HasTargets = requires(const M& model, std::string_view name) {
  { model.target_of(name) } -> std::convertible_to<StateTarget>;
};
/// Its target_of; for other models, the names are the model's. The model must outlive it.
template <class M>
struct TargetOf {
  const M& model;
  [[nodiscard]] StateTarget operator()(std::string_view name) const {
    if constexpr (HasTargets<M>) return model.target_of(name);
    else return {std::string(name)};
  }
};

/// throws ArgumentError
LOCUS_OUT_OF_LINE inline void require_part(std::string_view name, const StateTarget& target) {
  if (target.parts < 1 || target.part < 0 || target.part >= target.parts)
    fail<ArgumentError>({"the target of '", locus::detail::printable(name), "' is part ", target.part, " of ",
                         target.parts, " of '", target.name, "'; expected 0 to parts - 1"});
}

/// The parts of a parameter in a state that is renamed.
template <class D>
struct JoinedParts {
  std::vector<const typename StateDict<D>::Entry*> parts;

  /// Sets one of them. A second tensor for it, as of tied weights, must be equal. throws ArgumentError
  void set(const typename StateDict<D>::Entry& entry, const StateTarget& target) {
    const auto count = static_cast<std::size_t>(target.parts);
    if (!parts.empty() && parts.size() != count)
      fail<ArgumentError>({"renamed: '", target.name, "' has ", count, " parts by '",
                           locus::detail::printable(entry.name), "', and ", parts.size(), " by another tensor"});
    parts.resize(count);
    auto& part = parts[static_cast<std::size_t>(target.part)];
    if (part && !are_equal(*part, entry))
      fail<ArgumentError>({"renamed: '", locus::detail::printable(part->name), "' and '",
                           locus::detail::printable(entry.name), "' differ, and are both part ", target.part, " of '",
                           target.name, "'"});
    part = &entry;
  }
  [[nodiscard]] static bool are_equal(const typename StateDict<D>::Entry& a, const typename StateDict<D>::Entry& b) {
    if (a.type != b.type || !(a.shape == b.shape)) return false;
    const Tensor<std::uint8_t, Cpu> first = a.bytes.template to<Cpu>(), second = b.bytes.template to<Cpu>();
    const auto bytes = static_cast<std::size_t>(first.elements());
    return bytes == 0 || std::memcmp(first.data(), second.data(), bytes) == 0;
  }
  /// One after another in new memory; a single one shares its memory. throws ArgumentError, ShapeError
  [[nodiscard]] typename StateDict<D>::Entry joined(const std::string& name) const {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!parts[i]) fail<ArgumentError>({"renamed: part ", i, " of ", parts.size(), " of '", name, "' is missing"});
    const auto& first = *parts.front();
    if (parts.size() == 1) return {name, first.type, first.shape, first.bytes};
    for (const auto* const part : parts)
      if (part->type != first.type || !(part->shape == first.shape) || first.shape.rank() == 0)
        fail<ShapeError>({"renamed: '", locus::detail::printable(part->name), "' is ", dtype_name(part->type), " ",
                          part->shape, ", and '", locus::detail::printable(first.name), "' ", dtype_name(first.type),
                          " ", first.shape, "; expected equal parts of '", name, "'"});
    Shape shape = first.shape;
    shape[0] *= static_cast<std::int64_t>(parts.size());
    const std::int64_t bytes = first.bytes.elements();
    const Tensor<std::uint8_t, D> all({bytes * static_cast<std::int64_t>(parts.size())}, first.bytes.device());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto begin = static_cast<std::int64_t>(i) * bytes;
      all.slice(0, begin, begin + bytes).copy_(parts[i]->bytes);
    }
    return {name, first.type, shape, all};
  }
};
}  // namespace detail

/// The tensors of a state under the names that target_of(name) gives them, a StateTarget; parts of a parameter are
/// joined in new memory, others share theirs.
/// throws ArgumentError for a part that is missing or there twice; ShapeError for parts of several shapes or types
///
///     const auto state = nn::renamed(io::load("old.safetensors"), [](std::string_view name) {
///       return nn::StateTarget{join("encoder.", name)};
///     });
template <class D, detail::NamesTargets F>
[[nodiscard]] StateDict<D> renamed(const StateDict<D>& state, const F& target_of) {
  std::map<std::string, detail::JoinedParts<D>> parts;
  std::vector<std::string> order;
  for (const auto& entry : state) {
    const StateTarget target = target_of(entry.name);
    if (target.name.empty()) continue;
    detail::require_part(entry.name, target);
    const auto [found, is_new] = parts.try_emplace(target.name);
    if (is_new) order.push_back(target.name);
    found->second.set(entry, target);
  }
  StateDict<D> result;
  result.set_file(state.file());
  for (const auto& name : order) result.add(parts.at(name).joined(name));
  for (const auto& each : state.unread())
    if (StateTarget target = target_of(each.name); !target.name.empty())
      result.add_unread(std::move(target.name), each.type);
  return result;
}

/// The state of a published file under the names of a model, by its target_of(); a model without one has the names of
/// the file.
///
///     nn::load_state_dict(model, nn::renamed_for(model, io::load_torch("pytorch_model.bin")));
template <class M, class D>
[[nodiscard]] StateDict<D> renamed_for(const M& model, const StateDict<D>& state) {
  return renamed(state, detail::TargetOf<M>{model});
}

}}}  // namespace locus::LOCUS_ABI::nn
