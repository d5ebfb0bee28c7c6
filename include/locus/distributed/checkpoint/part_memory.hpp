#pragma once
// The memory of a part of a checkpoint: a tensor, a parameter or a buffer of a model.

#include <locus/core/element_type.hpp>
#include <locus/distributed/checkpoint/place.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// A change that neither fails nor allocates.
struct Change : Counted {
  virtual ~Change() = default;
  virtual void apply() = 0;
};
template <class F>
struct ChangeBy final : Change {
  explicit ChangeBy(F of) : f(std::move(of)) {}
  void apply() override { f(); }
  F f;
};
template <class F>
[[nodiscard]] Shared<Change> change_by(F f) {
  return Shared<Change>(new ChangeBy<F>(std::move(f)));
}

/// The memory of a part.
struct PartMemory : Counted {
  virtual ~PartMemory() = default;
  /// The elements, dense and row-major, on the host. May share the memory, unless `copies`.
  [[nodiscard]] virtual Tensor<std::uint8_t, Cpu> read(bool copies) const = 0;
  /// The change of its elements to these, for which memory of the device is taken now.
  [[nodiscard]] virtual Shared<Change> change_to(const Tensor<std::uint8_t, Cpu>& bytes) const = 0;
  [[nodiscard]] virtual const void* address() const = 0;
};
template <class T, class D>
struct TensorMemory final : PartMemory {
  explicit TensorMemory(Tensor<T, D> of) : x(std::move(of)) {}
  [[nodiscard]] Tensor<std::uint8_t, Cpu> read(bool copies) const override {
    const auto bytes = nn::detail::bytes_of(x.contiguous());
    if constexpr (std::is_same_v<D, Cpu>) return copies ? bytes.clone() : bytes;
    else return bytes.template to<Cpu>();
  }
  [[nodiscard]] Shared<Change> change_to(const Tensor<std::uint8_t, Cpu>& bytes) const override {
    const Tensor<T, Cpu> source(bytes.buffer(), reinterpret_cast<T*>(bytes.data()), x.shape(), row_major(x.shape()));
    return change_by([into = x, from = source.template to<D>(x.device())] { (void)into.copy_(from); });
  }
  [[nodiscard]] const void* address() const override { return x.data(); }
  Tensor<T, D> x;
};
/// A parameter or buffer of a model.
template <class T, class D>
struct MemberMemory final : PartMemory {
  explicit MemberMemory(nn::detail::StateMember<T, D> of) : member(std::move(of)) {}
  [[nodiscard]] Tensor<std::uint8_t, Cpu> read(bool copies) const override {
    const auto bytes = member.bytes();
    if constexpr (std::is_same_v<D, Cpu>) return copies ? bytes.clone() : bytes;
    else return bytes.template to<Cpu>();
  }
  [[nodiscard]] Shared<Change> change_to(const Tensor<std::uint8_t, Cpu>& bytes) const override {
    return change_by([into = member, from = bytes.template to<D>(member.bytes().device())] { into.write(from); });
  }
  [[nodiscard]] const void* address() const override {
    return member.is_buffer() ? nullptr : member.parameter.value().data();
  }
  nn::detail::StateMember<T, D> member;
};

struct NamedPart {
  std::string name;
  ElementType type;
  Shape whole, shape;
  Place place;
  bool is_own;  ///< of this rank alone
  Shared<PartMemory> memory;

  [[nodiscard]] Runs runs() const { return runs_of(name, whole, place, shape); }
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
