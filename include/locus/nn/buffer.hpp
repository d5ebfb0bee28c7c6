#pragma once
// Buffer<T, D>: a tensor that a layer keeps beside its parameters: saved, loaded, copied and moved with them, and never
// trained. Running statistics and position tables are buffers.

#include <locus/autograd/parameter.hpp>
#include <locus/core/element_type.hpp>
#include <locus/nn/bytes_of.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
using namespace locus::detail;

/// State shared by all handles of a buffer; independent of its element type.
template <class D>
class BufferState : public Counted {
 public:
  static constexpr const char* handle_name = "buffer";
  virtual ~BufferState() = default;
  [[nodiscard]] virtual ElementType type() const = 0;
  [[nodiscard]] virtual const Shape& shape() const = 0;
  [[nodiscard]] virtual D device() const = 0;
  /// The elements, dense and row-major, in the buffer's own memory.
  [[nodiscard]] virtual Tensor<std::uint8_t, D> bytes() const = 0;
  /// Called when the elements were moved elsewhere: the next use of any handle throws.
  virtual void retire() = 0;
};
template <class T, class D>
class TypedBufferState final : public BufferState<D> {
 public:
  explicit TypedBufferState(Tensor<T, D> initial) : value_(std::move(initial)) {}
  /// throws ArgumentError once the buffer was moved
  [[nodiscard]] const Tensor<T, D>& value() const {
    if (moved_) fail_moved("buffer");
    return value_;
  }
  void retire() override {
    moved_ = true;
    value_ = {};
  }
  [[nodiscard]] ElementType type() const override { return element_type<T>; }
  [[nodiscard]] const Shape& shape() const override { return value().shape(); }
  [[nodiscard]] D device() const override { return value().device(); }
  [[nodiscard]] Tensor<std::uint8_t, D> bytes() const override { return bytes_of(value()); }

 private:
  Tensor<T, D> value_;
  bool moved_ = false;
};
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A shared handle, of any element type: copies of a layer share their buffers, as in PyTorch. In formulas it is the
/// plain tensor. A layer lists it in members(visit) and changes it in place:
///
///     nn::Buffer<float, D> seen{zeros<float, D>({8})};
///     ...
///     seen.value() += sum(x.value(), 0);
template <class T, class D>
class Buffer {
 public:
  using value_type = T;
  using device_type = D;
  static constexpr Role role = Role::plain;

  Buffer() = default;
  /// Keeps a dense tensor itself, otherwise a dense copy.
  explicit Buffer(const Tensor<T, D>& value) : state_(new detail::TypedBufferState<T, D>(value.contiguous())) {}
#include <locus/refuse/nn/buffer_class.inc>

  /// False for an empty handle, such as the running statistics of a layer that keeps none.
  [[nodiscard]] bool defined() const { return static_cast<bool>(state_); }
  /// No elements for an empty handle. throws ArgumentError if the layer was moved to another place or element type
  [[nodiscard]] const Tensor<T, D>& value() const {
    static const Tensor<T, D> empty;
    return state_ ? state_->value() : empty;
  }
  [[nodiscard]] const Tensor<T, D>& eval() const { return value(); }
  [[nodiscard]] const Shape& shape() const { return value().shape(); }
  [[nodiscard]] int rank() const { return value().rank(); }
  [[nodiscard]] std::int64_t size(int dim) const { return value().size(dim); }
  [[nodiscard]] std::int64_t elements() const { return value().elements(); }
  [[nodiscard]] D device() const { return value().device(); }

  [[nodiscard]] Buffer clone() const { return defined() ? Buffer(value().clone()) : Buffer(); }
  [[nodiscard]] friend bool operator==(const Buffer& a, const Buffer& b) { return a.state_ == b.state_; }

 private:
  template <class>
  friend class AnyBuffer;
  template <class, class, class, class, class...>
  friend class detail::ModelCopy;
  Shared<detail::TypedBufferState<T, D>> state_;
};
LOCUS_REFUSALS_END
template <class T, class D>
Buffer(const Tensor<T, D>&) -> Buffer<T, D>;

/// A buffer whose element type is known at run time, as in the list that a model's buffers() returns.
template <class D>
class AnyBuffer {
 public:
  using device_type = D;
  template <class T>
  explicit AnyBuffer(const Buffer<T, D>& buffer) : state_(buffer.state_.get()) {}

  [[nodiscard]] ElementType type() const { return state_->type(); }
  [[nodiscard]] const Shape& shape() const { return state_->shape(); }
  [[nodiscard]] D device() const { return state_->device(); }
  /// throws ArgumentError for another element type than its own
  template <DType T>
  [[nodiscard]] const Tensor<T, D>& value() const {
    if (type() != element_type<T>)
      fail<ArgumentError>({"value: the buffer holds ", dtype_name(type()), ", not ", dtype_name<T>()});
    return static_cast<const detail::TypedBufferState<T, D>&>(*state_).value();
  }
  /// The elements, dense and row-major, in the buffer's own memory.
  [[nodiscard]] Tensor<std::uint8_t, D> bytes() const { return state_->bytes(); }
  [[nodiscard]] friend bool operator==(const AnyBuffer& a, const AnyBuffer& b) { return a.state_ == b.state_; }

 private:
  Shared<detail::BufferState<D>> state_;
};

template <class D>
struct NamedBuffer {
  std::string name;
  AnyBuffer<D> buffer;
};

namespace detail {
template <class X>
inline constexpr bool is_buffer = false;
template <class T, class D>
inline constexpr bool is_buffer<Buffer<T, D>> = true;
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::nn
