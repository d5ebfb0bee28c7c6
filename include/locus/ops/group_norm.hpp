#pragma once
// Group normalization and instance normalization: in each sample, a group of channels, or each channel, is normalized
// by its own mean and variance.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/normalize/layer_norm_rows.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// (x - mean) * rstd * weight + bias; weight or bias may be absent; the mean is first + offset.
struct NormalizeGroup {
  bool scales, shifts;
  template <class R>
  LOCUS_FN R operator()(R x, R rstd, R first, R offset, R weight, R bias) const {
    const R normalized = FromMean<R, true>{first, offset}(x)*rstd, scaled = scales ? normalized * weight : normalized;
    return shifts ? scaled + bias : scaled;
  }
};

/// The factor of each element of a group in LayerNormRowBackward: the weight of its channel.
template <class R>
struct ChannelWeights {
  const R* weight;  ///< of the first group's first channel; null: 1
  std::int64_t groups, group_stride, channel_stride;
  double channels_per_element;  ///< 1 / elements of a channel

  [[nodiscard]] LOCUS_FN ChannelWeights of_row(std::int64_t row) const {
    ChannelWeights here = *this;
    if (weight) here.weight += row % groups * group_stride;
    return here;
  }
  LOCUS_FN R operator()(R dy, std::int64_t c) const {
    // Replaces the division c / elements, which takes several times as long. The half keeps quotients away from whole
    // numbers: exact below 2^50 elements.
    const auto channel = static_cast<std::int64_t>((static_cast<double>(c) + 0.5) * channels_per_element);
    return dy * weight[channel * channel_stride];
  }
};
template <class R, class D>
[[nodiscard]] ChannelWeights<R> channel_weights_of(const Tensor<R, D>& weight, const Shape& x) {
  const double per_element = 1 / static_cast<double>(x[3]);
  if (!weight.buffer()) return {nullptr, x[1], 0, 0, per_element};
  return {weight.data(), x[1], weight.strides()[0], weight.strides()[1], per_element};
}

/// x as (batch, groups, channels of a group, elements of a channel).
struct ChannelGroups {
  Shape shape;

  /// `groups` 0: each channel is a group. throws ShapeError, ArgumentError
  LOCUS_OUT_OF_LINE ChannelGroups(const char* name, const Shape& x, std::int64_t groups, double eps) {
    if (x.rank() < 2)
      fail<ShapeError>({name, ": input of shape ", x, "; expected two dimensions or more, (batch, channels, ...)"});
    const std::int64_t channels = x[1], count = groups == 0 ? channels : groups;
    if (count < 0 || (count > 0 && channels % count != 0))
      fail<ArgumentError>({name, ": ", count, " groups of ", channels, " channels, from an input of shape ", x,
                           "; expected a divisor of ", channels});
    require_not_negative(name, "eps", eps);
    std::int64_t elements = 1;
    for (int d = 2; d < x.rank(); ++d) elements = product_or_most(elements, x[d]);
    shape = Shape{x[0], count, count > 0 ? channels / count : 0, elements};
  }

  [[nodiscard]] std::int64_t rows() const { return product_or_most(shape[0], shape[1]); }
  [[nodiscard]] Shape row() const { return {product_or_most(shape[2], shape[3])}; }
  /// The shape of a vector of one element for each channel, to broadcast with x.
  [[nodiscard]] Shape vector() const { return {shape[1], shape[2], 1}; }
  [[nodiscard]] Shape group() const { return {shape[0], shape[1], 1, 1}; }
};

}  // namespace detail

namespace operation {

/// A weight or bias without memory is absent.
struct GroupNorm {
  static constexpr const char* name = "group_norm";
  static constexpr bool runs_on_duals = true;
  const char* caller;   ///< for messages
  std::int64_t groups;  ///< 0: each channel is a group
  double eps;

  /// For backward: x, (batch, groups, channels of a group, ...), the weight, (groups, channels of a group, 1) or
  /// without memory, and the moments of each group.
  template <class T, class D, class R = compute_t<T>>
  using Saved = Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<R, D>>;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return forward(x, Tensor<T, D>{}, Tensor<T, D>{});
  }
  template <class T, class D, class R = compute_t<T>>
  auto forward(const Tensor<T, D>& given, const Tensor<T, D>& given_weight, const Tensor<T, D>& given_bias) const {
    const detail::ChannelGroups shapes(caller, given.shape(), groups, eps);
    require_vector("weight", given_weight, given);
    require_vector("bias", given_bias, given);
    detail::require_same_ordinal(caller, given, given_weight, given_bias);
    const Tensor<T, D> y(given.shape(), given.layout().format(), given.device());
    if (y.empty()) return Forwarded{y, Saved<T, D>(given.reshape(shapes.shape), given_weight, {})};
    const auto per_channel = [&](const Tensor<T, D>& v) { return v.buffer() ? v.reshape(shapes.vector()) : v; };
    const Tensor<T, D> weight = per_channel(given_weight), bias = per_channel(given_bias);
    const Tensor<T, D> x = given.contiguous().reshape(shapes.shape);
    const Tensor<R, D> moments({2, shapes.rows(), 1, 1}, x.device());
    const Shape row = shapes.row();
    const Tensor<T, D> rows = x.reshape({shapes.rows(), row[0], 1});
    const bool plain = y.is_contiguous() && !weight.buffer() && !bias.buffer();
    const Tensor<T, D> out = plain ? y.reshape(rows.shape()) : Tensor<T, D>{};
    Backend<D>::for_each_row(x.device(), rows.size(0), row[0],
                             detail::LayerNormRow<T, true>{detail::rows_of(rows),
                                                           {nullptr, nullptr},
                                                           detail::finite_as<R>(caller, "eps", eps),
                                                           detail::moments_of<R>(moments),
                                                           plain ? detail::rows_of(out, 1) : detail::Rows<T>{}});
    if (!plain) {
      const detail::NormalizeGroup f{static_cast<bool>(weight.buffer()), static_cast<bool>(bias.buffer())};
      detail::map_into(y.reshape(shapes.shape), f, x, rstd(x, moments), first(x), offset(x, moments), weight, bias);
    }
    return Forwarded{y, Saved<T, D>(x, weight, moments)};
  }

  template <class T, class D, class R>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<R, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& dx) const {
    Gradient<T, D> none(nullptr);
    backward(saved, g, dx, none, none);
  }
  template <class T, class D, class R>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<R, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                Gradient<T, D>& dweight, Gradient<T, D>& dbias) const {
    const auto& [x, weight, moments] = saved;
    const Tensor<T, D> dy = g.reshape(x.shape());
    if (x.empty()) {
      for (Gradient<T, D>* const gradient : {&dx, &dweight, &dbias})
        if (*gradient) gradient->give(zeros_like(*gradient, g.device()));
      return;
    }
    if (dweight) add_channels<detail::TimesNormalized>(dweight, dy, x, rstd(x, moments), first(x), offset(x, moments));
    if (dbias) add_channels<functor::Identity>(dbias, dy);
    if (!dx) return;
    const auto target = dx.open_in_format();
    const bool in_place = target.out.is_contiguous();
    const Tensor<T, D> out = in_place ? target.out : Tensor<T, D>(target.out.shape(), g.device());
    const Shape rows{moments.size(1), x.elements() / moments.size(1), 1};
    const Tensor<T, D> of_x = x.reshape(rows), of_dy = dy.reshape(rows), of_dx = out.reshape(rows);
    const Tensor<R, D> weights = weight.buffer() ? weight.template as<R>() : Tensor<R, D>{};
    Backend<D>::for_each_row(
        g.device(), rows[0], rows[1],
        detail::LayerNormRowBackward<T, true, detail::ChannelWeights<R>>{
            detail::rows_of(of_x), detail::rows_of(of_dy), detail::channel_weights_of(weights, x.shape()),
            detail::moments_of<const R>(moments), detail::rows_of(of_dx, 1), in_place && target.accumulate});
    if (in_place) return;
    if (target.accumulate) target.out += out;
    else target.out.copy_(out);
  }

 private:
  template <class T, class D>
  void require_vector(const char* what, const Tensor<T, D>& vector, const Tensor<T, D>& x) const {
    if (vector.buffer() && !(vector.shape() == Shape{x.size(1)}))
      fail<ShapeError>({caller, ": ", what, " of shape ", vector.shape(), " for an input of shape ", x.shape(),
                        "; expected an element for each of ", x.size(1), " channels"});
  }
  template <class T, class D>
  [[nodiscard]] static Tensor<T, D> zeros_like(const Gradient<T, D>& gradient, D device) {
    return Tensor<T, D>(gradient.shape(), device).fill_(T(0));
  }

  // The moments of each group, (batch, groups, 1, 1).
  template <class T, class D, class R>
  [[nodiscard]] static Tensor<R, D> rstd(const Tensor<T, D>& x, const Tensor<R, D>& moments) {
    return moments.select(0, 0).reshape({x.size(0), x.size(1), 1, 1});
  }
  template <class T, class D, class R>
  [[nodiscard]] static Tensor<R, D> offset(const Tensor<T, D>& x, const Tensor<R, D>& moments) {
    return moments.select(0, 1).reshape({x.size(0), x.size(1), 1, 1});
  }
  template <class T, class D>
  [[nodiscard]] static Tensor<T, D> first(const Tensor<T, D>& x) {
    return x.slice(2, 0, 1).slice(3, 0, 1);
  }

  /// The sum of f(g, others...) in each channel. One launch.
  template <class F, class T, class D, class... In>
  static void add_channels(Gradient<T, D>& gradient, const Tensor<T, D>& g, const Tensor<In, D>&... others) {
    const auto target = gradient.open();
    [&]<int... i>(std::integer_sequence<int, i...>) {
      detail::reduce_into(target.out, target.accumulate, g.shape(), detail::FoldedAxes(name, g.shape(), {0, 3}),
                          Apply<F, Symbol<i>...>{}, fold::Sum<T>{}, g, others...);
    }(std::make_integer_sequence<int, static_cast<int>(sizeof...(In)) + 1>{});
  }
};

}  // namespace operation

namespace detail {
[[nodiscard]] inline operation::GroupNorm group_norm(std::int64_t groups, double eps) {
  if (groups < 1) fail<ArgumentError>({"group_norm: ", groups, " groups; expected at least 1"});
  return {"group_norm", groups, eps};
}
/// throws ShapeError, ArgumentError
LOCUS_OUT_OF_LINE inline operation::GroupNorm instance_norm(const Shape& x, double eps) {
  if (x.rank() < 3)
    fail<ShapeError>({"instance_norm: input of shape ", x, "; expected three dimensions or more, (batch, channels, ",
                      "length) or (batch, channels, height, width)"});
  std::int64_t elements = 1;
  for (int d = 2; d < x.rank(); ++d) elements = product_or_most(elements, x[d]);
  if (elements == 1)
    fail<ArgumentError>({"instance_norm: one value per channel, from an input of shape ", x,
                         "; expected more, since one has no variance"});
  return {"instance_norm", 0, eps};
}
}  // namespace detail

/// (x - mean) / sqrt(variance + eps) * weight + bias. Mean and variance, the population's, are taken over a group of
/// neighbouring channels in one sample (Wu and He, 2018). Accurate beside an offset common to a group, however large.
/// shape:    x (batch, channels, ...), weight and bias (channels) or an empty handle for none -> the shape of x
/// gradient: as layer_norm's over the elements of a group, with the weight of each channel
/// cost:     two launches, which read x twice, and without weight and bias one; backward one for each gradient that is
///           wanted, and in 16 bits a small one for x, which converts the weight. Saves x, the weight and two numbers
///           per group. Strides that are not row-major cost a copy
/// throws ShapeError naming the shapes; ArgumentError where groups do not divide the channels, or for an eps below 0
///
///     auto y = group_norm(x, 8, weight, bias);
template <detail::FloatingOperand X>
[[nodiscard]] auto group_norm(const X& x, std::int64_t groups, double eps = 1e-5) {
  return apply(detail::group_norm(groups, eps), x);
}
template <class X, class W, class B>
  requires detail::NormalizedWith<X, W, B>
[[nodiscard]] auto group_norm(const X& x, std::int64_t groups, const W& weight, const B& bias, double eps = 1e-5) {
  return apply(detail::group_norm(groups, eps), x, weight, bias);
}

/// The same with each channel as a group (Ulyanov, Vedaldi and Lempitsky, 2016): by the statistics of each image, in
/// training and inference.
/// shape: x (batch, channels, length, ...), weight and bias (channels) or an empty handle for none -> the shape of x
/// gradient and cost: as group_norm     throws as group_norm; ArgumentError for one value per channel
template <detail::FloatingOperand X>
[[nodiscard]] auto instance_norm(const X& x, double eps = 1e-5) {
  return apply(detail::instance_norm(x.value().shape(), eps), x);
}
template <class X, class W, class B>
  requires detail::NormalizedWith<X, W, B>
[[nodiscard]] auto instance_norm(const X& x, const W& weight, const B& bias, double eps = 1e-5) {
  return apply(detail::instance_norm(x.value().shape(), eps), x, weight, bias);
}

#include <locus/refuse/ops/group_norm.inc>

}}  // namespace locus::LOCUS_ABI
