#pragma once
// A leaky relu whose slopes are trained, one for all channels or one for each.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {

struct Prelu {
  static constexpr const char* name = "prelu";
  static constexpr bool runs_on_duals = true;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& weight) const {
    const Tensor<T, D> slopes = weight.reshape(broadcast_shape(x.shape(), weight.shape()));
    const Tensor<T, D> y(x.shape(), x.layout().format(), x.device());
    detail::map_into(y, functor::Prelu{}, x, slopes);
    return Forwarded{y, Tuple(x, slopes)};
  }

  struct ToInput {
    template <class R>
    LOCUS_FN R operator()(R g, R x, R slope) const {
      return get<0>(functor::Prelu{}.pullback(g, R(0), x, slope));
    }
  };
  struct ToWeight {
    template <class R>
    LOCUS_FN R operator()(R g, R x) const {
      return get<1>(functor::Prelu{}.pullback(g, R(0), x, R(0)));
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx,
                Gradient<T, D>& dweight) const {
    const auto& [x, slopes] = saved;
    if (dx) detail::map_to(dx, ToInput{}, g, x, slopes);
    if (!dweight) return;
    Axes folded;
    for (int d = 0; d < x.rank(); ++d)
      if (d != 1 || slopes.elements() == 1) folded.push_back(d);
    const auto target = dweight.open();
    detail::reduce_into(target.out, target.accumulate, x.shape(), detail::FoldedAxes(name, x.shape(), folded),
                        Apply<ToWeight, Symbol<0>, Symbol<1>>{}, fold::Sum<T>{}, g, x);
  }

 private:
  /// The shape of the slopes beside x: (), or the channels with a 1 for each dimension of x behind them. throws
  /// ShapeError
  LOCUS_OUT_OF_LINE static Shape broadcast_shape(const Shape& x, const Shape& weight) {
    const std::int64_t channels = x.rank() > 1 ? x[1] : 1, slopes = elements(weight);
    if (weight.rank() > 1 || (slopes != 1 && slopes != channels))
      fail<ShapeError>({name, ": a weight of shape ", weight, " for an input of shape ", x,
                        "; expected one slope, or one for each of ", channels, " channels, those of dimension 1"});
    if (slopes == 1) return {};
    Shape result = Dims::filled(x.rank() - 1, 1);
    result[0] = channels;
    return result;
  }
};

}  // namespace operation

/// x where x > 0, x times a slope of the weight elsewhere (He, Zhang, Ren and Sun, 2015).
/// shape:    x (batch, channels, ...), or of any shape with one slope; weight (1) or (channels) -> the shape of x
/// gradient: g, times the slope where x <= 0, for x; the sum of g x where x <= 0 for the weight
/// cost:     one launch; backward one for each gradient that is wanted     throws ShapeError for another weight
///
///     auto y = prelu(x, full({1}, 0.25f));
template <class X, class W>
  requires detail::NormalizedWith<X, W>
[[nodiscard]] auto prelu(const X& x, const W& weight) {
  return apply(operation::Prelu{}, x, weight);
}

#include <locus/refuse/ops/prelu.inc>

}}  // namespace locus::LOCUS_ABI
