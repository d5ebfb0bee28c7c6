#pragma once
// The passes of a convolution on the verbs: products of channels or of columns of windows, or each output by itself.

#include <locus/cuda/convolution.hpp>
#include <locus/ops/conv/conv_parts.hpp>
#include <locus/ops/matmul.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Images (batch, channels, d, h, w) as functors read them.
template <class T, class D>
[[nodiscard]] ConvImages<const T> images_of(const Tensor<T, D>& x) {
  ConvImages<const T> images{x.data(), {}};
  for (int d = 0; d < 5; ++d) images.stride[d] = x.strides()[d];
  return images;
}
/// Dense images as functors write them: extents of 1, which may have any strides, get the format's.
template <class T, class D>
[[nodiscard]] ConvImages<T> results_of(const Tensor<T, D>& y) {
  const Strides strides = strides_of(y.shape(), y.layout().format());
  ConvImages<T> images{y.data(), {}};
  for (int d = 0; d < 5; ++d) images.stride[d] = strides[d];
  return images;
}

/// The passes for one shape, which run on every device. Weights w are (out, in / groups, three dimensions), row-major;
/// the written tensors are dense. Launches: see ConvPasses.
template <class T, class D>
class ConvByVerbs {
 public:
  /// most: elements of columns at once; at least as many as the weights, all of which are read for each part
  ConvByVerbs(const ConvShape& shape, D device, std::int64_t most) : shape_(shape), device_(device), most_(most) {}

  /// y = epilogue(conv(x, w))
  void forward(const Tensor<T, D>& y, const Tensor<T, D>& x, const T* w, const ChannelEpilogue<T>& epilogue) const {
    [[maybe_unused]] const ConvPrecision<D> precision(shape_);
    const std::int64_t stride = element_stride(x);
    const ConvVerbs verbs = conv_verbs(ConvPass::value, shape_, stride >= 0);
    if (verbs == ConvVerbs::each) {
      const GroupedConvRow<T> row{shape_, images_of(x), w, results_of(y), epilogue};
      return Backend<D>::for_each_row(device_, y.elements() / y.size(-1), y.size(-1), row);
    }
    const std::int64_t windows = shape_.outputs(), depth = shape_.group_in() * shape_.taps();
    if (verbs == ConvVerbs::product) {
      for (std::int64_t group = 0; group < shape_.groups; ++group) {
        const MatrixRef<const T> b{x.data() + group * depth * x.strides()[1], depth, windows, x.strides()[1], stride};
        multiply(shape_.batch, weights(w, group), {b, x.strides()[0]}, output(y, group, 0, windows), group, epilogue);
      }
      return;
    }
    const ConvParts parts(shape_, shape_.in * shape_.taps(), most_);
    const Tensor<T, D> columns = columns_for(parts, shape_.in * shape_.taps());
    parts.for_each([&](const ConvPart& part, bool) {
      const std::int64_t width = fill(columns, part, x);
      for (std::int64_t group = 0; group < shape_.groups; ++group) {
        const std::int64_t all = part.images * width;
        const MatrixRef<const T> b{columns.data() + group * depth * all, depth, width, all, 1};
        auto c = output(y, group, shape_.window(part.first), width);
        c.first.data += part.image * c.stride;
        multiply(part.images, weights(w, group), {b, width}, c, group, epilogue);
      }
    });
  }

  /// dx = the adjoint of conv in its input, applied to g (+ bias of dx's channels) (+ dx)
  void input_gradient(const Tensor<T, D>& dx, bool accumulate, const Tensor<T, D>& g, const T* w, const T* bias) const {
    [[maybe_unused]] const ConvPrecision<D> precision(shape_);
    const ConvVerbs verbs = conv_verbs(ConvPass::input_gradient, shape_, true);
    if (verbs == ConvVerbs::each) {
      const GroupedGradientRow<T> row{shape_, images_of(g), w, bias, results_of(dx), accumulate};
      return Backend<D>::for_each_row(device_, dx.elements() / dx.size(-1), dx.size(-1), row);
    }
    const std::int64_t windows = shape_.outputs(), depth = shape_.group_in() * shape_.taps(), outs = shape_.group_out();
    const Tensor<T, D> in_order = dense(g);  // gives the elements of a channel one stride
    const Steps of_g = steps(in_order);
    const auto gradients = [&](std::int64_t group, std::int64_t image, std::int64_t first, std::int64_t width) {
      return Operand{
          {in_order.data() + image * shape_.out * windows + group * outs * of_g.channel + first * of_g.element, outs,
           width, of_g.channel, of_g.element},
          shape_.out * windows};
    };
    if (verbs == ConvVerbs::product) {
      const Steps of_dx = steps(dx);
      for (std::int64_t group = 0; group < shape_.groups; ++group) {
        const Target c{{dx.data() + group * depth * of_dx.channel, depth, windows, of_dx.channel, of_dx.element},
                       shape_.in * windows};
        multiply(shape_.batch, transposed_weights(w, group), gradients(group, 0, 0, windows), c, group,
                 {bias, accumulate});
      }
      return;
    }
    const ConvParts parts(shape_, shape_.in * shape_.taps(), most_);
    const Tensor<T, D> columns = columns_for(parts, shape_.in * shape_.taps());
    parts.for_each([&](const ConvPart& part, bool is_first) {
      const std::int64_t width = part.windows(), all = part.images * width;
      for (std::int64_t group = 0; group < shape_.groups; ++group) {
        const Target c{{columns.data() + group * depth * all, depth, width, all, 1}, width};
        multiply(part.images, transposed_weights(w, group),
                 gradients(group, part.image, shape_.window(part.first), width), c, group, {});
      }
      fold(dx, part, columns, is_first ? bias : nullptr, accumulate || !is_first, is_first);
    });
  }

  /// dw = the adjoint of conv in its weights, applied to g (+ dw); row-major
  void weight_gradient(const Tensor<T, D>& dw, bool accumulate, const Tensor<T, D>& g, const Tensor<T, D>& x) const {
    [[maybe_unused]] const ConvPrecision<D> precision(shape_);
    if (conv_verbs(ConvPass::weight_gradient, shape_, true) == ConvVerbs::each) return sum_taps(dw, accumulate, g, x);
    const std::int64_t depth = shape_.group_in() * shape_.taps(), outs = shape_.group_out();
    const std::int64_t per_window = shape_.in * shape_.taps() + shape_.out;
    const ConvParts parts(shape_, per_window, most_);
    const Tensor<T, D> columns = columns_for(parts, shape_.in * shape_.taps());
    const auto product = [&](const ConvPart& part, const Tensor<T, D>& to, bool adds) {
      const std::int64_t width = fill(columns, part, x), all = part.images * width;
      const auto gradients = g.slice(0, part.image, part.image + part.images)
                                 .slice(2, part.first[0], part.end[0])
                                 .slice(3, part.first[1], part.end[1])
                                 .slice(4, part.first[2], part.end[2])
                                 .permute({1, 0, 2, 3, 4})
                                 .reshape({shape_.out, all});
      for (std::int64_t group = 0; group < shape_.groups; ++group) {
        MatrixRef<const T> a = matrix(gradients.slice(0, group * outs, (group + 1) * outs));
        const MatrixRef<const T> b{columns.data() + group * depth * all, all, depth, 1, all};
        const MatrixRef<T> c{to.data() + group * outs * depth, outs, depth, depth, 1};
        multiply_matrices(device_, GemmBatch{}, a, b, c, plain_epilogue<T>(adds));
      }
    };
    using R = compute_t<T>;
    if constexpr (!std::is_same_v<T, R>) {  // 16-bit sums would be rounded at each addition
      if (parts.count() > 1) {
        const Tensor<T, D> one(dw.shape(), device_);
        Tensor<R, D> sum;
        if (accumulate) sum = dw.template as<R>();
        parts.for_each([&](const ConvPart& part, bool) {
          product(part, one, false);
          const auto added = one.template as<R>();
          if (sum.buffer()) sum += added;
          else sum = added;
        });
        dw.copy_(sum.template as<T>());
        return;
      }
    }
    bool adds = accumulate;
    parts.for_each([&](const ConvPart& part, bool) {
      product(part, dw, adds);
      adds = true;
    });
  }

 private:
  /// Matrices at equal distances.
  struct Operand {
    MatrixRef<const T> first;
    std::int64_t stride;
  };
  struct Target {
    MatrixRef<T> first;
    std::int64_t stride;
  };

  /// Strides between channels, and between elements of a channel.
  struct Steps {
    std::int64_t channel, element;
  };
  /// The strides of dense images.
  [[nodiscard]] static Steps steps(const Tensor<T, D>& x) {
    if (x.is_channels_last()) return {1, x.size(1)};
    return {x.size(2) * x.size(3) * x.size(4), 1};
  }

  /// (group_out, group_in taps)
  [[nodiscard]] MatrixRef<const T> weights(const T* w, std::int64_t group) const {
    const std::int64_t depth = shape_.group_in() * shape_.taps(), outs = shape_.group_out();
    return {w + group * outs * depth, outs, depth, depth, 1};
  }
  [[nodiscard]] MatrixRef<const T> transposed_weights(const T* w, std::int64_t group) const {
    return transposed(weights(w, group));
  }
  /// Some windows of a group's channels in y.
  [[nodiscard]] Target output(const Tensor<T, D>& y, std::int64_t group, std::int64_t first, std::int64_t width) const {
    const std::int64_t outs = shape_.group_out();
    const Steps of_y = steps(y);
    return {{y.data() + group * outs * of_y.channel + first * of_y.element, outs, width, of_y.channel, of_y.element},
            shape_.out * shape_.outputs()};
  }
  /// The stride between elements of a channel, if it has one; otherwise -1.
  [[nodiscard]] static std::int64_t element_stride(const Tensor<T, D>& x) {
    std::int64_t stride = -1, count = 1;
    for (int d = 4; d >= 2; --d) {
      if (x.size(d) == 1) continue;
      if (stride < 0) stride = x.strides()[d];
      else if (x.strides()[d] != stride * count) return -1;
      count *= x.size(d);
    }
    return larger(stride, std::int64_t{count == 1});
  }

  template <class X>
  [[nodiscard]] static MatrixRef<X> transposed(const MatrixRef<X>& a) {
    return {a.data, a.cols, a.rows, a.col_stride, a.row_stride};
  }

  /// c = epilogue(a b) for each of a batch, where the epilogue has the bias of all groups. A channels-last result has
  /// elements as rows: of all images, if these are contiguous.
  void multiply(std::int64_t count, const MatrixRef<const T>& a, const Operand& b, const Target& c, std::int64_t group,
                ChannelEpilogue<T> epilogue) const {
    if (epilogue.bias) epilogue.bias += group * a.rows;
    if (c.first.col_stride != 1) {
      MatrixRef<const T> rows = transposed(b.first);
      MatrixRef<T> out = transposed(c.first);
      if (b.stride == rows.rows * rows.row_stride && c.stride == out.rows * out.row_stride)
        rows.rows = out.rows = count * out.rows, count = 1;
      return product({count, b.stride, 0, c.stride}, rows, transposed(a), out, epilogue.of_columns());
    }
    product({count, 0, b.stride, c.stride}, a, b.first, c.first, epilogue);
  }
  /// A product with its epilogue, where possible one that libraries know.
  void product(const GemmBatch& batch, const MatrixRef<const T>& a, const MatrixRef<const T>& b, const MatrixRef<T>& c,
               const ChannelEpilogue<T>& epilogue) const {
    if (epilogue.relu || (epilogue.bias && !epilogue.has_channels_as_columns))
      return multiply_matrices(device_, batch, a, b, c, epilogue);
    Epilogue<T, functor::Identity> plain = plain_epilogue<T>(epilogue.accumulate);
    plain.bias = epilogue.bias;
    multiply_matrices(device_, batch, a, b, c, plain);
  }

  [[nodiscard]] Tensor<T, D> columns_for(const ConvParts& parts, std::int64_t per_window) const {
    return Tensor<T, D>({product_or_most(per_window, parts.most_windows())}, device_);
  }
  /// Writes the columns of a part; returns the windows of each image.
  std::int64_t fill(const Tensor<T, D>& columns, const ConvPart& part, const Tensor<T, D>& x) const {
    const std::int64_t rows = shape_.in * shape_.taps() * part.images * part.extent(0) * part.extent(1);
    WindowColumnsRow<T> row{{}, part, images_of(x), columns.data()};
    for (int d = 0; d < 3; ++d) row.axis[d] = shape_.axis[d];
    Backend<D>::for_each_row(device_, rows, part.extent(2), row);
    return part.windows();
  }
  /// Adds columns up to the elements of dx that they reach; the first part of an image writes all elements. An element
  /// reached by several parts is rounded to T for each.
  void fold(const Tensor<T, D>& dx, const ConvPart& part, const Tensor<T, D>& columns, const T* bias, bool accumulate,
            bool is_first) const {
    FoldColumnsRow<T> row{{}, part, shape_.in, {}, 0, 0, columns.data(), bias, results_of(dx), accumulate};
    ConvIndex extent[3];
    for (int d = 0; d < 3; ++d) {
      const ConvAxis& axis = row.axis[d] = shape_.axis[d];
      const ConvIndex end = smaller(axis.source(part.end[d] - 1, axis.kernel - 1) + 1, axis.extent);
      row.begin[d] = is_first ? 0 : larger(axis.source(part.first[d], 0), 0);
      extent[d] = is_first ? axis.extent : end - row.begin[d];
      if (extent[d] <= 0) return;
    }
    row.planes = extent[0], row.rows = extent[1];
    Backend<D>::for_each_row(device_, part.images * shape_.in * extent[0] * extent[1], extent[2], row);
  }

  /// dw for few channels per group: for each tap a sum over the windows in which it lies inside the image.
  void sum_taps(const Tensor<T, D>& dw, bool accumulate, const Tensor<T, D>& g, const Tensor<T, D>& x) const {
    const std::int64_t groups = shape_.groups, outs = shape_.group_out(), ins = shape_.group_in();
    const Tensor<T, D> sums({shape_.taps(), groups, outs, ins}, device_);
    std::int64_t tap = 0;
    ConvIndex k[3];
    for (k[0] = 0; k[0] < shape_.axis[0].kernel; ++k[0])
      for (k[1] = 0; k[1] < shape_.axis[1].kernel; ++k[1])
        for (k[2] = 0; k[2] < shape_.axis[2].kernel; ++k[2]) sum_tap(sums.select(0, tap++), k, g, x);
    const auto target = dw.reshape({groups, outs, ins, shape_.taps()});
    const auto values = sums.permute({1, 2, 3, 0});
    if (accumulate) target += values;
    else target.copy_(values);
  }
  void sum_tap(const Tensor<T, D>& sums, const ConvIndex (&k)[3], const Tensor<T, D>& g, const Tensor<T, D>& x) const {
    Tensor<T, D> gradients = g, images = x;
    Shape all{shape_.batch, shape_.groups, shape_.group_out(), shape_.group_in()};
    for (int d = 0; d < 3; ++d) {
      const ConvAxis& axis = shape_.axis[d];
      const ConvAxis::Range windows = axis.windows_inside(k[d]);
      const std::int64_t first = windows.count() > 0 ? axis.source(windows.begin, k[d]) : 0;
      const std::int64_t end = windows.count() > 0 ? axis.source(windows.end - 1, k[d]) + 1 : 0;
      gradients = gradients.slice(d + 2, windows.begin, windows.end);
      images = images.slice(d + 2, first, end, axis.stride);
      all.push_back(windows.count());
    }
    const auto grouped = [&](const Tensor<T, D>& tensor, std::int64_t outs, std::int64_t ins) {
      return tensor.reshape({shape_.batch, shape_.groups, outs, ins, tensor.size(2), tensor.size(3), tensor.size(4)})
          .expand(all);
    };
    reduce_into(sums, false, all, FoldedAxes("convolution", all, {0, 4, 5, 6}),
                Apply<functor::Multiply, Symbol<0>, Symbol<1>>{}, fold::Sum<T>{},
                grouped(gradients, shape_.group_out(), 1), grouped(images, 1, shape_.group_in()));
  }

  ConvShape shape_;
  D device_;
  std::int64_t most_;
};

}}}  // namespace locus::LOCUS_ABI::detail
