#pragma once
// ONNX's reductions, scans, softmax and its relatives.

#include <locus/interop/onnx/shaping.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/flip.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/softmax.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// The axes of a reduction, all if it names none; empty if it reduces nothing.
template <class F>
[[nodiscard]] Axes reduced_axes(const Call<F>& call) {
  const int rank = call.shape(0).rank();
  Axes axes = axes_of(call, list_of(call, "axes", 1), rank);
  if (axes.empty() && !call.flag("noop_with_empty_axes"))
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  return axes;
}
/// f(x, axes, keepdims) of numbers; g likewise of integers. A reduction of no axis is `alone` of each element.
template <class F, class Do, class Alone>
void reduce_numbers(const Call<F>& call, const Do& f, const Alone& alone) {
  const Axes axes = reduced_axes(call);
  if (axes.empty()) return call.give_like(alone(call.numbers(0)));
  call.give_like(f(call.numbers(0), axes, call.flag("keepdims", true)));
}
template <class F, class Do, class Alone>
void reduce(const Call<F>& call, const Do& f, const Alone& alone) {
  if (call.input(0).numbers()) return reduce_numbers(call, f, alone);
  const Axes axes = reduced_axes(call);
  const DataType type = call.input(0).type();
  (void)call.integers(0);
  call.visit(0, [&]<class X>([[maybe_unused]] const X& x) {
    if constexpr (std::is_same_v<value_of<X>, std::int64_t>) {
      if (axes.empty()) call.give_wrapped(type, alone(x));
      else call.give_wrapped(type, f(x, axes, call.flag("keepdims", true)));
    }
  });
}
/// max or min, of bools any or all. Of no numbers it is an infinity.
template <bool is_largest, class F>
void reduce_extreme(const Call<F>& call) {
  if (call.input(0).bools()) {
    const Axes axes = reduced_axes(call);
    const bool keeps = call.flag("keepdims", true);
    return call.in_place([&](auto place) {
      const auto& x = call.at(call.bools(0), place);
      if (axes.empty()) return call.give_as(DataType::boolean, x);
      call.give_as(DataType::boolean, is_largest ? any(x, axes, keeps) : all(x, axes, keeps));
    });
  }
  reduce(
      call,
      [](const auto& x, const Axes& axes, bool keeps) {
        using X = std::remove_cvref_t<decltype(x)>;
        if constexpr (!std::is_same_v<value_of<X>, std::int64_t>) {
          using R = compute_t<value_of<X>>;
          const R none = static_cast<R>(is_largest ? -__builtin_inff() : __builtin_inff());
          if (elements(x.shape()) == 0) return X((sum(x, axes, keeps) + none).eval());
        }
        if constexpr (is_largest) return X(max(x, axes, keeps));
        else return X(min(x, axes, keeps));
      },
      [](const auto& x) { return x; });
}
template <bool is_largest, class F>
void position_of_extreme(const Call<F>& call) {
  const int axis = call.axis_of(call.integer("axis", 0), call.shape(0).rank());
  const bool keeps = call.flag("keepdims", true), is_last = call.flag("select_last_index");
  const auto find = [&](const auto& x) {
    const auto position = [&](const auto& values) {
      if constexpr (is_largest) return argmax(values, axis, keeps);
      else return argmin(values, axis, keeps);
    };
    if (is_last) call.give_as(DataType::int64, (x.size(axis) - 1) - position(flip(x, axis)));
    else call.give_as(DataType::int64, position(x));
  };
  if (call.input(0).numbers()) return find(call.plain(0));
  call.in_place([&](auto place) { find(call.at(call.integers(0), place)); });
}

template <class F>
void cumulative_sum(const Call<F>& call) {
  const int axis = call.axis_of(call.host_integer(1), call.shape(0).rank());
  const ScanOptions options{.exclusive = call.flag("exclusive"), .reverse = call.flag("reverse")};
  if (call.input(0).numbers()) return call.give_like(cumsum(call.numbers(0), axis, options));
  call.in_place([&](auto place) {
    call.give_wrapped(call.input(0).type(), cumsum(call.at(call.integers(0), place), axis, options));
  });
}
template <class F>
void cumulative_product(const Call<F>& call) {
  const int axis = call.axis_of(call.host_integer(1), call.shape(0).rank());
  const ScanOptions options{.exclusive = call.flag("exclusive"), .reverse = call.flag("reverse")};
  if (call.input(0).numbers()) return call.give_like(cumprod(call.numbers(0), axis, options));
  call.in_place([&](auto place) {
    call.give_wrapped(call.input(0).type(), cumprod(call.at(call.integers(0), place), axis, options));
  });
}

/// f(x, axis): up to opset 12 of a matrix that begins at the axis, later along the axis alone.
template <class F, class Do>
void along_rows(const Call<F>& call, const Do& f) {
  const F& x = call.numbers(0);
  const bool is_matrix = call.opset() < 13;
  const int axis = call.axis_of(call.integer("axis", is_matrix ? 1 : -1), x.rank());
  if (!is_matrix) return call.give_like(f(x, axis));
  call.give_like(reshape(f(reshape(x, matrix_at(x.shape(), axis)), 1), x.shape()));
}
template <class F>
void hardmax_of(const Call<F>& call) {
  along_rows(call, [&](const F& x, int axis) -> F {
    Shape along = Dims::filled(x.rank(), 1);
    along[axis] = x.size(axis);
    const auto largest = argmax(plain_of(x), axis, true);
    const auto classes = reshape(arange<std::int64_t>(0, x.size(axis), 1, call.device()), along);
    return call.handle((largest == classes).eval().template as<value_of<F>>().eval());
  });
}
template <class F>
void lp_normalize(const Call<F>& call) {
  const F& x = call.numbers(0);
  const int axis = call.axis_of(call.integer("axis", -1), x.rank());
  const F length = norm(x, static_cast<double>(call.integer("p", 2)), axis, true);
  call.give_like(where(plain_of(length) == 0, 0, x / length));
}
template <class F>
void normalize_moments(const Call<F>& call) {
  const F& x = call.numbers(0);
  const Axes axes = axes_of(call, call.list("axes", {0, 2, 3}), x.rank());
  const F centred = x - mean(x, axes, true);
  call.give_like(centred / (sqrt(mean(square(centred), axes, true)) + 1e-9));
}

template <class F>
inline constexpr Operation<F> reductions[] = {
    {"ArgMax", &position_of_extreme<true, F>},
    {"ArgMin", &position_of_extreme<false, F>},
    {"CumProd", &cumulative_product<F>},
    {"CumSum", &cumulative_sum<F>},
    {"Hardmax", &hardmax_of<F>},
    {"LogSoftmax", [](const Call<F>& c) { along_rows(c, [](const F& x, int axis) { return log_softmax(x, axis); }); }},
    {"LpNormalization", &lp_normalize<F>},
    {"MeanVarianceNormalization", &normalize_moments<F>},
    {"ReduceL1",
     [](const Call<F>& c) {
       reduce(
           c, [](const auto& x, const Axes& axes, bool keeps) { return sum(abs(x), axes, keeps); },
           [](const auto& x) { return abs(x); });
     }},
    {"ReduceL2",
     [](const Call<F>& c) {
       reduce_numbers(
           c, [](const F& x, const Axes& axes, bool keeps) { return norm(x, 2, axes, keeps); },
           [](const F& x) { return abs(x); });
     }},
    {"ReduceLogSum",
     [](const Call<F>& c) {
       reduce_numbers(
           c, [](const F& x, const Axes& axes, bool keeps) { return log(sum(x, axes, keeps)); },
           [](const F& x) { return log(x); });
     }},
    {"ReduceLogSumExp",
     [](const Call<F>& c) {
       reduce_numbers(
           c, [](const F& x, const Axes& axes, bool keeps) { return logsumexp(x, axes, keeps); },
           [](const F& x) { return x; });
     }},
    {"ReduceMax", &reduce_extreme<true, F>},
    {"ReduceMean",
     [](const Call<F>& c) {
       reduce_numbers(
           c, [](const F& x, const Axes& axes, bool keeps) { return mean(x, axes, keeps); },
           [](const F& x) { return x; });
     }},
    {"ReduceMin", &reduce_extreme<false, F>},
    {"ReduceProd",
     [](const Call<F>& c) {
       reduce(
           c, [](const auto& x, const Axes& axes, bool keeps) { return prod(x, axes, keeps); },
           [](const auto& x) { return x; });
     }},
    {"ReduceSum",
     [](const Call<F>& c) {
       reduce(
           c, [](const auto& x, const Axes& axes, bool keeps) { return sum(x, axes, keeps); },
           [](const auto& x) { return x; });
     }},
    {"ReduceSumSquare",
     [](const Call<F>& c) {
       reduce(
           c, [](const auto& x, const Axes& axes, bool keeps) { return sum(square(x), axes, keeps); },
           [](const auto& x) { return square(x); });
     }},
    {"Softmax", [](const Call<F>& c) { along_rows(c, [](const F& x, int axis) { return softmax(x, axis); }); }},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
