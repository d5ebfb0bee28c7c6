#pragma once
// A unit of a sharded model: parameters that are gathered and reduced together, and this rank's part of them.

#include <locus/autograd/flat.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/nn/layer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// This rank's part of a parameter: elements [first, first + part.elements()) in row-major order. It may be empty.
template <class T, class D>
struct ParameterPart {
  std::string name;      ///< of the whole parameter
  Shape shape;           ///< of the whole parameter
  std::int64_t first;    ///< of its elements
  Parameter<T, D> part;  ///< shape (elements,); an optimizer changes it
};

namespace detail {

/// Receives the calls of MemoryOwner::before_use for the memory of units.
struct UnitUses : Counted {
  virtual ~UnitUses() = default;
  virtual bool use_values(std::size_t unit, bool again) = 0;
  virtual void use_gradients(std::size_t unit) = 0;
};

/// Memory that holds the whole values, or the whole gradients, of a unit whenever they are used, and belongs to other
/// units in between.
template <class T, class D>
class LentMemory final : public MemoryOwner {
 public:
  LentMemory(UnitUses* uses, std::size_t unit, bool has_gradients, Tensor<T, D> memory)
      : uses_(uses), unit_(unit), has_gradients_(has_gradients), memory_(std::move(memory)) {}
  bool before_use(bool again) const override {
    if (!uses_)
      fail<GraphError>({"this parameter belonged to a sharded model, which is gone; keep the result of dist::sharded"});
    if (!has_gradients_) return uses_->use_values(unit_, again);
    uses_->use_gradients(unit_);
    return false;
  }
  void end() { uses_ = nullptr; }

 private:
  UnitUses* uses_;
  std::size_t unit_;
  bool has_gradients_;
  Tensor<T, D> memory_;
};

/// The whole values or gradients of a unit.
template <class T, class D>
struct WholeOfUnit {
  Shared<LentMemory<T, D>> owner{};
  Buffer<D> buffer{};
  T* data = nullptr;

  WholeOfUnit() = default;
  /// `memory`: dense, of `elements` elements at least
  WholeOfUnit(UnitUses* uses, std::size_t unit, bool has_gradients, const Tensor<T, D>& memory, std::int64_t elements)
      : owner(new LentMemory<T, D>(uses, unit, has_gradients, memory)),
        buffer(memory.device(), memory.data(), static_cast<std::size_t>(elements) * sizeof(T),
               Shared<const MemoryOwner>(owner.get())),
        data(memory.data()) {}
  /// A tensor of elements from `begin` on, with a version of its own.
  [[nodiscard]] Tensor<T, D> part(std::int64_t begin, const Shape& shape) const {
    T* const first = data + begin;
    return Tensor<T, D>(buffer.part(first, static_cast<std::size_t>(locus::elements(shape)) * sizeof(T)), first, shape,
                        row_major(shape));
  }
};

/// Parameters that are gathered together before their use, and whose gradients are reduced together. In memory, each
/// begins at a multiple of 64 bytes, and each rank has a part of as many elements.
template <class T, class D>
struct ShardedUnit {
  std::string name;
  bool is_rest = false;  ///< the parameters outside of other units: both memories are its own
  std::vector<std::string> names;
  std::vector<Parameter<T, D>> parameters;
  std::vector<std::int64_t> begins;  ///< of each parameter
  std::int64_t share = 0;            ///< elements of one rank
  std::int64_t offset = 0;           ///< of the unit in this rank's memory
  std::size_t first = 0, last = 0;   ///< its parts in the list of all

  WholeOfUnit<T, D> values{}, gradients{};
  Tensor<T, D> gathered{}, to_reduce{};  ///< all elements of both, (ranks, share)
  std::size_t value_turn = 0, gradient_turn = 0;
  bool owns_values = false, owns_gradients = false;  ///< else it uses memory in turn with others

  bool is_here = false;        ///< whether the values are in memory
  bool is_collecting = false;  ///< whether a backward pass has begun to write gradients
  bool has_local = false;      ///< whether gradients of passes within no_sync() wait to be reduced
  std::size_t awaits = 0;      ///< gradients that are not complete
  Handle<T, D> gathering{}, reducing{};
  Tensor<T, D> reduced{};  ///< this rank's part, to be added to its gradients; without elements: written in place
  std::vector<GradientHook> hooks{};

  void add(const std::string& its_name, const Parameter<T, D>& parameter) {
    names.push_back(its_name);
    parameters.push_back(parameter);
  }
  /// Places the parameters one after another.
  void lay_out(int ranks) {
    std::int64_t used = 0;
    for (const auto& parameter : parameters) {
      begins.push_back(used);
      used += locus::detail::padded_to_slot<T>(parameter.elements());
    }
    share = locus::detail::padded_to_slot<T>((used + ranks - 1) / ranks);
  }
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t elements = 0;
    for (const auto& parameter : parameters) elements += parameter.elements();
    return elements * static_cast<std::int64_t>(sizeof(T));
  }
  /// Whether the elements of another unit lie in the same places.
  [[nodiscard]] bool is_laid_out_as(const ShardedUnit& other) const {
    if (begins != other.begins || share != other.share) return false;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].elements() != other.parameters[i].elements()) return false;
    return true;
  }
};

/// Memory that units use in turn.
template <class T, class D>
struct Turn {
  Tensor<T, D> memory{};
  ShardedUnit<T, D>* user = nullptr;
};
/// (nvcc takes the result of the assignment for a discarded handle.)
template <class T, class D>
void keep(Handle<T, D>& place, std::type_identity_t<Handle<T, D>> handle) noexcept {
  (void)(place = std::move(handle));
}

/// The unit of a parameter: its name up to the first number, as "h.0" of "h.0.mlp.weight". Empty, without a number.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string unit_of_name(std::string_view name) {
  for (std::size_t begin = 0; begin < name.size();) {
    std::size_t end = begin;
    bool is_number = true;
    for (; end < name.size() && name[end] != '.'; ++end) is_number = is_number && name[end] >= '0' && name[end] <= '9';
    if (is_number && end > begin && end < name.size()) return std::string(name.substr(0, end));
    begin = end + 1;
  }
  return {};
}

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::dist
