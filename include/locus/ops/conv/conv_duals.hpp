#pragma once
// The passes of a convolution of duals: by the product rule, three passes on numbers.

#include <locus/ops/conv/conv_passes.hpp>
#include <locus/ops/split_duals.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Joins values and tangents; with `relu`, a tangent counts where the value is positive.
template <class T>
struct JoinConvolved {
  bool relu;
  template <class R>
  LOCUS_FN void operator()(const R& value, const R& tangent, const T& previous, T& out) const {
    out = T(value, relu && !(value > R(0)) ? R(0) : tangent) + previous;
  }
};

/// Launches: three passes of ConvPasses<R>, one that splits each operand and the bias, and one that joins the result.
template <class R, class D>
class ConvPasses<Dual<R>, D> {
  using T = Dual<R>;
  using X = Tensor<T, D>;

 public:
  ConvPasses(const ConvShape& shape, D device) : passes_(shape, device), device_(device) {}

  /// y = conv(x, w) + bias (+ y), or relu of the sum, which is not accumulated
  void forward(const X& y, bool accumulate, const X& x, const X& w, const T* bias, bool relu = false) const {
    const Bias shift(device_, bias, y.size(1));
    join(y, accumulate, relu, x, w, [&](const auto& to, bool adds, const auto& a, const auto& b, Part part) {
      passes_.forward(to, adds, a, b, shift.of(part), relu && part == Part::value);
    });
  }
  /// dx = the adjoint of conv in its input, applied to g (+ bias of dx's channels) (+ dx)
  void input_gradient(const X& dx, bool accumulate, const X& g, const X& w, const T* bias) const {
    const Bias shift(device_, bias, dx.size(1));
    join(dx, accumulate, false, g, w, [&](const auto& to, bool adds, const auto& a, const auto& b, Part part) {
      passes_.input_gradient(to, adds, a, b, shift.of(part));
    });
  }
  /// dw = the adjoint of conv in its weights, applied to g (+ dw)
  void weight_gradient(const X& dw, bool accumulate, const X& g, const X& x) const {
    join(dw, accumulate, false, g, x, [&](const auto& to, bool adds, const auto& a, const auto& b, Part) {
      passes_.weight_gradient(to, adds, a, b);
    });
  }

 private:
  enum class Part { value, tangent, rest };  ///< a b; a' b; and a b', which is added to a' b

  class Bias {
   public:
    Bias(D device, const T* bias, std::int64_t channels)
        : parts_(split_duals(device, MatrixRef<const T>{bias, 1, bias ? channels : 0, channels, 1}, 1, 0)),
          is_present_(bias != nullptr) {}
    [[nodiscard]] const R* of(Part part) const {
      if (!is_present_ || part == Part::rest) return nullptr;
      return part == Part::value ? parts_.value.data : parts_.tangent.data;
    }

   private:
    DualParts<T, D> parts_;
    bool is_present_;
  };

  /// to = the product of a and b (+ to), by pass(to, whether it adds, a, b, part).
  template <class F>
  void join(const X& to, bool accumulate, bool relu, const X& a, const X& b, const F& pass) const {
    if (to.empty()) return;
    const auto left = split_duals(a), right = split_duals(b);
    const auto format = to.layout().format();
    const Tensor<R, D> value(to.shape(), format, device_), tangent(to.shape(), format, device_);
    pass(value, false, left.value, right.value, Part::value);
    pass(tangent, false, left.tangent, right.value, Part::tangent);
    pass(tangent, true, left.value, right.tangent, Part::rest);
    const auto plan =
        make_plan<4>(to.shape(), {operand_of(value), operand_of(tangent), operand_of(to), operand_of(to)});
    Backend<D>::map(device_, in_memory_order(plan), JoinConvolved<T>{relu},
                    Pack<const R*, const R*, const T*>(value.data(), tangent.data(), accumulate ? to.data() : nullptr),
                    Pack<T*>(to.data()));
  }

  ConvPasses<R, D> passes_;
  D device_;
};

}}}  // namespace locus::LOCUS_ABI::detail
