#pragma once
// Tensor<T, D>: a handle to elements of type T on D. Views share memory; only .to<E>() copies between places.

#include <locus/cpu/backend.hpp>
#include <locus/device/buffer.hpp>
#include <locus/refuse/other_names.hpp>
#include <locus/tensor/layout.hpp>
#include <locus/tensor/source.hpp>
#include <locus/tensor/subscript.hpp>

namespace locus { inline namespace LOCUS_ABI {

LOCUS_REFUSALS_BEGIN
/// Elements of type T on D, of at most eight dimensions. Copying a Tensor copies the handle, as with std::shared_ptr:
/// both refer to the same elements, and const does not protect them; .clone() copies the elements.
template <class T, class D>
class Tensor : public detail::OtherNames<D, 0> {
  static_assert(DType<T>,
                "a Tensor holds float, double, half, bfloat16, complex64, complex128, bool, or integers of fixed width "
                "such as std::int64_t");
  static_assert(!std::is_same_v<D, Cuda> || MemorySpace<D>,
                "Tensor<T, Cuda> needs #include <locus/cuda/backend.hpp> (or <locus/locus.hpp>)");
  static_assert(!std::is_same_v<D, Pinned> || MemorySpace<D>,
                "Tensor<T, Pinned> needs #include <locus/cuda/pinned.hpp> (or <locus/locus.hpp>)");
  static_assert(MemorySpace<D>, "the second parameter of Tensor is a place: Cpu, Cuda, Pinned, or one of your own");

 public:
  using value_type = T;
  using device_type = D;
  static constexpr Role role = Role::plain;

  /// No elements and no memory: shape (0,).
  LOCUS_OUT_OF_LINE Tensor() = default;

  /// Uninitialized elements. throws OutOfMemory, ShapeError for a negative extent
  LOCUS_OUT_OF_LINE explicit Tensor(const Shape& shape, D device = {})
      : buffer_(device, bytes_for(shape)), data_(static_cast<T*>(buffer_.data())), layout_{shape, row_major(shape)} {}

  /// As above, in the order of a format. throws ShapeError for channels_last unless the shape is an image's or a
  /// volume's
  LOCUS_OUT_OF_LINE Tensor(const Shape& shape, MemoryFormat format, D device)
      : buffer_(device, bytes_for(shape)),
        data_(static_cast<T*>(buffer_.data())),
        layout_{shape, detail::strides_of(shape, format)} {}

  /// A view of memory that `buffer` owns.
  Tensor(Buffer<D> buffer, T* data, const Shape& shape, const Strides& strides)
      : buffer_(std::move(buffer)), data_(data), layout_{shape, strides} {}

  /// Computes an expression.
  template <detail::EvaluatesTo<T, D> E>
  Tensor(const E& expression) : Tensor(expression.eval()) {}

  // Out of line, as compilers would inline these into every function that uses a tensor.
  LOCUS_OUT_OF_LINE Tensor(const Tensor&) = default;
  LOCUS_OUT_OF_LINE ~Tensor() = default;
  /// Leaves `other` without elements.
  LOCUS_OUT_OF_LINE Tensor(Tensor&& other) noexcept
      : buffer_(std::move(other.buffer_)), data_(other.data_), layout_(other.layout_) {
    other.forget();
  }
  /// The handle then refers to the elements of the other tensor. Temporary views refuse assignment: write through them
  /// with copy_().
  LOCUS_OUT_OF_LINE Tensor& operator=(const Tensor&) & = default;
  LOCUS_OUT_OF_LINE Tensor& operator=(Tensor&& other) & noexcept {
    if (this == &other) return *this;
    buffer_ = std::move(other.buffer_);
    data_ = other.data_;
    layout_ = other.layout_;
    other.forget();
    return *this;
  }

#include <locus/refuse/tensor/tensor.inc>

  [[nodiscard]] const Shape& shape() const { return layout_.shape; }
  [[nodiscard]] const Strides& strides() const { return layout_.strides; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] int rank() const { return layout_.rank(); }
  [[nodiscard]] std::int64_t size(int dim) const { return shape()[dim]; }
  [[nodiscard]] std::int64_t elements() const { return locus::elements(shape()); }
  [[nodiscard]] bool empty() const { return elements() == 0; }
  [[nodiscard]] D device() const { return buffer_.device(); }
  [[nodiscard]] bool is_contiguous() const { return layout_.is_contiguous(); }
  /// Whether the channels of images are adjacent in memory: see channels_last().
  [[nodiscard]] bool is_channels_last() const { return layout_.format() == MemoryFormat::channels_last; }
  [[nodiscard]] const Buffer<D>& buffer() const { return buffer_; }
  [[nodiscard]] std::uint32_t version() const { return buffer_.version(); }

  /// The first element, in memory of D. After writing through it without an operation, call changed().
  [[nodiscard]] T* data() const { return data_; }
  void changed() const { buffer_.changed_by_step(); }

  /// The tensor itself, for code that also takes traced tensors.
  [[nodiscard]] const Tensor& value() const& { return *this; }
  [[nodiscard]] Tensor value() && { return std::move(*this); }
  [[nodiscard]] const Tensor& eval() const { return *this; }

  // Views: they share the elements, and cost nothing.

  /// Elements start, start + step, ... before end of one dimension. Negative start and end count from the end; both are
  /// clamped to the extent, as in Python. A negative step goes down and copies, because views have no negative strides.
  /// slice(dim, to_end, to_end, -1) reverses a dimension.
  /// throws ArgumentError for a step of 0
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor slice(int dim, std::int64_t start, std::int64_t end = to_end,
                                               std::int64_t step = 1) const {
    Tensor view = *this;
    view.data_ += view.layout_.slice(dim, start, end, step);
    if (step < 0) return view.clone();
    return view;
  }

  /// Element `index` of one dimension, which is removed. A negative index counts from the end. throws IndexError
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor select(int dim, std::int64_t index) const {
    Tensor view = *this;
    view.data_ += view.layout_.select(dim, index);
    return view;
  }

  /// The part selected by subscripts for the first dimensions. A subscript is a number, which removes its dimension,
  /// `all`, or a range: x.at(1, all, range(0, 5, 2)) is NumPy's x[1, :, 0:5:2]. A view, except that ranges of a
  /// negative step copy.
  /// throws IndexError naming the subscript
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor at(const Subscript& a, const Subscript& b = {}, const Subscript& c = {},
                                            const Subscript& d = {}, const Subscript& e = {}, const Subscript& f = {},
                                            const Subscript& g = {}, const Subscript& h = {}) const {
    return detail::subscripted(*this, {a, b, c, d, e, f, g, h});
  }

  /// The elements (i, i + offset) of two dimensions, as the last dimension of the result.
  /// shape: (..., n, ..., m, ...) -> (..., ..., ..., k)     throws ArgumentError if both dimensions are the same
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor diagonal(std::int64_t offset = 0, int first = 0, int second = 1) const {
    Tensor view = *this;
    view.data_ += view.layout_.diagonal(offset, first, second);
    return view;
  }

  /// Windows along a dimension: a new last dimension holds the `size` elements of a window, `dilation` apart; a window
  /// starts every `step` elements.
  /// shape: (..., n, ...) -> (..., (n - dilation (size - 1) - 1) / step + 1, ..., size)
  /// throws ArgumentError unless all three are 1 or more; ShapeError if no window fits
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor unfold(int dim, std::int64_t size, std::int64_t step,
                                                std::int64_t dilation = 1) const {
    Tensor view = *this;
    view.layout_.unfold(dim, size, step, dilation);
    return view;
  }

  /// Two dimensions exchanged; the last two by default.
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor transpose(int a = -2, int b = -1) const {
    Tensor view = *this;
    view.layout_.transpose(a, b);
    return view;
  }

  /// Dimension i of the result is dimension order[i]. throws ShapeError unless order is a permutation
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor permute(const Axes& order) const {
    Tensor view = *this;
    view.layout_.permute(order);
    return view;
  }

  /// The same elements in row-major order under another shape; one extent may be -1. A view if the strides allow it,
  /// else a copy. throws ShapeError naming both shapes
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor reshape(const Shape& wanted) const {
    const Shape shape = detail::infer_extent(wanted, layout_.shape);
    Tensor view = *this;
    if (view.layout_.reshape(shape)) return view;
    return clone().reshape(shape);
  }

  /// Dimensions [first, last] merged into one. A scalar becomes shape (1,).
  [[nodiscard]] Tensor flatten(int first = 0, int last = -1) const {
    return reshape(detail::flattened(shape(), first, last));
  }

  /// Without dimension `dim`, if its extent is 1; unchanged otherwise.
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor squeeze(int dim) const {
    Tensor view = *this;
    view.layout_.squeeze(dim);
    return view;
  }
  /// Without any dimension of extent 1.
  [[nodiscard]] Tensor squeeze() const {
    Tensor view = *this;
    view.layout_.squeeze();
    return view;
  }

  /// With a new dimension of extent 1 at `dim`, which may be rank() or count from the end of the result.
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor unsqueeze(int dim) const {
    Tensor view = *this;
    view.layout_.unsqueeze(dim);
    return view;
  }

  /// Repeated to a broadcast shape without copying; -1 keeps an extent. throws ShapeError
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor expand(const Shape& target) const {
    Tensor view = *this;
    view.layout_.expand(target);
    return view;
  }

  // Copies, defined in tensor/copy.hpp.

  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor clone() const;       ///< a dense copy in new memory
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor contiguous() const;  ///< the tensor itself if dense, else a clone
  /// The images with their channels adjacent in memory; the tensor itself if they are. Shape and subscripts stay; the
  /// strides change. Convolutions, pooling, norms, interpolation, elementwise functions and concat keep this order in
  /// results and gradients, as PyTorch's channels_last; other operations accept it and give row-major results.
  /// shape: (batch, channels, height, width), or (batch, channels, depth, height, width)     throws ShapeError
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor channels_last() const;
  /// Converted; the tensor itself if T is U. Floating-point numbers become integers by truncation, and narrower
  /// floating-point numbers by rounding to nearest, halves to even, with overflow to infinity. Integers out of range
  /// wrap around. bool is true for numbers other than 0 and for NaN. NaN, infinities and numbers out of range become
  /// integers that differ between processors, as in NumPy and PyTorch; apply clamp and nan_to_num first. Complex
  /// numbers become real by real(x), imag(x) or abs(x) of ops/complex.hpp.
  template <ConvertibleFrom<T> U>
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor<U, D> as() const;
  /// On another device; the tensor itself if it is there already.
  template <MemorySpace E>
  [[nodiscard]] LOCUS_OUT_OF_LINE Tensor<T, E> to(E device = {}) const;
#include <locus/refuse/conversion.inc>
#include <locus/refuse/extents.inc>
#include <locus/refuse/to.inc>
  template <class X>
    requires(detail::CopySource<X, D> && ConvertibleFrom<T, value_of<X>>)
  LOCUS_OUT_OF_LINE const Tensor& copy_(const X& source) const;  ///< writes in place; the source broadcasts
  /// As above, for a temporary expression, computed directly into the elements. cost: one launch
  template <class X>
    requires detail::ComputesInto<X, Tensor>
  const Tensor& copy_(X&& source) const {
    std::move(source).compute_into(*this);
    return *this;
  }
  LOCUS_OUT_OF_LINE const Tensor& fill_(T value) const;  ///< every element becomes `value`
  template <Arithmetic N>
    requires is_16_bit_float<T>
  const Tensor& fill_(N value) const {
    return fill_(convert<T>(value));
  }

  // Element access, for memory that the host can reach.

  /// One element by its indices; negative indices count from the end. After writing to it while an expression or a
  /// graph still needs the old value, call changed(). throws IndexError
  template <std::integral... I>
    requires HostAccessible<D>
  [[nodiscard]] T& operator()(I... index) const {
    if (static_cast<int>(sizeof...(I)) != rank()) {
      fail<IndexError>({"an element of shape ", shape(), " by ", sizeof...(I), " indices; expected ", rank()});
    }
    std::uint64_t at = 0;  // unsigned, as the offset may overflow before an index into an extent of 0 is refused
    [[maybe_unused]] int dim = 0;
    ((at += static_cast<std::uint64_t>(layout_.offset_of(dim++, static_cast<std::int64_t>(index)))), ...);
    return data_[static_cast<std::int64_t>(at)];
  }
  const T* end() const
    requires(!HostAccessible<D>);

  /// Iterates over the elements of a one-dimensional tensor; writable. throws ShapeError for another rank
  [[nodiscard]] auto begin() const
    requires HostAccessible<D>
  {
    if (rank() != 1)
      fail<ShapeError>(
          {"iterating over a tensor of shape ", shape(), "; expected one dimension: take rows with select(0, i)"});
    return Iterator{data_, strides()[0], 0};
  }
  [[nodiscard]] auto end() const
    requires HostAccessible<D>
  {
    return rank() == 1 ? Iterator{data_, strides()[0], size(0)} : Iterator{};
  }

  /// The only element. Waits for the device. throws ShapeError unless there is exactly one
  [[nodiscard]] T item() const;

 private:
  struct Iterator {
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    T* first = nullptr;
    std::int64_t stride = 1, position = 0;
    [[nodiscard]] T& operator*() const { return first[position * stride]; }
    Iterator& operator++() {
      ++position;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    [[nodiscard]] friend bool operator==(const Iterator& a, const Iterator& b) { return a.position == b.position; }
  };
  /// Makes the tensor empty after its buffer was moved.
  void forget() noexcept {
    data_ = nullptr;
    layout_.shape.assign(0);
    layout_.strides.assign(1);
  }
  [[nodiscard]] static std::size_t bytes_for(const Shape& shape) {
    const std::int64_t count = locus::elements(shape);
    if (count > INT64_MAX / static_cast<std::int64_t>(sizeof(T)))
      fail<OutOfMemory>({"shape ", shape, " needs more than 2^63 bytes"});
    return static_cast<std::size_t>(count) * sizeof(T);
  }
  Buffer<D> buffer_;
  T* data_ = nullptr;
  Layout layout_;
};
LOCUS_REFUSALS_END

template <class E>
  requires requires(const E& e) {
    typename E::value_type;
    typename E::device_type;
    e.eval();
  }
Tensor(const E&) -> Tensor<typename E::value_type, typename E::device_type>;

}}  // namespace locus::LOCUS_ABI

#include <locus/instances/tensor/tensor.inc>
