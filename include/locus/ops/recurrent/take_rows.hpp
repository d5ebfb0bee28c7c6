#pragma once
// Rows taken at most once each: packing and padding of sequences, where the gradient takes rows back.

#include <locus/ops/index/pick.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace operation {

/// y[i] = x[index[i]], or `fill` where that is -1. No row is taken twice: dx[j] = g[inverse[j]], or 0 where that is -1.
template <class D>
struct TakeRows {
  static constexpr const char* name = "take_rows";
  static constexpr bool linear = true;  ///< but for the fill
  Tensor<std::int64_t, D> index, inverse;
  double fill = 0;

  template <class T> auto forward(const Tensor<T, D>& x) const { return Forwarded{taken(x, index, fill), Tuple<>()}; }
  template <class T> [[nodiscard]] Tensor<T, D> derivative(const Tensor<T, D>& u) const { return taken(u, index, 0); }
  template <class T>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    if (dx) dx.give(taken(g, inverse, 0));
  }

 private:
  template <class T>
  [[nodiscard]] static Tensor<T, D> taken(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& rows, double fill) {
    Shape shape = x.shape();
    shape[0] = rows.elements();
    const Tensor<T, D> out(shape, x.device()), source = detail::around_axis(x, 0);
    Backend<D>::for_each_row(out.device(), shape[0], source.size(2),
                             detail::PickRow<T>{source.data(), 0, source.strides()[1], source.strides()[2], rows.data(),
                                                shape[0], x.size(0), out.data(), convert<compute_t<T>>(fill)});
    return out;
  }
};

}}}  // namespace locus::LOCUS_ABI::operation
