#pragma once
// A copy of a model in another place, and the thread that runs it.

#include <locus/autograd/flat.hpp>
#include <locus/distributed/engine/worker.hpp>
#include <locus/nn/module.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A copy of x in `place`, always in memory of its own.
template <class T, class D>
[[nodiscard]] Tensor<T, D> copied_to(const Tensor<T, D>& x, D place) {
  const Tensor<T, D> moved = x.to(place);
  return moved.buffer() == x.buffer() ? moved.clone() : moved;
}
/// Copies elements of a dense tensor to dense memory in any place.
template <class T, class D>
void copy_elements_to(const Tensor<T, D>& source, const Tensor<T, D>& target) {
  Transfer<D, D>::copy(source.device(), source.data(), target.device(), target.data(),
                       static_cast<std::size_t>(source.elements()) * sizeof(T));
  target.changed();
}

/// A copy of a model in another place, updated before each pass, and the thread that runs it.
template <class M>
class Replica : public Counted {
 public:
  using T = value_of<M>;
  using D = device_of<M>;
  using Parameters = std::vector<Parameter<T, D>>;

  Replica(const M& original, D place)
      : device(place),
        model(nn::detail::ModelCopy<T, D, T, D>(place).layer(original)),
        parameters(model.parameters()),
        buffers_(model.buffers()) {
    if (!parameters.empty()) flat_.push_back(locus::flatten(parameters));
  }

  const D device;
  const M model;
  const Parameters parameters;

  /// Copies the values of the original if any changed, and its buffers that changed; freezes the same parameters. If
  /// the original lies in flat memory in the same order, all values take one copy.
  void follow(const Parameters& originals, const std::vector<nn::AnyBuffer<D>>& buffers) {
    for (std::size_t i = 0; i < originals.size(); ++i) parameters[i].requires_grad_(originals[i].requires_grad());
    follow_values(originals);
    buffer_versions_.resize(2 * buffers.size(), never);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Tensor<std::uint8_t, D> theirs = buffers[i].bytes(), mine = buffers_[i].bytes();
      std::uint64_t* const versions = &buffer_versions_[2 * i];
      if (versions[0] == theirs.version() && versions[1] == mine.version()) continue;
      copy_elements_to(theirs, mine);
      versions[0] = theirs.version();
      versions[1] = mine.version();
    }
  }
  /// The gradients of one pass, copied to `place`, for each parameter; a tensor without memory for a parameter without
  /// a gradient. Forgets the gradients here.
  [[nodiscard]] std::vector<Tensor<T, D>> take_gradients(D place) const {
    std::vector<Tensor<T, D>> result(parameters.size());
    bool any = false;
    for (const auto& parameter : parameters) any |= parameter.has_grad();
    if (!any) return result;
    const Tensor<T, D> all = copied_to(flat_[0].gradients(), place);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].has_grad()) continue;
      const Shape& shape = parameters[i].shape();
      result[i] = Tensor<T, D>(all.buffer(), all.data() + range_of(parameters[i]).begin, shape,
                               locus::detail::strides_of(shape, format_of(parameters[i])));
    }
    forget_gradients();
    return result;
  }
  void forget_gradients() const {
    for (const auto& parameter : parameters) parameter.zero_grad();
  }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  [[nodiscard]] static MemoryFormat format_of(const Parameter<T, D>& parameter) {
    return locus::detail::dense_format(parameter.value().layout());
  }
  [[nodiscard]] FlatRange range_of(const Parameter<T, D>& parameter) const {
    std::size_t at = 0;
    while (!(flat_[0].parameters()[at] == parameter)) ++at;
    return flat_[0].range(at);
  }
  void follow_values(const Parameters& originals) {
    bool is_same = values_.size() == originals.size(), is_flat = !originals.empty();
    const auto& first = is_flat ? originals[0].flat_place() : none_;
    for (std::size_t i = 0; i < originals.size(); ++i) {
      const auto& place = originals[i].flat_place();
      is_flat = is_flat && place.memory && place.memory == first.memory && place.slot + i == first.slot &&
                format_of(originals[i]) == format_of(parameters[i]);
      is_same = is_same && values_[i] == Seen{originals[i].value().data(), originals[i].value().version()};
    }
    if (is_same) return;
    if (is_flat) {
      const std::size_t begin = originals.back().flat_place().slot;
      copy_elements_to(locus::detail::slots_of(*first.memory, first.memory->values, begin, first.slot + 1),
                       flat_[0].values());
    } else {
      for (std::size_t i = 0; i < originals.size(); ++i)
        copy_elements_to(format_of(parameters[i]) == MemoryFormat::channels_last ? originals[i].value().channels_last()
                                                                                 : originals[i].value().contiguous(),
                         parameters[i].value());
    }
    values_.clear();
    for (const auto& original : originals) values_.push_back({original.value().data(), original.value().version()});
  }

  /// The memory and version that a value was copied from.
  struct Seen {
    const T* data;
    std::uint64_t version;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  const locus::detail::FlatPlace<T, D> none_{};
  std::vector<FlatParameters<T, D>> flat_;  ///< of the parameters; empty if there are no parameters
  std::vector<nn::AnyBuffer<D>> buffers_;
  std::vector<Seen> values_;
  std::vector<std::uint64_t> buffer_versions_;

 public:
  Worker worker;  ///< the last member: its thread ends before members that it uses
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
